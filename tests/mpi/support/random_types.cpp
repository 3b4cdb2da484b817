#include "random_types.hpp"

#include <algorithm>
#include <numeric>

namespace choir::test {
namespace {

std::int64_t width(const Typemap& map) { return map.true_ub() - map.true_lb(); }
std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

/// How many copies of `of` still fit the rules, at most `wanted`.
int affordable(const Type& of, const LayoutRules& rules, std::int64_t wanted) {
  const auto per_copy =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(of.map().pieces.size()));
  return static_cast<int>(std::clamp<std::int64_t>(rules.pieces / per_copy, 1, wanted));
}

struct Blocks {
  Ints lengths;
  std::vector<std::int64_t> at;  // in units
};

/// Blocks that do not overlap; `unit` is what one copy occupies, gaps are up to `gap` units of
/// `step`.
Blocks random_blocks(Rng& rng, int budget, std::int64_t unit, std::int64_t step, bool monotone,
                     int fixed_length) {
  Blocks blocks;
  const int wanted = static_cast<int>(rng.between(1, 6));
  std::int64_t at = monotone ? rng.between(0, 2) * step : rng.between(-3, 3) * step;
  for (int i = 0; i < wanted && budget > 0; ++i) {
    // ROMIO refuses some filetypes with empty blocks, so those stay in memory types.
    const int least = i == 0 || monotone ? 1 : 0;
    int length = fixed_length ? fixed_length : static_cast<int>(rng.between(least, 3));
    if (!fixed_length) length = std::min(length, budget);
    blocks.lengths.push_back(length);
    blocks.at.push_back(at);
    at += length * unit + rng.between(0, 3) * step;
    budget -= length;
  }
  if (monotone) return blocks;
  Blocks mixed;
  std::vector<std::size_t> order(blocks.at.size());
  std::iota(order.begin(), order.end(), 0);
  rng.shuffle(order);
  for (const std::size_t i : order) {
    mixed.lengths.push_back(blocks.lengths[i]);
    mixed.at.push_back(blocks.at[i]);
  }
  return mixed;
}

template <class T>
std::vector<T> as(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

/// Explicit bounds: byte displacements may leave alignment padding to the MPI library otherwise.
Type with_bounds(Rng& rng, const Type& of, const LayoutRules& rules) {
  const Typemap& map = of.map();
  std::int64_t lb = rules.monotone ? 0 : map.true_lb() - rng.between(-2, 2) * rules.grain;
  std::int64_t extent = round_up(width(map), rules.grain) + rng.between(0, 2) * rules.grain;
  if (rules.monotone)
    extent = round_up(map.true_ub(), rules.grain) + rng.between(0, 2) * rules.grain;
  return resized(of, lb, extent);
}

Type random_struct(Rng& rng, const Type& child, const Type& leaf, const LayoutRules& rules) {
  Ints blocks;
  Offsets at;
  std::vector<const Type*> of;
  int budget = affordable(child, rules, 4);
  std::int64_t low = rules.monotone ? 0 : rng.between(-4, 4) * rules.grain;
  for (std::int64_t i = rng.between(1, 4); i > 0; --i) {
    const Type& member = budget > 0 && rng.chance(60) ? child : leaf;
    if (&member == &child) --budget;
    of.push_back(&member);
    blocks.push_back(&member == &leaf ? static_cast<int>(rng.between(0, 3)) : 1);
    // ROMIO takes an empty block and its neighbour at the same place for an overlap in a filetype.
    if ((i == 1 || rules.monotone) && member.map().size() > 0 && blocks.back() == 0)
      blocks.back() = 1;
    low = round_up(low, rules.grain) + rng.between(0, 2) * rules.grain;
    at.push_back(low - member.map().true_lb());
    low += (blocks.back() - 1) * member.map().extent() + width(member.map());
    low = std::max<std::int64_t>(low, at.back() + member.map().true_lb());
  }
  return structure(blocks, at, of);
}

Type random_subarray(Rng& rng, const Type& child, const LayoutRules& rules) {
  int budget = affordable(child, rules, 60);
  Ints sizes;
  Ints part;
  Ints start;
  for (std::int64_t d = rng.between(1, 3); d > 0; --d) {
    part.push_back(static_cast<int>(rng.between(1, std::min(4, budget))));
    budget = std::max(1, budget / part.back());
    start.push_back(static_cast<int>(rng.between(0, 2)));
    sizes.push_back(start.back() + part.back() + static_cast<int>(rng.between(0, 2)));
  }
  return subarray(sizes, part, start, rng.chance(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, child);
}

Distribution random_distribution(Rng& rng, int size, int processes) {
  if (rng.chance(50)) {
    const int least = (size + processes - 1) / processes;
    return {MPI_DISTRIBUTE_BLOCK,
            rng.chance(50) ? MPI_DISTRIBUTE_DFLT_DARG : least + static_cast<int>(rng.between(0, 1)),
            processes};
  }
  return {MPI_DISTRIBUTE_CYCLIC,
          rng.chance(40) ? MPI_DISTRIBUTE_DFLT_DARG : static_cast<int>(rng.between(1, 3)),
          processes};
}

struct Grid {
  Ints sizes;
  std::vector<Distribution> dims;
  int order = MPI_ORDER_C;
};

/// A distributed array over exactly `processes` processes.
Grid random_grid(Rng& rng, int processes, int budget) {
  Grid grid;
  grid.order = rng.chance(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  const std::int64_t dims = rng.between(1, 3);
  for (std::int64_t d = 0; d < dims; ++d) {
    int share = processes;
    if (d + 1 < dims) {
      std::vector<int> divisors;
      for (int i = 1; i <= processes; ++i)
        if (processes % i == 0) divisors.push_back(i);
      share = rng.pick(divisors);
    }
    processes /= share;
    const int most = std::clamp(budget, 1, 4);
    const int size = share * static_cast<int>(rng.between(1, most)) -
                     static_cast<int>(rng.between(0, share > 1));
    budget = std::max(1, budget / std::max(1, size / share + 1));
    grid.sizes.push_back(std::max(1, size));
    grid.dims.push_back(share == 1 && rng.chance(50)
                            ? Distribution{MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_DFLT_DARG, 1}
                            : random_distribution(rng, grid.sizes.back(), share));
  }
  return grid;
}

Type random_darray(Rng& rng, const Type& child, const LayoutRules& rules) {
  const int processes = static_cast<int>(rng.between(1, 4));
  const Grid grid = random_grid(rng, processes, affordable(child, rules, 24));
  return darray(0, grid.sizes, grid.dims, grid.order, child);  // rank 0 always owns something
}

Type random_indexed(Rng& rng, const Type& child, const LayoutRules& rules) {
  const int budget = affordable(child, rules, 12);
  const std::int64_t extent = child.map().extent();
  switch (rng.between(0, 3)) {
    case 0: {
      const Blocks b = random_blocks(rng, budget, 1, 1, rules.monotone, 0);
      return indexed(b.lengths, as<int>(b.at), child);
    }
    case 1: {
      const int length = static_cast<int>(rng.between(1, std::min(3, budget)));
      const Blocks b = random_blocks(rng, budget, 1, 1, rules.monotone, length);
      return indexed_block(length, as<int>(b.at), child);
    }
    case 2: {
      const Blocks b = random_blocks(rng, budget, extent, rules.grain, rules.monotone, 0);
      return with_bounds(rng, hindexed(b.lengths, as<MPI_Aint>(b.at), child), rules);
    }
    default: {
      const int length = static_cast<int>(rng.between(1, std::min(2, budget)));
      const Blocks b = random_blocks(rng, budget, extent, rules.grain, rules.monotone, length);
      return with_bounds(rng, hindexed_block(length, as<MPI_Aint>(b.at), child), rules);
    }
  }
}

Type random_vector(Rng& rng, const Type& child, const LayoutRules& rules) {
  const int budget = affordable(child, rules, 24);
  const int block = static_cast<int>(rng.between(1, std::min(3, budget)));
  const int count = static_cast<int>(rng.between(1, std::max(1, std::min(8, budget / block))));
  const int sign = !rules.monotone && rng.chance(30) ? -1 : 1;
  if (rng.chance(50))
    return vector(count, block, sign * (block + static_cast<int>(rng.between(0, 4))), child);
  const std::int64_t stride = block * child.map().extent() + rng.between(0, 4) * rules.grain;
  return with_bounds(rng, hvector(count, block, sign * stride, child), rules);
}

Type wrap(Rng& rng, const Type& child, const Type& leaf, const LayoutRules& rules) {
  switch (rng.between(0, 7)) {
    case 0:
      return contiguous(static_cast<int>(rng.between(1, affordable(child, rules, 5))), child);
    case 1:
      return random_struct(rng, child, leaf, rules);
    case 2:
      return random_subarray(rng, child, rules);
    case 3:
      return random_darray(rng, child, rules);
    case 4:
      return dup(child);
    case 5:
    case 6:
      return random_indexed(rng, child, rules);
    default:
      return random_vector(rng, child, rules);
  }
}

/// One tile of slots, each given to a rank or left as a hole: truly irregular.
std::vector<ViewTypes> irregular_views(Rng& rng, int ranks, int basic_bytes, const Type& etype) {
  const std::int64_t slots = rng.between(ranks, 12 * ranks + 20);
  std::vector<int> owner;
  while (static_cast<std::int64_t>(owner.size()) < slots)
    owner.insert(owner.end(), static_cast<std::size_t>(rng.between(1, 5)),
                 static_cast<int>(rng.between(-1, ranks - 1)));
  const std::int64_t extent = etype.map().extent();
  const std::int64_t displacement = rng.between(0, 3) * basic_bytes + rng.between(0, 1);
  std::vector<ViewTypes> views;
  for (int r = 0; r < ranks; ++r) {
    Ints lengths;
    Ints at;
    for (std::size_t i = 0; i < owner.size(); ++i) {
      if (owner[i] != r) continue;
      const bool extends = !at.empty() && at.back() + lengths.back() == static_cast<int>(i);
      if (extends && rng.chance(80)) {
        ++lengths.back();
      } else {
        lengths.push_back(1);
        at.push_back(static_cast<int>(i));
      }
    }
    const auto tile = static_cast<std::int64_t>(owner.size()) * extent;
    if (at.empty()) {
      views.push_back({displacement, dup(etype), dup(etype), true});
      continue;
    }
    Offsets bytes;
    for (const int i : at) bytes.push_back(i * extent);
    const bool as_bytes = rng.chance(50);
    views.push_back(
        {displacement, dup(etype),
         resized(as_bytes ? hindexed(lengths, bytes, etype) : indexed(lengths, at, etype), 0, tile),
         false});
  }
  return views;
}

/// The same random type for all, shifted by rank inside a tile that holds one slot per rank.
std::vector<ViewTypes> shifted_views(Rng& rng, int ranks, const Type& etype) {
  const std::int64_t grain = etype.map().extent();
  const Type shape =
      random_layout(rng, etype, {true, grain, 60}, static_cast<int>(rng.between(1, 3)));
  const std::int64_t slot = round_up(shape.map().true_ub(), grain) + rng.between(0, 3) * grain;
  const std::int64_t displacement = rng.between(0, 40);
  const bool inside = rng.chance(50);
  std::vector<ViewTypes> views;
  for (int r = 0; r < ranks; ++r) {
    if (inside)
      views.push_back(
          {displacement, dup(etype),
           resized(hindexed({1}, {static_cast<MPI_Aint>(r * slot)}, shape), 0, ranks * slot),
           false});
    else
      views.push_back(
          {displacement + r * slot, dup(etype), resized(shape, 0, ranks * slot), false});
  }
  return views;
}

/// A distributed array, one part per rank.
std::vector<ViewTypes> distributed_views(Rng& rng, int ranks, const Type& etype) {
  const Grid grid = random_grid(rng, ranks, 24);
  const std::int64_t displacement = rng.between(0, 40);
  std::vector<ViewTypes> views;
  for (int r = 0; r < ranks; ++r) {
    Type part = darray(r, grid.sizes, grid.dims, grid.order, etype);
    const bool dormant = part.map().pieces.empty();
    views.push_back({displacement, dup(etype), dormant ? dup(etype) : std::move(part), dormant});
  }
  return views;
}

/// One block of rank r, then one of rank r + 1, and so on: the commonest pattern of all.
std::vector<ViewTypes> interleaved_views(Rng& rng, int ranks, const Type& etype) {
  const int block = static_cast<int>(rng.between(1, 64));
  const int count = static_cast<int>(rng.between(1, 12));
  const std::int64_t extent = etype.map().extent();
  std::vector<ViewTypes> views;
  for (int r = 0; r < ranks; ++r)
    views.push_back(
        {r * block * extent, dup(etype),
         resized(vector(count, block, block * ranks, etype), 0, count * extent * block * ranks),
         false});
  return views;
}

/// Every rank long contiguous areas far from the others'.
std::vector<ViewTypes> separate_views(Rng& rng, int ranks, const Type& etype) {
  const int area = static_cast<int>(rng.between(500, 3000));
  const std::int64_t bytes = area * etype.map().extent();
  std::vector<ViewTypes> views;
  for (int r = 0; r < ranks; ++r)
    views.push_back(
        {r * bytes, dup(etype), resized(contiguous(area, etype), 0, ranks * bytes), false});
  return views;
}

Type random_etype(Rng& rng, int basic_bytes) {
  const Type leaf = basic(basic_bytes);
  if (rng.chance(60)) return basic(basic_bytes);
  if (rng.chance(60)) return contiguous(static_cast<int>(rng.between(1, 3)), leaf);
  return resized(leaf, 0, basic_bytes * rng.between(1, 3));  // an etype with a gap
}

}  // namespace

Type random_layout(Rng& rng, const Type& leaf, const LayoutRules& rules, int depth) {
  Type made = dup(leaf);
  for (int i = 0; i < depth; ++i) {
    Type outer = wrap(rng, made, leaf, rules);
    const bool plain_struct = outer.text().starts_with("struct");
    made = plain_struct || rng.chance(15) ? with_bounds(rng, outer, rules) : std::move(outer);
  }
  return made;
}

Type random_memory_type(Rng& rng, int basic_bytes, bool mixed, bool tame) {
  const Type leaf = basic(basic_bytes);
  if (rng.chance(25)) return basic(basic_bytes);
  if (tame) return random_vector(rng, leaf, {true, basic_bytes, 200});
  const LayoutRules rules{false, basic_bytes, 200};
  if (!mixed || rng.chance(50))
    return random_layout(rng, leaf, rules, static_cast<int>(rng.between(1, 3)));
  const Type small = basic(1);
  const Type middle = basic(4);
  const Type large = basic(8);
  const Type record = resized(structure({1, 2, 1}, {0, 8, 24}, {&small, &middle, &large}), 0, 32);
  return random_layout(rng, record, {false, 8, 200}, static_cast<int>(rng.between(0, 2)));
}

std::vector<ViewTypes> exclusive_views(Rng& rng, int ranks, int basic_bytes) {
  const Type etype = random_etype(rng, basic_bytes);
  switch (rng.between(0, 6)) {
    case 0:
    case 1:
      return irregular_views(rng, ranks, basic_bytes, etype);
    case 2:
    case 3:
      return shifted_views(rng, ranks, etype);
    case 4:
      return distributed_views(rng, ranks, etype);
    case 5:
      return interleaved_views(rng, ranks, etype);
    default:
      return separate_views(rng, ranks, etype);
  }
}

std::vector<ViewTypes> tame_views(Rng& rng, int ranks, int basic_bytes) {
  const Type etype = basic(basic_bytes);
  return rng.chance(70) ? interleaved_views(rng, ranks, etype) : separate_views(rng, ranks, etype);
}

std::vector<ViewTypes> overlapping_views(Rng& rng, int ranks, int basic_bytes) {
  const Type etype = random_etype(rng, basic_bytes);
  const std::int64_t grain = etype.map().extent();
  std::vector<ViewTypes> views;
  for (int r = 0; r < ranks; ++r)
    views.push_back(
        {rng.between(0, 300), dup(etype),
         random_layout(rng, etype, {true, grain, 60}, static_cast<int>(rng.between(0, 3))), false});
  return views;
}

}  // namespace choir::test
