// btio.cpp: the solution file of NAS BT-IO ("full" mode).
//
// Source: NAS Parallel Benchmarks, BT-IO. The grid of 5 doubles per point is cut by diagonal
// multi-partitioning: with q*q ranks the cube is q*q*q cells and every rank owns q of them, one in
// each z layer, shifted along the diagonal. A dump is one collective call; dumps are appended. In
// memory each cell has two ghost points around it. Classes S, W, A: 12, 24 and 64 points a side,
// 12, 40 and 40 dumps; --bytes-per-rank limits the dumps unless `dumps` is given.
#include "shapes.hpp"

namespace choir::bench {

namespace {

constexpr int kComponents = 5;
constexpr int kGhost = 2;

struct Class {
  int edge;
  int dumps;
};

Class class_of(const Scale& scale) {
  const auto& name = scale.word("class", {"S", "W", "A"});
  return name == "S" ? Class{12, 12} : name == "W" ? Class{24, 40} : Class{64, 40};
}

int square_root(int ranks) {
  int q = 1;
  while ((q + 1) * (q + 1) <= ranks) ++q;
  if (q * q != ranks) throw Unsuitable("btio needs a square number of ranks (1, 4, 9, ...)");
  return q;
}

struct Cells {
  std::vector<Box> file;    // boxes in the global grid
  std::vector<Box> memory;  // the interior of each cell's own array with ghost points
};

/// Part `index` of `edge` points cut in q, the first ones one larger where it does not divide.
std::pair<int, int> part(int edge, int q, int index) {
  const int size = edge / q, excess = edge % q;
  return {index * size + std::min(index, excess), size + (index < excess ? 1 : 0)};
}

Cells cells_of_rank(int rank, int q, int edge) {
  Cells cells;
  for (int layer = 0; layer < q; ++layer) {
    const int x = (rank % q + layer) % q;
    const int y = (rank / q - layer % q + q) % q;
    const auto [x0, nx] = part(edge, q, x);
    const auto [y0, ny] = part(edge, q, y);
    const auto [z0, nz] = part(edge, q, layer);
    cells.file.push_back(
        {{edge, edge, edge, kComponents}, {nz, ny, nx, kComponents}, {z0, y0, x0, 0}});
    cells.memory.push_back({{nz + 2 * kGhost, ny + 2 * kGhost, nx + 2 * kGhost, kComponents},
                            {nz, ny, nx, kComponents},
                            {kGhost, kGhost, kGhost, 0}});
  }
  return cells;
}

std::int64_t array_bytes(const Box& box) {
  std::int64_t bytes = 8;
  for (const auto edge : box.global) bytes *= edge;
  return bytes;
}

/// One struct of the boxes' subarrays, the i-th at displacements[i].
MPI_Datatype struct_of(Program& program, const std::vector<Box>& boxes,
                       std::vector<MPI_Aint> displacements) {
  std::vector<MPI_Datatype> types;
  types.reserve(boxes.size());
  std::vector<int> ones(boxes.size(), 1);
  for (const auto& box : boxes) types.push_back(program.keep(subarray_type(box, MPI_DOUBLE)));
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check(MPI_Type_create_struct(static_cast<int>(boxes.size()), ones.data(), displacements.data(),
                               types.data(), &type));
  return program.keep(type);
}

void append(Pieces& all, Pieces more) { all.insert(all.end(), more.begin(), more.end()); }

Program build(const Scale& scale) {
  const int q = square_root(scale.ranks);
  const auto klass = class_of(scale);
  const auto cells = cells_of_rank(scale.rank, q, klass.edge);
  const std::int64_t dump_bytes = array_bytes(cells.file[0]);
  const auto fit = at_least_one(scale.bytes_per_rank, dump_bytes / scale.ranks);
  const auto asked = scale.number("dumps");
  const auto dumps = asked != 0 ? asked : std::min<std::int64_t>(fit, klass.dumps);

  Program program;
  std::vector<MPI_Aint> memory_at;
  std::int64_t memory_bytes = 0;
  for (const auto& box : cells.memory) {
    memory_at.push_back(memory_bytes);
    memory_bytes += array_bytes(box);
  }
  const auto file_type =
      struct_of(program, cells.file, std::vector<MPI_Aint>(cells.file.size(), 0));
  const auto memory_type = struct_of(program, cells.memory, memory_at);
  const auto view = program.add_view({0, MPI_DOUBLE, file_type});
  std::int64_t own_doubles = 0;
  for (const auto& box : cells.file) own_doubles += box.elements();

  for (std::int64_t dump = 0; dump < dumps; ++dump) {
    Call call;
    call.view = view;
    call.offset = dump * own_doubles;
    call.buffer_offset = program.buffer_bytes;
    call.memory_type = memory_type;
    call.count = 1;
    for (std::size_t c = 0; c < cells.file.size(); ++c) {
      append(call.file, pieces_of_box(cells.file[c], 8, dump * dump_bytes));
      append(call.memory, pieces_of_box(cells.memory[c], 8, program.buffer_bytes + memory_at[c]));
    }
    program.buffer_bytes += memory_bytes;
    program.calls.push_back(std::move(call));
  }
  return program;
}

}  // namespace

Workload btio_workload() {
  return {"btio",
          "NAS BT-IO: diagonal multi-partitioning, square numbers of ranks",
          0,
          {{"class", "A", "S, W or A"},
           {"dumps", "0", "solution dumps; 0: as --bytes-per-rank allows"}},
          build};
}

}  // namespace choir::bench
