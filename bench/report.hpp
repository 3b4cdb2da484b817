// report.hpp: the table on the screen, the progress line and the JSON document.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "driver.hpp"
#include "workload.hpp"

namespace choir::bench {

/// One workload's figures, with the sizes every contender moved.
struct WorkloadReport {
  std::string workload;
  Scale scale;
  std::string mode;              // what was asked beside the plain page cache: "sync,fresh"
  std::int64_t total_bytes = 0;  // of all ranks
  std::int64_t blocks = 0;       // pieces in the file, of all ranks
  std::int64_t calls = 0;        // collective calls in a step
  std::vector<Result> results;
};

std::string table_of(const WorkloadReport& report);
nlohmann::json json_of(const WorkloadReport& report);

/// "64", "4 KiB", "32 MiB".
std::string human_bytes(std::int64_t bytes);

}  // namespace choir::bench
