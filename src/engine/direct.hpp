// direct.hpp: every rank moves its own bytes: straight between the program's buffer and the file.
#pragma once

#include <optional>

#include "engine/task.hpp"

namespace choir {

/// Individual transfers; under a plan with `concurrent` > 0, at most that many ranks are in storage
/// at a time.
void add_direct(Context& context, Tasks& tasks);
/// The whole of it at once; for plans with `concurrent` 0.
void run_direct(Context& context);

/// Whether a block of so many bytes is moved by Storage::move() alone.
bool needs_no_queue(Operation operation, std::int64_t bytes);
/// What a rank has to move if that is one block of the file and of memory and it need not queue:
/// then Storage::move() does the same. Nothing: it is not.
std::optional<Transfer> single_transfer(Operation operation, const Access& access,
                                        const Memory& memory);

}  // namespace choir
