#include "simulation.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "work.hpp"

namespace choir::stage::simulation {
namespace {

struct Crash {};

struct Failure {
  std::string what;
};

void require(bool holds, const char* what) {
  if (!holds) throw Failure{what};
}

struct Rank {
  std::unique_ptr<Client> client;
  Part part;
  std::deque<Action> actions;  // of this phase
  std::unique_ptr<Handover> handover;
  Memory memory;
  std::uint64_t waiting_for = 0;                        // an entry that answers
  std::uint64_t told = 0;                               // entries whose actions are known
  std::vector<std::pair<Inode, std::uint64_t>> shares;  // its entries of collective writes
  std::int64_t least_size = 0;
  bool dead = false;
};

class Node : public Disk, public Clock {
 public:
  explicit Node(const Options& options)
      : options_(options),
        dice_(options.seed),
        ranks_count_(1 + dice_.below(5)),
        dealer_(dice_, ranks_count_) {
    const auto slots = static_cast<std::uint64_t>(8 + dice_.below(40));
    const auto arena = static_cast<std::uint64_t>(2048 + 64 * dice_.below(200));
    for (int rank = 0; rank < ranks_count_; ++rank) {
      // Aligned as a mapping would be.
      memory_.emplace_back(Part::size_for(slots, arena) / 64 + 1);
      auto part = Part::make(reinterpret_cast<char*>(memory_.back().data()), rank, slots, arena);
      auto client = std::make_unique<Client>(part, *this);
      ranks_.push_back({std::move(client), part, {}, nullptr, {}, 0, 0, {}, 0, false});
    }
    start_keeper();
  }

  Result run() {
    try {
      for (int phase = 0; phase <= options_.phases; ++phase) {
        auto actions = phase == options_.phases
                           ? dealer_.last_phase()
                           : dealer_.phase(options_.truncates && dice_.chance(0.3));
        for (std::size_t i = 0; i < actions.size(); ++i) ranks_[i].actions = std::move(actions[i]);
        while (!phase_over()) event();
        if (dead_rank_ >= 0) break;
      }
      for (auto& rank : ranks_) rank.actions.clear();
      drain();
      compare();
    } catch (const Failure& failure) {
      result_.failure = failure.what;
    }
    add_counts();
    return result_;
  }

  // Clock
  std::int64_t now() override { return ++now_; }

  // Disk
  void start(std::uint64_t number, const Request& request) override {
    check_followers(request);
    under_way_.emplace_back(number, request);
  }
  std::int64_t size(std::uint64_t open) override {
    return static_cast<std::int64_t>(files_[file_of(static_cast<int>(open - 100)).inode].size());
  }
  void note_failure(std::uint64_t open, int error) override { failures_[open] = error; }
  void step() override {
    if (may_crash_ && dice_.chance(options_.crash)) throw Crash{};
  }

 private:
  struct alignas(64) Line {
    char bytes[64] = {};
  };

  void start_keeper() {
    ++result_.keepers;
    std::vector<Part> parts;
    for (auto& memory : memory_) parts.push_back(*Part::in(reinterpret_cast<char*>(memory.data())));
    GrantPolicy grants;
    grants.reserve = 512;
    grants.limit = static_cast<std::uint64_t>(512 * ranks_count_ + dice_.below(8000));
    KeeperPolicy policy;
    policy.retry_every_ns = 20;
    policy.retry_for_ns = 1'000'000'000;
    keeper_ = std::make_unique<Keeper>(std::move(parts), *this,
                                       Grants(grants, [](std::uint64_t) { return true; }), policy);
    for (int handle = 0; handle < handles; ++handle)
      for (int rank = 0; rank < ranks_count_; ++rank)
        if (!closed_.contains(file_of(handle).open)) {
          const auto file = file_of(handle);
          const auto failed = failures_.find(file.open);
          keeper_->opened(file.open, file.inode, rank, static_cast<std::uint64_t>(ranks_count_),
                          failed == failures_.end() ? 0 : failed->second);
        }
    if (dead_rank_ >= 0)
      for (int rank = 0; rank < ranks_count_; ++rank) keeper_->rank_ended(rank);
  }

