// report.hpp: predictions as a table and as JSON.
#pragma once

#include <string>
#include <vector>

#include "model/predict.hpp"

namespace choir::model {

std::string table_of(const Model& model, const std::vector<Prediction>& predictions);
std::string json_of(const Model& model, const std::vector<Prediction>& predictions);

/// "512", "4.0 KiB", "1.5 TiB".
std::string human_bytes(double bytes);
/// "12 us", "3.4 ms", "5.6 s".
std::string human_seconds(double seconds);
/// "1234", "12.3 k", "4.5 M".
std::string human_count(double count);

/// Rows under heads, columns as wide as needed, first column to the left.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

}  // namespace choir::model
