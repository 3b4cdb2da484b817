// lessons_errors.cpp: one rank's error is everyone's, and the file can be used after it.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "lessons.hpp"

namespace choir::test {
namespace {

constexpr std::array argument_errors{MPI_ERR_COUNT, MPI_ERR_ARG,   MPI_ERR_TYPE,
                                     MPI_ERR_IO,    MPI_ERR_OTHER, MPI_ERR_BUFFER};

void one_rank_bad_count(Checks& t) {
  OpenFile fh(t, read_write);
  Bytes mine = pattern(100, t.rank);
  MPI_Status status;
  const int count = t.rank == t.ranks - 1 ? -1 : 100;
  const int code = MPI_File_write_at_all(fh, 100 * t.rank, mine.data(), count, MPI_BYTE, &status);
  t.expect_same_error(code, argument_errors, "negative count on the last rank");
  expect_usable(t, fh);
}

void one_rank_bad_datatype(Checks& t) {
  OpenFile fh(t, read_write);
  Bytes mine = pattern(100, t.rank);
  MPI_Status status;
  const MPI_Datatype type = t.rank == 0 ? MPI_DATATYPE_NULL : MPI_BYTE;
  const int code = MPI_File_read_at_all(fh, 100 * t.rank, mine.data(), 100, type, &status);
  t.expect_same_error(code, argument_errors, "null datatype on rank 0");
  expect_usable(t, fh);
}

void one_rank_negative_offset(Checks& t) {
  OpenFile fh(t, read_write);
  Bytes mine = pattern(100, t.rank);
  MPI_Status status;
  const MPI_Offset at = t.rank == 0 ? -4 : 100 * t.rank;
  const int code = MPI_File_write_at_all(fh, at, mine.data(), 100, MPI_BYTE, &status);
  t.expect_same_error(code, argument_errors, "negative offset on rank 0");
  expect_usable(t, fh);
}

/// Short transfers and interrupted ones are the library's own business (CHOIR_FAULT decides which).
void fault_transparent(Checks& t) {
  OpenFile fh(t, read_write);
  set_interleaved_view(t, fh, 333);
  Bytes mine = pattern(33300, t.rank);
  MPI_Status status;
  t.expect_success(MPI_File_write_all(fh, mine.data(), size_of(mine), MPI_BYTE, &status), "write");
  t.expect(count_of(status, MPI_BYTE) == size_of(mine), "count written");
  make_visible(t, fh);
  t.expect_file(interleaved_file(t.ranks, 333, 33300), "after short or interrupted transfers");
  Bytes found(mine.size());
  t.expect_success(MPI_File_read_at_all(fh, 0, found.data(), size_of(found), MPI_BYTE, &status),
                   "read");
  t.expect(found == mine, "read back");
}

/// Some call of many fails (CHOIR_FAULT says where); it must fail everywhere, with the right class.
void expect_fault(Checks& t, bool writing, int wanted_class) {
  t.create_file(pattern(1 << 20, 99));
  OpenFile fh(t, read_write);
  set_interleaved_view(t, fh, 512);
  Bytes mine = pattern(16384, t.rank);
  bool failed_once = false;
  for (int i = 0; i < 12; ++i) {
    MPI_Status status;
    const int code = writing ? MPI_File_write_at_all(fh, 0, mine.data(), 16384, MPI_BYTE, &status)
                             : MPI_File_read_at_all(fh, 0, mine.data(), 16384, MPI_BYTE, &status);
    const std::array accepted{MPI_SUCCESS, wanted_class};
    t.expect_same_error(code, accepted, fmt::format("call {}", i));
    failed_once = failed_once || code != MPI_SUCCESS;
  }
  t.expect(failed_once, "the injected fault was never reported");
}

void fault_full_disk(Checks& t) { expect_fault(t, true, MPI_ERR_NO_SPACE); }
void fault_read_error(Checks& t) { expect_fault(t, false, MPI_ERR_IO); }
void fault_write_error(Checks& t) { expect_fault(t, true, MPI_ERR_IO); }

MPI_Info recipe_mine(const char* partition) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "choir_strategy", "mine");
  MPI_Info_set(info, "choir_strategy.mine.partition", partition);
  MPI_Info_set(info, "choir_strategy.mine.requests", "list");
  return info;
}

