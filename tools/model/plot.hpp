// plot.hpp: small SVG charts: stacked bars of time per phase, and lines over a parameter.
#pragma once

#include <string>
#include <vector>

#include "model/predict.hpp"

namespace choir::model {

/// One bar per strategy: agree, exchange and storage beside the total.
std::string bars(const std::string& title, const std::vector<Prediction>& predictions);

struct Series {
  std::string name;
  std::vector<double> values;  ///< one per label; not above 0: no point
};
/// Lines over equally spaced labels; the vertical axis is logarithmic if values differ by more
/// than 50.
std::string lines(const std::string& title, const std::string& unit,
                  const std::vector<std::string>& labels, const std::vector<Series>& series);

/// Throws std::runtime_error if the file cannot be written.
void write_file(const std::string& path, const std::string& text);

}  // namespace choir::model
