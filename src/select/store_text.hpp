// store_text.hpp: one line of what is known, written and read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "select/class_key.hpp"
#include "select/evidence.hpp"

namespace choir::select {

/// With its newline. The class comes first, then the site.
std::string line_of(const Site& site, const ClassKey& key, const Evidence& evidence);

struct Line {
  Site site;
  ClassKey key;
  Evidence evidence;
};
std::optional<Line> parse_line(std::string_view line);
/// Of version 0.1: a signature in hexadecimal and seven more fields.
bool is_old_line(std::string_view line);

/// Names come from the kernel and from configuration files: no blanks, no marks of the format.
std::string one_word(std::string text);

/// Weights halve every thirty days.
void age_to(Evidence& evidence, std::int64_t now_s);

}  // namespace choir::select
