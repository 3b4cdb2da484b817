// call_choice.cpp: which strategy serves a call: what is known of its class, what the rule says of
// it, and what a rank may do before the others have been heard.
#include <algorithm>
#include <cmath>

#include "engine/call.hpp"
#include "engine/direct.hpp"
#include "engine/file.hpp"
#include "engine/mapped.hpp"

namespace choir {
namespace {

/// Most calls of a pattern in which ranks moved their bytes ahead in vain: then it is left alone.
constexpr int most_vain_runs_ahead = 2;
/// Most bytes a rank moves before it knows that the others ask as before: if they do not, it moves
/// them again.
constexpr std::int64_t most_bytes_ahead = std::int64_t{16} << 20;

select::Kind kind_of(const Strategy& strategy) {
  if (strategy.name == "native") return select::Kind::host;
  if (strategy.warms_up) return select::Kind::mapping;
  const bool own = strategy.alone || strategy.name == "scheduled_individual";
  return own ? select::Kind::own : select::Kind::exchange;
}

}  // namespace

select::ClassKey Call::class_of(const PlanEntry& pattern, std::int64_t shift) const {
  auto key = pattern.shape;
  key.writing = request_.operation == Operation::write;
  key.ground = file_.ground(request_.operation, pattern.span_at(shift));
  return key;
}

Situation Call::situation_of(const PlanEntry& pattern) const {
  return {pattern.pieces,
          request_.operation == Operation::write,
          file_.facts().local_file_system && file_.settings().fault.empty(),
          (file_.facts().mode & MPI_MODE_WRONLY) == 0,
          class_.ground == select::Ground::beyond && file_.is_local() && file_.hood().one_node(),
          class_.ground == select::Ground::prepared,
          file_.written_bytes(),
          file_.facts().reserves,
          &file_.facts().costs};
}

bool Call::may_serve(const Strategy& strategy, const PlanInput& in,
                     const Situation& situation) const {
  return (strategy.name != "native" || request_.may_use_host) &&
         std::isfinite(strategy.estimate_s(in, situation));
}

/// The strategy of this call if everyone asks as before; nothing where a rank cannot know.
std::optional<int> Call::expected_row(std::int64_t shift) {
  if (const auto fixed = file_.fixed_row(request_.operation)) {
    const auto& strategy = file_.strategies().rows()[static_cast<std::size_t>(*fixed)];
    if (!may_serve(strategy, input_for(*guess_), situation_of(*guess_))) return std::nullopt;
    fixed_ = true;
    reason_ = "set";
    return fixed;
  }
  // What serves depends on everyone's place in the file, which a rank without bytes does not know.
  if (std::any_of(guess_->ranks.begin(), guess_->ranks.end(),
                  [](const RankSummary& rank) { return rank.empty(); }))
    return std::nullopt;
  return chosen_row(*guess_, shift);
}

/// The plan kept for a strategy, or one that costs nothing to make; null: neither.
std::shared_ptr<const Plan> Call::plan_ahead(int row) const {
  const auto& strategy = file_.strategies().rows()[static_cast<std::size_t>(row)];
  auto kept = guess_->kept(file_.plan_key(row));
  if (!kept && strategy.alone) {
    kept = std::make_shared<const Plan>(strategy.plan(input_for(*guess_)));
    file_.hood().plans().keep(*guess_, file_.plan_key(row), kept);
  }
  return kept;
}

bool Call::may_run_ahead() const {
  return guess_ && file_.hood().one_node() && request_.error == 0 &&
         request_.access.bytes() <= most_bytes_ahead &&
         guess_->vain_runs_ahead <= most_vain_runs_ahead;
}

/// A pattern seen before and a strategy that needs no other rank: this rank moves its bytes first,
/// and one meeting of the ranks serves for opening and closing the call.
void Call::run_ahead(Vote& vote) {
  if (!request_.may_use_host || !may_run_ahead()) return;
  class_ = class_of(*guess_, vote.shift);
  const auto row = expected_row(vote.shift);
  if (!row) return;
  const auto plan = plan_ahead(*row);
  if (!plan || !plan->independent()) return;
  plan_ = plan;
  row_ = *row;
  make_context(file_.hood(), file_.room(), 0, {guess_->ranks}, guess_->grain);
  const auto began = now_ns();
  add_tasks();
  for (auto& task : tasks_)
    while (!task->done()) task->poll();
  executed_ns_ = now_ns();
  vote.ran_ahead = static_cast<std::uint16_t>(row_ + 1);
  vote.set_early(outcome(began));
  ran_ahead_ = true;
}

/// All ranks know the pattern: the row that serves.
int Call::choose() {
  if (const auto fixed = file_.fixed_row(request_.operation)) return choose_fixed(*fixed);
  if (const auto row = chosen_row(*pattern_, shift_)) return *row;
  fixed_ = true;
  reason_ = "no candidate applies here";
  return *file_.strategies().find("two_phase");
}

int Call::choose_fixed(int row) {
  fixed_ = true;
  const auto& strategy = file_.strategies().rows()[static_cast<std::size_t>(row)];
  if (may_serve(strategy, input_for(*pattern_), situation_of(*pattern_))) {
    reason_ = "set";
    return row;
  }
  reason_ = strategy.name == "native" ? "native cannot serve nonblocking calls"
                                      : strategy.name + " does not apply here";
  file_.say_once(reason_ + "; two_phase serves instead");
  return *file_.strategies().find("two_phase");
}

/// Whether the host MPI can be trusted with the call. On random patterns MPICH 4.0.2 reads wrong
/// bytes by irregular views and near the end of the file, and leaves garbage in holes beyond it;
/// Open MPI's own library loses bytes now and then. Who sets `native` gets it all the same.
bool Call::host_is_right(const PlanEntry& pattern, std::int64_t shift) const {
  const bool regular =
      std::none_of(pattern.ranks.begin(), pattern.ranks.end(),
                   [](const RankSummary& rank) { return rank.shape.kind == Shape::Kind::cells; });
  const bool inside = file_.certainly_reaches(pattern.span_at(shift).end);
  return regular && (inside || (request_.operation == Operation::write && pattern.dense));
}

/// What the rule says of a call that asks for `pattern`; nothing if no candidate applies.
std::optional<int> Call::chosen_row(const PlanEntry& pattern, std::int64_t shift) {
  const select::Occasion occasion{
      static_cast<double>(std::max<std::int64_t>(1, pattern.total_bytes)),
      request_.may_use_host && pattern.total_bytes > 0, file_.facts().costs.measured,
      file_.facts().open_files, nullptr};
  const auto in = input_for(pattern);
  auto situation = situation_of(pattern);
  situation.host_is_right = host_is_right(pattern, shift);
  auto& chooser = file_.chooser();
  if (const auto known = chooser.choose_unestimated(class_, occasion)) {
    const auto row = file_.candidate_row(known->strategy);
    if (row &&
        may_serve(file_.strategies().rows()[static_cast<std::size_t>(*row)], in, situation)) {
      decision_ = known->decision;
      reason_ = decision_.reason;
      return row;
    }
  }
  decision_ = chooser.choose(class_, contenders_for(in, situation), occasion);
  if (decision_.contender < 0) return std::nullopt;
  reason_ = decision_.reason;
  return file_.candidates()[static_cast<std::size_t>(decision_.contender)];
}

std::vector<select::Contender> Call::contenders_for(const PlanInput& in,
                                                    const Situation& situation) const {
  auto later = situation;
  later.prepared = true;
  std::vector<select::Contender> contenders;
  contenders.reserve(file_.candidates().size());
  for (const int row : file_.candidates()) {
    const auto& strategy = file_.strategies().rows()[static_cast<std::size_t>(row)];
    const bool allowed = strategy.name != "native" || request_.may_use_host;
    const double now_s = allowed ? strategy.estimate_s(in, situation) : not_applicable;
    const double later_s =
        strategy.warms_up && !situation.prepared ? strategy.estimate_s(in, later) : now_s;
    contenders.push_back({strategy.name, kind_of(strategy), now_s, later_s});
  }
  return contenders;
}

/// Blocking calls are evidence, also under a fixed strategy. Nonblocking ones wait for the
/// program's attention, and joined ones for each other.
void Call::note_time(const Outcome& verdict) {
  if (joint_ || !request_.may_use_host || pattern_->total_bytes == 0) return;
  if (fixed_) decision_ = {};
  if (verdict.error != 0)
    file_.chooser().record_failure(class_, strategy(), decision_.role);
  else
    file_.chooser().record(class_, strategy(), decision_,
                           static_cast<double>(verdict.elapsed_ns) * 1e-9,
                           static_cast<double>(pattern_->total_bytes));
  file_.note_class(class_);
}

}  // namespace choir
