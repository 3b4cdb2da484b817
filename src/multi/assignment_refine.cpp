#include "multi/assignment_refine.hpp"

#include <algorithm>
#include <utility>

namespace choir::multi {
namespace {

constexpr int max_passes = 16;
constexpr std::int64_t max_tries = 10'000'000;  // a few seconds

class Refinement {
 public:
  Refinement(const RequestMatrix& requests, const std::vector<Link>& links, std::int64_t limit,
             const Assignment& assignment)
      : bytes_(requests.file_bytes()),
        links_(links),
        limit_(limit),
        owner_(requests.files(), -1),
        loads_(requests.ranks(), 0),
        files_of_(requests.ranks()) {
    for (int file = 0; file < requests.files(); ++file)
      if (!assignment.owners[file].empty()) give(file, assignment.owners[file].front());
  }

  /// False if nothing got better, or the work is used up.
  bool pass() {
    bool improved = false;
    for (const auto& link : links_) {
      if (owner_[link.file] == link.rank) continue;
      if (tries_ >= max_tries) return false;
      improved = improve(link) || improved;
    }
    return improved;
  }

  Assignment result() const {
    Assignment assignment;
    for (const int owner : owner_)
      assignment.owners.push_back(owner < 0 ? std::vector<int>{} : std::vector{owner});
    return assignment;
  }

 private:
  std::int64_t worth(int rank, int file) const {
    const auto found = std::ranges::lower_bound(
        links_, std::pair(rank, file), {}, [](const Link& l) { return std::pair(l.rank, l.file); });
    const bool there = found != links_.end() && found->rank == rank && found->file == file;
    return there ? found->weight : 0;
  }

  void give(int file, int rank) {
    owner_[file] = rank;
    loads_[rank] += bytes_[file];
    files_of_[rank].push_back(file);
  }

  void take(int file) {
    const int rank = owner_[file];
    loads_[rank] -= bytes_[file];
    std::erase(files_of_[rank], file);
  }

  /// Brings the file of the link to its rank, alone or for the one file that costs least.
  bool improve(const Link& link) {
    const int from = owner_[link.file];
    const auto gain = link.weight - worth(from, link.file);
    ++tries_;
    if (gain <= 0) return false;
    if (loads_[link.rank] + bytes_[link.file] <= limit_) {
      take(link.file);
      give(link.file, link.rank);
      return true;
    }
    const int back = cheapest_return(link, from, gain);
    if (back < 0) return false;
    take(link.file);
    take(back);
    give(link.file, link.rank);
    give(back, from);
    return true;
  }

  /// The file that link.rank gives to `from` in exchange with the least loss below `gain`, or -1.
  int cheapest_return(const Link& link, int from, std::int64_t gain) {
    int best = -1;
    for (const int back : files_of_[link.rank]) {
      ++tries_;
      const auto growth = bytes_[link.file] - bytes_[back];
      if (loads_[link.rank] + growth > limit_ || loads_[from] - growth > limit_) continue;
      const auto loss = worth(link.rank, back) - worth(from, back);
      if (loss >= gain) continue;
      gain = loss;
      best = back;
    }
    return best;
  }

  const std::vector<std::int64_t>& bytes_;
  const std::vector<Link>& links_;
  std::int64_t limit_;
  std::vector<int> owner_;
  std::vector<std::int64_t> loads_;
  std::vector<std::vector<int>> files_of_;
  std::int64_t tries_ = 0;
};

}  // namespace

Assignment refine_within_bytes(const RequestMatrix& requests, const std::vector<Link>& links,
                               std::int64_t limit, const Assignment& assignment) {
  Refinement refinement(requests, links, limit, assignment);
  for (int pass = 0; pass < max_passes && refinement.pass(); ++pass) continue;
  return refinement.result();
}

std::int64_t total_worth(const Assignment& assignment, const std::vector<Link>& links) {
  std::int64_t worth = 0;
  for (const auto& link : links)
    if (std::ranges::binary_search(assignment.owners[link.file], link.rank)) worth += link.weight;
  return worth;
}

}  // namespace choir::multi
