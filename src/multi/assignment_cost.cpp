#include "multi/assignment_cost.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

namespace choir::multi {
namespace {

void check_owners(const Problem& problem, const Assignment& assignment) {
  const auto& requests = problem.requests;
  if (assignment.owners.size() != static_cast<std::size_t>(requests.files()))
    throw std::invalid_argument("the assignment is of another number of files");
  for (int file = 0; file < requests.files(); ++file) {
    const auto& owners = assignment.owners[file];
    const auto name = "file " + std::to_string(file);
    if (owners.empty() && requests.file_bytes()[file] > 0)
      throw std::invalid_argument(name + " has no owner");
    for (std::size_t i = 0; i < owners.size(); ++i) {
      if (owners[i] < 0 || owners[i] >= requests.ranks())
        throw std::invalid_argument(name + " has an owner that is no rank");
      if (i > 0 && owners[i] <= owners[i - 1])
        throw std::invalid_argument(name + " has owners that do not ascend");
    }
  }
}

/// One rank's part in one file: what it asks and what it accesses.
struct Part {
  int rank = 0;
  std::int64_t asked = 0;
  std::int64_t accessed = 0;

  std::int64_t surplus() const { return std::max<std::int64_t>(0, asked - accessed); }
  std::int64_t deficit() const { return std::max<std::int64_t>(0, accessed - asked); }
};

/// The parts of each file, by rank: everyone who asks for it or owns it.
std::vector<std::vector<Part>> parts_of_files(const RequestMatrix& requests,
                                              const Assignment& assignment) {
  std::vector<std::vector<Part>> parts(requests.files());
  for (int rank = 0; rank < requests.ranks(); ++rank)
    for (const auto [file, bytes] : requests.row(rank)) parts[file].push_back({rank, bytes, 0});
  for (int file = 0; file < requests.files(); ++file) {
    const auto& owners = assignment.owners[file];
    const auto count = static_cast<std::int64_t>(owners.size());
    if (count == 0) continue;
    const auto bytes = requests.file_bytes()[file];
    const auto asking = parts[file].size();
    for (std::int64_t i = 0; i < count; ++i) {
      const auto share = bytes / count + (i < bytes % count ? 1 : 0);
      const auto end = parts[file].begin() + static_cast<std::ptrdiff_t>(asking);
      const auto found = std::lower_bound(parts[file].begin(), end, owners[i],
                                          [](const Part& p, int r) { return p.rank < r; });
      if (found != end && found->rank == owners[i])
        found->accessed = share;
      else
        parts[file].push_back({owners[i], 0, share});
    }
  }
  return parts;
}

/// Moves of one file: surpluses go to the deficits in proportion.
class FileMoves {
 public:
  FileMoves(const Problem& problem, const std::vector<Part>& parts)
      : problem_(problem), topology_(has_topology(problem)) {
    for (const auto& part : parts) {
      moved_ += part.surplus();
      if (!topology_) continue;
      auto& node = nodes_[problem.node_of_rank[part.rank]];
      node.surplus += part.surplus();
      node.deficit += part.deficit();
    }
  }

  double sent(const Part& part) const { return weighted(part, part.surplus(), &NodeSums::deficit); }
  double received(const Part& part) const {
    return weighted(part, part.deficit(), &NodeSums::surplus);
  }

 private:
  struct NodeSums {
    std::int64_t surplus = 0;
    std::int64_t deficit = 0;
  };

  double weighted(const Part& part, std::int64_t bytes, std::int64_t NodeSums::*partners) const {
    if (bytes == 0 || !topology_) return static_cast<double>(bytes);
    const auto& node = nodes_.at(problem_.node_of_rank[part.rank]);
    const double inside = static_cast<double>(node.*partners) / static_cast<double>(moved_);
    return static_cast<double>(bytes) * (1 - (1 - problem_.intra_node_cost) * inside);
  }

  const Problem& problem_;
  bool topology_;
  std::int64_t moved_ = 0;
  std::map<int, NodeSums> nodes_;
};

}  // namespace

Cost evaluate(const Problem& problem, const Assignment& assignment) {
  validate(problem);
  check_owners(problem, assignment);
  Cost cost;
  cost.ranks.resize(problem.requests.ranks());
  for (const auto& parts : parts_of_files(problem.requests, assignment)) {
    const FileMoves moves(problem, parts);
    for (const auto& part : parts) {
      auto& rank = cost.ranks[part.rank];
      const double received = moves.received(part);
      rank.io_bytes += part.accessed;
      rank.moved_bytes += moves.sent(part) + received;
      cost.communication += received;
    }
  }
  for (const auto& owners : assignment.owners)
    for (const int rank : owners) ++cost.ranks[rank].files;
  for (auto& rank : cost.ranks) {
    rank.time =
        problem.alpha * static_cast<double>(rank.io_bytes) + problem.beta * rank.moved_bytes;
    cost.max_io_bytes = std::max(cost.max_io_bytes, rank.io_bytes);
    cost.response = std::max(cost.response, rank.time);
  }
  return cost;
}

}  // namespace choir::multi
