// registry.cpp: every workload, one line each.
#include <algorithm>
#include <charconv>

#include "workload.hpp"

namespace choir::bench {

Workload vector_workload();
Workload noncontig_workload();
Workload strided_workload();
Workload matrix_workload();
Workload hpio_workload();
Workload tile_workload();
Workload rows_workload();
Workload subarray4d_workload();
Workload everyone4k_workload();
Workload flash_workload();
Workload btio_workload();
Workload s3d_workload();
Workload latency_io_workload();
Workload astro3d_workload();
Workload irregular_workload();
Workload append_workload();
Workload empty_workload();
Workload small_workload();
Workload segments_workload();
Workload interleaved_workload();

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> table{
      vector_workload(),     noncontig_workload(), strided_workload(),   matrix_workload(),
      hpio_workload(),       tile_workload(),      rows_workload(),      subarray4d_workload(),
      everyone4k_workload(), flash_workload(),     btio_workload(),      s3d_workload(),
      latency_io_workload(), astro3d_workload(),   irregular_workload(), append_workload(),
      empty_workload(),      small_workload(),     segments_workload(),  interleaved_workload(),
  };
  return table;
}

const Workload& find_workload(const std::string& name) {
  std::string known;
  for (const auto& workload : workloads()) {
    if (workload.name == name) return workload;
    known += (known.empty() ? "" : ", ") + workload.name;
  }
  throw Unsuitable("unknown workload '" + name + "'; known: " + known);
}

std::int64_t Scale::number(const std::string& name) const {
  const auto& value = text(name);
  std::int64_t result = 0;
  const auto* end = value.data() + value.size();
  const auto parsed = std::from_chars(value.data(), end, result);
  if (parsed.ec != std::errc() || parsed.ptr != end || result < 0)
    throw Unsuitable("parameter " + name + "=" + value +
                     ": a whole number of at least 0 is expected");
  return result;
}

const std::string& Scale::word(const std::string& name,
                               const std::vector<std::string>& accepted) const {
  const auto& value = text(name);
  if (std::find(accepted.begin(), accepted.end(), value) != accepted.end()) return value;
  std::string list;
  for (const auto& each : accepted) list += (list.empty() ? "" : ", ") + each;
  throw Unsuitable("parameter " + name + "=" + value + ": accepted are " + list);
}

}  // namespace choir::bench
