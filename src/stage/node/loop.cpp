#include "stage/node/loop.hpp"

#include <csignal>

namespace choir::stage {
namespace {

constexpr double forever_s = 1e9;

/// One look at everything. True if anything went on.
bool look(const KeepersHold& hold, Files& files, Keeper& keeper, NodeClock& clock) {
  bool any = false;
  for (const auto& ended : files.take_ended()) {
    keeper.finished(ended.number, ended.error, clock.now());
    any = true;
  }
  any = keeper.poll(clock.now()) || any;
  for (const int rank : files.take_told()) ring(hold.ranks_bell(rank));
  return any;
}

}  // namespace

KeeperCounts keep(const KeepersHold& hold, Files& files, const std::vector<KnownOpen>& opens,
                  const LoopSettings& settings, const std::function<bool()>& may_end) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is an error like others
  NodeClock clock;
  Keeper keeper(hold.parts(), files, Grants(settings.grants, settings.may_take), settings.keeper);
  for (const auto& known : opens)
    keeper.opened(known.open, known.inode, known.rank, known.expected, known.error);
  const auto retry_s = static_cast<double>(settings.keeper.retry_every_ns) * 1e-9;
  while (true) {
    while (look(hold, files, keeper, clock)) {
    }
    // In this order: what was given before the end was announced is still seen.
    const bool ends = may_end();
    Nap nap(hold.keepers_bell());
    if (look(hold, files, keeper, clock)) continue;
    if (ends && keeper.idle()) return keeper.counts();
    if (may_end() != ends) continue;
    nap.sleep(keeper.waits_for_time() ? retry_s : forever_s);
  }
}

}  // namespace choir::stage
