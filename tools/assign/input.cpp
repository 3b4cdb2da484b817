#include "input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace choir::assign {
namespace {

using Json = nlohmann::json;

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw InputError(fmt::format(format, std::forward<Args>(args)...));
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const auto begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array units{Unit{"", 1},
                           Unit{"B", 1},
                           Unit{"kB", 1e3},
                           Unit{"KB", 1e3},
                           Unit{"MB", 1e6},
                           Unit{"GB", 1e9},
                           Unit{"TB", 1e12},
                           Unit{"KiB", 1024},
                           Unit{"MiB", 1 << 20},
                           Unit{"GiB", 1 << 30},
                           Unit{"TiB", 1099511627776.0}};

double unit_bytes(std::string_view name, std::string_view whole) {
  const auto unit = std::ranges::find(units, name, &Unit::name);
  if (unit == units.end()) fail("\"{}\" has an unknown unit", whole);
  return unit->bytes;
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const auto comma = line.find(',');
    cells.push_back(trim(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

struct Line {
  int number = 0;  ///< in the file, from 1
  std::vector<std::string_view> cells;
};

std::vector<Line> split_lines(std::string_view text) {
  std::vector<Line> lines;
  int number = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    if (!line.empty() && line.front() != '#') lines.push_back({number, split(line)});
  }
  return lines;
}

bool is_number(std::string_view text) {
  return !text.empty() && (std::isdigit(static_cast<unsigned char>(text.front())) ||
                           text.front() == '-' || text.front() == '+' || text.front() == '.');
}

std::int64_t cell_size(const Line& line, std::size_t column) {
  try {
    return parse_size(line.cells[column]);
  } catch (const InputError& error) {
    fail("line {}, column {}: {}", line.number, column + 1, error.what());
  }
}

/// Of ranks and of files. Each takes room whether or not it asks for bytes, and a slip of the pen
/// must not take all there is.
constexpr int most_of_a_kind = 1 << 22;

int cell_index(const Line& line, std::size_t column) {
  const auto text = line.cells[column];
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0 ||
      value >= most_of_a_kind)
    fail("line {}, column {}: \"{}\" is no rank or file number from 0 to {}", line.number,
         column + 1, text, most_of_a_kind - 1);
  return value;
}

multi::Problem sparse_csv(const std::vector<Line>& lines) {
  std::vector<multi::Request> requests;
  int ranks = 0;
  int files = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto& line = lines[i];
    if (line.cells.size() != 3) fail("line {}: want rank, file and bytes", line.number);
    requests.push_back({cell_index(line, 0), cell_index(line, 1), cell_size(line, 2)});
    ranks = std::max(ranks, requests.back().rank + 1);
    files = std::max(files, requests.back().file + 1);
  }
  if (requests.empty()) fail("there is no request");
  multi::Problem problem;
  problem.requests = multi::RequestMatrix::from_entries(ranks, files, requests);
  return problem;
}

multi::Problem dense_csv(const std::vector<Line>& lines) {
  const auto& first = lines.front().cells;
  const bool header = !is_number(first.front());
  const std::size_t skip = header && first.front() == "rank" ? 1 : 0;
  if (first.size() <= skip) fail("line {}: there is no file", lines.front().number);
  std::vector<std::int64_t> cells;
  for (std::size_t i = header ? 1 : 0; i < lines.size(); ++i) {
    const auto& line = lines[i];
    if (line.cells.size() != first.size())
      fail("line {}: {} columns, but the first line has {}", line.number, line.cells.size(),
           first.size());
    for (std::size_t column = skip; column < line.cells.size(); ++column)
      cells.push_back(cell_size(line, column));
  }
  const auto ranks = lines.size() - (header ? 1 : 0);
  if (ranks == 0)
    fail("there is no rank: line {} is taken for a header; want a line of sizes for each rank",
         lines.front().number);
  multi::Problem problem;
  problem.requests = multi::RequestMatrix::from_dense(static_cast<int>(ranks),
                                                      static_cast<int>(first.size() - skip), cells);
  return problem;
}

std::int64_t json_size(const Json& value) {
  if (value.is_string()) return parse_size(value.get<std::string>());
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    fail("{} is too large", value.dump());
  if (value.is_number_integer()) {
    if (value.get<std::int64_t>() < 0) fail("{} is negative", value.dump());
    return value.get<std::int64_t>();
  }
  fail("{} is no size; want whole bytes, or a string with a unit", value.dump());
}

multi::RequestMatrix dense_json(const Json& rows) {
  if (!rows.is_array() || rows.empty()) fail("\"requests\" must be an array of rows");
  std::vector<std::int64_t> cells;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    if (!rows[rank].is_array() || rows[rank].size() != rows[0].size() || rows[rank].empty())
      fail("row {} of \"requests\" must be an array as long as row 0, and not empty", rank);
    for (const auto& value : rows[rank]) cells.push_back(json_size(value));
  }
  return multi::RequestMatrix::from_dense(static_cast<int>(rows.size()),
                                          static_cast<int>(rows[0].size()), cells);
}

int json_int(const Json& value, std::string_view what) {
  if (!value.is_number_integer() || value < 0 || value > std::numeric_limits<int>::max())
    fail("{} must be a whole number from 0, not {}", what, value.dump());
  return value.get<int>();
}

