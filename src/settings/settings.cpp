#include "settings/settings.hpp"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace choir {
namespace {

bool parse_int(const std::string& text, std::int64_t low, std::int64_t high, std::int64_t& value) {
  char* end = nullptr;
  errno = 0;
  const long long parsed = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0 || parsed < low || parsed > high) return false;
  value = parsed;
  return true;
}

bool parse_bool(const std::string& text, bool& value) {
  if (text == "1" || text == "true" || text == "on" || text == "yes")
    value = true;
  else if (text == "0" || text == "false" || text == "off" || text == "no")
    value = false;
  else
    return false;
  return true;
}

Key word_key(const char* name, std::string Settings::*field, const char* accepted,
             const char* meaning, const std::vector<std::string>& words) {
  return {name, accepted, meaning,
          [=](Settings& s, const std::string& v) {
            for (const auto& word : words)
              if (v == word) return s.*field = v, true;
            return false;
          },
          [=](const Settings& s) { return s.*field; }};
}

Key text_key(const char* name, std::string Settings::*field, const char* accepted,
             const char* meaning) {
  return {name, accepted, meaning,
          [=](Settings& s, const std::string& v) { return s.*field = v, true; },
          [=](const Settings& s) { return s.*field; }};
}

Key int_key(const char* name, int Settings::*field, int low, int high, const char* accepted,
            const char* meaning) {
  return {name, accepted, meaning,
          [=](Settings& s, const std::string& v) {
            std::int64_t value = 0;
            if (!parse_int(v, low, high, value)) return false;
            s.*field = static_cast<int>(value);
            return true;
          },
          [=](const Settings& s) { return std::to_string(s.*field); }};
}

Key size_key(const char* name, std::int64_t Settings::*field, std::int64_t low, std::int64_t high,
             const char* accepted, const char* meaning) {
  return {name, accepted, meaning,
          [=](Settings& s, const std::string& v) {
            std::int64_t value = 0;
            if (!parse_size(v, value) || value < low || value > high) return false;
            s.*field = value;
            return true;
          },
          [=](const Settings& s) { return std::to_string(s.*field); }};
}

/// A size as above, or 0.
Key optional_size_key(const char* name, std::int64_t Settings::*field, std::int64_t low,
                      std::int64_t high, const char* accepted, const char* meaning) {
  auto key = size_key(name, field, low, high, accepted, meaning);
  key.set = [set = key.set, field](Settings& s, const std::string& v) {
    if (v != "0") return set(s, v);
    s.*field = 0;
    return true;
  };
  return key;
}

Key fraction_key(const char* name, double Settings::*field, const char* accepted,
                 const char* meaning) {
  return {name, accepted, meaning,
          [=](Settings& s, const std::string& v) {
            char* end = nullptr;
            const double value = std::strtod(v.c_str(), &end);
            if (v.empty() || *end != '\0' || !(value >= 0 && value <= 1)) return false;
            s.*field = value;
            return true;
          },
          [=](const Settings& s) { return std::to_string(s.*field); }};
}

Key bool_key(const char* name, bool Settings::*field, const char* meaning) {
  return {name, "0 or 1", meaning,
          [=](Settings& s, const std::string& v) { return parse_bool(v, s.*field); },
          [=](const Settings& s) { return std::string(s.*field ? "1" : "0"); }};
}

constexpr std::int64_t gib = std::int64_t{1} << 30;
constexpr int many = 1'000'000;

/// Words for on and off however they are written; anything else is a path.
Key memory_key() {
  const auto set = [](Settings& s, const std::string& v) {
    std::string word;
    for (const char c : v) word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    bool on = false;
    s.memory = !parse_bool(word, on) ? v : on ? "on" : "off";
    return !v.empty();
  };
  return {"memory", "on, off or a file", "what earlier runs have learned", set,
          [](const Settings& s) { return s.memory; }};
}

