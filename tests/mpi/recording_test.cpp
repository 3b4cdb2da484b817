// recording_test.cpp: four ranks under CHOIR_RECORD: calls without a view, several views and files,
// files of part of the ranks. After MPI_Finalize the ranks that were rank 0 of a file compare what
// was recorded with what the calls say by hand.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

namespace {

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  std::cerr << what << " failed\n";
  MPI_Abort(MPI_COMM_WORLD, 1);
}

MPI_File open(MPI_Comm comm, const std::string& path) {
  MPI_File file = MPI_FILE_NULL;
  check(
      MPI_File_open(comm, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                    MPI_INFO_NULL, &file),
      "open");
  return file;
}

void write_at(MPI_File file, MPI_Offset offset, int bytes) {
  const std::string data(static_cast<std::size_t>(bytes), 'x');
  MPI_Status status;
  check(MPI_File_write_at_all(file, offset, data.data(), bytes, MPI_BYTE, &status), "write");
}

/// Without any view; in the file the ranks lie in the order 0 2 1 3.
void write_without_view(const std::string& path, int rank) {
  const int place[] = {0, 2, 1, 3};
  MPI_File file = open(MPI_COMM_WORLD, path);
  for (int step = 0; step < 2; ++step) write_at(file, step * 32 + place[rank] * 8, 8);
  check(MPI_File_close(&file), "close");
}

/// Pieces of four bytes in turn; then ranks 0 and 3 with nothing between them.
void write_through_two_views(const std::string& path, int rank) {
  MPI_Datatype block = MPI_DATATYPE_NULL, turns = MPI_DATATYPE_NULL;
  check(MPI_Type_contiguous(4, MPI_BYTE, &block), "type");
  check(MPI_Type_create_resized(block, 0, 16, &turns), "type");
  check(MPI_Type_commit(&turns), "type");
  MPI_File file = open(MPI_COMM_WORLD, path);
  check(MPI_File_set_view(file, rank * 4, MPI_BYTE, turns, "native", MPI_INFO_NULL), "view");
  write_at(file, 0, 8);
  check(MPI_File_set_view(file, 1000 + rank * 100, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL),
        "view");
  write_at(file, 0, rank == 0 || rank == 3 ? 100 : 0);
  check(MPI_File_close(&file), "close");
  check(MPI_Type_free(&turns), "type");
  check(MPI_Type_free(&block), "type");
}

/// Even ranks share one file, odd ranks another, and each rank has one of its own.
void write_in_parts(const std::string& path, int rank) {
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part), "split");
  MPI_File file = open(part, path + (rank % 2 == 0 ? ".even" : ".odd"));
  write_at(file, rank / 2 * 8, 8);
  check(MPI_File_close(&file), "close");
  check(MPI_Comm_free(&part), "free");
  file = open(MPI_COMM_SELF, path + ".own" + std::to_string(rank));
  write_at(file, 0, 8);
  check(MPI_File_close(&file), "close");
}

/// Up to the patterns, whose runs are another test's matter.
std::string recorded(const std::string& path) {
  std::ifstream in(path);
  std::string text;
  for (std::string line; std::getline(in, line) && line.rfind("patterns", 0) != 0;)
    text += line + "\n";
  return text;
}

int compare(const std::string& path, const std::string& expected) {
  const auto text = recorded(path);
  std::remove(path.c_str());
  if (text == expected) return 0;
  std::cerr << path << " says\n" << text << "instead of\n" << expected;
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* record = std::getenv("CHOIR_RECORD");
  if (argc != 2 || ranks != 4 || record == nullptr) {
    if (rank == 0) std::cerr << "usage: 4 ranks, CHOIR_RECORD=FILE, recording_test DIRECTORY\n";
    MPI_Finalize();
    return 2;
  }
  const auto path = std::string(argv[1]) + "/recorded";
  write_without_view(path + ".a", rank);
  write_through_two_views(path + ".b", rank);
  write_in_parts(path, rank);
  MPI_Finalize();
  if (rank == 0)
    return compare(record,
                   "choir-recording 1\nranks 4\ncalls 5 312\nviews 2\ncontacts exact\n"
                   "matrix calls 6\nrow 0 3 1 2 8 2 3 24 3 2 104\nrow 1 2 2 4 24 3 2 16\n"
                   "row 2 1 3 2 8\nmatrix views 3\nrow 0 1 1 2 5\nrow 1 1 2 2 5\nrow 2 1 3 2 5\n");
  if (rank == 1)
    return compare(std::string(record) + ".1",
                   "choir-recording 1\nranks 4\ncalls 1 16\nviews 0\ncontacts exact\n"
                   "matrix calls 1\nrow 1 1 3 1 8\nmatrix views 0\n");
  return 0;
}
