// neighbours.hpp: who neighbours whom in the file, from runs, at a cost per run and never per
// piece.
//
// The pieces of all ranks, in the order of their offsets, form a sequence; two ranks whose pieces
// follow each other in it neighbour each other there. One contact weighs the shorter of the two
// pieces in bytes, so that pieces of one byte give the plain count of contacts.
#pragma once

#include "place/access_run.hpp"
#include "place/pair_sums.hpp"

namespace choir::place {

/// The run without surprises: ascending, joined where its blocks touch, nothing repeated.
AccessRun normalised(AccessRun run);

/// Adds the contacts of one call to `sums`. Returns false if some of them had to be estimated:
/// where strides without a short common period overlap, windows of the file are counted and scaled
/// up.
bool count_neighbours(const GatheredRuns& ranks, PairSums& sums);

}  // namespace choir::place
