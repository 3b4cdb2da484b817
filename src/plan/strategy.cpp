#include "plan/strategy.hpp"

#include <stdexcept>
#include <utility>

namespace choir {
namespace {

Plan only(Exchange exchange) {
  Plan plan;
  plan.exchange = exchange;
  return plan;
}

}  // namespace

Strategy strategy_from(std::string name, std::string summary, const Recipe& recipe) {
  if (recipe.cycles == Cycles::per_rank && recipe.partition != Partition::layout &&
      recipe.partition != Partition::node)
    throw std::invalid_argument("cycles 'per_rank' needs partition 'layout' or 'node'");
  if (recipe.node_first && recipe.partition != Partition::even &&
      recipe.partition != Partition::stripes)
    throw std::invalid_argument("node_first needs partition 'even' or 'stripes'");
  if (recipe.requests == Requests::sieve && recipe.partition != Partition::even &&
      recipe.partition != Partition::stripes)
    throw std::invalid_argument(
        "requests 'sieve' needs partition 'even' or 'stripes': elsewhere a hole may be "
        "another rank's data");
  return {
      std::move(name),
      std::move(summary),
      [recipe](const PlanInput& in) { return plan_recipe(recipe, in); },
      [recipe](const PlanInput& in, const Situation& s) { return estimate_recipe(recipe, in, s); },
      false,
      recipe.partition == Partition::owner && !recipe.scheduled,
      {recipe}};
}

StrategyTable::StrategyTable() {
  using enum Requests;
  const auto row = [&](const char* name, const char* summary, const Recipe& recipe) {
    rows_.push_back(strategy_from(name, summary, recipe));
  };
  row("individual", "every rank moves its own bytes",
      {Partition::owner, Choice::every, Cycles::by_offset, list});
  row("scheduled_individual", "every rank its own bytes, at most k ranks at a time",
      {Partition::owner, Choice::every, Cycles::by_offset, list, false, true});
  row("two_phase", "contiguous file ranges, n aggregators per node",
      {Partition::even, Choice::per_node, Cycles::by_offset, sieve});
  row("disk_first", "one aggregator per data server, ascending offsets",
      {Partition::stripes, Choice::per_server, Cycles::by_offset, sieve});
  row("core_first", "exchange never leaves the node",
      {Partition::node, Choice::most_data, Cycles::by_offset, list});
  row("dynamic_segmentation", "groups of ranks with neighbouring data, fixed bytes a cycle",
      {Partition::layout, Choice::writers, Cycles::by_offset, coalesce});
  row("static_segmentation", "groups of ranks, fixed bytes per rank a cycle",
      {Partition::layout, Choice::writers, Cycles::per_rank, coalesce});
  row("hierarchical", "gather on the node, then one stream between each pair of nodes",
      {Partition::even, Choice::per_node, Cycles::by_offset, sieve, true});
  add({"mapped", "stores into a shared mapping of a local file",
       [](const PlanInput&) { return only(Exchange::mapped); }, estimate_mapped, true, true});
  add({"native", "the host MPI's own collective",
       [](const PlanInput&) { return only(Exchange::host); }, estimate_host});
}

void StrategyTable::add(Strategy strategy) {
  if (find(strategy.name))
    throw std::invalid_argument("a strategy named '" + strategy.name + "' exists already");
  if (!strategy.planner.recipe) strategy.planner.name = strategy.name;
  rows_.push_back(std::move(strategy));
}

void StrategyTable::note_library(std::size_t before, const std::string& library) {
  for (auto row = before; row < rows_.size(); ++row)
    if (!rows_[row].planner.recipe) rows_[row].planner.library = library;
}

std::optional<int> StrategyTable::find(std::string_view name) const {
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].name == name) return static_cast<int>(i);
  return std::nullopt;
}

}  // namespace choir
