// store.hpp: what bench/choice has measured so far, a line of JSON per launch or chain, so that an
// interrupted benchmark goes on where it was. Local; throws std::runtime_error.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "evaluate.hpp"

namespace choir::rounds {

class Store {
 public:
  /// Reads what `folder` has. Refuses figures of another machine or version than `here`.
  Store(const std::string& folder, const nlohmann::json& here);

  bool has(const std::string& key) const { return keys_.contains(key); }
  /// All of them or, after an interruption, none.
  void add(const std::vector<Launch>& launches, const std::vector<nlohmann::json>& documents);
  void add(const Chain& chain, const std::string& best);
  static std::string key_of(const Chain& chain);

  const std::vector<Time>& times() const { return times_; }
  const std::vector<Chain>& chains() const { return chains_; }
  const nlohmann::json& machines() const { return machines_; }  // by MPI
  /// Writes choice.json and choice.md.
  void write(const std::vector<Row>& rows, const std::vector<Target>& targets,
             const std::string& command) const;

 private:
  void read_line(const nlohmann::json& line);
  void append(const std::string& lines);

  std::string folder_;
  nlohmann::json here_;
  nlohmann::json machines_ = nlohmann::json::object();
  std::set<std::string> keys_;
  std::vector<Time> times_;
  std::vector<Chain> chains_;
};

}  // namespace choir::rounds
