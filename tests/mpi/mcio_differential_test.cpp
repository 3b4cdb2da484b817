// mcio_differential_test.cpp: random multi-collective calls against what the bytes must be.
//
// mcio_differential_test --cases N --seed S --dir DIR. Every rank draws the same numbers, so every
// rank knows what all others ask: r[i][j] with zeros, files that appear several times, three kinds
// of views, strided memory, reading and writing, at offsets and at file pointers, blocking and not.
// After the writes rank 0 compares the whole files, by plain reads; after the reads every rank
// compares its buffers. Errors: one file full (choir's fault device) while others are fine, a bad
// argument on one rank, files of different communicators.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <choir/mcio.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

int rank = 0, ranks = 1, failures = 0;
std::string folder = ".";

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "FAIL mcio rank %d of %d: %s\n", rank, ranks, what.c_str());
  ++failures;
}

using Rng = std::mt19937_64;
/// Equal with every standard library.
int draw(Rng& rng, int low, int high) {
  return low + static_cast<int>(rng() % static_cast<std::uint64_t>(high - low + 1));
}

enum class View { interleaved, pieces, blocks };

/// How the ranks' bytes lie in a file. A tile has a slot per rank; what a rank has in its slot are
/// one or two pieces. `blocks`: one slot is the whole rank's part, no repetition.
struct FileShape {
  View view = View::interleaved;
  int slot = 1;       ///< bytes of a rank's slot in a tile
  int first = 0;      ///< pieces: length of the first piece of a slot
  int gap = 0;        ///< ... and bytes between the two
  int next_tile = 0;  ///< tiles before are used by earlier parts

  int tile() const { return slot * ranks; }
  int bytes_per_tile() const { return view == View::pieces ? slot - gap : slot; }
};

FileShape draw_shape(Rng& rng) {
  FileShape shape;
  shape.view = static_cast<View>(draw(rng, 0, 2));
  shape.slot = draw(rng, 0, 3) == 0 ? draw(rng, 3000, 9000) : draw(rng, 3, 300);
  shape.first = draw(rng, 1, shape.slot - 2);
  shape.gap = draw(rng, 1, shape.slot - shape.first - 1);
  if (shape.view == View::blocks) shape.slot *= 20;
  return shape;
}

/// File offset of byte `index` of what rank `owner` has from tile `tile` on.
std::int64_t offset_of(const FileShape& shape, int owner, std::int64_t tile, std::int64_t index) {
  const auto per_tile = shape.bytes_per_tile();
  const auto in_slot = index % per_tile;
  const bool second = shape.view == View::pieces && in_slot >= shape.first;
  return (tile + index / per_tile) * shape.tile() + static_cast<std::int64_t>(owner) * shape.slot +
         in_slot + (second ? shape.gap : 0);
}

unsigned char value_at(int file, std::int64_t offset, int salt) {
  return static_cast<unsigned char>((offset * 13 + offset / 255 + file * 37 + salt * 91) % 255 + 1);
}

void set_view(MPI_File handle, const FileShape& shape) {
  MPI_Datatype pieces = MPI_DATATYPE_NULL, tile = MPI_DATATYPE_NULL;
  if (shape.view == View::pieces) {
    const int lengths[2] = {shape.first, shape.slot - shape.first - shape.gap};
    const int places[2] = {0, shape.first + shape.gap};
    MPI_Type_indexed(2, lengths, places, MPI_BYTE, &pieces);
  } else {
    MPI_Type_contiguous(shape.slot, MPI_BYTE, &pieces);
  }
  MPI_Type_create_resized(pieces, 0, shape.tile(), &tile);
  MPI_Type_commit(&tile);
  MPI_File_set_view(handle, static_cast<MPI_Offset>(rank) * shape.slot, MPI_BYTE, tile, "native",
                    MPI_INFO_NULL);
  MPI_Type_free(&pieces);
  MPI_Type_free(&tile);
}

/// One part of a call: a file, where it begins, and how much each rank has there.
struct Part {
  int file = 0;
  int first_tile = 0;
  std::vector<int> bytes;  ///< by rank
};

struct Call {
  std::vector<Part> parts;
  bool at_offsets = true;
  bool nonblocking = false;
  bool strided_memory = false;
};

