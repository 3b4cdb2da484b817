#include "place/cart.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <sstream>
#include <stdexcept>

namespace choir::place {

namespace {

std::vector<int> parse_dims(const std::string& text, const char* what) {
  std::vector<int> dims;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, 'x');) {
    if (part.empty() || part.size() > 7 ||
        part.find_first_not_of("0123456789") != std::string::npos || std::stoi(part) < 1)
      throw std::invalid_argument(
          fmt::format("{} '{}': '{}' is not a positive number", what, text, part));
    dims.push_back(std::stoi(part));
  }
  if (dims.size() < 2 || dims.size() > 3 || text.back() == 'x')
    throw std::invalid_argument(
        fmt::format("{} '{}' should have the form 16x8 or 16x8x4", what, text));
  return dims;
}

int inner_ranks(const Cart& cart) { return cart.ranks() / cart.dims.front(); }

}  // namespace

int Cart::ranks() const {
  int product = 1;
  for (const int dim : dims) product *= dim;
  return product;
}

Cart parse_cart(const std::string& dims, const std::string& tile, int element_bytes) {
  Cart cart;
  cart.dims = parse_dims(dims, "grid");
  std::int64_t ranks = 1;
  for (const int dim : cart.dims)
    if ((ranks *= dim) > 100'000'000)
      throw std::invalid_argument(fmt::format("grid '{}' is too large", dims));
  if (tile.empty())
    cart.tile.assign(cart.dims.size(), cart.dims.size() == 2 ? 64 : 16);
  else
    cart.tile = parse_dims(tile, "tile");
  if (cart.tile.size() != cart.dims.size())
    throw std::invalid_argument(
        fmt::format("grid '{}' and tile '{}' differ in dimensions", dims, tile));
  if (element_bytes < 1) throw std::invalid_argument("an element needs at least one byte");
  double bytes = element_bytes;
  for (std::size_t d = 0; d < cart.dims.size(); ++d) bytes *= 1.0 * cart.dims[d] * cart.tile[d];
  if (bytes > 1e18)
    throw std::invalid_argument("the array of this grid and tile exceeds 10^18 bytes");
  cart.element_bytes = element_bytes;
  return cart;
}

GatheredRuns runs_of(const Cart& cart) {
  auto dims = cart.dims;
  auto tile = cart.tile;
  if (dims.size() == 2) {  // one plane
    dims.insert(dims.begin(), 1);
    tile.insert(tile.begin(), 1);
  }
  const std::int64_t row = std::int64_t{dims[2]} * tile[2] * cart.element_bytes;
  const std::int64_t plane = row * dims[1] * tile[1];
  GatheredRuns result;
  std::vector<AccessRun> runs;
  for (int x = 0; x < dims[0]; ++x)
    for (int y = 0; y < dims[1]; ++y)
      for (int z = 0; z < dims[2]; ++z) {
        runs.clear();
        const std::int64_t width = std::int64_t{tile[2]} * cart.element_bytes;
        for (int p = 0; p < tile[0]; ++p)
          runs.push_back({(std::int64_t{x} * tile[0] + p) * plane +
                              std::int64_t{y} * tile[1] * row + z * width,
                          width, row, tile[1]});
        result.append_rank(runs);
      }
  return result;
}

int special_entry(const Cart& cart, int a, int b) {
  return a / inner_ranks(cart) == b / inner_ranks(cart) ? inner_ranks(cart) : 0;
}

std::vector<int> special_sets(const Cart& cart) {
  std::vector<int> sets;
  sets.reserve(static_cast<std::size_t>(cart.ranks()));
  for (int rank = 0; rank < cart.ranks(); ++rank) sets.push_back(rank / inner_ranks(cart));
  return sets;
}

}  // namespace choir::place
