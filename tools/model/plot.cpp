#include "plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "draw/svg.hpp"
#include "report.hpp"

namespace choir::model {
namespace {

constexpr double width = 900, height = 480, left = 90, right = 190, top = 50, bottom = 60;
constexpr const char* colours[] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd",
                                   "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"};

std::string page(const std::string& title, const std::string& body) {
  return svg::document(width, height,
                       svg::text(left, 24, title, "start", " font-size=\"15\"") + body);
}

/// From values to heights, linear or logarithmic.
class Scale {
 public:
  Scale(double low, double high, bool logarithmic)
      : low_(logarithmic ? std::log10(low) : 0),
        high_(logarithmic ? std::log10(high) : high),
        log_(logarithmic) {
    if (high_ <= low_) high_ = low_ + 1;
  }
  double y(double value) const {
    const double v = log_ ? std::log10(value) : value;
    return height - bottom - (v - low_) / (high_ - low_) * (height - bottom - top);
  }
  double at(double part) const {
    const double v = low_ + (high_ - low_) * part;
    return log_ ? std::pow(10, v) : v;
  }

 private:
  double low_, high_;
  bool log_;
};

template <class Label>
std::string axis(const Scale& scale, Label&& label) {
  std::string body;
  for (int i = 0; i <= 5; ++i) {
    const double value = scale.at(i / 5.0);
    body += svg::line(left, scale.y(value), width - right, scale.y(value), "#dddddd");
    body += svg::text(left - 6, scale.y(value) + 4, label(value), "end");
  }
  return body;
}

}  // namespace

std::string bars(const std::string& title, const std::vector<Prediction>& predictions) {
  double most = 0;
  for (const auto& p : predictions)
    most =
        std::max({most, p.seconds.total, p.seconds.agree + p.seconds.exchange + p.seconds.storage});
  const Scale scale(0, std::max(most, 1e-9), false);
  auto body = axis(scale, human_seconds);
  const double step =
      (width - left - right) / std::max<double>(1, static_cast<double>(predictions.size()));
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const auto& s = predictions[i].seconds;
    const double x = left + step * static_cast<double>(i) + step * 0.12;
    double base = 0;
    const double phases[] = {s.agree, s.exchange, s.storage};
    for (std::size_t k = 0; k < 3; ++k) {
      body += svg::rectangle(x, scale.y(base + phases[k]), step * 0.36,
                             scale.y(base) - scale.y(base + phases[k]), colours[k]);
      base += phases[k];
    }
    body += svg::rectangle(x + step * 0.4, scale.y(s.total), step * 0.3,
                           scale.y(0) - scale.y(s.total), "#444444");
    body += svg::group(x, height - bottom + 16, svg::text(0, 0, predictions[i].strategy), 18);
  }
  const char* names[] = {"agree", "exchange", "storage"};
  for (std::size_t k = 0; k < 4; ++k) {
    const double y = top + 20 * static_cast<double>(k);
    body += svg::rectangle(width - right + 20, y, 12, 12, k < 3 ? colours[k] : "#444444");
    body += svg::text(width - right + 38, y + 11, k < 3 ? names[k] : "total (overlapped)", "start");
  }
  return page(title, body);
}

std::string lines(const std::string& title, const std::string& unit,
                  const std::vector<std::string>& labels, const std::vector<Series>& series) {
  double low = INFINITY, high = 0;
  for (const auto& one : series)
    for (const double value : one.values)
      if (value > 0) low = std::min(low, value), high = std::max(high, value);
  if (high <= 0) throw std::runtime_error("there is nothing to plot");
  const Scale scale(low, high, high / low > 50);
  auto body = axis(scale, [&](double value) { return fmt::format("{:.3g} {}", value, unit); });
  const double step =
      (width - left - right) / std::max<double>(1, static_cast<double>(labels.size()) - 1);
  for (std::size_t i = 0; i < labels.size(); ++i)
    body +=
        svg::text(left + step * static_cast<double>(i), height - bottom + 18, labels[i], "middle");
  for (std::size_t k = 0; k < series.size(); ++k) {
    const char* colour = colours[k % std::size(colours)];
    std::string points;
    for (std::size_t i = 0; i < series[k].values.size(); ++i)
      if (series[k].values[i] > 0)
        points += fmt::format("{:.1f},{:.1f} ", left + step * static_cast<double>(i),
                              scale.y(series[k].values[i]));
    body += svg::polyline(points, colour);
    const double y = top + 20 * static_cast<double>(k);
    body += svg::rectangle(width - right + 20, y, 12, 12, colour);
    body += svg::text(width - right + 38, y + 11, series[k].name, "start");
  }
  return page(title, body);
}

void write_file(const std::string& path, const std::string& text) {
  std::FILE* out = std::fopen(path.c_str(), "w");
  bool good = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (out != nullptr) good = std::fclose(out) == 0 && good;
  if (!good) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace choir::model