Call draw_call(Rng& rng, std::vector<FileShape>& shapes) {
  Call call;
  call.at_offsets = draw(rng, 0, 1) == 0;
  call.nonblocking = draw(rng, 0, 2) == 0;
  call.strided_memory = draw(rng, 0, 2) == 0;
  const int parts = draw(rng, 1, 7);
  for (int p = 0; p < parts; ++p) {
    Part part;
    part.file = draw(rng, 0, static_cast<int>(shapes.size()) - 1);
    auto& shape = shapes[static_cast<std::size_t>(part.file)];
    part.first_tile = shape.next_tile;
    int most = 0;
    for (int r = 0; r < ranks; ++r) {
      const int tiles = shape.view == View::blocks ? 1 : 12;
      const int bytes = draw(rng, 0, 3) == 0 ? 0 : draw(rng, 1, tiles * shape.bytes_per_tile());
      part.bytes.push_back(bytes);
      most = std::max(most, (bytes + shape.bytes_per_tile() - 1) / shape.bytes_per_tile());
    }
    // At file pointers a part begins where the rank's last one ended; whole tiles keep ranks apart.
    if (!call.at_offsets)
      for (auto& bytes : part.bytes) bytes = most * shape.bytes_per_tile();
    shape.next_tile += most + (call.at_offsets ? draw(rng, 0, 2) : 0);
    call.parts.push_back(std::move(part));
  }
  return call;
}

/// The arrays an MCIO function takes.
struct Arguments {
  std::vector<MPI_File> files;
  std::vector<MPI_Offset> offsets;
  std::vector<std::vector<unsigned char>> memory;
  std::vector<void*> buffers;
  std::vector<int> counts;
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Status> statuses;
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  int spacing = 1;  ///< memory bytes per byte

  Arguments(const Call& call, const std::vector<FileShape>& shapes,
            const std::vector<MPI_File>& handles) {
    if (call.strided_memory) {
      spacing = 3;
      MPI_Type_create_resized(MPI_BYTE, 0, spacing, &strided);
      MPI_Type_commit(&strided);
    }
    for (const auto& part : call.parts) {
      const auto& shape = shapes[static_cast<std::size_t>(part.file)];
      const int bytes = part.bytes[static_cast<std::size_t>(rank)];
      files.push_back(handles[static_cast<std::size_t>(part.file)]);
      offsets.push_back(static_cast<MPI_Offset>(part.first_tile) * shape.bytes_per_tile());
      memory.emplace_back(static_cast<std::size_t>(bytes) * static_cast<std::size_t>(spacing) + 1);
      counts.push_back(bytes);
      types.push_back(call.strided_memory ? strided : MPI_BYTE);
    }
    for (auto& one : memory) buffers.push_back(one.data());
    statuses.resize(files.size());
  }
  ~Arguments() {
    if (strided != MPI_DATATYPE_NULL) MPI_Type_free(&strided);
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  int count() const { return static_cast<int>(files.size()); }

  int run(const Call& call, bool writing) {
    if (!call.nonblocking) {
      if (call.at_offsets)
        return (writing ? MCIO_File_write_at_all : MCIO_File_read_at_all)(
            files.data(), count(), offsets.data(), buffers.data(), counts.data(), types.data(),
            statuses.data());
      return (writing ? MCIO_File_write_all : MCIO_File_read_all)(
          files.data(), count(), buffers.data(), counts.data(), types.data(), statuses.data());
    }
    std::vector<MPI_Request> requests(files.size(), MPI_REQUEST_NULL);
    const int code = call.at_offsets ? (writing ? MCIO_File_iwrite_at_all : MCIO_File_iread_at_all)(
                                           files.data(), count(), offsets.data(), buffers.data(),
                                           counts.data(), types.data(), requests.data())
                                     : (writing ? MCIO_File_iwrite_all : MCIO_File_iread_all)(
                                           files.data(), count(), buffers.data(), counts.data(),
                                           types.data(), requests.data());
    expect(code == MPI_SUCCESS, "a nonblocking call starts");
    // Ranks complete in different orders.
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto at = rank % 2 == 0 ? i : requests.size() - 1 - i;
      if (MPI_Wait(&requests[at], &statuses[at]) != MPI_SUCCESS) return MPI_ERR_IN_STATUS;
    }
    return code;
  }
};

void check_counts(const Arguments& arguments) {
  for (int i = 0; i < arguments.count(); ++i) {
    int bytes = -1;
    MPI_Get_elements(&arguments.statuses[static_cast<std::size_t>(i)], MPI_BYTE, &bytes);
    expect(bytes == arguments.counts[static_cast<std::size_t>(i)],
           "status " + std::to_string(i) + " has its count");
  }
}

