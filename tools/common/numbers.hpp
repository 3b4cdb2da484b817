// numbers.hpp: checks of numbers on the command line, with messages that people can read.
//
// CLI11's own checks of real numbers let nan pass and name the largest double as their limit. Whole
// numbers have CLI::Range.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <functional>
#include <string>

namespace choir::tools {

/// A finite number that `accepts`; `described` follows "number" in messages and help.
inline CLI::Validator finite_number(const std::string& described,
                                    const std::function<bool(double)>& accepts) {
  return {[=](std::string& input) {
            double value = 0;
            const bool good = CLI::detail::lexical_cast(input, value) && std::isfinite(value);
            return good && accepts(value) ? std::string()
                                          : fmt::format("'{}' is no number {}", input, described);
          },
          described};
}

inline CLI::Validator above_zero() {
  return finite_number("above 0", [](double value) { return value > 0; });
}

inline CLI::Validator from_zero() {
  return finite_number("from 0", [](double value) { return value >= 0; });
}

/// Both ends belong to it.
inline CLI::Validator between(double low, double high) {
  return finite_number(fmt::format("from {} to {}", low, high),
                       [=](double value) { return low <= value && value <= high; });
}

}  // namespace choir::tools
