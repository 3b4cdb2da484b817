#include "types.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace choir::test {
namespace {

void must(int code) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fmt::print(stderr, "datatype constructor failed: {}\n", text);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/// Collects copies of maps; bounds follow from the bounds of the copies.
class MapBuilder {
 public:
  void add(const Typemap& of, std::int64_t at, std::int64_t copies) {
    for (std::int64_t i = 0; i < copies; ++i, at += of.extent()) {
      for (const Piece& p : of.pieces) map_.pieces.push_back({at + p.offset, p.length});
      map_.lb = any_ ? std::min(map_.lb, at + of.lb) : at + of.lb;
      map_.ub = any_ ? std::max(map_.ub, at + of.ub) : at + of.ub;
      any_ = true;
    }
  }
  Typemap take() { return std::move(map_); }

 private:
  Typemap map_;
  bool any_ = false;
};

/// Array positions (in elements) a rank holds in one dimension of a distributed array.
Ints owned_positions(const Distribution& dim, int size, int coordinate) {
  int block = size;
  if (dim.kind == MPI_DISTRIBUTE_BLOCK)
    block = dim.argument == MPI_DISTRIBUTE_DFLT_DARG ? (size + dim.processes - 1) / dim.processes
                                                     : dim.argument;
  if (dim.kind == MPI_DISTRIBUTE_CYCLIC)
    block = dim.argument == MPI_DISTRIBUTE_DFLT_DARG ? 1 : dim.argument;
  const int processes = dim.kind == MPI_DISTRIBUTE_NONE ? 1 : dim.processes;
  Ints mine;
  for (int i = 0; i < size; ++i)
    if ((i / block) % processes == (dim.kind == MPI_DISTRIBUTE_NONE ? 0 : coordinate))
      mine.push_back(i);
  return mine;
}

/// The map of the array elements in the product of `positions`, in the array's storage order.
Typemap product_map(const Ints& sizes, const std::vector<Ints>& positions, int order,
                    const Typemap& of) {
  const std::size_t dims = sizes.size();
  std::vector<std::size_t> fastest_first(dims);
  for (std::size_t d = 0; d < dims; ++d)
    fastest_first[d] = order == MPI_ORDER_FORTRAN ? d : dims - 1 - d;
  std::int64_t total = 1;
  std::int64_t held = 1;
  for (std::size_t d = 0; d < dims; ++d) {
    total *= sizes[d];
    held *= static_cast<std::int64_t>(positions[d].size());
  }
  MapBuilder builder;
  for (std::int64_t i = 0; i < held; ++i) {
    std::int64_t rest = i;
    std::int64_t element = 0;
    std::int64_t scale = 1;
    for (const std::size_t d : fastest_first) {
      const auto length = static_cast<std::int64_t>(positions[d].size());
      element += scale * positions[d][static_cast<std::size_t>(rest % length)];
      rest /= length;
      scale *= sizes[d];
    }
    builder.add(of, element * of.extent(), 1);
  }
  Typemap map = builder.take();
  map.lb = 0;  // both array constructors span the whole array
  map.ub = total * of.extent();
  return map;
}

// MPICH before 4.2 ends the program when the view of a file has a type that was made so.
#if defined(CHOIR_HAS_LARGE_COUNT) && !(defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40200000)
/// A fifth of all types are made by the large-count form. Which ones follows from the text, so that
/// a case that is repeated alone has the same types.
bool large_form(const std::string& text) { return std::hash<std::string>{}(text) % 5 == 0; }

template <class Number>
std::vector<MPI_Count> counts(const std::vector<Number>& numbers) {
  return {numbers.begin(), numbers.end()};
}

#define MAKE(name, text, small, large) \
  must(large_form(text) ? MPI_##name##_c large : MPI_##name small)
#else
#define MAKE(name, text, small, large) must(MPI_##name small)
#endif

}  // namespace

std::int64_t Typemap::size() const {
  std::int64_t bytes = 0;
  for (const Piece& p : pieces) bytes += p.length;
  return bytes;
}

std::int64_t Typemap::true_lb() const {
  std::int64_t low = pieces.empty() ? 0 : pieces.front().offset;
  for (const Piece& p : pieces) low = std::min(low, p.offset);
  return low;
}

std::int64_t Typemap::true_ub() const {
  std::int64_t high = pieces.empty() ? 0 : pieces.front().offset + pieces.front().length;
  for (const Piece& p : pieces) high = std::max(high, p.offset + p.length);
  return high;
}

Type::Type(MPI_Datatype handle, bool predefined, Typemap map, std::string text)
    : handle_(handle), predefined_(predefined), map_(std::move(map)), text_(std::move(text)) {}

Type::Type(Type&& other) noexcept
    : handle_(std::exchange(other.handle_, MPI_DATATYPE_NULL)),
      predefined_(other.predefined_),
      map_(std::move(other.map_)),
      text_(std::move(other.text_)) {}

Type& Type::operator=(Type&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(predefined_, other.predefined_);
  std::swap(map_, other.map_);
  std::swap(text_, other.text_);
  return *this;
}

Type::~Type() { free_handle(); }

void Type::commit() {
  if (!predefined_) must(MPI_Type_commit(&handle_));
}

void Type::free_handle() {
  if (predefined_ || handle_ == MPI_DATATYPE_NULL) return;
  must(MPI_Type_free(&handle_));
}

Type basic(int bytes) {
  const MPI_Datatype handle = bytes == 1   ? MPI_BYTE
                              : bytes == 2 ? MPI_SHORT
                              : bytes == 4 ? MPI_INT
                                           : MPI_DOUBLE;
  return {handle, true, {{{0, bytes}}, 0, bytes}, fmt::format("basic{}", bytes)};
}

Type dup(const Type& of) {
  MPI_Datatype made;
  must(MPI_Type_dup(of.handle(), &made));
  return {made, false, of.map(), fmt::format("dup({})", of.text())};
}

Type contiguous(int count, const Type& of) {
  const auto text = fmt::format("contiguous({}, {})", count, of.text());
  MPI_Datatype made;
  MAKE(Type_contiguous, text, (count, of.handle(), &made), (count, of.handle(), &made));
  MapBuilder builder;
  builder.add(of.map(), 0, count);
  return {made, false, builder.take(), text};
}

Type vector(int count, int block, int stride, const Type& of) {
  const auto text = fmt::format("vector({}, {}, {}, {})", count, block, stride, of.text());
  MPI_Datatype made;
  MAKE(Type_vector, text, (count, block, stride, of.handle(), &made),
       (count, block, stride, of.handle(), &made));
  MapBuilder builder;
  for (int i = 0; i < count; ++i)
    builder.add(of.map(), i * std::int64_t{stride} * of.map().extent(), block);
  return {made, false, builder.take(), text};
}

Type hvector(int count, int block, MPI_Aint stride, const Type& of) {
  const auto text = fmt::format("hvector({}, {}, {}, {})", count, block, stride, of.text());
  MPI_Datatype made;
  MAKE(Type_create_hvector, text, (count, block, stride, of.handle(), &made),
       (count, block, stride, of.handle(), &made));
  MapBuilder builder;
  for (int i = 0; i < count; ++i) builder.add(of.map(), std::int64_t{i} * stride, block);
  return {made, false, builder.take(), text};
}

Type indexed(const Ints& blocks, const Ints& at, const Type& of) {
  const auto text = fmt::format("indexed({}, {}, {})", blocks, at, of.text());
  MPI_Datatype made;
  MAKE(Type_indexed, text,
       (static_cast<int>(at.size()), blocks.data(), at.data(), of.handle(), &made),
       (static_cast<MPI_Count>(at.size()), counts(blocks).data(), counts(at).data(), of.handle(),
        &made));
  MapBuilder builder;
  for (std::size_t i = 0; i < at.size(); ++i)
    builder.add(of.map(), at[i] * of.map().extent(), blocks[i]);
  return {made, false, builder.take(), text};
}

Type hindexed(const Ints& blocks, const Offsets& at, const Type& of) {
  const auto text = fmt::format("hindexed({}, {}, {})", blocks, at, of.text());
  MPI_Datatype made;
  MAKE(Type_create_hindexed, text,
       (static_cast<int>(at.size()), blocks.data(), at.data(), of.handle(), &made),
       (static_cast<MPI_Count>(at.size()), counts(blocks).data(), counts(at).data(), of.handle(),
        &made));
  MapBuilder builder;
  for (std::size_t i = 0; i < at.size(); ++i) builder.add(of.map(), at[i], blocks[i]);
  return {made, false, builder.take(), text};
}

Type indexed_block(int block, const Ints& at, const Type& of) {
  const auto text = fmt::format("indexed_block({}, {}, {})", block, at, of.text());
  MPI_Datatype made;
  MAKE(Type_create_indexed_block, text,
       (static_cast<int>(at.size()), block, at.data(), of.handle(), &made),
       (static_cast<MPI_Count>(at.size()), block, counts(at).data(), of.handle(), &made));
  MapBuilder builder;
  for (const int i : at) builder.add(of.map(), i * of.map().extent(), block);
  return {made, false, builder.take(), text};
}

Type hindexed_block(int block, const Offsets& at, const Type& of) {
  const auto text = fmt::format("hindexed_block({}, {}, {})", block, at, of.text());
  MPI_Datatype made;
  MAKE(Type_create_hindexed_block, text,
       (static_cast<int>(at.size()), block, at.data(), of.handle(), &made),
       (static_cast<MPI_Count>(at.size()), block, counts(at).data(), of.handle(), &made));
  MapBuilder builder;
  for (const MPI_Aint i : at) builder.add(of.map(), i, block);
  return {made, false, builder.take(), text};
}

Type structure(const Ints& blocks, const Offsets& at, const std::vector<const Type*>& of) {
  std::vector<MPI_Datatype> handles;
  std::string parts;
  MapBuilder builder;
  for (std::size_t i = 0; i < of.size(); ++i) {
    handles.push_back(of[i]->handle());
    parts += fmt::format("{}[{}x {} @{}]", i ? ", " : "", blocks[i], of[i]->text(), at[i]);
    builder.add(of[i]->map(), at[i], blocks[i]);
  }
  const auto text = fmt::format("struct({})", parts);
  MPI_Datatype made;
  MAKE(Type_create_struct, text,
       (static_cast<int>(of.size()), blocks.data(), at.data(), handles.data(), &made),
       (static_cast<MPI_Count>(of.size()), counts(blocks).data(), counts(at).data(), handles.data(),
        &made));
  return {made, false, builder.take(), text};
}

Type resized(const Type& of, MPI_Aint lb, MPI_Aint extent) {
  const auto text = fmt::format("resized({}, {}, {})", of.text(), lb, extent);
  MPI_Datatype made;
  MAKE(Type_create_resized, text, (of.handle(), lb, extent, &made),
       (of.handle(), lb, extent, &made));
  return {made, false, {of.map().pieces, lb, lb + extent}, text};
}

Type subarray(const Ints& sizes, const Ints& part, const Ints& start, int order, const Type& of) {
  const auto text = fmt::format("subarray({}, {}, {}, {}, {})", sizes, part, start,
                                order == MPI_ORDER_C ? "C" : "Fortran", of.text());
  MPI_Datatype made;
  MAKE(Type_create_subarray, text,
       (static_cast<int>(sizes.size()), sizes.data(), part.data(), start.data(), order, of.handle(),
        &made),
       (static_cast<int>(sizes.size()), counts(sizes).data(), counts(part).data(),
        counts(start).data(), order, of.handle(), &made));
  std::vector<Ints> positions(sizes.size());
  for (std::size_t d = 0; d < sizes.size(); ++d)
    for (int i = 0; i < part[d]; ++i) positions[d].push_back(start[d] + i);
  return {made, false, product_map(sizes, positions, order, of.map()), text};
}

Type darray(int rank, const Ints& sizes, const std::vector<Distribution>& dims, int order,
            const Type& of) {
  Ints kinds;
  Ints arguments;
  Ints processes;
  int total = 1;
  for (const Distribution& d : dims) {
    kinds.push_back(d.kind);
    arguments.push_back(d.argument);
    processes.push_back(d.processes);
    total *= d.processes;
  }
  const auto text =
      fmt::format("darray({} of {}, {}, kinds {}, args {}, grid {}, {}, {})", rank, total, sizes,
                  kinds, arguments, processes, order == MPI_ORDER_C ? "C" : "Fortran", of.text());
  MPI_Datatype made;
  MAKE(Type_create_darray, text,
       (total, rank, static_cast<int>(dims.size()), sizes.data(), kinds.data(), arguments.data(),
        processes.data(), order, of.handle(), &made),
       (total, rank, static_cast<int>(dims.size()), counts(sizes).data(), kinds.data(),
        arguments.data(), processes.data(), order, of.handle(), &made));
  // The process grid is in row-major order, whatever the array's order.
  std::vector<Ints> positions(dims.size());
  int rest = rank;
  for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d].processes)
    positions[d] = owned_positions(dims[d], sizes[d], rest % dims[d].processes);
  return {made, false, product_map(sizes, positions, order, of.map()), text};
}

}  // namespace choir::test
