// call_choice.cpp: which strategy serves a call: what the selector is told, what it says, and what
// a rank may do before the others have been heard.
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

select::Debut debut_of(const Strategy& strategy) {
  if (!strategy.alone) return select::Debut::costly;
  return strategy.warms_up ? select::Debut::light : select::Debut::free;
}

/// Of a signature; those below it are the operation and whether the host may serve.
constexpr std::uint64_t new_ground_bit = 4;

}  // namespace

/// What the calls before this one have left where it goes; a fixed strategy does not ask.
void Call::look_at_ground(const PlanEntry& pattern, std::int64_t shift) {
  ground_ = {};
  span_ = {};
  if (joint_ || pattern.span.empty() || file_.fixed_row(request_.operation)) return;
  span_ = pattern.span_at(shift);
  ground_ = file_.ground(request_.operation, span_);
}

/// New ground is a pattern of its own: blocks must be found, and who is fastest there need not be
/// so where the program writes again.
std::uint64_t Call::signature_of(const PlanEntry& pattern) const {
  return pattern.signature + (request_.operation == Operation::write ? 1U : 0U) +
         (request_.may_use_host ? 2U : 0U) + (ground_.is_new ? new_ground_bit : 0U);
}

Situation Call::situation_of(const PlanEntry& pattern) const {
  return {pattern.pieces,
          request_.operation == Operation::write,
          file_.facts().local_file_system && file_.settings().fault.empty(),
          (file_.facts().mode & MPI_MODE_WRONLY) == 0,
          ground_.is_new,
          ground_.prepared,
          file_.written_bytes(),
          &file_.facts().costs};
}

/// The strategy of this call if everyone asks as before; nothing while it is still being chosen.
std::optional<int> Call::expected_row() {
  if (const auto fixed = file_.fixed_row(request_.operation)) {
    const auto& row = file_.strategies().rows()[static_cast<std::size_t>(*fixed)];
    return std::isfinite(row.estimate_s(input_for(*guess_), situation_of(*guess_))) ? fixed
                                                                                    : std::nullopt;
  }
  const int candidate = expected_candidate();
  if (candidate < 0) return std::nullopt;
  return file_.candidates()[static_cast<std::size_t>(candidate)];
}

/// What the selector will say; -1 where a rank cannot know. While candidates are examined that
/// takes everyone's place in the file, which a rank without bytes there does not know.
int Call::expected_candidate() {
  const auto signature = signature_of(*guess_);
  const int settled = file_.selector().settled(signature, ground_.warm());
  if (settled >= 0) return settled;
  if (std::any_of(guess_->ranks.begin(), guess_->ranks.end(),
                  [](const RankSummary& rank) { return rank.empty(); }))
    return -1;
  if (inheritance(signature) != nullptr) return -1;  // to be taken when all ranks know the pattern
  offered_ = candidates_for(input_for(*guess_), situation_of(*guess_));
  return file_.selector().peek(signature, offered_);
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
  look_at_ground(*guess_, vote.shift);
  const auto row = expected_row();
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

int Call::choose(const PlanInput& in, const Situation& situation) {
  if (const auto fixed = file_.fixed_row(request_.operation)) {
    const auto& row = file_.strategies().rows()[static_cast<std::size_t>(*fixed)];
    const bool host = row.name == "native";
    reason_ = "set";
    if (std::isfinite(row.estimate_s(in, situation)) && (!host || request_.may_use_host))
      return *fixed;
    reason_ = host ? "native cannot serve nonblocking calls" : row.name + " does not apply here";
    return *file_.strategies().find("two_phase");
  }
  if (file_.selector().settled(signature_, ground_.warm()) >= 0)
    return take_choice(file_.selector().serve(signature_));
  if (offered_.empty() || pattern_ != guess_) offered_ = candidates_for(in, situation);
  if (const auto* const remembered = inheritance(signature_))
    file_.selector().seed(signature_, *remembered);
  const auto choice = file_.selector().next(signature_, offered_);
  if (choice.candidate < 0) return *file_.strategies().find("two_phase");
  file_.note_signature(signature_);
  return take_choice(choice);
}

std::vector<select::Candidate> Call::candidates_for(const PlanInput& in,
                                                    const Situation& situation) const {
  auto warmed = situation;
  warmed.prepared = true;
  std::vector<select::Candidate> candidates;
  candidates.reserve(file_.candidates().size());
  for (const int row : file_.candidates()) {
    const auto& strategy = file_.strategies().rows()[static_cast<std::size_t>(row)];
    const bool allowed = strategy.name != "native" || request_.may_use_host;
    const bool cold = strategy.warms_up && !ground_.warm();
    candidates.push_back({strategy.name,
                          allowed ? strategy.estimate_s(in, situation) : not_applicable, cold,
                          debut_of(strategy), cold ? strategy.estimate_s(in, warmed) : 0});
  }
  return candidates;
}

/// New ground of which no earlier run told: what served the same pattern elsewhere serves here,
/// unless it lives by what earlier calls prepared. Null: there is no such thing.
const select::Remembered* Call::inheritance(std::uint64_t signature) const {
  const auto& selector = file_.selector();
  if (!ground_.is_new || selector.state(signature) != nullptr) return nullptr;
  const auto* const elsewhere = selector.state(signature - new_ground_bit);
  if (elsewhere == nullptr) return nullptr;
  const auto row = file_.strategies().find(elsewhere->remembered.name);
  if (!row || file_.strategies().rows()[static_cast<std::size_t>(*row)].warms_up) return nullptr;
  return &elsewhere->remembered;
}

/// Takes note of the selector's word; the row it means.
int Call::take_choice(const select::Choice& choice) {
  candidate_ = choice.candidate;
  phase_ = choice.phase;
  reason_ = choice.reason;
  const int row = file_.candidates()[static_cast<std::size_t>(choice.candidate)];
  const bool warms_up = file_.strategies().rows()[static_cast<std::size_t>(row)].warms_up;
  cold_ = warms_up && !ground_.warm();
  file_.note_ground(request_.operation, span_, row);
  return row;
}

}  // namespace choir
