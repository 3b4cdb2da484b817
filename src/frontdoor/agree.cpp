#include "frontdoor/agree.hpp"

#include "engine/progress.hpp"
#include "frontdoor/collective.hpp"

namespace choir {

Agreed agree(File& engine, int error_class, std::int64_t mine) {
  Progress::instance().wait([&] { return !engine.busy(); }, &engine);
  Outcome outcome;
  outcome.error = error_class;
  outcome.end_of_file = outcome.elapsed_ns = mine;  // the least and the most of all ranks
  try {
    Closing meeting(engine.hood(), engine.room(), outcome);
    Progress::instance().wait([&] { return meeting.poll(); }, &engine);
    const auto& verdict = meeting.verdict();
    return {verdict.error, verdict.end_of_file, verdict.elapsed_ns};
  } catch (const MpiError& e) {
    return {class_of(e.code)};
  }
}

}  // namespace choir
