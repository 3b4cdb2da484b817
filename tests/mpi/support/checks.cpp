#include "checks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace choir::test {

Checks::Checks(std::string name, std::string directory) : name_(std::move(name)) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  long process = ::getpid();
  MPI_Bcast(&process, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  path = fmt::format("{}/{}-{}", directory, name_, process);
}

void Checks::expect(bool good, const std::string& what) {
  if (good) return;
  failed = true;
  fmt::print(stderr, "FAIL {} rank {} of {}: {}\n", name_, rank, ranks, what);
}

void Checks::expect_success(int code, const std::string& what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  expect(false, fmt::format("{}: {}", what, text));
}

void Checks::expect_same_error(int code, std::span<const int> accepted, const std::string& what) {
  int bounds[2] = {error_class(code), -error_class(code)};
  MPI_Allreduce(MPI_IN_PLACE, bounds, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  expect(bounds[0] == -bounds[1],
         fmt::format("{}: error class {} here, between {} and {} elsewhere", what,
                     error_class(code), -bounds[1], bounds[0]));
  expect(std::ranges::find(accepted, error_class(code)) != accepted.end(),
         fmt::format("{}: error class {} is not the right one", what, error_class(code)));
}

void Checks::expect_file(const Bytes& expected, const std::string& what) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    std::ifstream in(path, std::ios::binary);
    const Bytes found{std::istreambuf_iterator<char>(in), {}};
    const auto [a, b] = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
    expect(a == found.end() && b == expected.end(),
           fmt::format("{}: file of {} bytes (expected {}) differs at byte {}", what, found.size(),
                       expected.size(), a - found.begin()));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void Checks::create_file(const Bytes& content) {
  if (rank == 0) {
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(content.data()),
              static_cast<std::streamsize>(content.size()));
    out.close();
    expect(out.good(), "cannot create " + path);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

bool Checks::verdict() {
  int any = failed;
  MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any == 0;
}

void Checks::clean_up() {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) ::unlink(path.c_str());
}

OpenFile::OpenFile(Checks& t, int mode, MPI_Comm comm, MPI_Info info) : t_(t) {
  t.expect_success(MPI_File_open(comm, t.path.c_str(), mode, info, &handle_), "MPI_File_open");
}

void OpenFile::close() {
  if (handle_ != MPI_FILE_NULL) t_.expect_success(MPI_File_close(&handle_), "MPI_File_close");
}

void make_visible(Checks& t, MPI_File fh, MPI_Comm comm) {
  t.expect_success(MPI_File_sync(fh), "MPI_File_sync");
  MPI_Barrier(comm);
  t.expect_success(MPI_File_sync(fh), "MPI_File_sync");
}

int error_class(int code) {
  int of = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &of);
  return of;
}

int count_of(const MPI_Status& status, MPI_Datatype type) {
  int count = -7;
  MPI_Get_count(&status, type, &count);
  return count;
}

int run_checks(int argc, char** argv, std::span<const NamedCheck> checks,
               int (*thread_level)(const std::string& name)) {
  std::string wanted = argc > 1 ? argv[1] : "";
  std::string directory = ".";
  if (argc == 4 && std::strcmp(argv[2], "--dir") == 0) directory = argv[3];
  if (wanted == "--list") {
    for (const NamedCheck& check : checks) fmt::print("{}\n", check.name);
    return 0;
  }
  int provided = 0;
  MPI_Init_thread(&argc, &argv, thread_level(wanted), &provided);
  int matched = 0;
  bool good = true;
  for (const NamedCheck& check : checks) {
    if (wanted != "all" && wanted != check.name) continue;
    ++matched;
    Checks t(check.name, directory);
    check.run(t);
    const bool passed = t.verdict();
    t.clean_up();
    good = good && passed;
    if (t.rank == 0) fmt::print("{} {}\n", passed ? "ok" : "FAILED", check.name);
  }
  if (matched == 0) fmt::print(stderr, "no check named '{}'; --list shows them\n", wanted);
  MPI_Finalize();
  return good && matched > 0 ? 0 : 1;
}

}  // namespace choir::test
