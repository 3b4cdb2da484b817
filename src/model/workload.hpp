// workload.hpp: what imaginary ranks ask for: the patterns of `choir bench`, computed rank by rank.
//
// A pattern of P ranks takes no memory per rank except `irregular`, whose random pieces are drawn
// once. Equal parameters give the same bytes as the bench's workload of the same name. Ranks never
// ask for the same byte.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "access/layout.hpp"
#include "plan/plan.hpp"

namespace choir::model {

struct WorkloadParameters {
  std::string name = "vector";
  int ranks = 1;
  std::int64_t bytes_per_rank = std::int64_t{1} << 20;
  std::int64_t piece = 0;              ///< 0: the workload's own
  std::int64_t depth = 4;              ///< matrix: rows in one call
  std::int64_t width = 0, height = 0;  ///< tile, in elements; 0: as MPI Tile I/O
  std::int64_t holes = 5;              ///< irregular: percent of the pieces that belong to nobody
  std::uint64_t seed = 1;
  std::string configuration = "scaled";  ///< flash: A, B or scaled
};

class Workload {
 public:
  /// Throws std::invalid_argument with a sentence for the user.
  explicit Workload(WorkloadParameters parameters);

  static const std::vector<std::string>& names();

  const WorkloadParameters& parameters() const { return p_; }
  /// Collective calls in one pass.
  std::int64_t calls() const { return calls_; }
  /// What a rank asks for in one call.
  Access access(int rank, std::int64_t call) const;
  std::vector<RankSummary> summaries(std::int64_t call) const;

 private:
  void draw_irregular();
  Access interleaved(int rank, std::int64_t first, std::int64_t blocks) const;
  Access tile(int rank) const;
  Access rotating(int rank) const;
  Access flash(int rank, std::int64_t call) const;

  WorkloadParameters p_;
  std::int64_t calls_ = 1;
  std::int64_t slab_ = 0;  ///< flash: bytes of a rank in one call
  int grid_rows_ = 1, grid_columns_ = 1;
  TilePtr shared_;  ///< one tile for all ranks, where only the origin differs
  std::vector<TilePtr> irregular_;
};

/// The two factors MPI_Dims_create gives, larger first.
std::pair<int, int> two_dimensions(int ranks);

}  // namespace choir::model
