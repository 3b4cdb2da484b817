// open_file.hpp: what the front door keeps for each MPI_File the program has open.
#pragma once

#include <mpi.h>

#include <memory>
#include <mutex>
#include <string>

#include "access/layout.hpp"
#include "engine/file.hpp"
#include "mpi/error.hpp"

namespace choir {

/// The file view, as far as choir can serve it.
struct View {
  Layout layout{contiguous_tile(), 0};
  std::int64_t etype_bytes = 1;
  bool served =
      true;  ///< false: the host MPI must do it (external32, a filetype that runs backwards)
};

/// Whether the user leaves this kind of call to the host MPI.
inline bool is_native(const Settings& settings, Operation operation) {
  const auto& own = operation == Operation::read ? settings.read_strategy : settings.write_strategy;
  return (own.empty() ? settings.strategy : own) == "native";
}

struct OpenFile {
  MPI_File handle = MPI_FILE_NULL;
  int mode = 0;
  std::unique_ptr<File> engine;
  View view;
  bool atomic = false;
  std::shared_ptr<Call> split;  ///< the split collective under way
  bool split_host = false;      ///< it was begun by the host MPI
  /// Where the individual file pointer was left, and what the host says of that place: ROMIO's
  /// MPI_File_get_position counts wrong on some views.
  MPI_Offset pointer = 0, host_pointer = 0;
  bool pointer_known = false;
  int requests = 0;  ///< nonblocking calls not yet completed by the program

  /// Whether collective calls go through the engine now.
  bool served() const { return view.served && !atomic; }
  /// The same for calls that return before they are done: `native` cannot be one of the engine's
  /// strategies there.
  bool served_later(Operation operation) const {
    return served() && !is_native(engine->settings(), operation);
  }
};

/// The program's open files. Thread safe. Files that the host MPI serves alone are not in it.
class OpenFiles {
 public:
  static OpenFiles& instance();
  /// Null if the host MPI serves the file alone.
  OpenFile* find(MPI_File handle);
  void add(std::unique_ptr<OpenFile> file);
  std::unique_ptr<OpenFile> remove(MPI_File handle);

 private:
  struct State;
  State& state();
};

/// Calls the file's error handler if `code` is an error, and returns it.
int raise(MPI_File handle, int code);

/// Runs `body`; nothing escapes, nothing is swallowed.
template <class Body>
int c_boundary(MPI_File handle, Body&& body) noexcept {
  int code = MPI_SUCCESS;
  try {
    code = body();
  } catch (const MpiError& e) {
    code = e.code;
  } catch (const std::bad_alloc&) {
    code = MPI_ERR_NO_MEM;
  } catch (...) {
    code = MPI_ERR_OTHER;
  }
  return raise(handle, code);
}

}  // namespace choir
