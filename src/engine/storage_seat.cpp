#include "engine/storage_seat.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace choir {
namespace {

/// Beside a seat's only window nothing goes on but the rest of its own exchange: with so few bytes
/// that takes no longer than handing them over.
constexpr std::int64_t small_job = 256 * 1024;

std::int64_t bytes_of(const Job& job) {
  std::int64_t bytes = 0;
  for (const auto& transfer : job.transfers) bytes += transfer.length;
  return bytes;
}

}  // namespace

StorageSeat::~StorageSeat() {
  for (auto& move : moves_)
    if (move.busy != nullptr) move.by->await(*move.busy);
}

/// Where the buffer's bytes live; null, and its call has failed, if that cannot be opened.
Storage* StorageSeat::storage_of(const Buffer& buffer) {
  int error = 0;
  auto* const storage = buffer.call->file.storage(error);
  if (storage == nullptr) buffer.call->fail(error);
  return storage;
}

void StorageSeat::start_move(Buffer& buffer, Coverage& coverage) {
  auto& move = moves_[static_cast<std::size_t>(buffer.index)];
  auto& call = *buffer.call;
  move.job = Job{.operation = call.operation};
  move.extents.clear();
  if (call.error != 0) return;  // after a failure the protocol goes on, the storage is left alone
  if (writing()) {
    gather_writes(buffer, coverage, move);
  } else {
    gather_reads(buffer, coverage, move.job);
    start_job(buffer, move, move.job);
  }
}

void StorageSeat::start_job(Buffer& buffer, Move& move, Job& job) {
  auto* const storage = storage_of(buffer);
  if (storage == nullptr) {
    unlock(buffer, move);
    return;
  }
  const auto started = now_ns();
  const bool here = is_last(buffer) && bytes_of(job) <= small_job;
  const bool done = here ? storage->start_here(job) : storage->start(job);
  move.busy = done ? nullptr : &job;
  move.by = storage;
  buffer.call->traffic.storage_ns += now_ns() - started;
  if (move.busy == nullptr) finish_job(buffer, move, job);
}

bool StorageSeat::poll_move(Buffer& buffer) {
  auto& move = moves_[static_cast<std::size_t>(buffer.index)];
  if (move.wants_old) read_old(buffer, move);
  if (move.wants_old) return false;
  while (move.busy != nullptr) {
    if (!move.by->poll(*move.busy)) return false;
    finish_job(buffer, move, *std::exchange(move.busy, nullptr));
  }
  return true;
}

void StorageSeat::finish_job(Buffer& buffer, Move& move, Job& job) {
  auto& call = *buffer.call;
  if (job.error != 0) call.fail(job.error);
  call.traffic.count_job(job);
  call.traffic.storage_ns += job.beside_ns;
  if (&job == &move.old && call.error == 0) {
    fill_holes(buffer, move);
    start_job(buffer, move, move.job);
    return;  // still under its lock
  }
  unlock(buffer, move);
  if (!writing() && job.end_of_file != no_end_of_file) {
    control(buffer).end_of_file.store(job.end_of_file, std::memory_order_relaxed);
    call.met_end_of_file(job.end_of_file);
  }
}

/// Adds the file blocks under buffer bytes [begin, end).
void StorageSeat::add_transfers(const Buffer& buffer, Extent bytes, std::vector<Transfer>& out) {
  while (bytes.begin < bytes.end) {
    const auto block_end = (bytes.begin / buffer.window.length + 1) * buffer.window.length;
    const auto end = std::min(bytes.end, block_end);
    out.push_back(
        {file_offset(buffer.window, bytes.begin), data(buffer) + bytes.begin, end - bytes.begin});
    bytes.begin = end;
  }
}

void StorageSeat::gather_writes(Buffer& buffer, Coverage& coverage, Move& move) {
  move.extents = coverage.extents();
  if (worth_sieving(buffer, move.extents)) {
    add_transfers(buffer, {move.extents.front().begin, move.extents.back().end},
                  move.job.transfers);
    read_old(buffer, move);
    return;
  }
  for (const auto& extent : move.extents) add_transfers(buffer, extent, move.job.transfers);
  start_job(buffer, move, move.job);
}

