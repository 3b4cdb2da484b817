// svg.hpp: the few shapes our pictures are made of, as SVG text.
//
// Pure: a picture is its shapes' text, one after the other, inside document(). Lengths are pixels.
// Text is escaped; attributes are taken as they are, so they never come from a user.
#pragma once

#include <string>
#include <string_view>

namespace choir::svg {

/// What may stand between tags and in quoted attributes.
std::string escaped(std::string_view text);

/// `attributes` begins with a space, like " font-size=\"15\"".
std::string text(double x, double y, std::string_view what, std::string_view anchor = "start",
                 std::string_view attributes = "");
std::string rectangle(double x, double y, double width, double height, std::string_view fill,
                      std::string_view attributes = "");
std::string line(double x1, double y1, double x2, double y2, std::string_view stroke,
                 std::string_view attributes = "");
/// "x,y x,y ..." as a line of two pixels.
std::string polyline(std::string_view points, std::string_view stroke);
/// Shapes moved to (x, y) and then turned by `degrees`.
std::string group(double x, double y, std::string_view shapes, double degrees = 0);
/// A whole picture on white.
std::string document(double width, double height, std::string_view shapes);

}  // namespace choir::svg
