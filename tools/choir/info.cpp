// info.cpp: what is installed and what is in force, for people and as JSON.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <choir_version.hpp>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "common/in_force.hpp"
#include "storage/storage.hpp"

namespace choir::command {
namespace {

using Json = nlohmann::ordered_json;

/// Where the MPI library of a tree is; empty if the loader would not find it.
std::string path_of_mpi(const Tree& tree) {
  try {
    const auto elf = read_elf(tree.library.string());
    const auto libraries = libraries_of(tree.library.string(), *elf);
    const auto found = libraries.find(tree.mpi_library);
    return found == libraries.end() ? "" : found->second;
  } catch (const std::runtime_error&) {
    return {};
  }
}

Json mpis() {
  Json list = Json::array();
  for (const auto& tree : find_trees())
    list.push_back({{"name", tree.mpi},
                    {"library", tree.library.string()},
                    {"mpi_library", tree.mpi_library},
                    {"mpi_path", path_of_mpi(tree)}});
  return list;
}

Json backends() {
  const bool uring = uring_works();
  return {
      {{"name", "posix"}, {"works", true}, {"note", "plain system calls"}},
      {{"name", "threaded"}, {"works", true}, {"note", "plain system calls by a thread beside"}},
      {{"name", "io_uring"},
       {"works", uring},
       {"note", uring ? "batched requests" : "the kernel refuses it here; posix takes its place"}}};
}

Json strategies(const StrategyTable& table) {
  Json list = Json::array();
  for (const auto& row : table.rows())
    list.push_back({{"name", row.name}, {"summary", row.summary}});
  return list;
}

Json settings_list(const Settings& settings) {
  Json list = Json::array();
  for (const auto& key : setting_keys()) {
    const auto source = settings.sources.find(key.name);
    list.push_back({{"key", key.name},
                    {"value", key.get(settings)},
                    {"source", source == settings.sources.end() ? "default" : source->second},
                    {"accepted", key.accepted},
                    {"meaning", key.meaning}});
  }
  return list;
}

std::string text_of(const Json& value) { return value.get<std::string>(); }

void print_text(const Json& all) {
  fmt::print("choir {}\n\nMPI\n", text_of(all["version"]));
  for (const auto& mpi : all["mpi"]) {
    const auto path = text_of(mpi["mpi_path"]);
    fmt::print("  {:<10} {}\n  {:<10} for {} ({})\n", text_of(mpi["name"]), text_of(mpi["library"]),
               "", text_of(mpi["mpi_library"]), path.empty() ? "not found by the loader" : path);
  }
  if (all["mpi"].empty()) fmt::print("  none: no libchoir_mpiio.so is built or installed\n");
  fmt::print("\nBackends\n");
  for (const auto& backend : all["backends"])
    fmt::print("  {:<10} {:<5} {}\n", text_of(backend["name"]),
               backend["works"].get<bool>() ? "works" : "no", text_of(backend["note"]));
  fmt::print("\nStrategies\n  {:<22} measures those that apply and serves by the fastest\n",
             "auto");
  for (const auto& row : all["strategies"])
    fmt::print("  {:<22} {}\n", text_of(row["name"]), text_of(row["summary"]));
  fmt::print("\nSettings\n  {:<24}{:<14}{:<22}{}\n", "key", "value", "from", "meaning");
  for (const auto& row : all["settings"]) {
    const auto value = text_of(row["value"]);
    fmt::print("  {:<24}{:<14}{:<22}{}\n", text_of(row["key"]), value.empty() ? "-" : value,
               text_of(row["source"]), text_of(row["meaning"]));
  }
  fmt::print("\nTools: ");
  for (const auto& tool : all["tools"]) fmt::print("{} ", text_of(tool));
  fmt::print("\n");
}

}  // namespace

int info(const Arguments& arguments) {
  CLI::App app{"Version, MPIs, backends, strategies, and the settings in force with their origin",
               "choir info"};
  bool as_json = false;
  app.add_flag("--json", as_json, "the same as JSON");
  if (!parse_options(app, arguments)) return 0;
  std::vector<std::string> warnings;
  auto settings = tools::settings_in_force(warnings);
  const auto table = tools::strategies_to_look_at(settings, warnings);
  Json all{{"version", CHOIR_VERSION},
           {"mpi", mpis()},
           {"backends", backends()},
           {"strategies", strategies(table)},
           {"settings", settings_list(settings)},
           {"tools", tool_names()},
           {"warnings", warnings}};
  if (as_json)
    fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
  else
    print_text(all);
  for (const auto& warning : warnings) fmt::print(stderr, "choir: warning: {}\n", warning);
  return 0;
}

}  // namespace choir::command
