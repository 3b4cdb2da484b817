// embedded.hpp: the parts of the page, carried inside the program.
#pragma once

#include <string_view>

namespace choir::report {

std::string_view embedded_chart_js();
std::string_view embedded_page_html();
std::string_view embedded_page_css();
std::string_view embedded_page_js();

}  // namespace choir::report
