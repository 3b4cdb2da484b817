#include "figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "report.hpp"

namespace choir::model {
namespace {

constexpr std::int64_t kib = 1024, mib = kib * kib;

const Strategy& row(const std::string& name) {
  static const StrategyTable table;
  const auto found = table.find(name);
  if (!found) throw std::invalid_argument("there is no strategy " + name);
  return table.rows()[static_cast<std::size_t>(*found)];
}

Prediction predict(const Scenario& scenario, const std::string& strategy) {
  const Model model(scenario);
  auto prediction = model.predict(row(strategy), 0);
  if (!prediction) throw std::invalid_argument(strategy + " does not apply to this figure");
  return *prediction;
}

// -- Orthrus
// ----------------------------------------------------------------------------------------------------------

/// Section 3.1: 11 nodes of 8 cores, 6 data nodes with one SATA disk, PVFS2 stripes of 64 KB, 1
/// Gbit/s.
Scenario orthrus(bool writing) {
  Scenario s;
  s.machine.ranks = 64;
  s.machine.nodes = 11;
  s.machine.cores = 8;
  s.machine.between = {50e-6, 117e6};
  s.machine.inside = {1e-6, 2e9};
  s.machine.servers.count = 6;
  s.machine.servers.unit = 64 * kib;
  s.machine.servers.bandwidth = 80e6;
  // Table 1, random requests of 8 KB: 10.2 MB/s read, 2.0 MB/s written.
  s.machine.servers.seek_s = writing ? 8 * kib / 2.0e6 : 8 * kib / 10.2e6;
  s.machine.servers.request_s = 100e-6;
  s.machine.servers.client_bandwidth = 117e6;
  s.parameters.cycle_bytes = 4 * mib;
  s.writing = writing;
  s.first_call = false;
  return s;
}

const std::string orthrus_assumptions =
    "not in the text: disk 80 MB/s in sequence, link 117 MB/s and 50 us, cycle buffers of 4 MiB. "
    "Seek from the paper's "
    "Table 1. choir's disk_first and core_first join neighbouring pieces of different ranks; the "
    "paper's do not.";

Figure throughput(Figure figure, const std::vector<std::string>& strategies,
                  const std::vector<std::function<Scenario()>>& points) {
  for (const auto& name : strategies) figure.series.push_back({name, {}});
  for (const auto& point : points)
    for (auto& series : figure.series)
      series.values.push_back(predict(point(), series.name).bandwidth() / 1e6);
  return figure;
}

Figure orthrus3(bool writing) {
  Figure figure;
  figure.title = fmt::format("Orthrus Fig. 3{}: Matrix, 64 processes, depth 4, {}",
                             writing ? 'b' : 'a', writing ? "write" : "read");
  figure.assumptions = orthrus_assumptions;
  figure.across = "block";
  figure.unit = "MB/s";
  std::vector<std::function<Scenario()>> points;
  for (const std::int64_t block : {4, 16, 64, 256, 1024, 4096}) {
    figure.labels.push_back(fmt::format("{}K", block));
    points.emplace_back([=] {
      auto s = orthrus(writing);
      s.workload.name = "matrix";
      s.workload.piece = block * kib;
      s.workload.depth = 4;
      s.workload.bytes_per_rank = 4 * block * kib;
      return s;
    });
  }
  figure.said = {"small blocks: disk_first above core_first (better order at the disks)",
                 "the gap shrinks as blocks grow; at 4096 KB core_first is above disk_first",
                 "Orthrus is on average 21 % (read) and 36 % (write) above ROMIO"};
  return throughput(std::move(figure), {"native", "two_phase", "disk_first", "core_first"}, points);
}

Figure orthrus4() {
  Figure figure;
  figure.title = "Orthrus Fig. 4: Matrix, 64 processes, blocks of 16 KB, write";
  figure.assumptions = orthrus_assumptions;
  figure.across = "depth";
  figure.unit = "MB/s";
  std::vector<std::function<Scenario()>> points;
  for (const std::int64_t depth : {4, 8, 16, 32, 64, 128}) {
    figure.labels.push_back(std::to_string(depth));
    points.emplace_back([=] {
      auto s = orthrus(true);
      s.workload.name = "matrix";
      s.workload.piece = 16 * kib;
      s.workload.depth = depth;
      s.workload.bytes_per_rank = depth * 16 * kib;
      return s;
    });
  }
  figure.said = {"depth 4: disk_first 20 % above ROMIO; ROMIO spends 28 % of its time in exchange",
                 "depth 128: exchange is 41 % of ROMIO's time, core_first is chosen (17 %), not "
                 "far above disk_first"};
  return throughput(std::move(figure), {"native", "two_phase", "disk_first", "core_first"}, points);
}

Figure orthrus5(bool writing) {
  Figure figure;
  figure.title = fmt::format("Orthrus Fig. 5{}: Noncontig, 64 processes, {}", writing ? 'b' : 'a',
                             writing ? "write" : "read");
  figure.assumptions = orthrus_assumptions +
                       " veclen 4096, so that the largest file is 16 GiB (the paper: below 20 GB).";
  figure.across = "elmtcount";
  figure.unit = "MB/s";
  std::vector<std::function<Scenario()>> points;
  for (const std::int64_t elements : {16, 64, 256, 1024, 4096, 16384}) {
    figure.labels.push_back(std::to_string(elements));
    points.emplace_back([=] {
      auto s = orthrus(writing);
      s.workload.name = "noncontig";
      s.workload.piece = 4 * elements;
      s.workload.bytes_per_rank = 4 * elements * 4096;
      return s;
    });
  }
  figure.said = {
      fmt::format("elmtcount 16 to {}: ROMIO above disk_first, core_first lowest",
                  writing ? 1024 : 256),
      fmt::format("from {} on core_first exceeds ROMIO", writing ? 4096 : 1024),
      "16384: core_first clearly best; exchange is 90 % of ROMIO's time and 2 % of core_first's"};
  return throughput(std::move(figure), {"native", "two_phase", "disk_first", "core_first"}, points);
}

// -- dynamic segmentation
// ---------------------------------------------------------------------------------------------

/// 24 dual-core nodes, InfiniBand between ranks, PVFS2 over Gigabit Ethernet on 22 disks that share
/// the nodes.
Scenario segmentation(int ranks, int writers, bool scaling) {
  Scenario s;
  s.machine.ranks = ranks;
  s.machine.nodes = 24;
  s.machine.cores = 2;
  s.machine.between = {5e-6, 800e6};
  s.machine.inside = {1e-6, 1.5e9};
  s.machine.servers.count = 22;
  s.machine.servers.unit = 64 * kib;
  // Two cells of the table calibrate what the text does not give: one writer's 82 MB/s, and 24
  // writers' 695 on 22 disks.
  s.machine.servers.bandwidth = 695e6 / 22;
  s.machine.servers.client_bandwidth = 82e6;
  s.machine.servers.seek_s = 1e-3;
  s.machine.servers.request_s = 1e-3;
  s.workload.name = "vector";
  s.workload.piece = 20'000'000;
  s.workload.bytes_per_rank = 20'000'000;
  s.parameters.group_size = ranks;
  s.parameters.writers_per_group = writers;
  // The paper's constant buffer is shared by all writers, its scaling one belongs to each.
  s.parameters.cycle_bytes = scaling ? 20'000'000 : 20'000'000 / writers;
  s.first_call = false;
  return s;
}

Figure segmentation2(int ranks) {
  Figure figure;
  figure.title =
      fmt::format("Dynamic segmentation Table 2: {} processes, segments of 20 MB", ranks);
  figure.assumptions =
      "InfiniBand 800 MB/s, 1 ms a seek (servers cache) and a request. Calibrated on two cells of "
      "the table: a client's way "
      "to the servers 82 MB/s, a disk 695/22 MB/s.";
  figure.across = "writers";
  figure.unit = "MB/s";
  figure.series = {{"constant", {}}, {"scaling", {}}};
  for (const int writers : {1, 2, 4, 8, 12, 24}) {
    figure.labels.push_back(std::to_string(writers));
    for (const bool scaling : {false, true})
      figure.series[scaling ? 1 : 0].values.push_back(
          predict(segmentation(ranks, writers, scaling), "dynamic_segmentation").bandwidth() / 1e6);
  }
  if (ranks == 24)
    figure.printed = {{"constant (paper)", {74.47, 116.52, 189.37, 328.27, 330.99, 350.41}},
                      {"scaling (paper)", {82.27, 139.31, 223.48, 403.49, 494.89, 694.82}}};
  else
    figure.printed = {{"constant (paper)", {55.09, 86.87, 112.72, 110.21, 71.59, 280.26}},
                      {"scaling (paper)", {68.7, 95.35, 133.59, 204.81, 198.53, 538.81}}};
  figure.said = {"more writers are faster, and scaling buffers beat constant ones"};
  return figure;
}

// -- scale
// ------------------------------------------------------------------------------------------------------------

Scenario large(int ranks, int nodes) {
  Scenario s;
  s.machine.ranks = ranks;
  s.machine.nodes = nodes;
  s.machine.cores = ranks / nodes;
  s.machine.between = {2e-6, 8e9};
  s.machine.inside = {0.5e-6, 4e9};
  s.machine.message_s = 2e-6;
  s.machine.servers.request_s = 100e-6;
  s.parameters.cycle_bytes = 16 * mib;
  return s;
}

/// Several measures of some strategies, as columns.
Figure measures(Figure figure, const std::function<Scenario()>& scenario,
                const std::vector<std::string>& strategies) {
  figure.labels = {"GiB between nodes", "messages (M)", "empty (M)",
                   "metadata (MiB)",    "agree s",      "exchange s",
                   "storage s",         "total s",      "memory per aggregator (MiB)"};
  for (const auto& name : strategies) {
    const auto p = predict(scenario(), name);
    const auto& t = p.traffic;
    figure.series.push_back(
        {name,
         {static_cast<double>(t.bytes_between_nodes) / (1 << 30),
          static_cast<double>(t.messages_between_nodes) / 1e6,
          static_cast<double>(t.empty_messages) / 1e6, static_cast<double>(p.metadata_bytes) / mib,
          p.seconds.agree, p.seconds.exchange, p.seconds.storage, p.seconds.total,
          static_cast<double>(p.memory_per_aggregator) / mib}});
  }
  return figure;
}

Figure two_layer() {
  Figure figure;
  figure.title =
      "Two-layer aggregation: 16384 ranks on 256 nodes, write, tiles with rows of 1 KiB, 1 MiB a "
      "rank";
  figure.assumptions =
      "the paper (Kang et al., IEEE TPDS 2020, Cray XC40) is known here by its abstract only; "
      "links 8 GB/s and 2 us, 56 "
      "servers of 2 GB/s, stripes of 1 MiB, no seeks, cycle buffers of 16 MiB.";
  figure.across = "measure";
  figure.said = {
      "aggregating requests inside the node first \"significantly\" reduces the contention between "
      "nodes",
      "and keeps scaling with many processes per node"};
  return measures(std::move(figure),
                  [] {
                    auto s = large(16384, 256);
                    s.machine.servers.count = 56;
                    s.machine.servers.unit = mib;
                    s.machine.servers.bandwidth = 2e9;
                    s.machine.servers.seek_s = 0;
                    s.workload.name = "rows";
                    s.workload.piece = kib;
                    s.workload.bytes_per_rank = mib;
                    return s;
                  },
                  {"native", "two_phase", "hierarchical"});
}

Figure aurora4k() {
  Figure figure;
  figure.title = "16384 ranks x 4-KiB segments of everyone to everyone, 1 TiB, write, 256 nodes";
  figure.assumptions =
      "links 20 GB/s and 2 us, 128 servers of 5 GB/s, stripes of 1 MiB, no seeks, cycle buffers of "
      "16 MiB.";
  figure.across = "measure";
  figure.said = {"users: native spends its time and memory on the lists of 268 million pieces"};
  return measures(std::move(figure),
                  [] {
                    auto s = large(16384, 256);
                    s.machine.between = {2e-6, 20e9};
                    s.machine.servers.count = 128;
                    s.machine.servers.unit = mib;
                    s.machine.servers.bandwidth = 5e9;
                    s.machine.servers.seek_s = 0;
                    s.workload.name = "everyone4k";
                    s.workload.piece = 4 * kib;
                    s.workload.bytes_per_rank = 64 * mib;
                    return s;
                  },
                  {"native", "two_phase", "disk_first", "hierarchical", "core_first"});
}

std::string number(double value) {
  if (value >= 1000) return fmt::format("{:.0f}", value);
  return value >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.3g}", value);
}

}  // namespace

