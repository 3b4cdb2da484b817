// load.cpp: reading JSON Lines; a killed job's half line is no reason to refuse the rest.
#include "load.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

namespace choir::report {

namespace {

using Json = nlohmann::json;
using CallKey = std::tuple<int, std::int64_t>;
using FileKey = std::tuple<std::string, int, int>;

class Loader {
 public:
  void read_file(const std::filesystem::path& path);
  Trace finish() &&;

 private:
  void take(const Json& line);
  void take_open(const Json& line);
  void take_call(const Json& line);
  void take_left(const Json& line);
  void end_file();
  int file_index(const Json& line);

  Trace trace_;
  bool ended_ = false;  ///< the file being read
  std::map<FileKey, int> files_;
  std::map<CallKey, std::size_t> calls_;
  using LeftKey = std::pair<int, std::string>;
  std::map<LeftKey, std::int64_t> left_here_;  ///< in the file being read
  std::map<LeftKey, std::int64_t> left_;       ///< the most of any file
};

/// A damaged line, though it is JSON. Counted like one that is none.
struct Implausible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What no trace exceeds. Sums of as many bytes over 32768 records still fit 64 bits.
constexpr std::int64_t most_bytes = std::int64_t{1} << 48;
constexpr std::int64_t most_count = 1 << 30;

/// null stands for a number that was not finite.
double real(const Json& object, const char* key) {
  const auto& value = object.at(key);
  return value.is_null() ? 0 : value.get<double>();
}

std::int64_t whole(const Json& object, const char* key, std::int64_t least, std::int64_t most) {
  const auto& value = object.at(key);
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() &&
                      value.get<std::uint64_t>() >
                          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  const auto number = fits ? value.get<std::int64_t>() : least;
  if (!fits || number < least || number > most)
    throw Implausible(fmt::format("\"{}\" should be a number from {} to {}", key, least, most));
  return number;
}

std::int64_t whole(const Json& object, const char* key, std::int64_t most) {
  return whole(object, key, 0, most);
}

/// Any that 64 bits hold: nothing is summed.
std::int64_t offset(const Json& object, const char* key) {
  using Limits = std::numeric_limits<std::int64_t>;
  return whole(object, key, Limits::min(), Limits::max());
}

int count(const Json& object, const char* key) {
  return static_cast<int>(whole(object, key, most_count));
}

Times read_times(const Json& s) {
  return {real(s, "total"),    real(s, "agree"),   real(s, "plan"),
          real(s, "exchange"), real(s, "storage"), real(s, "wait")};
}

RankPart read_part(const Json& line) {
  RankPart p;
  p.rank = count(line, "rank");
  line.at("aggregator").get_to(p.aggregator);
  p.start_s = real(line, "start");
  p.seconds = read_times(line.at("seconds"));
  p.bytes = whole(line, "bytes", most_bytes);
  p.pieces = whole(line, "pieces", most_bytes);
  p.bytes_inside = whole(line, "bytes_inside", most_bytes);
  p.bytes_between = whole(line, "bytes_between", most_bytes);
  p.bytes_sieved = whole(line, "bytes_sieved", most_bytes);
  p.cycles = whole(line, "cycles", most_bytes);
  p.storage_requests = whole(line, "storage_requests", most_bytes);
  p.storage_bytes = whole(line, "storage_bytes", most_bytes);
  p.offset_low = offset(line, "offset_low");
  p.offset_high = offset(line, "offset_high");
  line.at("plan_cached").get_to(p.plan_cached);
  p.error_class = count(line, "error_class");
  return p;
}

/// A call without file and parts.
Call read_call(const Json& line) {
  Call call;
  call.number = offset(line, "call");
  line.at("operation").get_to(call.operation);
  line.at("strategy").get_to(call.strategy);
  line.at("phase").get_to(call.phase);
  line.at("reason").get_to(call.reason);
  line.at("signature").get_to(call.signature);
  if (line.contains("pattern")) line.at("pattern").get_to(call.pattern);
  call.ranks = count(line, "ranks");
  return call;
}

/// The opened file a line is about. Traces of old have no `first`.
int Loader::file_index(const Json& line) {
  const auto name = line.at("file").get<std::string>();
  const int open = count(line, "open");
  const int first = line.contains("first") ? count(line, "first") : 0;
  const auto [found, fresh] =
      files_.try_emplace({name, first, open}, static_cast<int>(trace_.files.size()));
  if (fresh) {
    trace_.files.emplace_back();
    trace_.files.back().name = name;
    trace_.files.back().open = open;
  }
  return found->second;
}

void Loader::take_open(const Json& line) {
  auto& file = trace_.files[static_cast<std::size_t>(file_index(line))];
  line.at("mode").get_to(file.mode);
  line.at("file_system").get_to(file.file_system);
  file.ranks = count(line, "ranks");
  file.nodes = count(line, "nodes");
  line.at("hints").get_to(file.hints);
}

void Loader::take_call(const Json& line) {
  // All of the line is read before anything is kept of it: a damaged line leaves no half call.
  const RankPart part = read_part(line);
  Call call = read_call(line);
  call.file = file_index(line);
  const auto [found, fresh] = calls_.try_emplace({call.file, call.number}, trace_.calls.size());
  if (fresh) trace_.calls.push_back(std::move(call));
  trace_.calls[found->second].parts.push_back(part);
}

void Loader::take_left(const Json& line) {
  ++left_here_[{file_index(line), line.at("reason").get<std::string>()}];
}

/// All ranks of a file leave the same calls.
void Loader::end_file() {
  for (const auto& [key, calls] : left_here_) left_[key] = std::max(left_[key], calls);
  left_here_.clear();
}

void Loader::take(const Json& line) {
  const auto& type = line.at("type").get_ref<const std::string&>();
  if (type == "call") {
    take_call(line);
  } else if (type == "left") {
    take_left(line);
  } else if (type == "open") {
    take_open(line);
  } else if (type == "end") {
    ended_ = true;
    trace_.dropped += whole(line, "dropped", most_bytes);
  } else if (type == "header" && count(line, "schema") != 1) {
    throw LoadError(
        fmt::format("written with schema {}; this choir reads schema 1", count(line, "schema")));
  }
}

void Loader::read_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) throw LoadError(fmt::format("cannot read {}", path.string()));
  ++trace_.rank_files;
  ended_ = false;
  std::int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty()) continue;
    const auto skip = [&](const std::exception& e) {
      if (trace_.skipped_lines++ == 0)
        trace_.first_skipped = fmt::format("{}:{}: {}", path.string(), number, e.what());
    };
    try {
      take(Json::parse(line));
    } catch (const Json::exception& e) {
      skip(e);
    } catch (const Implausible& e) {
      skip(e);
    } catch (const LoadError& e) {
      throw LoadError(fmt::format("{}: {}", path.string(), e.what()));
    }
  }
  if (in.bad()) throw LoadError(fmt::format("cannot read {}", path.string()));
  if (!ended_) ++trace_.unended_files;
  end_file();
}