std::vector<Key> make_keys() {
  return {
      text_key("strategy", &Settings::strategy, "auto or a strategy's name",
               "who does what in a collective call"),
      text_key("read_strategy", &Settings::read_strategy, "a strategy's name",
               "strategy of reads only"),
      text_key("write_strategy", &Settings::write_strategy, "a strategy's name",
               "strategy of writes only"),
      text_key("candidates", &Settings::candidates, "strategies' names, separated by commas",
               "what auto may choose from; empty: all that apply"),
      text_key("multi_strategy", &Settings::multi_strategy, "auto, assigned or a strategy's name",
               "who does what in a call over many files"),
      bool_key("spread_files", &Settings::spread_files,
               "small files opened one after the other have different aggregators"),
      word_key("join_nonblocking", &Settings::join_nonblocking, "off, auto or on",
               "whether nonblocking calls on several files are carried out as one",
               {"off", "auto", "on"}),
      word_key("backend", &Settings::backend, "auto, posix, threaded or io_uring",
               "how storage is reached", {"auto", "posix", "threaded", "io_uring"}),
      word_key("progress", &Settings::progress, "auto, thread or poll",
               "who advances nonblocking calls", {"auto", "thread", "poll"}),
      int_key("aggregators_per_node", &Settings::aggregators_per_node, 0, many,
              "0 (by cores) or a number", "ranks of a node that talk to storage"),
      int_key("aggregators", &Settings::aggregators, 0, many, "0 (no limit) or a number",
              "the same, of the whole job"),
      int_key("aggregators_per_server", &Settings::aggregators_per_server, 1, many,
              "a number from 1", "disk_first: ranks per data server"),
      optional_size_key("cycle_buffer_bytes", &Settings::cycle_buffer_bytes, 64, gib,
                        "0 (by the node) or 64 to 1G", "one cycle buffer"),
      word_key("cycle_buffer", &Settings::cycle_buffer, "constant or scaling",
               "whether cycle buffers grow with the ranks they serve", {"constant", "scaling"}),
      size_key("cycle_buffer_max_bytes", &Settings::cycle_buffer_max_bytes, 4096, gib, "4K to 1G",
               "bound of a scaling cycle buffer"),
      int_key("group_size", &Settings::group_size, 0, many, "0 (as many as a node has) or a number",
              "ranks of a segmentation group"),
      int_key("writers_per_group", &Settings::writers_per_group, 0, many,
              "0 (one; on a single node by cores) or a number",
              "aggregators of a segmentation group"),
      int_key("concurrent", &Settings::concurrent, 1, many, "a number from 1",
              "scheduled_individual: ranks in storage at a time"),
      fraction_key("sieve_threshold", &Settings::sieve_threshold, "0 to 1",
                   "least part of a window that must be asked for before holes are read too"),
      bool_key("sieve_reads", &Settings::sieve_reads, "whether reads may read holes too"),
      bool_key("sieve_writes", &Settings::sieve_writes,
               "whether writes may read holes and write them back"),
      size_key("striping_unit", &Settings::striping_unit, 0, gib,
               "0 (ask the file system) or a size", "bytes of a stripe"),
      int_key("striping_factor", &Settings::striping_factor, 0, many,
              "0 (ask the file system) or a number", "data servers of the file"),
      int_key("ranks_per_node", &Settings::ranks_per_node, 0, many, "0 (real nodes) or a number",
              "splits a host into imaginary nodes, for tests"),
      bool_key("stats", &Settings::stats, "a table on standard error when a file is closed"),
      text_key("trace", &Settings::trace, "a folder", "a record of every call, as JSON Lines"),
      text_key("record", &Settings::record, "a file",
               "who neighbours whom in the files, for choir place"),
      text_key("fault", &Settings::fault, "op=..,after=..,error=..", "a faulty device, for tests"),
      memory_key(),
      text_key("machine", &Settings::machine, "auto, off or a file",
               "what choir measure found out about this kind of node"),
      word_key("examine", &Settings::examine, "auto or paper",
               "how auto finds out: on a budget, or as in the Orthrus paper", {"auto", "paper"}),
      size_key("mapped_bytes", &Settings::mapped_bytes, 0, std::int64_t{64} * gib, "a size",
               "bound of what a rank keeps mapped of a file between calls"),
      size_key("plan_cache_bytes", &Settings::plan_cache_bytes, 0, std::int64_t{64} * gib, "a size",
               "bound of the kept plans"),
      text_key("plugins", &Settings::plugins, "paths, separated by commas",
               "shared objects that add strategies"),
  };
}

bool set_custom(Settings& settings, const Entry& entry) {
  const std::string prefix = "strategy.";
  if (entry.key.compare(0, prefix.size(), prefix) != 0) return false;
  const auto dot = entry.key.find('.', prefix.size());
  if (dot == std::string::npos) return false;
  const auto field = entry.key.substr(dot + 1);
  for (const char* known : {"partition", "aggregators", "cycles", "requests", "node_first"})
    if (field == known) {
      settings.custom[entry.key.substr(prefix.size(), dot - prefix.size())][field] = entry.value;
      return true;
    }
  return false;
}

/// Of version 0.1.
bool is_dropped(const std::string& key) { return key == "examine_calls" || key == "drift"; }

