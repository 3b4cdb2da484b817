#include "access/datatype.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "mpi/error.hpp"
#include "mpi/keyval.hpp"

namespace choir {
namespace {

/// A decoded type: its runs in type-map order, and the bounds that place the next element.
struct Map {
  Runs runs;
  std::int64_t extent = 0;
};

struct Envelope {
  std::int64_t integers = 0, addresses = 0, counts = 0, types = 0;
  int combiner = MPI_COMBINER_NAMED;
};

/// Where there are large-count constructors, only the large-count question is answered for their
/// types; the other is an error, and the program's error handler may end it.
Envelope envelope_of(MPI_Datatype type) {
#ifdef CHOIR_HAS_LARGE_COUNT
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
  int combiner = 0;
  check(PMPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner));
  return {integers, addresses, counts, types, combiner};
#else
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  check(PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner));
  return {integers, addresses, 0, types, combiner};
#endif
}

/// Made by no constructor. Parametrised Fortran types are handles of the library, not ours to free.
bool is_elementary(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

bool is_predefined(MPI_Datatype type) {
  try {
    return is_elementary(envelope_of(type).combiner);
  } catch (const MpiError&) {
    return true;
  }
}

/// What MPI_Type_get_contents says, whichever integer widths the constructor had.
struct Contents {
  std::vector<std::int64_t> integers;
  std::vector<std::int64_t> addresses;
  std::vector<MPI_Datatype> types;

  Contents() = default;
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
  ~Contents() {
    for (auto& type : types) release(type);
  }

  static void release(MPI_Datatype& type) {
    if (type != MPI_DATATYPE_NULL && !is_predefined(type)) PMPI_Type_free(&type);
  }
};

#ifdef CHOIR_HAS_LARGE_COUNT
void read_contents(MPI_Datatype type, const Envelope& envelope, Contents& out) {
  std::vector<int> integers(static_cast<std::size_t>(envelope.integers));
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(envelope.addresses));
  std::vector<MPI_Count> counts(static_cast<std::size_t>(envelope.counts));
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(envelope.types));
  check(PMPI_Type_get_contents_c(type, envelope.integers, envelope.addresses, envelope.counts,
                                 envelope.types, integers.data(), addresses.data(), counts.data(),
                                 types.data()));
  out.types = std::move(types);
  out.integers.assign(integers.begin(), integers.end());
  // A large-count constructor has its counts apart from the ints that stay ints (order, ndims).
  out.addresses.assign(addresses.begin(), addresses.end());
  out.addresses.insert(out.addresses.end(), counts.begin(), counts.end());
}
#else
void read_contents(MPI_Datatype type, const Envelope& envelope, Contents& out) {
  std::vector<int> integers(static_cast<std::size_t>(envelope.integers));
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(envelope.addresses));
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(envelope.types));
  check(PMPI_Type_get_contents(
      type, static_cast<int>(envelope.integers), static_cast<int>(envelope.addresses),
      static_cast<int>(envelope.types), integers.data(), addresses.data(), types.data()));
  out.types = std::move(types);
  out.integers.assign(integers.begin(), integers.end());
  out.addresses.assign(addresses.begin(), addresses.end());
}
#endif

Map decode(MPI_Datatype type);

/// A constructor's numbers in one order: small-count constructors keep lengths in ints and byte
/// displacements in addresses; large-count ones keep both in counts (which we appended to
/// addresses).
class Numbers {
 public:
  Numbers(const Contents& contents, bool large) : contents_(contents), large_(large) {}
  std::int64_t small(std::size_t i) const {
    return large_ ? contents_.addresses[i] : contents_.integers[i];
  }
  /// Byte displacement i of a constructor that has `before` plain numbers.
  std::int64_t displacement(std::size_t before, std::size_t i) const {
    return large_ ? contents_.addresses[before + i] : contents_.addresses[i];
  }
  /// Arguments that are ints in both forms, such as an order.
  std::int64_t always_int(std::size_t small_index, std::size_t large_index) const {
    return large_ ? contents_.integers[large_index] : contents_.integers[small_index];
  }

 private:
  const Contents& contents_;
  bool large_;
};

void append_blocks(Map& map, const Map& child, std::int64_t at, std::int64_t blocklength) {
  append_repeated(map.runs, child.runs, at, blocklength, child.extent);
}

Map decode_vector(const Map& child, std::int64_t count, std::int64_t blocklength,
                  std::int64_t byte_stride) {
  Map map;
  Map block;
  append_blocks(block, child, 0, blocklength);
  append_repeated(map.runs, block.runs, 0, count, byte_stride);
  return map;
}

