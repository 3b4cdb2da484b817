// utf8.hpp: whether bytes are text. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace choir::files {

/// Length of the valid UTF-8 sequence at the start of `text`, which is not empty; 0 when there is
/// none.
std::size_t utf8_length(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace choir::files