std::string one_warning(const Entry& entry, const std::string& why) {
  return entry.key + " = \"" + entry.value + "\" (" + entry.source + "): " + why;
}

/// The hints of the standard and of ROMIO, in choir's words.
void translate(const std::string& key, const std::string& value, const std::string& source,
               Entries& out) {
  const bool off = value == "disable" || value == "false";
  if (key == "cb_nodes")
    out.push_back({"aggregators", value, source});
  else if (key == "cb_buffer_size")
    out.push_back({"cycle_buffer_bytes", value, source});
  else if (key == "striping_unit" || key == "striping_factor")
    out.push_back({key, value, source});
  else if (key == "romio_cb_write" && off)
    out.push_back({"write_strategy", "individual", source});
  else if (key == "romio_cb_read" && off)
    out.push_back({"read_strategy", "individual", source});
  else if (key == "collective_buffering" && off)
    out.push_back({"strategy", "individual", source});
  else if (key == "romio_ds_write" && off)
    out.push_back({"sieve_writes", "0", source});
  else if (key == "romio_ds_read" && off)
    out.push_back({"sieve_reads", "0", source});
  else if (key == "cb_config_list" && value.compare(0, 2, "*:") == 0 && value != "*:*")
    out.push_back({"aggregators_per_node", value.substr(2), source});
}

}  // namespace

bool parse_size(const std::string& text, std::int64_t& bytes) {
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  if (end == text.c_str() || errno != 0 || number < 0) return false;
  std::string unit(end);
  for (auto& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  int shift = 0;
  if (unit == "k" || unit == "kib" || unit == "kb")
    shift = 10;
  else if (unit == "m" || unit == "mib" || unit == "mb")
    shift = 20;
  else if (unit == "g" || unit == "gib" || unit == "gb")
    shift = 30;
  else if (!unit.empty() && unit != "b")
    return false;
  if (number > (std::numeric_limits<std::int64_t>::max() >> shift)) return false;
  bytes = static_cast<std::int64_t>(number) << shift;
  return true;
}

const std::vector<Key>& setting_keys() {
  static const std::vector<Key> keys = make_keys();
  return keys;
}

std::vector<std::string> apply_entries(Settings& settings, const Entries& entries) {
  std::vector<std::string> warnings;
  for (const auto& entry : entries) {
    if (set_custom(settings, entry)) continue;
    const Key* known = nullptr;
    for (const auto& key : setting_keys())
      if (entry.key == key.name) known = &key;
    // A program's hints may come from its input, which may come from anybody.
    if (entry.key == "plugins" && entry.source.compare(0, 8, "MPI_Info") == 0) {
      warnings.push_back(one_warning(entry, "a hint cannot load code"));
    } else if (known == nullptr && is_dropped(entry.key)) {
      warnings.push_back(one_warning(
          entry, "is no longer a setting: what looks may cost is fixed (see docs/choosing.md)"));
    } else if (known == nullptr) {
      warnings.push_back(one_warning(entry, "there is no such setting (see choir info)"));
    } else if (!known->set(settings, entry.value)) {
      warnings.push_back(one_warning(entry, std::string("accepted is ") + known->accepted +
                                                "; keeping " + known->get(settings)));
    } else {
      settings.sources[entry.key] = entry.source;
    }
  }
  return warnings;
}

Entries entries_from_hints(const std::vector<std::pair<std::string, std::string>>& hints) {
  Entries entries;
  const std::string prefix = "choir_";
  for (const auto& [key, value] : hints) {
    // A program may hand on what MPI_File_get_info gave it: who served lately is no wish.
    if (key == "choir_version" || key == "choir_reason") continue;
    if (key == "choir_strategy")
      entries.push_back({"strategy", value.substr(0, value.find(" (")), "MPI_Info"});
    else if (key.compare(0, prefix.size(), prefix) == 0)
      entries.push_back({key.substr(prefix.size()), value, "MPI_Info"});
    else
      translate(key, value, "MPI_Info " + key, entries);
  }
  return entries;
}

std::string serialise(const Entries& entries) {
  std::string text;
  for (const auto& entry : entries)
    for (const auto* field : {&entry.key, &entry.value, &entry.source})
      text.append(*field).push_back('\0');
  return text;
}

Entries deserialise(const std::string& text) {
  Entries entries;
  std::vector<std::string> fields;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\0', at);
    if (end == std::string::npos) break;
    fields.push_back(text.substr(at, end - at));
    at = end + 1;
    if (fields.size() == 3) {
      entries.push_back({fields[0], fields[1], fields[2]});
      fields.clear();
    }
  }
  return entries;
}

}  // namespace choir