  void add_counts() {
    const auto& counts = keeper_->counts();
    result_.counts.entries += counts.entries;
    result_.counts.requests += counts.requests;
    result_.counts.failed += counts.failed;
    result_.counts.dropped += counts.dropped;
    result_.counts.damaged += counts.damaged;
  }

  void crash() {
    add_counts();
    for (auto& [number, request] : under_way_) carry_out_in_part(request);
    under_way_.clear();
    keeper_.reset();
    start_keeper();
  }

  /// Where everybody stands.
  std::string standing() const {
    std::string text;
    for (const auto& rank : ranks_) {
      text += "\n  rank " + std::to_string(rank.part.rank()) + ": " +
              std::to_string(rank.actions.size()) + " actions left" +
              (rank.actions.empty()
                   ? ""
                   : ", now " + std::to_string(static_cast<int>(rank.actions.front().what))) +
              (rank.handover ? ", giving away" : "") + ", waits for " +
              std::to_string(rank.waiting_for) + ", granted " +
              std::to_string(rank.part.granted()) + "; held:";
      const auto last = rank.part.committed();
      for (auto number = last > rank.part.slots() ? last - rank.part.slots() + 1 : 1;
           number <= last; ++number) {
        const auto& entry = rank.part.slot(number);
        if (is_final(entry.state.load())) continue;
        const auto& words = entry.words;
        text += " " + std::to_string(number) + "(kind " +
                std::to_string(static_cast<int>(words.kind)) + " open " +
                std::to_string(words.open) + " call " + std::to_string(words.call) + " stamp " +
                std::to_string(words.stamp) + " state " +
                std::to_string(static_cast<int>(entry.state.load())) + ")";
      }
    }
    return text + "\n  requests under way: " + std::to_string(under_way_.size());
  }

  /// Who takes the next step.
  void event() {
    ++result_.events;
    if (result_.events > 1'000'000) throw Failure{"nothing goes on any more" + standing()};
    const int who = dice_.below(ranks_count_ + 3);
    if (who < ranks_count_) return rank_step(ranks_[static_cast<std::size_t>(who)], who);
    try {
      may_crash_ = true;
      if (who == ranks_count_)
        finish_request();
      else
        keeper_->poll(now());
      step();
      may_crash_ = false;
    } catch (const Crash&) {
      may_crash_ = false;
      crash();
    }
  }

  void finish_request() {
    if (under_way_.empty()) return;
    const auto chosen = under_way_.begin() + dice_.below(static_cast<int>(under_way_.size()));
    const auto [number, request] = *chosen;
    under_way_.erase(chosen);
    int error = 0;
    if (request.kind == Kind::write && dice_.chance(options_.full)) error = ENOSPC;
    if (request.kind == Kind::write && dice_.chance(options_.broken)) error = EIO;
    if (error == 0)
      carry_out(request);
    else
      carry_out_in_part(request);
    keeper_->finished(number, error, now());
  }

  void put(Bytes& file, std::int64_t offset, const char* data, std::int64_t length) {
    if (static_cast<std::int64_t>(file.size()) < offset + length)
      file.resize(static_cast<std::size_t>(offset + length));
    std::memcpy(file.data() + offset, data, static_cast<std::size_t>(length));
  }

  void carry_out(const Request& request) {
    auto& file = files_[request.inode];
    const auto size = static_cast<std::size_t>(request.argument);
    if (request.kind == Kind::truncate) file.resize(size);
    if (request.kind == Kind::grow) file.resize(std::max(file.size(), size));
    if (request.kind == Kind::close) closed_.insert(request.open);
    for (const auto& source : request.window.sources)
      for (std::int64_t i = 0; i < source.run.count; ++i)
        put(file, source.run.block(i), source.data + i * source.run.length, source.run.length);
  }

