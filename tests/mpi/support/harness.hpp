// harness.hpp: one random case of a differential test: its randomness, its files, its verdict.
//
// Every rank draws the same numbers from the case's seed, so every rank knows what all the others
// do without communication, and any case can be repeated from the printed seed alone.
#pragma once

#include <string>

#include "model.hpp"

namespace choir::test {

struct Options {
  int cases = 100;
  int first = 0;
  std::uint64_t seed = 1;
  std::string directory = ".";
  std::vector<std::string> strategies = {"auto"};
  bool nonblocking = false;
  bool plain_hints = false;
  bool verbose = false;
};

class Case {
 public:
  Case(const Options& options, int index);

  const Options& options;
  const int index;
  const std::string strategy;
  Rng rng;  // the same on every rank
  int world_rank = 0;
  int world_size = 1;
  std::string call = "start";  // what is being done, for messages
  bool failed = false;

  /// Prints the first failure of this rank with all that repeats it.
  void fail(const std::string& what);
  /// True if an MPI call succeeded; a failure of the case otherwise.
  bool expect_success(int code, const char* function);
  void note(const std::string& text) const;
};

/// The members of a random sub-communicator, in its rank order.
std::vector<int> random_members(Rng& rng, int world_size);
/// Collective over the world; MPI_COMM_NULL for ranks that are not members.
MPI_Comm communicator_of(const std::vector<int>& members);

/// What one rank transfers in one call.
struct Transfer {
  Type memory;
  int count;
  std::int64_t bytes;
  std::int64_t offset;  // in etypes, where the transfer starts in the view
  std::vector<Segment> in_memory;
  std::vector<Segment> in_file;
};

/// A file under test and everything known about it.
struct TestFile {
  MPI_File handle = MPI_FILE_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  int me = 0;
  int ranks = 1;
  int mode = 0;
  std::string path;
  bool passes_through = false;  // carried out by the host's library
  FileModel model{{}};
  int basic_bytes = 1;
  std::vector<ViewTypes> views;         // by rank; empty: the default view
  std::vector<std::int64_t> positions;  // individual file pointers, in etypes

  std::int64_t etype_size(int rank) const;
  const Typemap& tile(int rank) const;
  std::int64_t displacement(int rank) const;
};

/// Every transfer of a case ends below this byte.
constexpr std::int64_t largest_file = 1 << 20;

/// Collective over the file's communicator. Fills the file first, if the case wants it to exist.
bool open_file(Case& c, TestFile& file, MPI_Comm comm, int mode, std::int64_t existing_bytes,
               const std::string& name);
bool set_views(Case& c, TestFile& file, std::vector<ViewTypes> views);
/// Collective. Extends file and model to `bytes` if they are shorter.
void ensure_size(Case& c, TestFile& file, std::int64_t bytes);
/// Collective, after sync_file or close. Compares the whole file with the model on rank 0; nobody
/// goes on before that.
void compare_file(Case& c, TestFile& file);
/// Collective. Makes what was written visible to every rank.
void sync_file(Case& c, TestFile& file);
void close_file(Case& c, TestFile& file);

/// A random transfer of `rank`, starting `offset` etypes into its view and at most `most_bytes`
/// long.
/// `tame` keeps the memory type within what the host's own library handles.
Transfer random_transfer(Rng& rng, const TestFile& file, int rank, std::int64_t offset,
                         std::int64_t most_bytes, bool tame);

/// Checks MPI_Get_count and MPI_Get_elements of a finished transfer of `bytes` bytes.
void check_status(Case& c, const Transfer& transfer, const MPI_Status& status, std::int64_t bytes);
/// Checks every byte of a buffer, gaps and margins included.
void check_buffer(Case& c, const Buffer& expected, const Buffer& found);

void run_blocking_case(Case& c);
void run_nonblocking_case(Case& c);

}  // namespace choir::test