int member_int(const Json& object, const char* key) {
  if (!object.contains(key)) fail("\"{}\" is missing", key);
  const int value = json_int(object[key], fmt::format("\"{}\"", key));
  if (value > most_of_a_kind) fail("\"{}\" is {}; the most is {}", key, value, most_of_a_kind);
  return value;
}

multi::RequestMatrix sparse_json(const Json& json) {
  const auto& entries = json["entries"];
  if (!entries.is_array()) fail("\"entries\" must be an array of [rank, file, size]");
  std::vector<multi::Request> requests;
  for (const auto& entry : entries) {
    if (!entry.is_array() || entry.size() != 3)
      fail("entry {} must be [rank, file, size]", entry.dump());
    requests.push_back({json_int(entry[0], "the rank of an entry"),
                        json_int(entry[1], "the file of an entry"), json_size(entry[2])});
  }
  return multi::RequestMatrix::from_entries(member_int(json, "ranks"), member_int(json, "files"),
                                            requests);
}

void read_number(const Json& json, const char* key, double& value) {
  if (!json.contains(key)) return;
  if (!json[key].is_number()) fail("\"{}\" must be a number", key);
  value = json[key].get<double>();
}

void read_nodes(const Json& json, std::vector<int>& nodes) {
  if (!json.contains("nodes")) return;
  const auto& list = json["nodes"];
  if (!list.is_array()) fail("\"nodes\" must be an array with the node of each rank");
  for (const auto& node : list) nodes.push_back(json_int(node, "a node"));
}

void check_keys(const Json& json) {
  constexpr std::array<std::string_view, 9> known{
      "requests", "ranks", "files", "entries", "alpha", "beta", "nodes", "balance", "slack"};
  for (const auto& [key, value] : json.items())
    if (std::ranges::find(known, key) == known.end() && key != "intra_node_cost")
      fail("unknown key \"{}\"", key);
}

Json parse_text(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    fail("not JSON: {}", error.what());
  }
}

}  // namespace

std::int64_t parse_size(std::string_view text) {
  const auto whole = trim(text);
  if (whole.empty()) fail("a size is missing");
  std::int64_t bytes = 0;
  const char* const end = whole.data() + whole.size();
  const auto integer = std::from_chars(whole.data(), end, bytes);
  if (integer.ec == std::errc{} && integer.ptr == end) {
    if (bytes < 0) fail("\"{}\" is negative", whole);
    return bytes;
  }
  double value = 0;
  const auto [rest, error] = std::from_chars(whole.data(), end, value, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(value)) fail("\"{}\" is no size", whole);
  value *= unit_bytes(trim({rest, static_cast<std::size_t>(end - rest)}), whole);
  if (value < 0) fail("\"{}\" is negative", whole);
  if (value > 0x1p62) fail("\"{}\" is too large", whole);
  if (std::abs(value - std::round(value)) > 1e-6 * std::max(1.0, value))
    fail("\"{}\" is no whole number of bytes", whole);
  return std::llround(value);
}

multi::Balance parse_balance(std::string_view name) {
  if (name == "files") return multi::Balance::files;
  if (name == "bytes") return multi::Balance::bytes;
  fail("balance \"{}\" is neither \"files\" nor \"bytes\"", name);
}

multi::Problem parse_csv(std::string_view text) {
  const auto lines = split_lines(text);
  if (lines.empty()) fail("the matrix is empty");
  const std::vector<std::string_view> sparse{"rank", "file", "bytes"};
  return lines.front().cells == sparse ? sparse_csv(lines) : dense_csv(lines);
}

multi::Problem parse_json(std::string_view text) {
  const auto json = parse_text(text);
  if (!json.is_object())
    fail(
        "the JSON is no object; want {{\"requests\": [[1, 2], [3, 4]]}} with a row for each rank, "
        "or \"ranks\", \"files\" and \"entries\"");
  check_keys(json);
  if (json.contains("requests") == json.contains("entries"))
    fail("want either \"requests\" or \"entries\"");
  multi::Problem problem;
  problem.requests = json.contains("requests") ? dense_json(json["requests"]) : sparse_json(json);
  read_number(json, "alpha", problem.alpha);
  read_number(json, "beta", problem.beta);
  read_number(json, "intra_node_cost", problem.intra_node_cost);
  read_number(json, "slack", problem.slack);
  read_nodes(json, problem.node_of_rank);
  if (json.contains("balance")) {
    if (!json["balance"].is_string()) fail("\"balance\" must be a string");
    problem.balance = parse_balance(json["balance"].get<std::string>());
  }
  return problem;
}

multi::Problem read_problem(const std::string& path) {
  std::string text;
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream file(path, std::ios::binary);
    if (!file) fail("{}: cannot be opened", path);
    text.assign(std::istreambuf_iterator<char>(file), {});
    if (file.bad()) fail("{}: cannot be read", path);
  }
  const auto first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && (text[first] == '{' || text[first] == '[');
  try {
    return json ? parse_json(text) : parse_csv(text);
  } catch (const std::logic_error& error) {  // the matrix itself refuses
    fail("{}: {}", path, error.what());
  } catch (const InputError& error) {
    fail("{}: {}", path, error.what());
  }
}

}  // namespace choir::assign