  void carry_out_in_part(const Request& request) {
    if (request.kind != Kind::write) {
      if (dice_.chance(0.5)) carry_out(request);
      return;
    }
    for (const auto& source : request.window.sources)
      for (std::int64_t i = 0; i < source.run.count; ++i)
        if (dice_.chance(0.5))
          put(files_[request.inode], source.run.block(i), source.data + i * source.run.length,
              dice_.below(static_cast<int>(source.run.length) + 1));
  }

  /// What a rank writes by itself follows the whole of its collective calls.
  void check_followers(const Request& request) {
    for (const auto& source : request.window.sources)
      for (auto& rank : ranks_) {
        const auto number = entry_at(rank, source.data);
        if (number == 0 || rank.part.slot(number).words.call != 0) continue;
        for (auto& other : ranks_)
          for (const auto& [inode, share] : other.shares)
            if (inode == request.inode && share_precedes(rank, number, other, share))
              require(is_written(other, share), "a follower is written before its call is whole");
      }
  }

  static bool is_written(const Rank& rank, std::uint64_t number) {
    const auto& entry = rank.part.slot(number);
    return entry.words.number != number || entry.state.load() != State::held;
  }

  /// Whether `share` belongs to a call that `rank` made before its entry `number`.
  bool share_precedes(const Rank& rank, std::uint64_t number, const Rank& other,
                      std::uint64_t share) const {
    const auto& words = other.part.slot(share).words;
    if (words.number != share) return false;
    return std::any_of(rank.shares.begin(), rank.shares.end(), [&](const auto& own) {
      const auto& mine = rank.part.slot(own.second).words;
      return own.second < number && mine.number == own.second && mine.open == words.open &&
             mine.call == words.call;
    });
  }

  static std::uint64_t entry_at(const Rank& rank, const char* data) {
    const auto last = rank.part.committed();
    const auto first = last > rank.part.slots() ? last - rank.part.slots() + 1 : 1;
    for (auto number = first; number <= last; ++number) {
      const auto& entry = rank.part.slot(number);
      if (entry.words.bytes == 0 || entry.state.load() != State::held) continue;
      const char* const begin = rank.part.bytes_of(entry.words);
      if (data >= begin && data < begin + entry.words.bytes) return number;
    }
    return 0;
  }

  // Ranks.