void write_and_read(const Call& call, const std::vector<FileShape>& shapes,
                    const std::vector<MPI_File>& handles, int salt) {
  Arguments out(call, shapes, handles);
  const auto visit = [&](Arguments& arguments, auto&& each) {
    for (std::size_t p = 0; p < call.parts.size(); ++p) {
      const auto& part = call.parts[p];
      const auto& shape = shapes[static_cast<std::size_t>(part.file)];
      for (int i = 0; i < arguments.counts[p]; ++i)
        each(arguments.memory[p][static_cast<std::size_t>(i) *
                                 static_cast<std::size_t>(arguments.spacing)],
             value_at(part.file, offset_of(shape, rank, part.first_tile, i), salt));
    }
  };
  const auto rewind = [&] {
    if (call.at_offsets) return;
    for (std::size_t p = call.parts.size(); p-- > 0;)
      MPI_File_seek(out.files[p], out.offsets[p], MPI_SEEK_SET);
  };
  visit(out, [](unsigned char& place, unsigned char value) { place = value; });
  rewind();
  expect(out.run(call, true) == MPI_SUCCESS, "the write succeeds");
  check_counts(out);
  Arguments in(call, shapes, handles);
  rewind();
  expect(in.run(call, false) == MPI_SUCCESS, "the read succeeds");
  check_counts(in);
  bool same = true;
  visit(in, [&](unsigned char& place, unsigned char value) { same = same && place == value; });
  expect(same, "what was written is read");
}

int run_number = 0;  ///< rank 0's process: tests may run side by side in one folder

std::string path_of(int file) {
  return folder + "/mcio-differential-" + std::to_string(run_number) + "-" + std::to_string(file);
}

/// Rank 0: every byte of the file is what its last writer put there, or nothing.
void check_file(int file, const FileShape& shape,
                const std::vector<std::pair<Part, int>>& written) {
  std::vector<unsigned char> expected;
  for (const auto& [part, salt] : written)
    for (int owner = 0; owner < ranks; ++owner)
      for (int i = 0; i < part.bytes[static_cast<std::size_t>(owner)]; ++i) {
        const auto offset = static_cast<std::size_t>(offset_of(shape, owner, part.first_tile, i));
        if (expected.size() <= offset) expected.resize(offset + 1, 0);
        expected[offset] = value_at(file, static_cast<std::int64_t>(offset), salt);
      }
  std::vector<unsigned char> found(expected.size() + 1);
  const int fd = open(path_of(file).c_str(), O_RDONLY | O_CLOEXEC);
  std::size_t size = 0;
  while (fd >= 0 && size < found.size()) {
    const auto got = pread(fd, found.data() + size, found.size() - size, static_cast<off_t>(size));
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (fd >= 0) close(fd);
  found.resize(size);
  expect(found == expected, "file " + std::to_string(file) + " has exactly what was written");
}

using Hints = std::map<std::string, std::string>;

MPI_File open_file(const std::string& path, const Hints& hints = {},
                   MPI_Comm comm = MPI_COMM_WORLD) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  for (const auto& [key, value] : hints) MPI_Info_set(info, key.c_str(), value.c_str());
  MPI_File handle = MPI_FILE_NULL;
  const int code =
      MPI_File_open(comm, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &handle);
  MPI_Info_free(&info);
  if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 2);
  return handle;
}

