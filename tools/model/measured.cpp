#include "measured.hpp"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "settings/machine_file.hpp"

namespace choir::model {
namespace {

nlohmann::json read(const std::string& path, const std::string& format) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": cannot be read");
  nlohmann::json document;
  try {
    document = nlohmann::json::parse(in);
  } catch (const nlohmann::json::exception& e) {
    throw std::runtime_error(path + ": " + e.what());
  }
  if (!document.is_object() || document.value("format", "") != format)
    throw std::runtime_error(path + ": is not a document of format " + format);
  return document;
}

/// The mean of a square matrix's diagonal, or of the rest; 0 if nothing there was measured.
double mean(const nlohmann::json& matrix, bool diagonal) {
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < matrix.size(); ++i)
    for (std::size_t j = 0; j < matrix.at(i).size(); ++j) {
      const double value = matrix.at(i).at(j).get<double>();
      if ((i == j) != diagonal || value <= 0) continue;
      sum += value;
      ++count;
    }
  return count > 0 ? sum / count : 0;
}

void use(double& target, double measured) {
  if (measured > 0) target = measured;
}

}  // namespace

void use_netbench(Machine& machine, const std::string& path) {
  const auto document = read(path, "choir-arch");
  try {
    use(machine.between.latency_s, mean(document.at("latency_s"), false));
    use(machine.between.bandwidth, mean(document.at("bandwidth_Bps"), false));
    use(machine.inside.latency_s, mean(document.at("latency_s"), true));
    use(machine.inside.bandwidth, mean(document.at("bandwidth_Bps"), true));
  } catch (const nlohmann::json::exception& e) {
    throw std::runtime_error(path + ": " + e.what());
  }
}

void use_machine_file(Machine& machine, const std::string& path) {
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw std::runtime_error(path + ": cannot be read");
  try {
    const auto measured = parse_machine(text);
    if (const double byte_s = measured.costs.copy.at(1); byte_s > 0)
      machine.inside.bandwidth = 1 / byte_s;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

void use_iobench(Machine& machine, const std::string& path) {
  const auto document = read(path, "choir-io");
  try {
    const auto& fit = document.at("model");
    use(machine.servers.bandwidth, fit.at("bandwidth_Bps").get<double>());
    machine.servers.seek_s = std::max(0.0, fit.at("seek_s").get<double>());
    machine.servers.request_s = std::max(0.0, fit.at("request_s").get<double>());
  } catch (const nlohmann::json::exception& e) {
    throw std::runtime_error(path + ": " + e.what());
  }
}

}  // namespace choir::model
