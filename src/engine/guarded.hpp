// guarded.hpp: loads from and stores to a mapped file that end in false instead of in a SIGBUS.
//
// A page that cannot be had (its file was cut short, its device failed) is a SIGBUS, which ends
// the program. One that comes from inside the mapping a thread has named is caught, and the thread
// goes on behind what it was doing; any other goes to whoever handled it before.
#pragma once

#include <setjmp.h>

#include "engine/mapping.hpp"

namespace choir {

/// The mapping a thread is using, and where to go on if it faults.
struct Guard {
  sigjmp_buf on_fault;
  const char* volatile begin = nullptr;
  const char* volatile end = nullptr;
};
Guard& own_guard();

/// Before the first use of guarded() in this process.
void catch_bus_errors();

/// Runs `use`, which loads from or stores to `view` and owns nothing; false if the mapping faulted.
template <class Use>
bool guarded(const FileMapping::View& view, Use&& use) {
  Guard& mine = own_guard();  // asked for once: a preloaded library has to search for it
  mine.begin = view.base + view.range.begin;
  mine.end = view.base + view.range.end;
  // The handler leaves the signal unblocked, so there is no mask to save.
  const bool fine = sigsetjmp(mine.on_fault, 0) == 0;
  if (fine) use();
  mine.begin = nullptr;
  mine.end = nullptr;
  return fine;
}

}  // namespace choir
