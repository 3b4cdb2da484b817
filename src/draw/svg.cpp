#include "draw/svg.hpp"

#include <fmt/format.h>

namespace choir::svg {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  return result;
}

std::string text(double x, double y, std::string_view what, std::string_view anchor,
                 std::string_view attributes) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, attributes, escaped(what));
}

std::string rectangle(double x, double y, double width, double height, std::string_view fill,
                      std::string_view attributes) {
  return fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"{}/>\n", x, y,
      width, height, fill, attributes);
}

std::string line(double x1, double y1, double x2, double y2, std::string_view stroke,
                 std::string_view attributes) {
  return fmt::format(
      "<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" stroke=\"{}\"{}/>\n", x1, y1,
      x2, y2, stroke, attributes);
}

std::string polyline(std::string_view points, std::string_view stroke) {
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                     points, stroke);
}

std::string group(double x, double y, std::string_view shapes, double degrees) {
  const auto turn = degrees == 0 ? std::string() : fmt::format(" rotate({:g})", degrees);
  return fmt::format("<g transform=\"translate({:.1f},{:.1f}){}\">\n{}</g>\n", x, y, turn, shapes);
}

std::string document(double width, double height, std::string_view shapes) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
      "height=\"{1:g}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0:g}\" height=\"{1:g}\" fill=\"white\"/>\n{2}</svg>\n",
      width, height, shapes);
}

}  // namespace choir::svg
