// lessons_test.cpp: what users of MPI-IO paid for, each as a check that can be run by its name.
//
// A plain MPI program: lessons_test NAME|all|--list [--dir DIR]. The checks of faults (fault_*)
// expect the environment to ask for them (CHOIR_FAULT), and `large_call` and `large_count` need
// some gigabytes of memory and disk.
#include "lessons.hpp"

#include <cstdlib>
#include <cstring>
#include <vector>

namespace choir::test {

Bytes pattern(std::int64_t bytes, int owner) {
  return pattern_bytes(static_cast<std::size_t>(bytes), 1000 + static_cast<std::uint64_t>(owner));
}

void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

void set_interleaved_view(Checks& t, MPI_File fh, int block) {
  Type blocks = resized(contiguous(block, basic(1)), 0, block * t.ranks);
  blocks.commit();
  t.expect_success(
      MPI_File_set_view(fh, t.rank * block, MPI_BYTE, blocks.handle(), "native", MPI_INFO_NULL),
      "MPI_File_set_view");
}

Bytes interleaved_file(int ranks, int block, int bytes) {
  FileModel model({});
  const Type one = contiguous(block, basic(1));
  for (int r = 0; r < ranks; ++r) {
    Typemap tile = one.map();
    tile.ub = std::int64_t{block} * ranks;
    model.write(stream_segments(tile, std::int64_t{r} * block, 0, bytes), pattern(bytes, r));
  }
  return model.content();
}

void expect_usable(Checks& t, MPI_File fh) {
  Bytes mine = pattern(500, t.rank);
  MPI_Status status;
  t.expect_success(MPI_File_write_at_all(fh, 500 * t.rank, mine.data(), 500, MPI_BYTE, &status),
                   "the next write");
  Bytes found(500);
  t.expect_success(MPI_File_read_at_all(fh, 500 * t.rank, found.data(), 500, MPI_BYTE, &status),
                   "the next read");
  t.expect(found == mine, "the next call works");
}

namespace {

int thread_level(const std::string& name) {
  return name == "thread_multiple" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
}

/// Settings that would split the ranks if each read its own environment.
void vary_environment() {
  const char* rank = std::getenv("PMI_RANK");
  if (!rank) rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (!rank) return;
  const bool odd = std::atoi(rank) % 2 == 1;
  ::setenv("CHOIR_STRATEGY", odd ? "individual" : "two_phase", 1);
  ::setenv("CHOIR_CYCLE_BUFFER_BYTES", odd ? "4096" : "1048576", 1);
}

}  // namespace
}  // namespace choir::test

int main(int argc, char** argv) {
  using namespace choir::test;
  if (argc > 1 && std::strcmp(argv[1], "environment_by_rank") == 0) vary_environment();
  std::vector<NamedCheck> checks;
  for (const auto& some :
       {lessons_of_data(), lessons_of_errors(), lessons_of_files(), lessons_of_large_counts(),
        lessons_of_names(), lessons_of_surroundings()})
    checks.insert(checks.end(), some.begin(), some.end());
  return run_checks(argc, argv, checks, thread_level);
}
