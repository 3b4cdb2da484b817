// settings.hpp: what a user can set, from where, and what is in force.
//
// Authority, lowest first: built-in defaults, /etc/choir.toml, ./choir.toml or $CHOIR_CONFIG,
// CHOIR_* in the environment, MPI_Info at open. ./choir.toml counts only if it belongs to the user
// or root and nobody else may write it. Read on rank 0 and broadcast as text, so that ranks can
// never disagree. A key or value that makes no sense is one warning; the run goes on with what was
// in force before.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace choir {

struct Settings {
  std::string strategy = "auto";
  std::string read_strategy;             ///< overrides `strategy` for reads; set by hints
  std::string write_strategy;            ///< likewise for writes
  std::string candidates;                ///< comma list; empty: all that apply
  std::string multi_strategy = "auto";   ///< of calls over many files
  bool spread_files = true;              ///< small files have different aggregators
  std::string join_nonblocking = "off";  ///< consecutive nonblocking calls on several files
  std::string backend = "auto";
  std::string progress = "auto";
  int aggregators_per_node = 0;
  int aggregators = 0;
  int aggregators_per_server = 1;
  std::int64_t cycle_buffer_bytes = 0;
  std::string cycle_buffer = "constant";
  std::int64_t cycle_buffer_max_bytes = std::int64_t{16} << 20;
  int group_size = 0;
  int writers_per_group = 0;
  int concurrent = 2;
  double sieve_threshold = 0.5;
  bool sieve_reads = true;
  bool sieve_writes = true;
  std::int64_t striping_unit = 0;
  int striping_factor = 0;
  int ranks_per_node = 0;
  bool stats = false;
  std::string trace;
  std::string record;
  std::string fault;
  std::string memory = "on";
  std::string machine = "auto";
  std::string examine = "auto";
  std::int64_t mapped_bytes = std::int64_t{1} << 30;
  std::int64_t plan_cache_bytes = std::int64_t{16} << 20;
  std::string plugins;  ///< comma list of shared objects

  /// [strategy.NAME] tables: NAME -> key -> value.
  std::map<std::string, std::map<std::string, std::string>> custom;
  /// Where each value that is not a default came from.
  std::map<std::string, std::string> sources;
};

/// One key, as `choir info`, the documentation and the parser see it.
struct Key {
  const char* name;
  const char* accepted;
  const char* meaning;
  std::function<bool(Settings&, const std::string&)> set;  ///< false: not an accepted value
  std::function<std::string(const Settings&)> get;
};
const std::vector<Key>& setting_keys();

struct Entry {
  std::string key, value, source;
};
using Entries = std::vector<Entry>;

/// Applies entries in order; returns warnings, one sentence each.
std::vector<std::string> apply_entries(Settings& settings, const Entries& entries);

/// What the files and the environment of this process say. Adds warnings for files that cannot be
/// read.
Entries read_entries(std::vector<std::string>& warnings);
/// The plug-ins are named by ./choir.toml, and not by the user or by root in so many words.
bool plugins_of_folder(const Settings& settings);
/// What the text of the configuration file `name` says. Throws std::exception if it is none.
Entries entries_of_text(const std::string& text, const std::string& name);
/// Entries for the MPI_Info keys that mean something to choir; others are not ours.
Entries entries_from_hints(const std::vector<std::pair<std::string, std::string>>& hints);

std::string serialise(const Entries& entries);
Entries deserialise(const std::string& text);

/// "4M", "64KiB", "1073741824"; false if it is not a size.
bool parse_size(const std::string& text, std::int64_t& bytes);

}  // namespace choir
