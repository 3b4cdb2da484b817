#include "place/heatmap.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

namespace choir::place {

namespace {

constexpr int side = 512;
constexpr int margin = 24;

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result += c;
  }
  return result;
}

class Drawing {
 public:
  Drawing(std::ostream& out, const Graph& graph)
      : out_(out), graph_(graph), cells_(std::clamp(graph.size(), 1, 256)) {}

  void panel(const Panel& panel, int index) {
    order_by_node(panel.node_of);
    out_ << fmt::format("<g transform=\"translate({},{})\">\n", margin + index * (side + margin),
                        2 * margin);
    out_ << fmt::format(
        "<text x=\"0\" y=\"-8\">{}</text>\n<rect width=\"{}\" height=\"{}\" class=\"frame\"/>\n",
        escaped(panel.title), side, side);
    draw_cells();
    draw_borders(panel.node_of);
    out_ << "</g>\n";
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

  void draw_cells() {
    const auto n = static_cast<std::size_t>(cells_);
    std::vector<double> sum(n * n);
    for (int v = 0; v < graph_.size(); ++v)
      graph_.each(v, [&](int u, double weight) {
        sum[static_cast<std::size_t>(cell_of_[static_cast<std::size_t>(v)]) * n +
            static_cast<std::size_t>(cell_of_[static_cast<std::size_t>(u)])] += weight;
      });
    const double most = std::log1p(*std::max_element(sum.begin(), sum.end()));
    const double step = static_cast<double>(side) / cells_;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const std::size_t row = i / n, column = i % n;
      if (sum[i] <= 0) continue;
      const int shade = static_cast<int>(225 * (1 - std::log1p(sum[i]) / most));
      out_ << fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
          "fill=\"rgb({},{},{})\"/>\n",
          static_cast<double>(column) * step, static_cast<double>(row) * step, step, step, shade,
          shade, 128 + shade / 2);
    }
  }

  void draw_borders(const std::vector<int>& node_of) {
    constexpr std::size_t most_lines = 128;
    std::vector<std::size_t> borders;
    for (std::size_t i = 1; i < order_.size(); ++i)
      if (node_of[static_cast<std::size_t>(order_[i])] !=
          node_of[static_cast<std::size_t>(order_[i - 1])])
        borders.push_back(i);
    if (borders.size() > most_lines) return;  // more would hide the picture
    for (const auto border : borders) {
      const double at = static_cast<double>(side) * static_cast<double>(border) /
                        static_cast<double>(order_.size());
      out_ << fmt::format("<path d=\"M{0:.2f} 0V{1}M0 {0:.2f}H{1}\" class=\"border\"/>\n", at,
                          side);
    }
  }

  std::ostream& out_;
  const Graph& graph_;
  int cells_;
  std::vector<int> order_;
  std::vector<int> cell_of_;
};

}  // namespace

void write_heatmap(std::ostream& out, const Graph& graph, const std::vector<Panel>& panels) {
  const auto width = margin + static_cast<int>(panels.size()) * (side + margin);
  out << fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\">\n",
      width, side + 3 * margin);
  out << "<style>text{font:14px "
         "sans-serif}.frame{fill:#fff;stroke:#888}.border{stroke:#c33;stroke-width:.7}</style>\n";
  out << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  Drawing drawing(out, graph);
  for (std::size_t i = 0; i < panels.size(); ++i) drawing.panel(panels[i], static_cast<int>(i));
  out << "</svg>\n";
}

}  // namespace choir::place
