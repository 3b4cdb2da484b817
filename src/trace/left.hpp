// left.hpp: why a collective call was left to the MPI library, in code and in words.
//
// Pure. The words are what users read in the table, the trace and the report;
// docs/troubleshooting.md explains each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace choir::trace {

/// The larger number wins where ranks have different reasons.
enum class Left : std::uint8_t {
  no,  ///< choir serves the call
  other_world,
  no_world,
  sequential,
  not_regular,
  unreachable,
  no_memory,
  strategy,
  atomic,
  shared_pointer,
  device_memory,
  empty_view,
  backwards,
  representation,
};
inline constexpr std::size_t left_reasons = 14;

/// How many calls were left for each reason.
using LeftCounts = std::array<std::int64_t, left_reasons>;

std::string_view text_of(Left reason);

/// "3 collective calls left to the MPI library: REASON".
std::string left_line(std::int64_t calls, std::string_view reason);

}  // namespace choir::trace
