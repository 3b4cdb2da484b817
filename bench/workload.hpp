// workload.hpp: the table of workloads and what they are built from.
//
// A new workload is one file in workloads/ with one function that returns its row, and one line in
// registry.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "program.hpp"

namespace choir::bench {

/// A parameter that makes no sense, or a job the workload cannot run in. The text is for the user.
struct Unsuitable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Parameter {
  std::string name;
  std::string value;  // the default
  std::string help;
};

/// Everything a workload is scaled by; equal on every rank but for `rank`.
struct Scale {
  int ranks = 1;
  int rank = 0;
  std::int64_t bytes_per_rank = 0;
  std::int64_t piece = 0;
  std::uint64_t seed = 0;
  std::map<std::string, std::string> values;

  const std::string& text(const std::string& name) const { return values.at(name); }
  std::int64_t number(const std::string& name) const;
  /// Throws Unsuitable unless the value is one of the accepted words.
  const std::string& word(const std::string& name, const std::vector<std::string>& accepted) const;
};

struct Workload {
  std::string name;
  std::string summary;
  std::int64_t piece = 0;  // the default of --piece; 0: the workload has none
  std::vector<Parameter> parameters;
  Program (*build)(const Scale&) = nullptr;
};

const std::vector<Workload>& workloads();
/// Throws Unsuitable with the known names.
const Workload& find_workload(const std::string& name);

}  // namespace choir::bench
