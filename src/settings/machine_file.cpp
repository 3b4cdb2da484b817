#include "settings/machine_file.hpp"

#include <array>
#include <charconv>
#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace choir {
namespace {

constexpr const char* format = "choir-machine 1";
/// A second for a byte or a meeting: nothing that works is slower.
constexpr double slowest = 1;

/// One figure of the file: two numbers, or one.
struct Figure {
  std::string name;
  std::vector<double*> numbers;
};

/// Everything that is measured, in the order of the file.
std::vector<Figure> figures_of(MachineCosts& c) {
  const auto shared = [](const char* name, SharedCost& cost) {
    return Figure{name, {&cost.together, &cost.divided}};
  };
  return {shared("copy_byte", c.copy),
          shared("copy_cached_byte", c.copy_cached),
          shared("write_new_byte", c.write_new.per_byte),
          shared("write_new_request", c.write_new.per_request),
          shared("write_again_byte", c.write_again.per_byte),
          shared("write_again_request", c.write_again.per_request),
          shared("write_cached_byte", c.write_cached),
          shared("read_byte", c.read.per_byte),
          shared("read_request", c.read.per_request),
          shared("reserve_byte", c.reserve.per_byte),
          shared("reserve_request", c.reserve.per_request),
          shared("fault_new_byte", c.fault_new),
          shared("fault_again_byte", c.fault_again),
          shared("fault_read_byte", c.fault_read),
          {"meeting", {&c.meeting}}};
}

std::string shortest(double number) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// name -> value. Throws for a line that is none, and for a name that is there twice.
std::map<std::string, std::string> lines_of(const std::string& text) {
  std::map<std::string, std::string> lines;
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    const auto equals = line.find('=');
    const auto name = equals == std::string::npos ? "" : trimmed(line.substr(0, equals));
    if (name.empty())
      throw std::runtime_error("line " + std::to_string(number) + " is no 'name = value'");
    if (!lines.emplace(name, trimmed(line.substr(equals + 1))).second)
      throw std::runtime_error("'" + name + "' is there twice");
  }
  return lines;
}

/// Takes a line out. Throws if it is missing or empty.
std::string take(std::map<std::string, std::string>& lines, const std::string& name) {
  const auto found = lines.find(name);
  if (found == lines.end() || found->second.empty())
    throw std::runtime_error("'" + name + "' is missing");
  auto value = found->second;
  lines.erase(found);
  return value;
}

double number_from(const std::string& text, const std::string& name) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(number >= -slowest && number <= slowest))
    throw std::runtime_error("'" + name + "': '" + text + "' is no time that can be");
  return number;
}

void read_figure(const Figure& figure, const std::string& value) {
  std::istringstream words(value);
  double sum = 0;
  for (double* number : figure.numbers) {
    std::string word;
    words >> word;
    *number = number_from(word, figure.name);
    sum += *number;
  }
  std::string more;
  if (words >> more) throw std::runtime_error("'" + figure.name + "': '" + more + "' is too much");
  if (*figure.numbers.front() < 0 || sum < 0)
    throw std::runtime_error("'" + figure.name + "' is below zero");
}

int cores_from(const std::string& text) {
  constexpr int most = 1'000'000;
  int cores = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cores);
  if (error != std::errc() || end != text.data() + text.size() || cores < 1 || cores > most)
    throw std::runtime_error("'cores': '" + text + "' is no number of cores");
  return cores;
}

}  // namespace

std::string HostKind::words() const {
  return cpu + ", " + std::to_string(cores) + " cores, Linux " + kernel;
}

std::string serialise(const MachineFile& machine) {
  std::ostringstream out;
  out << "# What moving bytes costs here, by choir measure: choir-measure(1).\n"
      << "# Seconds for a byte, a request or a meeting. Of two numbers the first is what takes as\n"
      << "# long as if one did it all, the second what the ranks share out.\n"
      << "format = " << format << "\ndate = " << machine.date << "\ncpu = " << machine.host.cpu
      << "\ncores = " << machine.host.cores << "\nkernel = " << machine.host.kernel
      << "\nfile_system = " << machine.file_system << "\nmount = " << machine.mount << '\n';
  auto costs = machine.costs;
  for (const auto& figure : figures_of(costs)) {
    out << figure.name << " =";
    for (const double* number : figure.numbers) out << ' ' << shortest(*number);
    out << '\n';
  }
  return out.str();
}

MachineFile parse_machine(const std::string& text) {
  auto lines = lines_of(text);
  if (take(lines, "format") != format)
    throw std::runtime_error("it is not of the format '" + std::string(format) +
                             "': measure again with choir measure");
  MachineFile machine;
  machine.date = take(lines, "date");
  machine.host = {take(lines, "cpu"), cores_from(take(lines, "cores")), take(lines, "kernel")};
  machine.file_system = take(lines, "file_system");
  machine.mount = take(lines, "mount");
  for (const auto& figure : figures_of(machine.costs))
    read_figure(figure, take(lines, figure.name));
  if (!lines.empty()) throw std::runtime_error("'" + lines.begin()->first + "' means nothing here");
  machine.costs.measured = true;
  return machine;
}

}  // namespace choir