struct Dimension {
  std::int64_t size;
  std::int64_t subsize;
  std::int64_t start;
};

/// Dimensions given fastest first.
Map decode_subarray(const Map& child, const std::vector<Dimension>& dimensions) {
  Map inner = child;
  std::int64_t element = child.extent;
  std::int64_t at = 0;
  for (const auto& dimension : dimensions) {
    Map outer;
    append_repeated(outer.runs, inner.runs, 0, dimension.subsize, element);
    at += dimension.start * element;
    element *= dimension.size;
    inner.runs = std::move(outer.runs);
  }
  Map map;
  append_repeated(map.runs, inner.runs, at, 1, 0);
  return map;
}

/// The indices of one dimension that process `coordinate` owns, as runs of indices.
Runs distribute(std::int64_t size, std::int64_t processes, std::int64_t coordinate,
                std::int64_t distribution, std::int64_t argument) {
  Runs owned;
  if (distribution == MPI_DISTRIBUTE_NONE) {
    append(owned, {0, size, 0, 1});
  } else if (distribution == MPI_DISTRIBUTE_BLOCK) {
    const auto block =
        argument == MPI_DISTRIBUTE_DFLT_DARG ? (size + processes - 1) / processes : argument;
    const auto begin = std::min(size, block * coordinate);
    append(owned, {begin, std::min(size, begin + block) - begin, 0, 1});
  } else {
    const auto block = argument == MPI_DISTRIBUTE_DFLT_DARG ? 1 : argument;
    for (auto begin = block * coordinate; begin < size; begin += block * processes)
      append(owned, {begin, std::min(block, size - begin), 0, 1});
  }
  return owned;
}

struct DarrayDimension {
  std::int64_t size, distribution, argument, processes, coordinate;
};

/// Dimensions given fastest first.
Map decode_darray(const Map& child, const std::vector<DarrayDimension>& dimensions) {
  Map inner = child;
  std::int64_t element = child.extent;
  for (const auto& dim : dimensions) {
    Map outer;
    for (const auto& owned :
         distribute(dim.size, dim.processes, dim.coordinate, dim.distribution, dim.argument))
      for (std::int64_t i = 0; i < owned.count; ++i)
        append_repeated(outer.runs, inner.runs, owned.block(i) * element, owned.length, element);
    element *= dim.size;
    inner.runs = std::move(outer.runs);
  }
  return {std::move(inner.runs), 0};
}

Map decode_darray(const Map& child, const Numbers& n, bool large) {
  // size, rank, ndims | gsizes distribs dargs psizes | order; large counts move only the gsizes.
  const auto rank = n.always_int(1, 1);
  const auto dims = static_cast<std::size_t>(n.always_int(2, 2));
  const auto sizes = [&](std::size_t i) { return large ? n.small(i) : n.small(3 + i); };
  const std::size_t first = 3 + dims;  // distribs in the small form
  const std::size_t first_large = 3;
  const auto field = [&](std::size_t which, std::size_t i) {
    return n.always_int(first + which * dims + i, first_large + which * dims + i);
  };
  const auto order = n.always_int(first + 3 * dims, first_large + 3 * dims);
  std::vector<DarrayDimension> dimensions(dims);
  std::int64_t rest = rank;
  for (std::size_t i = dims; i-- > 0;) {  // process grids are always in row-major order
    const auto processes = field(2, i);
    dimensions[i] = {sizes(i), field(0, i), field(1, i), processes, rest % processes};
    rest /= processes;
  }
  if (order == MPI_ORDER_C) std::reverse(dimensions.begin(), dimensions.end());
  return decode_darray(child, dimensions);
}

Map decode_subarray(const Map& child, const Numbers& n, bool large) {
  const auto dims = static_cast<std::size_t>(n.always_int(0, 0));
  const std::size_t first = large ? 0 : 1;
  std::vector<Dimension> dimensions(dims);
  for (std::size_t i = 0; i < dims; ++i)
    dimensions[i] = {n.small(first + i), n.small(first + dims + i), n.small(first + 2 * dims + i)};
  if (n.always_int(first + 3 * dims, 1) == MPI_ORDER_C)
    std::reverse(dimensions.begin(), dimensions.end());
  return decode_subarray(child, dimensions);
}

