// choir-iobench DIR: what a file system gives: bandwidth for one and several clients, cost of a
// request, of a seek.
//
// Writes and reads one file there, removes it, and prints a table or the choir-io document that
// `choir model --iobench` reads. Writes end with fsync; reads first ask the system to forget the
// file. Exit status: 0, 1 on errors, 2 for usage.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/numbers.hpp"
#include "common/version.hpp"
#include "measure.hpp"

namespace {

using namespace choir::iobench;

struct Options {
  std::string directory, output;
  std::int64_t bytes = 64 << 20;
  std::vector<std::int64_t> sizes{4 << 10, 64 << 10, 1 << 20};
  std::vector<int> threads{1, 4};
  double limit_s = 1;
  bool direct = false, json = false;
};

const char* name(Operation operation) { return operation == Operation::write ? "write" : "read"; }
const char* name(Order order) { return order == Order::sequential ? "sequential" : "random"; }

std::vector<Point> measure_all(const Options& options) {
  const TestFile file(options.directory, options.bytes, options.direct);
  std::vector<Point> points;
  for (const auto operation : {Operation::write, Operation::read})
    for (const auto order : {Order::sequential, Order::random})
      for (const int threads : options.threads)
        for (const auto size : options.sizes)
          points.push_back(measure(file, operation, order, threads, size, options.limit_s));
  return points;
}

nlohmann::json json_of(const Fit& fit) {
  return {{"bandwidth_Bps", fit.bandwidth}, {"seek_s", fit.seek_s}, {"request_s", fit.request_s}};
}

std::string document(const Options& options, const std::vector<Point>& points) {
  nlohmann::json all{{"format", "choir-io"},
                     {"version", 1},
                     {"directory", options.directory},
                     {"file_bytes", options.bytes},
                     {"direct", options.direct},
                     {"results", nlohmann::json::array()},
                     {"model", json_of(fit(points, Operation::write))},
                     {"model_read", json_of(fit(points, Operation::read))}};
  for (const auto& point : points)
    all["results"].push_back({{"operation", name(point.operation)},
                              {"order", name(point.order)},
                              {"threads", point.threads},
                              {"request_bytes", point.request_bytes},
                              {"requests", point.requests},
                              {"seconds", point.seconds},
                              {"bandwidth_Bps", point.bandwidth()},
                              {"seconds_per_request", point.per_request()}});
  return all.dump(1) + "\n";
}

std::string table(const std::vector<Point>& points) {
  auto text = fmt::format("{:<6} {:<10} {:>7} {:>10} {:>10} {:>12} {:>14}\n", "", "order",
                          "threads", "bytes", "requests", "MB/s", "us/request");
  for (const auto& point : points)
    text +=
        fmt::format("{:<6} {:<10} {:>7} {:>10} {:>10} {:>12.1f} {:>14.1f}\n", name(point.operation),
                    name(point.order), point.threads, point.request_bytes, point.requests,
                    point.bandwidth() / 1e6, point.per_request() * 1e6);
  for (const auto operation : {Operation::write, Operation::read}) {
    const auto line = fit(points, operation);
    text += fmt::format("{}: {:.1f} MB/s, {:.1f} us a request, {:.1f} us a seek\n", name(operation),
                        line.bandwidth / 1e6, line.request_s * 1e6, line.seek_s * 1e6);
  }
  return text;
}

bool write_text(const std::string& path, const std::string& text) {
  std::FILE* out = path.empty() ? stdout : std::fopen(path.c_str(), "w");
  bool good = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (out != nullptr) good = (path.empty() ? std::fflush(out) : std::fclose(out)) == 0 && good;
  return good;
}

void check(const Options& options) {
  for (const auto size : options.sizes) {
    if (size < 1 || (options.direct && size % 4096 != 0))
      throw CLI::ValidationError("--sizes", "positive sizes, with --direct multiples of 4096");
    for (const int threads : options.threads)
      if (options.bytes / threads < size)
        throw CLI::ValidationError("--bytes", "every thread needs room for at least one request");
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Bandwidth, request cost and seeks of a file system", "choir iobench"};
  choir::tools::add_version(app);
  app.add_option("directory", options.directory, "where the test file is made")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--bytes", options.bytes, "of the test file (64M)")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--sizes", options.sizes, "of requests (4K,64K,1M)")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--threads", options.threads, "clients at once (1,4)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  app.add_option("--seconds", options.limit_s, "at most, for each figure")
      ->check(choir::tools::above_zero())
      ->capture_default_str();
  app.add_flag("--direct", options.direct, "bypass the page cache");
  app.add_flag("--json", options.json, "print the choir-io document");
  app.add_option("-o,--output", options.output, "write the choir-io document to this file");
  try {
    app.parse(argc, argv);
    check(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    const auto points = measure_all(options);
    bool good = options.output.empty() || write_text(options.output, document(options, points));
    if (!good) fmt::print(stderr, "choir iobench: {} cannot be written\n", options.output);
    good = write_text("", options.json ? document(options, points) : table(points)) && good;
    return good ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "choir iobench: {}\n", error.what());
    return 1;
  }
}
