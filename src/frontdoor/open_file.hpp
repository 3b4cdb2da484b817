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
  /// From one tile to the next. Less than the layout says where tiles overlap: then every call has
  /// to stay within one of them (view.hpp).
  std::int64_t tile_step = 1;
  std::int64_t etype_bytes = 1;
  trace::Left left = trace::Left::no;  ///< why the host MPI must do it
};

/// Whether the user leaves this kind of call to the host MPI.
inline bool is_native(const Settings& settings, Operation operation) {
  const auto& own = operation == Operation::read ? settings.read_strategy : settings.write_strategy;
  return (own.empty() ? settings.strategy : own) == "native";
}

/// A file that the host MPI serves alone, for who wants to know how many calls there were.
struct Unserved {
  Unserved(const Settings& settings, trace::StatsHeader head, trace::Left why, bool speaks)
      : witness(settings.stats, settings.trace),
        header(std::move(head)),
        left(why),
        prints(speaks) {}

  Witness witness;
  trace::StatsHeader header;
  trace::Left left = trace::Left::no;  ///< why
  bool prints = false;                 ///< the table, at close
};

struct OpenFile {
  MPI_File handle = MPI_FILE_NULL;
  int mode = 0;
  std::unique_ptr<File> engine;  ///< or:
  std::unique_ptr<Unserved> unserved;
  View view;
  bool atomic = false;
  std::shared_ptr<Call> split;  ///< the split collective under way
  bool split_host = false;      ///< it was begun by the host MPI
  /// Where the individual file pointer was left, and what the host says of that place: ROMIO's
  /// MPI_File_get_position counts wrong on some views.
  MPI_Offset pointer = 0, host_pointer = 0;
  bool pointer_known = false;
  int requests = 0;  ///< nonblocking calls not yet completed by the program

  /// Why collective calls do not go through the engine now.
  trace::Left left() const {
    if (unserved) return unserved->left;
    return view.left != trace::Left::no ? view.left
           : atomic                     ? trace::Left::atomic
                                        : trace::Left::no;
  }
  /// The same for calls that return before they are done: `native` cannot be one of the engine's
  /// strategies there.
  trace::Left left_later(Operation operation) const {
    const auto why = left();
    const bool native = why == trace::Left::no && is_native(engine->settings(), operation);
    return native ? trace::Left::strategy : why;
  }
  bool served() const { return left() == trace::Left::no; }
  Witness& witness() { return unserved ? unserved->witness : engine->witness(); }
};

/// OpenFile::left() of a file that choir may know nothing of.
inline trace::Left left_by(const OpenFile* file) {
  return file == nullptr ? trace::Left::no : file->left();
}
inline trace::Left left_later_by(const OpenFile* file, Operation operation) {
  return file == nullptr ? trace::Left::no : file->left_later(operation);
}

/// The program's open files. Thread safe. Files that the host MPI serves alone are in it only if
/// somebody wants to know of their calls.
class OpenFiles {
 public:
  static OpenFiles& instance();
  /// Null if the host MPI serves the file alone.
  OpenFile* find(MPI_File handle);
  /// With those that the host MPI serves alone.
  OpenFile* find_any(MPI_File handle);
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
