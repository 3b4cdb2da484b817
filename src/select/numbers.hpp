// numbers.hpp: the numbers of the policy, each with its reason. docs/choosing.md tells them to
// users.
#pragma once

namespace choir::select::numbers {

/// Shorter calls gain less than comparing costs.
inline constexpr double short_call_s = 100e-6;
/// An estimate may be wrong by this factor either way ...
inline constexpr double doubt = 4;
/// ... or by this one where the machine was measured.
inline constexpr double measured_doubt = 1.5;
/// So may a single comparison: one call in thirty meets a hiccup.
inline constexpr double single_doubt = 2;
/// One that shows another to be faster by this factor is clear enough to change who serves.
inline constexpr double clear = 1.25;
/// The middle of two comparisons.
inline constexpr double double_doubt = 1.24;
/// So many comparisons tell enough.
inline constexpr double enough = 3;
/// Who serves stays unless another is this much faster: less is noise.
inline constexpr double margin = 0.05;
/// Of a class's time looks may cost while somebody can be better ...
inline constexpr double share = 0.10;
/// ... and afterwards.
inline constexpr double late_share = 0.02;
/// After so many calls comparisons count half: machines change.
inline constexpr double ageing_calls = 100;
/// Calls before and after a look that differ by more than this factor do not judge it.
inline constexpr double neighbours = 2;

}  // namespace choir::select::numbers
