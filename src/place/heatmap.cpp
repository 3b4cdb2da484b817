#include "place/heatmap.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

#include "draw/svg.hpp"

namespace choir::place {

namespace {

constexpr int side = 512;
constexpr int margin = 24;

class Drawing {
 public:
  explicit Drawing(const Graph& graph) : graph_(graph), cells_(std::clamp(graph.size(), 1, 256)) {}

  std::string panel(const Panel& panel, int index) {
    order_by_node(panel.node_of);
    return svg::group(margin + index * (side + margin), 2 * margin,
                      svg::text(0, -8, panel.title, "start", " font-size=\"14\"") +
                          svg::rectangle(0, 0, side, side, "white", " stroke=\"#888\"") + cells() +
                          borders(panel.node_of));
  }

 private:
  void order_by_node(const std::vector<int>& node_of) {
    order_.resize(node_of.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) {
      return node_of[static_cast<std::size_t>(a)] < node_of[static_cast<std::size_t>(b)];
    });
    cell_of_.resize(node_of.size());
    for (std::size_t i = 0; i < order_.size(); ++i)
      cell_of_[static_cast<std::size_t>(order_[i])] =
          static_cast<int>(i * static_cast<std::size_t>(cells_) / order_.size());
  }

  std::string cells() const {
    const auto n = static_cast<std::size_t>(cells_);
    std::vector<double> sum(n * n);
    for (int v = 0; v < graph_.size(); ++v)
      graph_.each(v, [&](int u, double weight) {
        sum[static_cast<std::size_t>(cell_of_[static_cast<std::size_t>(v)]) * n +
            static_cast<std::size_t>(cell_of_[static_cast<std::size_t>(u)])] += weight;
      });
    const double most = std::log1p(*std::max_element(sum.begin(), sum.end()));
    const double step = static_cast<double>(side) / cells_;
    std::string shapes;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const std::size_t row = i / n, column = i % n;
      if (sum[i] <= 0) continue;
      const int shade = static_cast<int>(225 * (1 - std::log1p(sum[i]) / most));
      shapes += svg::rectangle(static_cast<double>(column) * step, static_cast<double>(row) * step,
                               step, step, fmt::format("rgb({0},{0},{1})", shade, 128 + shade / 2));
    }
    return shapes;
  }

  std::string borders(const std::vector<int>& node_of) const {
    constexpr std::size_t most_lines = 128;
    std::vector<std::size_t> places;
    for (std::size_t i = 1; i < order_.size(); ++i)
      if (node_of[static_cast<std::size_t>(order_[i])] !=
          node_of[static_cast<std::size_t>(order_[i - 1])])
        places.push_back(i);
    if (places.size() > most_lines) return {};  // more would hide the picture
    std::string shapes;
    for (const auto border : places) {
      const double at = static_cast<double>(side) * static_cast<double>(border) /
                        static_cast<double>(order_.size());
      shapes += svg::line(at, 0, at, side, "#c33", " stroke-width=\".7\"");
      shapes += svg::line(0, at, side, at, "#c33", " stroke-width=\".7\"");
    }
    return shapes;
  }

  const Graph& graph_;
  int cells_;
  std::vector<int> order_;
  std::vector<int> cell_of_;
};

}  // namespace

void write_heatmap(std::ostream& out, const Graph& graph, const std::vector<Panel>& panels) {
  Drawing drawing(graph);
  std::string shapes;
  for (std::size_t i = 0; i < panels.size(); ++i)
    shapes += drawing.panel(panels[i], static_cast<int>(i));
  out << svg::document(margin + static_cast<int>(panels.size()) * (side + margin),
                       side + 3 * margin, shapes);
}

}  // namespace choir::place
