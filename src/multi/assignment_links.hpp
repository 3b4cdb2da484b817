// assignment_links.hpp: what it is worth that a rank owns (part of) a file, as a sparse graph.
//
// Pure. The worth of a pair is in bytes that need not be moved between nodes; the communication
// of an assignment is the total of all requests less the worth of its pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "multi/assignment.hpp"

namespace choir::multi {

struct Link {
  int rank = 0;
  int file = 0;
  std::int64_t weight = 0;

  bool operator==(const Link&) const = default;
};

/// All pairs that are worth something, by rank, then file.
///
/// An owner keeps what it asks itself, up to its share of the file. With a topology, the part of
/// its share that its node neighbours ask counts too, less what a move inside the node costs. (For
/// a file of several owners this takes the rest of a share to come from everyone in proportion.)
std::vector<Link> make_links(const Problem& problem, const Quotas& quotas);

/// The links of ranks to bins of files: a bin is worth the sum of its files.
std::vector<Link> links_to_bins(const std::vector<Link>& links,
                                const std::vector<std::vector<int>>& bins, int files);

/// Every rank owns exactly one of as many bins.
Quotas one_bin_per_rank(int ranks);

/// The files' owners, from the owner of each bin.
std::vector<std::vector<int>> owners_from_bins(const std::vector<std::vector<int>>& bin_owners,
                                               const std::vector<std::vector<int>>& bins,
                                               int files);

}  // namespace choir::multi