/// One name for two recipes: in two files, and in one file before and after set_info. Only rank 1's
/// own writes fail (CHOIR_FAULT), so the outcome tells who wrote.
void one_name_two_recipes(Checks& t) {
  const auto write = [&](MPI_File fh) {
    const int bytes = t.rank == 0 ? 3000 : 1000;
    const Bytes mine = pattern(bytes, t.rank);
    return MPI_File_write_at_all(fh, t.rank == 0 ? 0 : 2000 + 1000 * t.rank, mine.data(), bytes,
                                 MPI_BYTE, MPI_STATUS_IGNORE);
  };
  MPI_Info even = recipe_mine("even"), owner = recipe_mine("owner");
  {
    OpenFile ranges(t, read_write, MPI_COMM_WORLD, even);
    MPI_File_set_errhandler(ranges, MPI_ERRORS_RETURN);
    t.expect_success(write(ranges), "rank 0 writes for all");
    t.expect_success(MPI_File_set_info(ranges, owner), "set_info");
    t.expect_same_error(write(ranges), std::array{MPI_ERR_NO_SPACE}, "the recipe of set_info");
  }
  {
    OpenFile ranges(t, read_write, MPI_COMM_WORLD, even);
    t.expect_success(write(ranges), "rank 0 writes for all again");
  }
  {
    OpenFile own(t, read_write, MPI_COMM_WORLD, owner);
    MPI_File_set_errhandler(own, MPI_ERRORS_RETURN);
    t.expect_same_error(write(own), std::array{MPI_ERR_NO_SPACE}, "the other file's recipe");
  }
  MPI_Info_free(&even);
  MPI_Info_free(&owner);
}

/// The whole disk is full half way (a real limit of the kernel's, not an injected one).
void file_size_limit(Checks& t) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{1 << 20, before.rlim_max};
  OpenFile fh(t, read_write);
  MPI_Barrier(MPI_COMM_WORLD);
  t.expect(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
  Bytes mine = pattern(2 << 20, t.rank);
  MPI_Status status;
  const int code = MPI_File_write_at_all(fh, std::int64_t{t.rank} * (2 << 20), mine.data(),
                                         size_of(mine), MPI_BYTE, &status);
  constexpr std::array accepted{MPI_ERR_NO_SPACE, MPI_ERR_IO, MPI_ERR_QUOTA};
  t.expect_same_error(code, accepted, "write above the file-size limit");
  expect_usable(t, fh);
  setrlimit(RLIMIT_FSIZE, &before);
}

void truncated_while_open(Checks& t) {
  t.create_file(pattern(4000 * t.ranks, 1));
  OpenFile fh(t, MPI_MODE_RDWR);
  Bytes found(4000);
  MPI_Status status;
  t.expect_success(MPI_File_read_at_all(fh, 4000 * t.rank, found.data(), 4000, MPI_BYTE, &status),
                   "read before");
  MPI_Barrier(MPI_COMM_WORLD);
  if (t.rank == 0) t.expect(::truncate(t.path.c_str(), 10) == 0, "truncate");
  MPI_Barrier(MPI_COMM_WORLD);
  t.expect_success(MPI_File_read_at_all(fh, 4000 * t.rank, found.data(), 4000, MPI_BYTE, &status),
                   "read after");
  t.expect(count_of(status, MPI_BYTE) == (t.rank == 0 ? 10 : 0), "count after truncation");
  Bytes mine = pattern(4000, t.rank);
  t.expect_success(MPI_File_write_at_all(fh, 4000 * t.rank, mine.data(), 4000, MPI_BYTE, &status),
                   "write after");
  make_visible(t, fh);
  Bytes expected;
  for (int r = 0; r < t.ranks; ++r) append(expected, pattern(4000, r));
  t.expect_file(expected, "rewritten after truncation");
}

void deleted_while_open(Checks& t) {
  OpenFile fh(t, read_write);
  Bytes mine = pattern(3000, t.rank);
  MPI_Status status;
  t.expect_success(MPI_File_write_at_all(fh, 3000 * t.rank, mine.data(), 3000, MPI_BYTE, &status),
                   "write before");
  MPI_Barrier(MPI_COMM_WORLD);
  if (t.rank == 0) t.expect(::unlink(t.path.c_str()) == 0, "unlink");
  MPI_Barrier(MPI_COMM_WORLD);
  mine = pattern(3000, t.rank + 20);
  t.expect_success(MPI_File_write_at_all(fh, 3000 * t.rank, mine.data(), 3000, MPI_BYTE, &status),
                   "write after");
  make_visible(t, fh);
  Bytes found(3000);
  t.expect_success(MPI_File_read_at_all(fh, 3000 * t.rank, found.data(), 3000, MPI_BYTE, &status),
                   "read after");
  t.expect(found == mine, "an open file outlives its name");
  t.expect(::access(t.path.c_str(), F_OK) != 0, "the name must not come back");
}

int handler_calls = 0;
int handler_class = 0;
void count_errors(MPI_File*, int* code, ...) {
  ++handler_calls;
  handler_class = error_class(*code);
}