Map decode_struct(const Contents& contents, const Numbers& n, std::size_t count) {
  Map map;
  for (std::size_t i = 0; i < count; ++i) {
    const auto child = decode(contents.types[i]);
    append_blocks(map, child, n.displacement(1 + count, i), n.small(1 + i));
  }
  return map;
}

Map decode_indexed(const Contents& contents, const Numbers& n, int combiner) {
  const auto child = decode(contents.types[0]);
  const auto count = static_cast<std::size_t>(n.small(0));
  const bool one_length =
      combiner == MPI_COMBINER_INDEXED_BLOCK || combiner == MPI_COMBINER_HINDEXED_BLOCK;
  const bool in_bytes =
      combiner == MPI_COMBINER_HINDEXED || combiner == MPI_COMBINER_HINDEXED_BLOCK;
  const std::size_t first = one_length ? 2 : 1 + count;
  Map map;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = in_bytes ? n.displacement(first, i) : n.small(first + i) * child.extent;
    append_blocks(map, child, at, one_length ? n.small(1) : n.small(1 + i));
  }
  return map;
}

Map decode_combiner(MPI_Datatype type, const Envelope& envelope) {
  Contents contents;
  read_contents(type, envelope, contents);
  const bool large = envelope.counts > 0;
  const Numbers n(contents, large);
  switch (envelope.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return decode(contents.types[0]);
    case MPI_COMBINER_CONTIGUOUS: {
      Map map;
      append_blocks(map, decode(contents.types[0]), 0, n.small(0));
      return map;
    }
    case MPI_COMBINER_VECTOR: {
      const auto child = decode(contents.types[0]);
      return decode_vector(child, n.small(0), n.small(1), n.small(2) * child.extent);
    }
    case MPI_COMBINER_HVECTOR:
      return decode_vector(decode(contents.types[0]), n.small(0), n.small(1), n.displacement(2, 0));
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_HINDEXED_BLOCK:
      return decode_indexed(contents, n, envelope.combiner);
    case MPI_COMBINER_STRUCT:
      return decode_struct(contents, n, static_cast<std::size_t>(n.small(0)));
    case MPI_COMBINER_SUBARRAY:
      return decode_subarray(decode(contents.types[0]), n, large);
    case MPI_COMBINER_DARRAY:
      return decode_darray(decode(contents.types[0]), n, large);
    default:
      throw MpiError(MPI_ERR_TYPE);
  }
}

/// A predefined type. Those with padding, such as MPI_SHORT_INT, move only the bytes they have.
Map decode_named(MPI_Datatype type) {
  MPI_Count size = 0, lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  check(PMPI_Type_size_x(type, &size));
  check(PMPI_Type_get_extent_x(type, &lb, &extent));
  check(PMPI_Type_get_true_extent_x(type, &true_lb, &true_extent));
  Map map;
  if (size == true_extent) {
    append(map.runs, {true_lb, size, 0, 1});
  } else {  // a value and an int behind padding: MPI_SHORT_INT, MPI_DOUBLE_INT, MPI_LONG_DOUBLE_INT
    const auto index = static_cast<std::int64_t>(sizeof(int));
    append(map.runs, {0, size - index, 0, 1});
    append(map.runs, {true_extent - index, index, 0, 1});
  }
  return map;
}

Map decode(MPI_Datatype type) {
  const auto envelope = envelope_of(type);
  auto map =
      is_elementary(envelope.combiner) ? decode_named(type) : decode_combiner(type, envelope);
  MPI_Count lb = 0, extent = 0;
  check(PMPI_Type_get_extent_x(type, &lb, &extent));
  map.extent = extent;
  return map;
}

extern "C" int free_tile(MPI_Datatype, int, void* value, void*) {
  delete static_cast<TilePtr*>(value);
  return MPI_SUCCESS;
}

int tile_keyval() {
  static Keyval keyval([](int* key) {
    return PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, free_tile, key, nullptr);
  });
  return keyval.get();
}

}  // namespace

TilePtr tile_of(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) throw MpiError(MPI_ERR_TYPE);
  if (type == MPI_BYTE) return contiguous_tile();
  void* cached = nullptr;
  int found = 0;
  check(PMPI_Type_get_attr(type, tile_keyval(), &cached, &found));
  if (found != 0) return *static_cast<TilePtr*>(cached);
  auto map = decode(type);
  auto tile = std::make_shared<const Tile>(std::move(map.runs), map.extent);
  check(PMPI_Type_set_attr(type, tile_keyval(), new TilePtr(tile)));
  return tile;
}

}  // namespace choir
