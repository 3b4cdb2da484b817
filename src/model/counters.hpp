// counters.hpp: the counters behind traffic.hpp, one per kind of exchange, and the sizes of what
// the engine sends besides data (engine/packet.hpp, engine/arena.hpp).
#pragma once

#include "access/codec.hpp"
#include "model/traffic.hpp"

namespace choir::model {

/// Runs as they travel, encoded, behind the number that says how long they are.
inline std::int64_t described_bytes(const Runs& runs) {
  Bytes out;
  encode(runs, out);
  const auto description = out.size();
  encode_number(description << 1, out);
  return static_cast<std::int64_t>(out.size());
}
inline constexpr std::int64_t reply_overhead = 8;
inline constexpr std::int64_t ballot_bytes = 64;
inline constexpr std::int64_t opening_bytes = 56;
inline constexpr std::int64_t closing_bytes = 24;

Traffic count_windows(const Plan& plan, const Call& call);
Traffic count_slots(const Plan& plan, const Call& call);

}  // namespace choir::model