void random_case(std::uint64_t seed, const char* strategy) {
  Rng rng(seed);
  const int count = draw(rng, 1, 5);
  const char* const backend = draw(rng, 0, 1) == 0 ? "auto" : "threaded";
  std::vector<FileShape> shapes;
  std::vector<MPI_File> handles;
  for (int f = 0; f < count; ++f) {
    if (rank == 0) unlink(path_of(f).c_str());
    MPI_Barrier(MPI_COMM_WORLD);
    shapes.push_back(draw_shape(rng));
    handles.push_back(
        open_file(path_of(f), {{"choir_multi_strategy", strategy}, {"choir_backend", backend}}));
    set_view(handles.back(), shapes.back());
  }
  std::vector<std::vector<std::pair<Part, int>>> written(shapes.size());
  const int calls = draw(rng, 1, 3);
  for (int c = 0; c < calls; ++c) {
    const auto call = draw_call(rng, shapes);
    for (int again = 0; again < 2; ++again) {  // the second time the plans are known
      const int salt = 2 * c + again;
      write_and_read(call, shapes, handles, salt);
      for (const auto& part : call.parts)
        written[static_cast<std::size_t>(part.file)].emplace_back(part, salt);
    }
  }
  for (auto& handle : handles) MPI_File_close(&handle);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int f = 0; f < count; ++f) {
    if (rank == 0)
      check_file(f, shapes[static_cast<std::size_t>(f)], written[static_cast<std::size_t>(f)]);
    if (rank == 0) unlink(path_of(f).c_str());
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// File 1 of 3 is full: its status says so on all ranks, the others have their bytes.
void one_file_full(const char* strategy) {
  constexpr int length = 5000;
  std::vector<MPI_File> files;
  for (int f = 0; f < 3; ++f) {
    MPI_File handle = MPI_FILE_NULL;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "choir_multi_strategy", strategy);
    if (f == 1) MPI_Info_set(info, "choir_fault", "op=write,after=0,error=ENOSPC");
    MPI_File_open(MPI_COMM_WORLD, path_of(f).c_str(),
                  MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &handle);
    MPI_Info_free(&info);
    files.push_back(handle);
  }
  std::vector<char> out(length, static_cast<char>('a' + rank)), in(length);
  std::vector<void*> buffers(3, out.data());
  std::vector<int> counts(3, length);
  std::vector<MPI_Datatype> types(3, MPI_BYTE);
  std::vector<MPI_Offset> offsets(3, static_cast<MPI_Offset>(length) * rank);
  std::vector<MPI_Status> statuses(3);
  for (int again = 0; again < 2; ++again) {  // the second time ranks may move their bytes first
    const int code = MCIO_File_write_at_all(files.data(), 3, offsets.data(), buffers.data(),
                                            counts.data(), types.data(), statuses.data());
    expect(code == MPI_ERR_IN_STATUS, "a full file is an error in a status");
    expect(statuses[1].MPI_ERROR == MPI_ERR_NO_SPACE, "the full file says so on every rank");
  }
  for (const std::size_t f : {std::size_t{0}, std::size_t{2}}) {
    expect(statuses[f].MPI_ERROR == MPI_SUCCESS, "the other files are fine");
    std::fill(in.begin(), in.end(), 0);
    MPI_File_read_at_all(files[f], offsets[f], in.data(), length, MPI_BYTE, MPI_STATUS_IGNORE);
    expect(in == out, "the other files have their bytes");
  }
  std::vector<MPI_Request> requests(3, MPI_REQUEST_NULL);
  MCIO_File_iwrite_at_all(files.data(), 3, offsets.data(), buffers.data(), counts.data(),
                          types.data(), requests.data());
  for (std::size_t f = 0; f < 3; ++f) {
    const int one = MPI_Wait(&requests[f], MPI_STATUS_IGNORE);
    int error_class = MPI_SUCCESS;
    if (one != MPI_SUCCESS) MPI_Error_class(one, &error_class);
    expect(error_class == (f == 1 ? MPI_ERR_NO_SPACE : MPI_SUCCESS),
           "each request tells of its own file");
  }
  for (auto& file : files) MPI_File_close(&file);
}

/// A negative count on the last rank only: that part fails on all ranks, the other is written.
void bad_argument_on_one_rank() {
  MPI_File files[2] = {open_file(path_of(0)), open_file(path_of(1))};
  int value = 7 + rank, seen = 0;
  void* buffers[2] = {&value, &value};
  int counts[2] = {1, rank == ranks - 1 ? -1 : 1};
  MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  MPI_Offset offsets[2] = {4 * rank, 4 * rank};
  MPI_Status statuses[2];
  const int code = MCIO_File_write_at_all(files, 2, offsets, buffers, counts, types, statuses);
  expect(code == MPI_ERR_IN_STATUS && statuses[1].MPI_ERROR == MPI_ERR_COUNT,
         "one rank's bad count is everyone's error");
  expect(statuses[0].MPI_ERROR == MPI_SUCCESS, "the other file is not concerned");
  MPI_File_read_at_all(files[0], offsets[0], &seen, 1, MPI_INT, MPI_STATUS_IGNORE);
  expect(seen == value, "the other file is written");
  for (int f = 0; f < 2; ++f) {
    MPI_File_close(&files[f]);
    if (rank == 0) unlink(path_of(f).c_str());
  }
}