Trace Loader::finish() && {
  for (const auto& [key, count] : left_) trace_.left.push_back({key.first, key.second, count});
  auto& calls = trace_.calls;
  for (auto& call : calls)
    std::sort(call.parts.begin(), call.parts.end(),
              [](const RankPart& a, const RankPart& b) { return a.rank < b.rank; });
  std::stable_sort(calls.begin(), calls.end(),
                   [](const Call& a, const Call& b) { return a.start_s() < b.start_s(); });
  return std::move(trace_);
}

std::vector<std::filesystem::path> rank_files(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto status = fs::status(path, error);
  if (error || !fs::exists(status)) throw LoadError(fmt::format("no such trace: {}", path));
  if (!fs::is_directory(status)) return {path};
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with("rank-") && name.ends_with(".jsonl")) found.push_back(entry.path());
  }
  if (error) throw LoadError(fmt::format("cannot list {}: {}", path, error.message()));
  if (found.empty()) throw LoadError(fmt::format("no rank-*.jsonl in {}", path));
  std::sort(found.begin(), found.end());
  return found;
}

std::string why_there_is_none(const Trace& trace) {
  if (!trace.first_skipped.empty()) return "the first bad line is " + trace.first_skipped;
  if (trace.dropped > 0)
    return fmt::format("{} records could not be written; is the disk full?", trace.dropped);
  if (trace.unended_files > 0)
    return fmt::format("{} of {} processes did not end properly, or run still", trace.unended_files,
                       trace.rank_files);
  return "the program made no collective call";
}

}  // namespace

double Call::start_s() const {
  double least = parts.front().start_s;
  for (const auto& p : parts) least = std::min(least, p.start_s);
  return least;
}

double Call::seconds() const {
  double most = 0;
  for (const auto& p : parts) most = std::max(most, p.seconds.total);
  return most;
}

std::int64_t Call::bytes() const {
  std::int64_t sum = 0;
  for (const auto& p : parts) sum += p.bytes;
  return sum;
}

Trace load_trace(const std::string& path) {
  Loader loader;
  for (const auto& file : rank_files(path)) loader.read_file(file);
  auto trace = std::move(loader).finish();
  if (trace.calls.empty() && trace.left.empty())
    throw LoadError(fmt::format("no call in {}: {}", path, why_there_is_none(trace)));
  return trace;
}

}  // namespace choir::report
