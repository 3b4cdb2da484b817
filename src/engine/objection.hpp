// objection.hpp: what a rank brings against serving a call: an error, or a reason to leave the call
// to the host MPI.
//
// Pure. One number of a vote says it, so that the worst of all ranks' is the greatest.
#pragma once

#include <cstdint>

#include "trace/left.hpp"

namespace choir {

struct Objection {
  int error = 0;  ///< an MPI error class; counts more than any reason
  trace::Left left = trace::Left::no;

  /// 0: nothing is brought.
  std::int32_t number() const { return error != 0 ? error * reasons : static_cast<int>(left); }
  static Objection from(std::int32_t number) {
    return {number / reasons, static_cast<trace::Left>(number % reasons)};
  }

 private:
  static constexpr std::int32_t reasons = trace::left_reasons;
};

}  // namespace choir
