// page.hpp: the report as one self-contained HTML text.
#pragma once

#include <string>
#include <vector>

#include "advice.hpp"

namespace choir::report {

/// `title` names the trace. The page loads nothing from anywhere.
std::string render_page(const std::string& title, const Trace& trace, const Summary& summary,
                        const std::vector<Advice>& advice);

}  // namespace choir::report
