// loop.hpp: a keeper at work, until nothing is held any more and nobody will give anything.
#pragma once

#include <functional>
#include <vector>

#include "stage/node/files.hpp"
#include "stage/node/hold.hpp"

namespace choir::stage {

/// A rank's part in an open, as who has the descriptors knows it.
struct KnownOpen {
  std::uint64_t open = 0;
  Inode inode;
  int rank = 0;
  std::uint64_t expected = 0;  ///< ranks that take part
  int error = 0;               ///< an earlier keeper's note
};

struct LoopSettings {
  GrantPolicy grants;
  KeeperPolicy keeper;
  std::function<bool(std::uint64_t)> may_take = [](std::uint64_t) { return true; };
};

/// The work of a process of its own: it ignores SIGXFSZ. Keeps until `may_end` says that nobody
/// will give anything any more, and nothing is held. Sleeps while there is nothing to do: whoever
/// changes what may_end() says rings the keeper's bell.
KeeperCounts keep(const KeepersHold& hold, Files& files, const std::vector<KnownOpen>& opens,
                  const LoopSettings& settings, const std::function<bool()>& may_end);

}  // namespace choir::stage