void error_handlers(Checks& t) {
  t.create_file(pattern(100, 1));
  OpenFile fh(t, MPI_MODE_RDONLY);
  Bytes mine = pattern(10, t.rank);
  MPI_Status status;
  constexpr std::array accepted{MPI_ERR_READ_ONLY, MPI_ERR_ACCESS, MPI_ERR_AMODE};
  int code = MPI_File_write_at_all(fh, 10 * t.rank, mine.data(), 10, MPI_BYTE, &status);
  t.expect_same_error(code, accepted, "write to a read-only file");
  MPI_Errhandler mine_handler;
  MPI_File_create_errhandler(count_errors, &mine_handler);
  t.expect_success(MPI_File_set_errhandler(fh, mine_handler), "set_errhandler");
  handler_calls = 0;
  code = MPI_File_write_all(fh, mine.data(), 10, MPI_BYTE, &status);
  t.expect(handler_calls == 1, fmt::format("the handler was called {} times", handler_calls));
  t.expect(handler_class == error_class(code) || code == MPI_SUCCESS, "the handler's error class");
  MPI_Errhandler_free(&mine_handler);
  t.expect_success(MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN), "set_errhandler");
  t.expect_success(MPI_File_read_at_all(fh, 0, mine.data(), 10, MPI_BYTE, &status), "next call");
}

void missing_file(Checks& t) {
  MPI_File fh = MPI_FILE_NULL;
  const int code =
      MPI_File_open(MPI_COMM_WORLD, t.path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);
  constexpr std::array accepted{MPI_ERR_NO_SUCH_FILE};
  t.expect_same_error(code, accepted, "opening a file that is not there");
}

/// Never returns where the library keeps its word; registered as a test that must abort.
void errors_are_fatal(Checks& t) {
  t.create_file(pattern(100, 1));
  OpenFile fh(t, MPI_MODE_RDONLY);
  MPI_File_set_errhandler(fh, MPI_ERRORS_ARE_FATAL);
  Bytes mine = pattern(10, t.rank);
  MPI_Status status;
  if (t.rank == 0) fmt::print("reached the fatal call\n");
  std::fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_write_at_all(fh, 0, mine.data(), 10, MPI_BYTE, &status);
  fmt::print("survived the fatal call\n");
}

/// The host MPIs wait for each other before or after they look at the arguments.
void one_rank_bad_view(Checks& t) {
  OpenFile fh(t, read_write);
  const bool bad = t.rank == t.ranks - 1;
  constexpr std::array accepted{MPI_ERR_ARG, MPI_ERR_TYPE, MPI_ERR_NOT_SAME,
                                MPI_ERR_UNSUPPORTED_DATAREP};
  t.expect_same_error(
      MPI_File_set_view(fh, bad ? -8 : 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), accepted,
      "negative displacement");
  t.expect_same_error(MPI_File_set_view(fh, 0, MPI_BYTE, bad ? MPI_DATATYPE_NULL : MPI_BYTE,
                                        "native", MPI_INFO_NULL),
                      accepted, "null filetype");
  t.expect_same_error(
      MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, bad ? "nonsense" : "native", MPI_INFO_NULL),
      accepted, "unknown representation");
  expect_usable(t, fh);
}

void uncommitted_datatype(Checks& t) {
  OpenFile fh(t, read_write);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 3, 5, MPI_BYTE, &type);
  Bytes mine = pattern(100, t.rank);
  t.expect_same_error(MPI_File_write_at_all(fh, 0, mine.data(), 1, type, MPI_STATUS_IGNORE),
                      argument_errors, "a type that is not committed");
  MPI_Type_free(&type);
  expect_usable(t, fh);
}

/// MPICH says which argument of which function is wrong; Open MPI has the class's words only.
void words_of_the_host(Checks& t) {
  OpenFile fh(t, read_write);
  const int code = MPI_File_set_view(fh, 0, MPI_BYTE, MPI_DATATYPE_NULL, "native", MPI_INFO_NULL);
  t.expect(code != MPI_SUCCESS, "no filetype");
#if !defined(OMPI_MAJOR_VERSION)
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  t.expect(std::string(text).find("MPI_FILE_SET_VIEW") != std::string::npos, text);
#endif
  expect_usable(t, fh);
}

constexpr NamedCheck checks[] = {
    {"uncommitted_datatype", uncommitted_datatype},
    {"words_of_the_host", words_of_the_host},
    {"one_rank_bad_count", one_rank_bad_count},
    {"one_rank_bad_datatype", one_rank_bad_datatype},
    {"one_rank_negative_offset", one_rank_negative_offset},
    {"one_rank_bad_view", one_rank_bad_view},
    {"fault_transparent", fault_transparent},
    {"fault_full_disk", fault_full_disk},
    {"fault_read_error", fault_read_error},
    {"fault_write_error", fault_write_error},
    {"one_name_two_recipes", one_name_two_recipes},
    {"file_size_limit", file_size_limit},
    {"truncated_while_open", truncated_while_open},
    {"deleted_while_open", deleted_while_open},
    {"error_handlers", error_handlers},
    {"missing_file", missing_file},
    {"errors_are_fatal", errors_are_fatal},
};

}  // namespace

std::span<const NamedCheck> lessons_of_errors() { return checks; }

}  // namespace choir::test
