// recipe_words.cpp: a recipe from the words of a configuration file.
#include <stdexcept>
#include <utility>

#include "plan/recipe.hpp"

namespace choir {
namespace {

std::string one_of(const std::string& what, const std::string& given, const char* accepted) {
  return what + " '" + given + "' is not one of " + accepted;
}

template <class Value, std::size_t count>
Value word(const std::string& what, const std::string& given, const char* accepted,
           const std::pair<const char*, Value> (&words)[count]) {
  for (const auto& [name, value] : words)
    if (given == name) return value;
  throw std::invalid_argument(one_of(what, given, accepted));
}

}  // namespace

Recipe parse_recipe(const std::string& partition, const std::string& aggregators,
                    const std::string& cycles, const std::string& requests, bool node_first) {
  Recipe recipe;
  recipe.partition = word<Partition>("partition", partition, "owner, even, stripes, node, layout",
                                     {{"owner", Partition::owner},
                                      {"even", Partition::even},
                                      {"stripes", Partition::stripes},
                                      {"node", Partition::node},
                                      {"layout", Partition::layout}});
  recipe.aggregators =
      word<Choice>("aggregators", aggregators, "every, per_node, per_server, most_data, writers",
                   {{"every", Choice::every},
                    {"per_node", Choice::per_node},
                    {"per_server", Choice::per_server},
                    {"most_data", Choice::most_data},
                    {"writers", Choice::writers}});
  recipe.cycles = word<Cycles>("cycles", cycles, "by_offset, per_rank",
                               {{"by_offset", Cycles::by_offset}, {"per_rank", Cycles::per_rank}});
  recipe.requests = word<Requests>(
      "requests", requests, "list, coalesce, sieve",
      {{"list", Requests::list}, {"coalesce", Requests::coalesce}, {"sieve", Requests::sieve}});
  recipe.node_first = node_first;
  return recipe;
}

}  // namespace choir
