// figures.hpp: the papers' experiments on their clusters' numbers, beside what the papers printed.
#pragma once

#include <string>
#include <vector>

#include "plot.hpp"

namespace choir::model {

struct Figure {
  std::string title;
  std::string assumptions;  ///< numbers the paper does not give
  std::string across;       ///< what the columns vary
  std::string unit;
  std::vector<std::string> labels;
  std::vector<Series> series;     ///< the model's
  std::vector<Series> printed;    ///< the paper's own numbers, where its text has them
  std::vector<std::string> said;  ///< what the paper's text says
};

const std::vector<std::string>& figure_names();
/// Throws std::invalid_argument for an unknown name.
std::vector<Figure> compute_figure(const std::string& name);

std::string text_of(const Figure& figure);
std::string json_of(const std::vector<Figure>& figures);

}  // namespace choir::model
