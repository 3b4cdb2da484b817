#include "frontdoor/collective.hpp"

#include "access/datatype.hpp"
#include "engine/progress.hpp"
#include "frontdoor/device_memory.hpp"
#include "frontdoor/host_call.hpp"
#include "frontdoor/recording.hpp"
#include "frontdoor/requests.hpp"
#include "frontdoor/view.hpp"
#include "mpi/real.hpp"

namespace choir {

int class_of(int code) {
  int error_class = MPI_ERR_OTHER;
  if (PMPI_Error_class(code, &error_class) != MPI_SUCCESS) error_class = MPI_ERR_OTHER;
  return error_class;
}

namespace {

/// MPI has no question for it, but packing nothing fails if a type is not committed.
bool is_committed(const OpenFile& file, MPI_Datatype type) {
  if (type == MPI_BYTE) return true;
  char nothing = 0;
  int position = 0;
  return PMPI_Pack(&nothing, 0, type, &nothing, 0, &position, file.engine->room().comm.get()) ==
         MPI_SUCCESS;
}

/// What is wrong with the arguments on this rank; 0: nothing.
int check_arguments(const OpenFile& file, const DataCall& call) {
  if (call.count < 0) return MPI_ERR_COUNT;
  if (call.type == MPI_DATATYPE_NULL || !is_committed(file, call.type)) return MPI_ERR_TYPE;
  if (call.offset && *call.offset < 0) return MPI_ERR_ARG;
  if (call.operation == Operation::write && (file.mode & MPI_MODE_RDONLY) != 0)
    return MPI_ERR_READ_ONLY;
  if (call.operation == Operation::read && (file.mode & MPI_MODE_WRONLY) != 0)
    return MPI_ERR_ACCESS;
  return MPI_SUCCESS;
}

/// A rank with a bad argument still takes part, with the error in its hands: the others learn it
/// there.
Asked asked_at(const OpenFile& file, const DataCall& call, MPI_Offset position) {
  Asked asked{{}, position, 0};
  auto& request = asked.request;
  request.operation = call.operation;
  request.name = call.name;
  request.access.file = {contiguous_tile(), 0};
  request.memory.layout = {contiguous_tile(), 0};
  request.error = check_arguments(file, call);
  if (request.error != 0) return asked;
  try {
    auto tile = tile_of(call.type);
    const auto bytes = tile->bytes() * call.count;
    if (bytes % file.view.etype_bytes != 0) {
      request.error = MPI_ERR_IO;
      return asked;
    }
    if (bytes > 0)
      request.memory.layout = {std::move(tile), reinterpret_cast<std::int64_t>(call.buffer)};
    const auto begin = position * file.view.etype_bytes;
    auto access = access_in(file.view, begin, begin + bytes);
    if (access)
      request.access = std::move(*access);
    else
      request.left = trace::Left::backwards;
    if (in_device_memory(request.memory.layout, bytes)) request.left = trace::Left::device_memory;
    asked.bytes = bytes;
  } catch (const MpiError& e) {
    request.error = class_of(e.code);
  }
  return asked;
}

MPI_Offset position_of(const OpenFile& file, const DataCall& call) {
  if (call.offset) return std::max<MPI_Offset>(0, *call.offset);
  MPI_Offset position = 0;
  check(individual_pointer(&file, call.handle, &position));
  return position;
}

/// Remembers where the host's pointer truly is.
int note_pointer(OpenFile& file, MPI_Offset position) {
  const int code = REAL(File_get_position)(file.handle, &file.host_pointer);
  file.pointer = position;
  file.pointer_known = code == MPI_SUCCESS;
  return code;
}

int move_pointer(OpenFile& file, MPI_Offset position) {
  const int code = REAL(File_seek)(file.handle, position, MPI_SEEK_SET);
  file.pointer_known = false;
  return code == MPI_SUCCESS ? note_pointer(file, position) : code;
}

/// Begins a call that somebody advances later. What the thread will do is left to it from the first
/// step on: the program gets its core back at once.
std::shared_ptr<Call> start_nonblocking(OpenFile& file, CallRequest request) {
  auto& progress = Progress::instance();
  if (!file.engine->settings().record.empty()) record_call(file, request.access);
  auto call = file.engine->start(std::move(request), progress.thread_serves(*file.engine));
  progress.call_started(*file.engine, call);
  return call;
}

std::int64_t bytes_in(const MPI_Status& status) {
  MPI_Count bytes = 0;
  if (PMPI_Get_elements_x(&status, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes < 0) return 0;
  return bytes;
}

/// Waits in the program's thread; makes the host's call when the plan asks for it.
void wait_for(OpenFile& file, Call& call, const Host& host) {
  const auto finished = [&] { return call.done() || call.wants_host(); };
  Progress::instance().wait(finished, file.engine.get());
  if (!call.wants_host()) return;
  MPI_Status status;
  const int code = host(&status);
  file.engine->finish_host(call, code == MPI_SUCCESS ? 0 : class_of(code),
                           code == MPI_SUCCESS ? bytes_in(status) : 0);
  Progress::instance().wait([&] { return call.done(); }, file.engine.get());
}

}  // namespace

/// The pointer moves by what was asked for, also where a read met the end of the file: so the
/// standard's formula.
void advance_pointer(OpenFile& file, const DataCall& call, MPI_Offset position,
                     std::int64_t bytes) {
  if (call.offset || bytes == 0) return;
  check(move_pointer(file, position + bytes / file.view.etype_bytes));
}

namespace {

/// The host's call that needs no other rank.
int move_alone(const DataCall& call, MPI_Offset position, MPI_Status* status) {
#ifdef CHOIR_HAS_LARGE_COUNT
  const MPI_Count count = call.count;
  return call.operation == Operation::write
             ? REAL(File_write_at_c)(call.handle, position, call.buffer, count, call.type, status)
             : REAL(File_read_at_c)(call.handle, position, call.buffer, count, call.type, status);
#else
  const int count = static_cast<int>(call.count);
  return call.operation == Operation::write
             ? REAL(File_write_at)(call.handle, position, call.buffer, count, call.type, status)
             : REAL(File_read_at)(call.handle, position, call.buffer, count, call.type, status);
#endif
}

}  // namespace

/// Where ranks do not wait for each other they cannot agree to leave the call to the host: it moves
/// this rank's bytes at once, and the rank takes part with what came of it.
Asked ask_later(OpenFile& file, const DataCall& call) {
  auto asked = asked_at(file, call, position_of(file, call));
  auto& request = asked.request;
  if (request.error != 0 || request.left == trace::Left::no) return asked;
  file.witness().left(call.name, std::exchange(request.left, trace::Left::no));
  request.access = {{contiguous_tile(), 0}};
  request.memory.layout = {contiguous_tile(), 0};
  MPI_Status status;
  const int code = move_alone(call, asked.position, &status);
  if (code == MPI_SUCCESS)
    request.moved_by_host = bytes_in(status);
  else
    request.error = class_of(code);
  return asked;
}

int individual_pointer(const OpenFile* file, MPI_File handle, MPI_Offset* position) {
  const int code = REAL(File_get_position)(handle, position);
  if (code == MPI_SUCCESS && file != nullptr && file->pointer_known &&
      *position == file->host_pointer)
    *position = file->pointer;
  return code;
}

int seek(MPI_File handle, MPI_Offset offset, int whence) {
  OpenFile* file = OpenFiles::instance().find(handle);
  MPI_Offset from = 0;
  if (file == nullptr || !file->served() || (whence != MPI_SEEK_SET && whence != MPI_SEEK_CUR) ||
      (whence == MPI_SEEK_CUR && individual_pointer(file, handle, &from) != MPI_SUCCESS) ||
      from + offset < 0) {
    if (file != nullptr) file->pointer_known = false;
    return REAL(File_seek)(handle, offset, whence);
  }
  return move_pointer(*file, from + offset);
}

namespace {

/// An error class; throws MpiError.
int serve_blocking(OpenFile& file, const DataCall& call, MPI_Status* status, const Host& host) {
  auto asked = asked_at(file, call, position_of(file, call));
  asked.request.may_use_host = true;
  if (!file.engine->settings().record.empty()) record_call(file, asked.request.access);
  const auto running = file.engine->start(std::move(asked.request));
  bool host_moved_pointer = false;
  wait_for(file, *running, [&](MPI_Status* filled) {
    host_moved_pointer = true;
    return call_host(call, host, filled);
  });
  if (running->error() != 0) return running->error();
  if (!host_moved_pointer)
    advance_pointer(file, call, asked.position, asked.bytes);
  else if (!call.offset)
    check(note_pointer(file, asked.position + asked.bytes / file.view.etype_bytes));
  set_status(status, running->bytes());
  return MPI_SUCCESS;
}

}  // namespace

void note_shared_pointer(MPI_File handle, std::string_view name) {
  OpenFile* file = OpenFiles::instance().find_any(handle);
  if (file == nullptr) return;
  const auto why = file->unserved ? file->left() : trace::Left::shared_pointer;
  left_to_host(file, name, why);
}

bool left_to_host(OpenFile* file, std::string_view name, trace::Left why) {
  if (file == nullptr) return true;
  if (why == trace::Left::no) return false;
  file->witness().left(name, why);
  return true;
}

int blocking_collective(const DataCall& call, MPI_Status* status, const Host& host) {
  OpenFile* file = OpenFiles::instance().find_any(call.handle);
  if (left_to_host(file, call.name, left_by(file))) return host(status);
  return c_boundary(call.handle, [&] { return serve_blocking(*file, call, status, host); });
}

/// The same for a call that may be joined with those on other files.
std::shared_ptr<Call> start_joinable(OpenFile& file, CallRequest request) {
  auto& engine = *file.engine;
  if (!engine.joins()) return start_nonblocking(file, std::move(request));
  if (!engine.settings().record.empty()) record_call(file, request.access);
  auto call = engine.start_joinable(std::move(request), Progress::instance().thread_serves(engine));
  Progress::instance().call_started(engine, call);
  return call;
}

int nonblocking_collective(const DataCall& call, MPI_Request* request, const HostRequest& host) {
  OpenFile* file = OpenFiles::instance().find_any(call.handle);
  if (left_to_host(file, call.name, left_later_by(file, call.operation))) return host();
  return c_boundary(call.handle, [&] {
    auto asked = ask_later(*file, call);
    const int error = asked.request.error;
    const auto running = start_joinable(*file, std::move(asked.request));
    if (error != MPI_SUCCESS) {  // the others learn of it when they wait
      *request = MPI_REQUEST_NULL;
      return error;
    }
    advance_pointer(*file, call, asked.position, asked.bytes);
    return make_request(*file, running, request);
  });
}

int split_begin(const DataCall& call, const HostRequest& host) {
  OpenFile* file = OpenFiles::instance().find_any(call.handle);
  if (file != nullptr && (file->split || file->split_host))
    return raise(call.handle, MPI_ERR_OTHER);
  if (left_to_host(file, call.name, left_later_by(file, call.operation))) {
    const int code = host();
    if (file != nullptr) file->split_host = code == MPI_SUCCESS;
    return code;
  }
  return c_boundary(call.handle, [&] {
    auto asked = ask_later(*file, call);
    const int error = asked.request.error;
    auto running = start_nonblocking(*file, std::move(asked.request));
    if (error != MPI_SUCCESS) return error;
    file->split = std::move(running);
    advance_pointer(*file, call, asked.position, asked.bytes);
    return MPI_SUCCESS;
  });
}

int split_end(MPI_File handle, MPI_Status* status, const Host& host) {
  OpenFile* file = OpenFiles::instance().find_any(handle);
  if (file == nullptr || file->unserved || file->split_host) {
    if (file != nullptr) file->split_host = false;
    return host(status);
  }
  if (!file->split) return raise(handle, MPI_ERR_OTHER);
  return c_boundary(handle, [&] {
    const auto call = std::exchange(file->split, nullptr);
    Progress::instance().wait([&] { return call->done(); }, file->engine.get());
    set_status(status, call->bytes());
    return call->error();
  });
}

}  // namespace choir
