// at_hand_test.cpp: collective reads of a file whose beginning was brought at hand when it was
// opened: by small blocks and large ones, inside that beginning and across its end, and after
// others have changed the file.
//
// A plain MPI program: at_hand_test NAME|all|--list [--dir DIR].
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "support/checks.hpp"

namespace choir::test {
namespace {

constexpr int block = 4096;

Bytes content_of(std::size_t bytes) { return pattern_bytes(bytes, 11); }

/// Reads `length` bytes at `at` with all ranks; `expected` of the whole file, as it is now.
void read_at(Checks& t, MPI_File fh, MPI_Offset at, int length, const Bytes& expected) {
  Bytes found(static_cast<std::size_t>(length), std::uint8_t{0x5a});
  MPI_Status status;
  t.expect_success(MPI_File_read_at_all(fh, at, found.data(), length, MPI_BYTE, &status), "read");
  const auto end = std::min<MPI_Offset>(at + length, static_cast<MPI_Offset>(expected.size()));
  const int there = static_cast<int>(std::max<MPI_Offset>(0, end - at));
  t.expect(count_of(status, MPI_BYTE) == there, fmt::format("{} bytes at {}", there, at));
  t.expect(std::equal(found.begin(), found.begin() + there,
                      expected.begin() + std::min<MPI_Offset>(at, end)),
           fmt::format("the bytes at {}", at));
}

/// Ranks side by side, one block of each in a call, from the beginning on.
void read_all_blocks(Checks& t, MPI_File fh, int length, const Bytes& expected) {
  const auto step = MPI_Offset{length} * t.ranks;
  for (MPI_Offset at = 0; at < static_cast<MPI_Offset>(expected.size()); at += step)
    read_at(t, fh, at + MPI_Offset{length} * t.rank, length, expected);
}

void small_blocks(Checks& t) {
  const Bytes content = content_of(1'000'001);
  t.create_file(content);
  for (const int mode : {MPI_MODE_RDONLY, MPI_MODE_RDWR}) {
    OpenFile file(t, mode);
    for (int pass = 0; pass < 2; ++pass) read_all_blocks(t, file, block, content);
  }
}

void large_blocks(Checks& t) {
  const Bytes content = content_of(std::size_t{20} << 20);
  t.create_file(content);
  OpenFile file(t, MPI_MODE_RDONLY);
  for (int pass = 0; pass < 3; ++pass) read_all_blocks(t, file, 150'001, content);
}

/// Some ranks are beyond the end of the file, others ask for nothing.
void here_and_there(Checks& t) {
  const Bytes content = content_of((1 << 20) + 100);
  t.create_file(content);
  OpenFile file(t, MPI_MODE_RDONLY);
  for (int round = 0; round < 60; ++round) {
    const bool beyond = round % 3 == 1 && t.rank == t.ranks - 1;
    const bool nothing = round % 5 == 4 && t.rank == 0;
    const MPI_Offset at = MPI_Offset{block} * (round * t.ranks + t.rank) + (beyond ? 1 << 20 : 0);
    read_at(t, file, at, nothing ? 0 : block, content);
  }
}

/// What others write by system calls while the file is open is seen as it is.
void written_by_others(Checks& t) {
  Bytes content = content_of(1 << 20);
  t.create_file(content);
  OpenFile file(t, MPI_MODE_RDONLY);
  for (int round = 0; round < 20; ++round) {
    const auto at = static_cast<std::size_t>(round) * 2 * block + 100;
    const Bytes fresh = pattern_bytes(3000, static_cast<std::uint64_t>(100 + round));
    std::copy(fresh.begin(), fresh.end(), content.begin() + static_cast<std::ptrdiff_t>(at));
    if (t.rank == 0) {
      const int fd = ::open(t.path.c_str(), O_WRONLY);
      const bool fine =
          fd >= 0 && ::pwrite(fd, fresh.data(), fresh.size(), static_cast<off_t>(at)) ==
                         static_cast<ssize_t>(fresh.size());
      t.expect(fine && ::close(fd) == 0, "rank 0 writes");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    read_at(t, file, static_cast<MPI_Offset>(round) * 2 * block, block, content);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// First reads, then the file is cut, and it grows again.
void cut_and_grown(Checks& t) {
  Bytes content = content_of(1 << 20);
  t.create_file(content);
  OpenFile file(t, MPI_MODE_RDWR);
  const auto change_size = [&](std::size_t bytes) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (t.rank == 0)
      t.expect(::truncate(t.path.c_str(), static_cast<off_t>(bytes)) == 0, "rank 0 cuts");
    content.resize(bytes);
    MPI_Barrier(MPI_COMM_WORLD);
  };
  read_all_blocks(t, file, block, content);
  const auto whole = content.size();
  change_size(100'001);
  for (int round = 0; round < 40; ++round)
    read_at(t, file, MPI_Offset{block} * (t.ranks * round + t.rank), block, content);
  change_size(whole);
  read_all_blocks(t, file, block, content);
  t.expect_success(MPI_File_set_size(file, 50'000), "set_size");
  content.resize(50'000);
  for (int round = 0; round < 40; ++round)
    read_at(t, file, MPI_Offset{block} * (t.ranks * round + t.rank), block, content);
}

bool tells_what_is_in_memory(const std::string& path) {
  char byte = 0;
  const iovec part{&byte, 1};
  const int fd = ::open(path.c_str(), O_RDONLY);
  const bool told = fd >= 0 && preadv2(fd, &part, 1, 0, RWF_NOWAIT) == 1;
  if (fd >= 0) ::close(fd);
  return told;
}

std::string strategy_in_force(MPI_File fh) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_File_get_info(fh, &info);
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  MPI_Info_get(info, "choir_strategy", MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&info);
  return found != 0 ? value : "";
}

/// The first small reads are loads. Opening has a little time for what that takes, which a busy
/// machine may use up; not every time. All of the file is read, or the next one would not be
/// brought.
void first_reads_are_loads(Checks& t) {
  const Bytes content = content_of(std::size_t{32} * block * static_cast<std::size_t>(t.ranks));
  t.create_file(content);
  if (!tells_what_is_in_memory(t.path)) return;
  constexpr int most_tries = 50;
  bool loaded = false;
  for (int i = 0; i < most_tries && !loaded; ++i) {
    OpenFile file(t, MPI_MODE_RDONLY);
    read_all_blocks(t, file, block, content);
    loaded = strategy_in_force(file) == "auto (mapped)";
  }
  t.expect(loaded, "reads by mapping from the first on");
}

constexpr NamedCheck checks[] = {
    {"small_blocks", small_blocks},     {"large_blocks", large_blocks},
    {"here_and_there", here_and_there}, {"written_by_others", written_by_others},
    {"cut_and_grown", cut_and_grown},   {"first_reads_are_loads", first_reads_are_loads},
};

}  // namespace
}  // namespace choir::test

int main(int argc, char** argv) {
  return choir::test::run_checks(argc, argv, choir::test::checks,
                                 [](const std::string&) -> int { return MPI_THREAD_SINGLE; });
}