void StorageSeat::gather_reads(Buffer& buffer, Coverage& coverage, Job& job) {
  if (buffer.call->marks) {
    for (const auto& extent : coverage.extents()) add_transfers(buffer, extent, job.transfers);
    return;
  }
  for (std::int64_t i = 0; i < buffer.window.count; ++i) {
    const auto begin = buffer.window.block(i);
    const auto part = intersect({begin, begin + buffer.window.length}, buffer.guests.wanted);
    if (part.empty()) continue;
    job.transfers.push_back(
        {part.begin, data(buffer) + i * buffer.window.length + part.begin - begin, part.size()});
  }
}

/// Many small stretches that nearly fill their span: one read and one write beat a request each.
bool StorageSeat::worth_sieving(const Buffer& buffer, const std::vector<Extent>& extents) const {
  constexpr std::size_t few = 8;
  constexpr std::int64_t large = 2048;
  const auto& call = *buffer.call;
  if (call.plan.requests != Requests::sieve || extents.size() <= few || !call.file.readable())
    return false;
  std::int64_t covered = 0;
  for (const auto& extent : extents) covered += extent.size();
  const auto span = extents.back().end - extents.front().begin;
  return covered / static_cast<std::int64_t>(extents.size()) < large &&
         static_cast<double>(covered) >= call.sieve_threshold * static_cast<double>(span);
}

/// Reads what lies in the file under the stretches and between them, under a lock: others may own
/// the bytes between. Whoever does not get all its locks holds none and tries again later, so that
/// nobody waits in a circle, and whoever advances this call can advance the one that holds them.
void StorageSeat::read_old(Buffer& buffer, Move& move) {
  const Extent span{move.extents.front().begin, move.extents.back().end};
  move.old = Job{.operation = Operation::read};
  add_transfers(buffer, span, move.old.transfers);
  move.wants_old = !lock(buffer, move);
  if (move.wants_old) return;
  move.scratch.assign(static_cast<std::size_t>(span.size()), 0);
  for (auto& transfer : move.old.transfers)
    transfer.data = move.scratch.data() + (transfer.data - (data(buffer) + span.begin));
  start_job(buffer, move, move.old);
}

/// Block by block: between a server's stripes lie those of others. False: somebody has one of them.
bool StorageSeat::lock(const Buffer& buffer, Move& move) {
  for (const auto& transfer : move.old.transfers) {
    const Extent block{transfer.offset, transfer.offset + transfer.length};
    if (!set_lock(buffer, block, F_WRLCK)) {
      unlock(buffer, move);
      return false;
    }
    move.locks.push_back(block);
  }
  return true;
}

void StorageSeat::fill_holes(Buffer& buffer, Move& move) {
  const auto begin = move.extents.front().begin;
  for (std::size_t i = 1; i < move.extents.size(); ++i) {
    const Extent hole{move.extents[i - 1].end, move.extents[i].begin};
    std::memcpy(data(buffer) + hole.begin, move.scratch.data() + (hole.begin - begin),
                static_cast<std::size_t>(hole.size()));
    buffer.call->traffic.sieved_bytes += hole.size();
  }
}

/// False if somebody else has a lock there.
bool StorageSeat::set_lock(const Buffer& buffer, Extent range, short kind) {
  int error = 0;
  const int fd = buffer.call->file.descriptor(error);
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = range.begin;
  lock.l_len = range.size();
  if (fd < 0) return true;
  int result = 0;
  do result = fcntl(fd, F_OFD_SETLK, &lock);
  while (result != 0 && errno == EINTR);
  // A file system without locks has nobody who would respect them.
  return result == 0 || (errno != EAGAIN && errno != EACCES);
}

void StorageSeat::unlock(const Buffer& buffer, Move& move) {
  for (const auto& block : move.locks) set_lock(buffer, block, F_UNLCK);
  move.locks.clear();
}

}  // namespace choir
