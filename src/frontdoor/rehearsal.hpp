// rehearsal.hpp: calls made before the program makes its first.
#pragma once

#include <memory>

#include "engine/room.hpp"
#include "settings/settings.hpp"

namespace choir {

/// Collective, with the same settings on all ranks. The first time in a neighbourhood, a few small
/// calls go the whole way on a file of our own that has no name: the program's first calls then
/// find code, tables and the ranks' meeting place in the caches. They would take three times as
/// long otherwise. No effect where ranks meet by messages or share cores.
void rehearse(const std::shared_ptr<Neighbourhood>& hood, Settings settings);

}  // namespace choir
