// checks.hpp: programs made of named checks, run one (or all) at a time: PROGRAM NAME|all|--list
// [--dir DIR].
#pragma once

#include <mpi.h>

#include <span>
#include <string>

#include "model.hpp"

namespace choir::test {

/// What a check knows and where it reports. A failed expectation is remembered; the check goes on,
/// so that no rank leaves the others waiting.
class Checks {
 public:
  Checks(std::string name, std::string directory);

  int rank = 0;
  int ranks = 1;
  std::string path;  // a file of this check and run alone, the same on all ranks
  bool failed = false;

  void expect(bool good, const std::string& what);
  void expect_success(int code, const std::string& what);
  /// Collective over the world: the call failed on every rank with the same class, one of
  /// `accepted`.
  void expect_same_error(int code, std::span<const int> accepted, const std::string& what);
  /// Collective: rank 0 compares the file with `expected`.
  void expect_file(const Bytes& expected, const std::string& what);
  /// Collective: rank 0 creates the file.
  void create_file(const Bytes& content);
  bool verdict();  // collective
  void clean_up();

 private:
  std::string name_;
};

struct NamedCheck {
  const char* name;
  void (*run)(Checks&);
};

/// The whole main program. `threads`: the level to ask for, by check name.
int run_checks(int argc, char** argv, std::span<const NamedCheck> checks,
               int (*thread_level)(const std::string& name));

/// An open file that is closed at the end of the scope, on every rank.
class OpenFile {
 public:
  OpenFile(Checks& t, int mode, MPI_Comm comm = MPI_COMM_WORLD, MPI_Info info = MPI_INFO_NULL);
  OpenFile(const OpenFile&) = delete;
  ~OpenFile() { close(); }
  operator MPI_File() const { return handle_; }
  MPI_File* handle() { return &handle_; }
  void close();

 private:
  Checks& t_;
  MPI_File handle_ = MPI_FILE_NULL;
};

inline constexpr int read_write = MPI_MODE_RDWR | MPI_MODE_CREATE;

/// sync, barrier, sync: what others wrote becomes visible.
void make_visible(Checks& t, MPI_File fh, MPI_Comm comm = MPI_COMM_WORLD);
int error_class(int code);
int count_of(const MPI_Status& status, MPI_Datatype type);
inline int size_of(const Bytes& bytes) { return static_cast<int>(bytes.size()); }

}  // namespace choir::test
