#include "engine/storage_seat.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace choir {

Storage* StorageSeat::storage() {
  int error = 0;
  auto* storage = c_.file.storage(error);
  if (storage == nullptr) c_.fail(error);
  return storage;
}

void StorageSeat::start_move(Buffer& buffer, Coverage& coverage) {
  auto& move = moves_[static_cast<std::size_t>(buffer.index)];
  move.job = Job{c_.operation, {}, 0, no_end_of_file, 0, 0};
  if (c_.error != 0) return;  // after a failure the protocol goes on, the storage is left alone
  auto* const store = storage();
  if (store == nullptr) return;
  if (c_.operation == Operation::write)
    gather_writes(buffer, coverage, move);
  else
    gather_reads(buffer, coverage, move.job);
  if (c_.error != 0)
    move.job.transfers.clear();  // holes that could not be read must not be written
  const auto started = now_ns();
  move.busy = !store->start(move.job);
  c_.traffic.storage_ns += now_ns() - started;
  if (!move.busy) finish(buffer, move);
}

bool StorageSeat::poll_move(Buffer& buffer) {
  auto& move = moves_[static_cast<std::size_t>(buffer.index)];
  if (!move.busy) return true;
  int error = 0;
  auto* const store = c_.file.storage(error);
  if (store != nullptr && !store->poll(move.job)) return false;
  move.busy = false;
  finish(buffer, move);
  return true;
}

void StorageSeat::finish(Buffer& buffer, Move& move) {
  if (move.locked) unlock(move);
  if (move.job.error != 0) c_.fail(move.job.error);
  c_.traffic.requests += move.job.requests;
  if (c_.operation == Operation::read && move.job.end_of_file != no_end_of_file) {
    control(buffer).end_of_file.store(move.job.end_of_file, std::memory_order_relaxed);
    c_.met_end_of_file(move.job.end_of_file);
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
  const auto extents = coverage.extents();
  if (worth_sieving(extents)) {
    fill_holes(buffer, extents, move);
    add_transfers(buffer, {extents.front().begin, extents.back().end}, move.job.transfers);
    return;
  }
  for (const auto& extent : extents) add_transfers(buffer, extent, move.job.transfers);
}

void StorageSeat::gather_reads(Buffer& buffer, Coverage& coverage, Job& job) {
  if (c_.marks) {
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
bool StorageSeat::worth_sieving(const std::vector<Extent>& extents) const {
  constexpr std::size_t few = 8;
  constexpr std::int64_t large = 2048;
  if (c_.plan.requests != Requests::sieve || extents.size() <= few || !c_.file.readable())
    return false;
  std::int64_t covered = 0;
  for (const auto& extent : extents) covered += extent.size();
  const auto span = extents.back().end - extents.front().begin;
  return covered / static_cast<std::int64_t>(extents.size()) < large &&
         static_cast<double>(covered) >= c_.sieve_threshold * static_cast<double>(span);
}

/// Reads what lies in the file between the stretches, under a lock: others may own those bytes.
void StorageSeat::fill_holes(Buffer& buffer, const std::vector<Extent>& extents, Move& move) {
  const Extent span{extents.front().begin, extents.back().end};
  lock(move,
       {file_offset(buffer.window, span.begin), file_offset(buffer.window, span.end - 1) + 1});
  scratch_.assign(static_cast<std::size_t>(span.size()), 0);
  Job old{Operation::read, {}, 0, no_end_of_file, 0, 0};
  add_transfers(buffer, span, old.transfers);
  for (auto& transfer : old.transfers)
    transfer.data = scratch_.data() + (transfer.data - (data(buffer) + span.begin));
  int error = 0;
  auto* const store = c_.file.storage(error);
  if (store == nullptr || store->run(old) != 0) {
    c_.fail(store == nullptr ? error : old.error);
    return;
  }
  for (std::size_t i = 1; i < extents.size(); ++i) {
    const Extent hole{extents[i - 1].end, extents[i].begin};
    std::memcpy(data(buffer) + hole.begin, scratch_.data() + (hole.begin - span.begin),
                static_cast<std::size_t>(hole.size()));
    c_.traffic.sieved_bytes += hole.size();
  }
  c_.traffic.requests += old.requests;
}

void StorageSeat::set_lock(Extent range, short kind, int command) {
  int error = 0;
  const int fd = c_.file.descriptor(error);
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = range.begin;
  lock.l_len = range.size();
  // A file system without locks has nobody who would respect them.
  while (fd >= 0 && fcntl(fd, command, &lock) != 0 && errno == EINTR) {
  }
}

void StorageSeat::lock(Move& move, Extent range) {
  set_lock(range, F_WRLCK, F_OFD_SETLKW);
  move.locked = true;
  move.lock = range;
}

void StorageSeat::unlock(Move& move) {
  set_lock(move.lock, F_UNLCK, F_OFD_SETLK);
  move.locked = false;
}

}  // namespace choir
