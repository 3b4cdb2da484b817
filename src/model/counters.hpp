// counters.hpp: the counters behind traffic.hpp, one per kind of exchange, and the sizes of what
// the engine sends besides data (engine/packet.hpp, engine/arena.hpp).
#pragma once

#include "model/traffic.hpp"

namespace choir::model {

inline constexpr std::int64_t header_bytes = 24;
inline constexpr std::int64_t empty_description = 1;
inline constexpr std::int64_t reply_overhead = header_bytes + empty_description;
inline constexpr std::int64_t ballot_bytes = 64;
inline constexpr std::int64_t opening_bytes = 40;
inline constexpr std::int64_t closing_bytes = 24;

Traffic count_windows(const Plan& plan, const Call& call);
Traffic count_slots(const Plan& plan, const Call& call);

}  // namespace choir::model
