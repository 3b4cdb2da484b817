#include "frontdoor/multi.hpp"

#include <vector>

#include "engine/joint_call.hpp"
#include "engine/progress.hpp"
#include "frontdoor/collective.hpp"
#include "frontdoor/recording.hpp"
#include "frontdoor/requests.hpp"
#include "mpi/real.hpp"

namespace choir {
namespace {

/// One part under way: a call of the engine, or a request of the host MPI.
struct Started {
  OpenFile* file = nullptr;  ///< null: the host MPI serves it
  std::shared_ptr<Call> call;
  MPI_Request host = MPI_REQUEST_NULL;
  int error = 0;      ///< it could not be started
  bool held = false;  ///< it waits to be joined, and somebody advances it already
};

DataCall data_call(Operation operation, const choir_multi_part& part) {
  std::optional<MPI_Offset> offset;
  if (part.by_offset != 0) offset = part.offset;
  return {part.file, operation,   operation == Operation::write ? "mcio_write" : "mcio_read",
          offset,    part.buffer, part.count,
          part.type};
}

int start_on_host(Operation operation, const choir_multi_part& p, MPI_Request* request) {
  if (operation == Operation::write)
    return p.by_offset != 0
               ? REAL(File_iwrite_at_all)(p.file, p.offset, p.buffer, p.count, p.type, request)
               : REAL(File_iwrite_all)(p.file, p.buffer, p.count, p.type, request);
  return p.by_offset != 0
             ? REAL(File_iread_at_all)(p.file, p.offset, p.buffer, p.count, p.type, request)
             : REAL(File_iread_all)(p.file, p.buffer, p.count, p.type, request);
}

/// The engine's parts, as few joint calls as their lead's room allows. A part that stands alone is
/// an ordinary call.
void start_joint(std::vector<JointCall::Part> asked, const std::vector<Started*>& parts,
                 bool waiting) {
  std::size_t next = 0;
  while (next < asked.size()) {
    auto& lead = *asked[next].file;
    const auto most = std::max<std::size_t>(1, JointCall::capacity(lead));
    const auto count = std::min(most, asked.size() - next);
    if (count == 1) {
      parts[next]->call = lead.start(std::move(asked[next].request));
      ++next;
      continue;
    }
    const auto first = asked.begin() + static_cast<std::ptrdiff_t>(next);
    std::vector<JointCall::Part> some(
        std::make_move_iterator(first),
        std::make_move_iterator(first + static_cast<std::ptrdiff_t>(count)));
    for (auto& call : JointCall::start(std::move(some), waiting))
      parts[next++]->call = std::move(call);
  }
}

/// Whether nonblocking calls on one of the files are, or were, joined with others. They may still
/// be waiting behind each other in an order that only their joiner knows, so a call that ties files
/// together has to go through it too. The same answer on all ranks.
bool among_joined(int count, const choir_multi_part* parts) {
  for (int i = 0; i < count; ++i) {
    const OpenFile* file = OpenFiles::instance().find(parts[i].file);
    if (file != nullptr && file->engine->joins() && file->engine->has_joined()) return true;
  }
  return false;
}

/// Begins every part. What fails here on one rank (memory, a pointer that cannot be read) is that
/// part's error; bad arguments travel with the call, so that all ranks learn them.
/// `waiting`: the program waits in the call.
std::vector<Started> start_all(Operation operation, int count, const choir_multi_part* parts,
                               bool waiting) {
  std::vector<Started> started(static_cast<std::size_t>(count));
  std::vector<JointCall::Part> asked;
  std::vector<Started*> joined;
  const bool hold = among_joined(count, parts);
  for (int i = 0; i < count; ++i) {
    auto& one = started[static_cast<std::size_t>(i)];
    OpenFile* file = OpenFiles::instance().find_any(parts[i].file);
    const auto call = data_call(operation, parts[i]);
    if (left_to_host(file, call.name, left_by(file))) {
      one.error = start_on_host(operation, parts[i], &one.host);
      continue;
    }
    auto what = ask_later(*file, call);
    advance_pointer(*file, call, what.position, what.bytes);
    one.file = file;
    one.held = hold && file->engine->joins();
    if (one.held) {
      one.call = start_joinable(*file, std::move(what.request));
      continue;
    }
    if (!file->engine->settings().record.empty()) record_call(*file, what.request.access);
    asked.push_back({file->engine.get(), std::move(what.request)});
    joined.push_back(&one);
  }
  start_joint(std::move(asked), joined, waiting);
  return started;
}

/// What it came to, told to the file's error handler if it is an error.
int settle(Started& one, MPI_Status* status) {
  if (one.file == nullptr) {
    if (one.error != 0) return class_of(one.error);
    MPI_Status mine;
    const int code = wait_advancing([&](int* flag) { return REAL(Test)(&one.host, flag, &mine); });
    if (status != MPI_STATUS_IGNORE) *status = mine;
    return code == MPI_SUCCESS ? MPI_SUCCESS : class_of(code);
  }
  Progress::instance().wait([&] { return one.call->done(); }, &one.call->file());
  set_status(status, one.call->bytes());
  return raise(one.file->handle, one.call->error());
}

void fail_all(int count, int* errors, int error) {
  for (int i = 0; i < count; ++i) errors[i] = error;
}

/// Nothing escapes, nothing is swallowed.
template <class Body>
void guarded(int count, int* errors, Body&& body) noexcept {
  try {
    body();
  } catch (const MpiError& e) {
    fail_all(count, errors, class_of(e.code));
  } catch (const std::bad_alloc&) {
    fail_all(count, errors, MPI_ERR_NO_MEM);
  } catch (...) {
    fail_all(count, errors, MPI_ERR_OTHER);
  }
}

}  // namespace

void multi_run(Operation operation, int count, const choir_multi_part* parts, MPI_Status* statuses,
               int* errors) {
  guarded(count, errors, [&] {
    auto started = start_all(operation, count, parts, true);
    for (int i = 0; i < count; ++i)
      errors[i] = settle(started[static_cast<std::size_t>(i)],
                         statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
  });
}

void multi_start(Operation operation, int count, const choir_multi_part* parts,
                 MPI_Request* requests, int* errors) {
  guarded(count, errors, [&] {
    auto started = start_all(operation, count, parts, false);
    for (int i = 0; i < count; ++i) {
      auto& one = started[static_cast<std::size_t>(i)];
      requests[i] = one.host;
      errors[i] = one.error != 0 ? class_of(one.error) : MPI_SUCCESS;
      if (one.file == nullptr) continue;
      errors[i] = make_request(*one.file, one.call, &requests[i]);
      if (!one.held) Progress::instance().call_started(*one.file->engine, one.call);
    }
  });
}

}  // namespace choir
