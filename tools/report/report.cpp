// choir-report: a trace as a page for the browser.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>

#include "common/output.hpp"
#include "common/version.hpp"
#include "page.hpp"

namespace {

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out)
    throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

/// "run/trace/" and "run/trace" are both called "trace".
std::string name_of(const std::string& path) {
  const auto clean = std::filesystem::absolute(path).lexically_normal();
  return clean.has_filename() ? clean.filename().string() : clean.parent_path().filename().string();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace choir::report;
  CLI::App app{"Makes a self-contained page from a choir trace", "choir report"};
  choir::tools::add_version(app);
  std::string path, output = "report.html";
  app.add_option("TRACE", path, "folder given as CHOIR_TRACE, or one rank's file")->required();
  app.add_option("-o,--output", output, "the page to write")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    const auto trace = load_trace(path);
    const auto summary = summarise(trace);
    write_file(output, render_page(name_of(path), trace, summary, advise(trace, summary)));
    fmt::print("{}: {} calls of {} rank files\n", output, summary.calls, trace.rank_files);
    choir::tools::finish_output();
  } catch (const std::exception& e) {
    fmt::print(stderr, "choir report: {}\n", e.what());
    return 1;
  }
  return 0;
}