const std::vector<std::string>& figure_names() {
  static const std::vector<std::string> names{"orthrus3",      "orthrus4",  "orthrus5",
                                              "segmentation2", "two-layer", "aurora4k"};
  return names;
}

std::vector<Figure> compute_figure(const std::string& name) {
  if (name == "orthrus3") return {orthrus3(false), orthrus3(true)};
  if (name == "orthrus4") return {orthrus4()};
  if (name == "orthrus5") return {orthrus5(false), orthrus5(true)};
  if (name == "segmentation2") return {segmentation2(24), segmentation2(48)};
  if (name == "two-layer") return {two_layer()};
  if (name == "aurora4k") return {aurora4k()};
  throw std::invalid_argument("there is no figure '" + name + "'");
}

std::string text_of(const Figure& figure) {
  // Measures of different kinds read better down the page, values of one kind across it.
  std::vector<std::vector<std::string>> rows;
  if (figure.unit.empty()) {
    rows.push_back({figure.across});
    for (const auto& series : figure.series) rows[0].push_back(series.name);
    for (std::size_t i = 0; i < figure.labels.size(); ++i) {
      rows.push_back({figure.labels[i]});
      for (const auto& series : figure.series) rows.back().push_back(number(series.values[i]));
    }
  } else {
    rows.push_back({figure.unit + " by " + figure.across});
    rows[0].insert(rows[0].end(), figure.labels.begin(), figure.labels.end());
    for (const auto* list : {&figure.series, &figure.printed})
      for (const auto& series : *list) {
        rows.push_back({series.name});
        for (const double value : series.values) rows.back().push_back(number(value));
      }
    rows.push_back({"best"});
    for (std::size_t i = 0; i < figure.labels.size(); ++i)
      rows.back().push_back(std::max_element(figure.series.begin(), figure.series.end(),
                                             [&](const Series& a, const Series& b) {
                                               return a.values[i] < b.values[i];
                                             })
                                ->name);
  }
  auto text = figure.title + "\n" + aligned(rows);
  for (const auto& sentence : figure.said) text += "paper: " + sentence + "\n";
  return text + "assumed: " + figure.assumptions + "\n";
}

std::string json_of(const std::vector<Figure>& figures) {
  auto document = nlohmann::json::array();
  for (const auto& figure : figures) {
    nlohmann::json one{{"title", figure.title},
                       {"assumptions", figure.assumptions},
                       {"across", figure.across},
                       {"unit", figure.unit},
                       {"labels", figure.labels},
                       {"paper", figure.said},
                       {"model", nlohmann::json::object()},
                       {"printed", nlohmann::json::object()}};
    for (const auto& series : figure.series) one["model"][series.name] = series.values;
    for (const auto& series : figure.printed) one["printed"][series.name] = series.values;
    document.push_back(std::move(one));
  }
  return document.dump(1) + "\n";
}

}  // namespace choir::model
