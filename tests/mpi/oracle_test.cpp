// oracle_test.cpp: the oracle's own type maps agree with MPI_Type_size, the extents and MPI_Pack.
//
// If this fails, a differential failure means nothing; so it is checked first and by itself.
#include <fmt/format.h>

#include "support/model.hpp"

namespace choir::test {
namespace {

bool agrees(Type& type) {
  type.commit();
  const Typemap& map = type.map();
  MPI_Aint lb = 0;
  MPI_Aint extent = 0;
  int size = 0;
  MPI_Type_get_extent(type.handle(), &lb, &extent);
  MPI_Type_size(type.handle(), &size);
  if (lb != map.lb || extent != map.extent() || size != map.size()) {
    fmt::print(stderr, "{}: lb {} extent {} size {}, expected {} {} {}\n", type.text(), lb, extent,
               size, map.lb, map.extent(), map.size());
    return false;
  }
  const int copies = 2;
  Buffer buffer(map, copies, 77);
  const auto memory = stream_segments(map, 0, 0, copies * map.size());
  Bytes packed(static_cast<std::size_t>(copies * map.size()));
  int position = 0;
  MPI_Pack(buffer.base(), copies, type.handle(), packed.data(), static_cast<int>(packed.size()),
           &position, MPI_COMM_SELF);
  if (packed == buffer.gather(memory)) return true;
  fmt::print(stderr, "{}: MPI_Pack disagrees with the type map\n", type.text());
  return false;
}

/// Ascending and without a byte twice, as a file view must be.
bool is_monotone(const Type& type) {
  const auto segments = stream_segments(type.map(), 0, 0, 3 * type.map().size());
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::int64_t earliest = i ? segments[i - 1].offset + segments[i - 1].length : 0;
    if (segments[i].offset >= earliest) continue;
    fmt::print(stderr, "{}: not monotone\n", type.text());
    return false;
  }
  return true;
}

/// No byte belongs to two ranks.
bool are_exclusive(const std::vector<ViewTypes>& views) {
  std::vector<int> owner;
  for (std::size_t r = 0; r < views.size(); ++r) {
    if (views[r].dormant) continue;
    const Typemap& map = views[r].filetype.map();
    for (const Segment& s : stream_segments(map, views[r].displacement, 0, 3 * map.size())) {
      owner.resize(std::max(owner.size(), static_cast<std::size_t>(s.offset + s.length)), -1);
      for (auto i = s.offset; i < s.offset + s.length; ++i) {
        int& mark = owner[static_cast<std::size_t>(i)];
        if (mark != -1) {
          fmt::print(stderr, "byte {} belongs to ranks {} and {}: {}\n", i, mark, r,
                     views[r].filetype.text());
          return false;
        }
        mark = static_cast<int>(r);
      }
    }
  }
  return true;
}

bool check_one(std::uint64_t seed) {
  Rng rng(seed);
  const int basic_bytes = 1 << rng.between(0, 3);
  Type memory = random_memory_type(rng, basic_bytes, basic_bytes == 1, false);
  if (!agrees(memory)) return false;
  const int ranks = static_cast<int>(rng.between(1, 8));
  auto views = exclusive_views(rng, ranks, basic_bytes);
  if (!are_exclusive(views)) return false;
  auto others = overlapping_views(rng, ranks, basic_bytes);
  for (auto* set : {&views, &others})
    for (ViewTypes& v : *set)
      if (!agrees(v.filetype) || !agrees(v.etype) || !is_monotone(v.filetype)) return false;
  return true;
}

}  // namespace
}  // namespace choir::test

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int failures = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed)
    if (!choir::test::check_one(seed)) {
      fmt::print(stderr, "FAIL seed {}\n", seed);
      if (++failures == 5) break;
    }
  MPI_Finalize();
  return failures ? 1 : 0;
}
