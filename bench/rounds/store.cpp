#include "store.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace choir::rounds {
namespace {

using nlohmann::json;

json json_of(const Figures& figures) {
  return {{"open_s", figures.open_s},   {"calls_s", figures.calls_s},
          {"sync_s", figures.sync_s},   {"close_s", figures.close_s},
          {"total_s", figures.total_s}, {"launches", figures.launches},
          {"served", figures.strategy}};
}

json by_run(const std::map<int, double>& values) {
  json all = json::object();
  for (const auto& [run, value] : values) all[std::to_string(run)] = value;
  return all;
}

json json_of(const Row& row) {
  json fixed = json::object(), automatic = json::object();
  for (const auto& [name, figures] : row.fixed) fixed[name] = json_of(figures);
  for (const auto& [run, figures] : row.automatic)
    automatic[std::to_string(run)] = json_of(figures);
  return {{"mpi", row.mpi},
          {"ranks", row.ranks},
          {"pattern", row.pattern},
          {"mode", row.mode},
          {"joint", row.joint},
          {"best", row.best},
          {"fixed", fixed},
          {"auto", automatic},
          {"auto_over_best", by_run(row.against_best)},
          {"auto_over_native", by_run(row.against_native)},
          {"fourth_file_over_best", row.fourth_file},
          {"late_files_of_native", {row.late_files_median, row.late_files_mean}}};
}

json json_of(const Target& target) {
  constexpr const char* words[] = {"met", "missed", "not measured"};
  return {{"what", target.what},
          {"wanted", target.wanted},
          {"reached", target.reached},
          {"outcome", words[static_cast<int>(target.outcome)]}};
}

/// True if the last line has no end: its launch was interrupted.
bool ends_in_midline(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in || in.tellg() <= 0) return false;
  in.seekg(-1, std::ios::end);
  return in.get() != '\n';
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream out(path + ".new");
  out << text;
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path);
  std::filesystem::rename(path + ".new", path);
}

std::string introduction(const json& machines, const std::string& command) {
  std::string text = "# The choice of strategy on whole files\n\n";
  for (const auto& [mpi, machine] : machines.items())
    text += fmt::format("* {}: {}, {} cores, {}, Linux {}, {}; {}; load before it began {:.1f}\n",
                        machine.value("mpi", mpi), machine.value("cpu", "?"),
                        machine.value("cores", 0), machine.value("memory", "?"),
                        machine.value("kernel", "?"), machine.value("file_system", "?"),
                        machine.value("date", "?"), machine.value("load", -1.0));
  return text +
         fmt::format(
             "\nTaken by `{}` ([how](../../../docs/benchmarks.md#the-choice-of-strategy)). Times "
             "are those of all files of a mode, opened to closed, in milliseconds; *best* was "
             "named in other rounds than those the ratios are from; below 1 `auto` is faster.\n",
             command);
}

}  // namespace

Store::Store(const std::string& folder, const json& here) : folder_(folder), here_(here) {
  std::filesystem::create_directories(folder);
  std::ifstream in(folder + "/launches.jsonl");
  int number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    const auto line = json::parse(text, nullptr, false);
    if (line.is_discarded()) continue;  // the last line of an interrupted run
    if (line.contains("here") && line["here"] != here)
      throw std::runtime_error(fmt::format(
          "{}/launches.jsonl has figures of another machine or version ({}); begin anew with "
          "--new, or name another folder with --results",
          folder, line["here"].dump()));
    try {
      read_line(line);
    } catch (const json::exception& e) {
      throw std::runtime_error(fmt::format("{}/launches.jsonl:{}: {}", folder, number, e.what()));
    }
  }
  if (ends_in_midline(folder + "/launches.jsonl")) append("\n");
  if (number == 0) append(json{{"here", here}}.dump() + "\n");
}

void Store::read_line(const json& line) {
  if (line.contains("machine")) machines_[line.at("mpi").get<std::string>()] = line["machine"];
  if (line.contains("late")) {
    Chain chain{line.at("mpi"), line.at("ranks"), line.at("chain"), line.at("late")};
    keys_.insert(key_of(chain));
    chains_.push_back(chain);
  }
  if (!line.contains("files")) return;
  const Launch launch{line.at("mpi"),   line.at("ranks"), line.at("pattern"),
                      line.at("round"), line.at("mode"),  line.at("run")};
  keys_.insert(launch.key());
  for (const auto& file : line["files"])
    times_.push_back(
        {launch, file[0], file[1], file[2], file[3], file[4], file[5], file[6], file[7]});
}

void Store::append(const std::string& lines) {
  std::ofstream out(folder_ + "/launches.jsonl", std::ios::app);
  out << lines;
  out.close();
  if (!out) throw std::runtime_error("cannot write " + folder_ + "/launches.jsonl");
}

void Store::add(const std::vector<Launch>& launches, const std::vector<json>& documents) {
  std::string text;
  std::vector<json> lines;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const auto& launch = launches[i];
    json files = json::array();
    for (const auto& file : documents[i].at("runs").at(0).at("files"))
      files.push_back({file.at("mode"), file.at("contender"), file.at("strategy"), file.at("file"),
                       file.at("open_s"), file.at("calls_s"), file.at("sync_s"),
                       file.at("close_s")});
    if (!machines_.contains(launch.mpi))
      lines.push_back({{"mpi", launch.mpi}, {"machine", documents[i].at("machine")}});
    lines.push_back({{"mpi", launch.mpi},
                     {"ranks", launch.ranks},
                     {"pattern", launch.pattern},
                     {"round", launch.round},
                     {"mode", launch.mode},
                     {"run", launch.run},
                     {"files", files}});
    for (; lines.size() > 0; lines.erase(lines.begin())) {
      read_line(lines.front());
      text += lines.front().dump() + "\n";
    }
  }
  append(text);
}

void Store::add(const Chain& chain, const std::string& best) {
  const json line{{"mpi", chain.mpi},
                  {"ranks", chain.ranks},
                  {"chain", chain.number},
                  {"best", best},
                  {"late", chain.late}};
  read_line(line);
  append(line.dump() + "\n");
}

std::string Store::key_of(const Chain& chain) {
  return fmt::format("chain {} {} {}", chain.mpi, chain.ranks, chain.number);
}

void Store::write(const std::vector<Row>& rows, const std::vector<Target>& targets,
                  const std::string& command) const {
  json document{{"schema", "choir-choice/1"}, {"machines", machines_}, {"here", here_},
                {"command", command},         {"rows", json::array()}, {"targets", json::array()},
                {"chains", json::array()}};
  for (const auto& row : rows) document["rows"].push_back(json_of(row));
  for (const auto& target : targets) document["targets"].push_back(json_of(target));
  std::string chains;
  for (const auto& chain : chains_) {
    document["chains"].push_back({{"mpi", chain.mpi},
                                  {"ranks", chain.ranks},
                                  {"chain", chain.number},
                                  {"late_over_best", late_ratio(chain)}});
    chains += fmt::format("| {} | {} | {} | {:.2f} |\n", chain.mpi, chain.ranks, chain.number,
                          late_ratio(chain));
  }
  if (!chains.empty())
    chains =
        "\n## Chains\n\n| MPI | ranks | chain | from the fourth run on, `auto` / best |\n"
        "|---|---|---|---|\n" +
        chains;
  write_text(folder_ + "/choice.json", document.dump(1) + "\n");
  write_text(folder_ + "/choice.md", introduction(machines_, command) + "\n## Targets\n\n" +
                                         markdown_of(targets) + "\n## Rows\n\n" +
                                         markdown_of(rows) + chains);
}

}  // namespace choir::rounds