  bool phase_over() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
      return rank.dead || (rank.actions.empty() && !rank.handover && rank.waiting_for == 0);
    });
  }

  void rank_step(Rank& rank, int number) {
    if (rank.dead) return;
    if (options_.kills_rank && dead_rank_ < 0 && dice_.chance(0.002)) return kill(number);
    if (rank.waiting_for != 0) return look_for_answer(rank);
    if (rank.handover) return go_on(rank);
    if (rank.actions.empty()) return;
    const auto& action = rank.actions.front();
    const auto file = file_of(action.handle);
    rank.client->reclaim();
    switch (action.what) {
      case Action::What::write:
        rank.memory.layout = {contiguous_tile(),
                              reinterpret_cast<std::int64_t>(action.data.data())};
        rank.handover =
            std::make_unique<Handover>(*rank.client, file, action.call, action.access, rank.memory);
        return go_on(rank);
      case Action::What::check:
        rank.waiting_for = rank.client->say(file, Kind::fence, 0, 0, action.access.span());
        return;
      case Action::What::size:
        rank.waiting_for = rank.client->say(file, Kind::size, 0);
        rank.least_size = static_cast<std::int64_t>(model_[file.inode].size());
        return;
      case Action::What::sync:
        rank.waiting_for = rank.client->say(file, Kind::sync, 0);
        return;
      case Action::What::truncate:
        rank.waiting_for = rank.client->say(file, Kind::truncate, 0, action.argument);
        return;
      case Action::What::close:
        if (rank.client->say(file, Kind::close, action.call) != 0) rank.actions.pop_front();
        return;
    }
  }

  void go_on(Rank& rank) {
    const bool done = rank.handover->poll();
    const auto& action = rank.actions.front();
    while (rank.told < rank.part.committed()) {
      ++rank.told;
      if (action.call != 0) rank.shares.emplace_back(inode_of(action.handle), rank.told);
    }
    if (!done) return;
    if (action.access.bytes() > 0) apply(action);
    rank.handover.reset();
    rank.actions.pop_front();
  }

  void apply(const Action& action) {
    auto& file = model_[inode_of(action.handle)];
    const auto* data = reinterpret_cast<const char*>(action.data.data());
    visit_runs(action.access.file, action.access.begin, action.access.end, [&](const Run& run) {
      for (std::int64_t i = 0; i < run.count; ++i, data += run.length)
        put(file, run.block(i), data, run.length);
    });
  }

  void look_for_answer(Rank& rank) {
    rank.told = rank.part.committed();
    if (!rank.client->is_over(rank.waiting_for)) return;
    const auto& entry = rank.client->entry(rank.waiting_for);
    const auto& action = rank.actions.front();
    const auto inode = inode_of(action.handle);
    const bool failed = entry.state.load() == State::failed || !failures_.empty();
    auto& model = model_[inode];
    if (action.what == Action::What::truncate)
      model.resize(static_cast<std::size_t>(action.argument));
    if (!failed && action.what == Action::What::check) check(files_[inode], model, action.access);
    if (!failed && action.what == Action::What::size) {
      require(entry.answer >= rank.least_size, "the size lacks what was written before");
      require(entry.answer <= static_cast<std::int64_t>(model.size()) || may_exceed_model(inode),
              "the size counts what nobody wrote");
    }
    rank.waiting_for = 0;
    rank.actions.pop_front();
  }

  /// A write that is on its way in pieces counts before the model knows it.
  bool may_exceed_model(Inode inode) const {
    return std::any_of(ranks_.begin(), ranks_.end(), [&](const Rank& rank) {
      return rank.handover && inode_of(rank.actions.front().handle) == inode;
    });
  }

  void check(const Bytes& file, const Bytes& model, const Access& access) {
    visit_runs(access.file, access.begin, access.end, [&](const Run& run) {
      for (std::int64_t i = 0; i < run.count; ++i)
        for (auto at = run.block(i); at < run.block(i) + run.length; ++at) {
          const auto byte = static_cast<std::size_t>(at);
          const int there = byte < file.size() ? file[byte] : 0;
          const int wanted = byte < model.size() ? model[byte] : 0;
          require(there == wanted, "a read behind a fence finds old bytes");
        }
    });
  }

  void kill(int number) {
    dead_rank_ = number;
    for (auto& rank : ranks_) {  // the launcher ends the others
      rank.dead = true;
      rank.part.leave();
    }
    for (int rank = 0; rank < ranks_count_; ++rank) keeper_->rank_ended(rank);
  }

  void drain() {
    while (!keeper_->idle() || !under_way_.empty()) event();
  }

  void compare() {
    for (auto& rank : ranks_) {
      rank.client->reclaim();
      require(rank.dead || rank.client->held() == 0, "an idle keeper left entries");
    }
    require(result_.counts.damaged == 0, "an entry is damaged");
    if (dead_rank_ >= 0 || !failures_.empty()) return;
    for (const auto& [inode, model] : model_) {
      const auto& file = files_[inode];
      require(file.size() == model.size(), "a file has the wrong size");
      require(file == model, "a file has wrong bytes");
    }
    require(closed_.size() == handles, "a file was not closed");
  }

  Options options_;
  Dice dice_;
  int ranks_count_;
  Dealer dealer_;
  std::vector<std::vector<Line>> memory_;
  std::vector<Rank> ranks_;
  std::unique_ptr<Keeper> keeper_;
  std::vector<std::pair<std::uint64_t, Request>> under_way_;
  std::map<Inode, Bytes> files_, model_;
  std::map<std::uint64_t, int> failures_;
  std::set<std::uint64_t> closed_;
  std::int64_t now_ = 0;
  int dead_rank_ = -1;
  bool may_crash_ = false;
  Result result_;
};

}  // namespace

Result run(const Options& options) { return Node(options).run(); }

}  // namespace choir::stage::simulation