void files_of_different_ranks() {
  MPI_Comm half = MPI_COMM_NULL, same = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm_dup(MPI_COMM_WORLD, &same);
  const auto own = path_of(100 + rank % 2);
  MPI_File all = open_file(path_of(0));
  MPI_File congruent = open_file(path_of(1), {}, same);
  MPI_File part = open_file(own, {}, half);
  MPI_Offset offsets[2] = {rank, rank};
  char value = 'x';
  void* buffers[2] = {&value, &value};
  int counts[2] = {1, 1};
  MPI_Datatype types[2] = {MPI_CHAR, MPI_CHAR};
  MPI_File mixed[2] = {all, part}, fine[2] = {all, congruent};
  if (ranks > 1)
    expect(MCIO_File_write_at_all(mixed, 2, offsets, buffers, counts, types, MPI_STATUSES_IGNORE) ==
               MPI_ERR_COMM,
           "files of different ranks are refused on all ranks");
  expect(MCIO_File_write_at_all(fine, 2, offsets, buffers, counts, types, MPI_STATUSES_IGNORE) ==
             MPI_SUCCESS,
         "congruent communicators are fine");
  MPI_File_close(&all);
  MPI_File_close(&congruent);
  MPI_File_close(&part);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(path_of(0).c_str()), unlink(path_of(1).c_str());
  if (rank < 2) unlink(own.c_str());
  MPI_Comm_free(&half);
  MPI_Comm_free(&same);
}

/// The C++ interface: spans of different types, at pointers and at offsets.
void spans_of_values() {
  MPI_File files[2] = {open_file(path_of(0)), open_file(path_of(1))};
  std::vector<double> numbers(100, rank + 0.5), other_numbers(100);
  std::vector<std::int32_t> counts(50, rank), other_counts(50);
  namespace mcio = choir::mcio;
  const MPI_Offset places[2] = {800 * rank, 200 * rank};
  const std::vector<mcio::Part> out{
      mcio::part(files[0], std::span<const double>(numbers), places[0]),
      mcio::part(files[1], std::span(counts), places[1])};
  const std::vector<mcio::Part> in{mcio::part(files[0], std::span(other_numbers), places[0]),
                                   mcio::part(files[1], std::span(other_counts), places[1])};
  std::vector<MPI_Status> statuses;
  expect(mcio::write_at_all(out, &statuses) == MPI_SUCCESS && statuses.size() == 2,
         "spans written");
  expect(mcio::read_at_all(in) == MPI_SUCCESS, "spans read");
  expect(numbers == other_numbers && counts == other_counts, "spans have their values");
  for (int f = 0; f < 2; ++f) MPI_File_seek(files[f], places[f], MPI_SEEK_SET);
  std::fill(other_numbers.begin(), other_numbers.end(), 0);
  std::vector<MPI_Request> requests;
  expect(mcio::iread_all(in, requests) == MPI_SUCCESS, "spans read at pointers");
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  expect(numbers == other_numbers, "spans have their values again");
  for (int f = 0; f < 2; ++f) {
    MPI_File_close(&files[f]);
    if (rank == 0) unlink(path_of(f).c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  run_number = static_cast<int>(getpid());
  MPI_Bcast(&run_number, 1, MPI_INT, 0, MPI_COMM_WORLD);
  int cases = 10;
  std::uint64_t seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    if (key == "--cases") cases = std::atoi(argv[i + 1]);
    if (key == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (key == "--dir") folder = argv[i + 1];
  }
  const char* const strategies[] = {"assigned",   "auto",   "two_phase",
                                    "individual", "mapped", "core_first"};
  for (int c = 0; c < cases && failures == 0; ++c) {
    random_case(seed * 1000003 + static_cast<std::uint64_t>(c), strategies[c % 6]);
    if (failures != 0)
      std::fprintf(stderr, "case %d of seed %llu\n", c, static_cast<unsigned long long>(seed));
  }
  for (const char* strategy : {"assigned", "two_phase", "individual"}) one_file_full(strategy);
  bad_argument_on_one_rank();
  files_of_different_ranks();
  spans_of_values();
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0)
    std::printf("ok: %d cases from seed %llu\n", cases, static_cast<unsigned long long>(seed));
  MPI_Finalize();
  return all != 0;
}
