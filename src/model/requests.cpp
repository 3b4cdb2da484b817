#include "model/requests.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <queue>

#include "model/overlap.hpp"

namespace choir::model {
namespace {

constexpr std::int64_t most_blocks_in_all = 2'000'000;
constexpr std::size_t most_runs_of_stream = 4096;
constexpr std::size_t most_groups = 1000;
constexpr std::int64_t simulated_requests = 1'000'000;
// As the engine decides it (engine/storage_seat.cpp).
constexpr std::int64_t few_stretches = 8;
constexpr std::int64_t large_stretch = 2048;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

bool before(const Run& a, const Run& b) {
  return std::tuple(a.stride, a.count, a.offset) < std::tuple(b.stride, b.count, b.offset);
}

/// Neighbours of equal stride and count become one run with longer blocks.
Runs joined(Runs runs) {
  std::sort(runs.begin(), runs.end(), before);
  Runs result;
  for (const auto& run : runs) {
    if (!result.empty()) {
      auto& last = result.back();
      if (last.stride == run.stride && last.count == run.count &&
          last.offset + last.length == run.offset) {
        last.length += run.length;
        continue;
      }
    }
    result.push_back(run);
  }
  for (auto& run : result)
    if (run.count > 1 && run.length == run.stride) run = {run.offset, run.bytes(), 0, 1};
  return result;
}

Runs merged_blocks(std::vector<Extent> blocks) {
  std::sort(blocks.begin(), blocks.end(), [](Extent a, Extent b) { return a.begin < b.begin; });
  Runs result;
  for (std::size_t i = 0; i < blocks.size();) {
    auto stretch = blocks[i];
    for (++i; i < blocks.size() && blocks[i].begin <= stretch.end; ++i)
      stretch.end = std::max(stretch.end, blocks[i].end);
    append(result, {stretch.begin, stretch.size(), 0, 1});
  }
  return result;
}

/// The blocks of `run` that reach into [begin, end), cut to it.
void clip(const Run& run, Extent range, Runs& out) {
  if (run.end() <= range.begin || run.offset >= range.end) return;
  std::int64_t first = 0, last = run.count - 1;
  if (run.count > 1) {
    if (range.begin >= run.offset + run.length)
      first = (range.begin - run.offset - run.length) / run.stride + 1;
    last = std::min(last, (range.end - 1 - run.offset) / run.stride);
  }
  if (first > last) return;
  const auto one = [&](std::int64_t block) {
    const auto part = intersect({run.block(block), run.block(block) + run.length}, range);
    if (!part.empty()) append(out, {part.begin, part.size(), 0, 1});
  };
  one(first);
  if (last - first > 1)
    append(out, {run.block(first + 1), run.length, run.stride, last - first - 1});
  if (last > first) one(last);
}

/// Requests are never longer than a window.
void cut(const Run& run, std::int64_t longest, Stream& stream) {
  if (run.length <= longest) {
    stream.requests.push_back(run);
    return;
  }
  const auto whole = run.length / longest, rest = run.length % longest;
  for (std::int64_t i = 0; i < run.count && stream.requests.size() < most_runs_of_stream; ++i) {
    stream.requests.push_back({run.block(i), longest, longest, whole});
    if (rest > 0) stream.requests.push_back({run.block(i) + whole * longest, rest, 0, 1});
  }
}

std::int64_t requests_in(const Runs& runs) {
  return std::accumulate(runs.begin(), runs.end(), std::int64_t{0},
                         [](std::int64_t sum, const Run& run) { return sum + run.count; });
}

std::int64_t bytes_of(const Runs& runs) {
  return std::accumulate(runs.begin(), runs.end(), std::int64_t{0},
                         [](std::int64_t sum, const Run& run) { return sum + run.bytes(); });
}

/// Holes are read and written back where stretches are many, short and close.
bool sieves(const Runs& stretches, std::int64_t windows, const Parameters& p) {
  const auto count = requests_in(stretches), bytes = bytes_of(stretches);
  if (count / std::max<std::int64_t>(1, windows) <= few_stretches || bytes / count >= large_stretch)
    return false;
  const auto span = stretches.back().end() - stretches.front().offset;
  return static_cast<double>(bytes) >= p.sieve_threshold * static_cast<double>(span);
}

/// A rank that moves its own bytes.
Stream own_stream(const Call& call, int rank) {
  Stream stream;
  const auto mine = call.workload.access(rank, call.number);
  std::int64_t kept = 0;
  visit_runs(mine.file, mine.begin, mine.end, [&](const Run& run) {
    if (stream.requests.size() >= most_runs_of_stream) return;
    append(stream.requests, run);
    kept += run.bytes();
  });
  stream.part =
      mine.bytes() > 0 ? static_cast<double>(kept) / static_cast<double>(mine.bytes()) : 1;
  return stream;
}

std::map<int, std::vector<int>> members_by_group(const Plan& plan, const Call& call) {
  std::map<int, std::vector<int>> members;
  for (int rank = 0; rank < call.topology.ranks(); ++rank)
    if (!call.ranks[at(rank)].empty()) members[plan.group(rank)].push_back(rank);
  return members;
}

/// A member of a slot writer and how far its packets have come.
struct Member {
  Access access;
  std::int64_t next = 0;
};

/// One round: the next packet of every member, merged in file order. Returns the blocks it looked
/// at.
std::int64_t add_round(std::vector<Member>& members, const SlotShape& shape, Runs& requests) {
  std::vector<Extent> blocks;
  for (auto& member : members) {
    if (member.next >= member.access.end) continue;
    Runs runs;
    member.next = slot_portion(member.access, member.next, shape, runs);
    for (const auto& run : runs)
      for (std::int64_t i = 0; i < run.count; ++i)
        blocks.push_back({run.block(i), run.block(i) + run.length});
  }
  const auto looked_at = static_cast<std::int64_t>(blocks.size());
  for (const auto& run : merged_blocks(std::move(blocks))) requests.push_back(run);
  return looked_at;
}

/// The writers of static segmentation, round by round as far as the budget goes.
std::vector<Stream> slot_streams(const Plan& plan, const Call& call) {
  std::vector<std::vector<Member>> members(plan.aggregators.size());
  for (int rank = 0; rank < call.topology.ranks(); ++rank) {
    if (plan.writer_of[at(rank)] < 0) continue;
    auto access = call.workload.access(rank, call.number);
    const auto begin = access.begin;
    members[at(plan.writer_of[at(rank)])].push_back({std::move(access), begin});
  }
  const auto step = members.size() / most_groups + 1;
  const auto budget = most_blocks_in_all / static_cast<std::int64_t>(members.size() / step + 1);
  std::vector<Stream> streams;
  for (std::size_t writer = 0; writer < members.size(); writer += step) {
    auto& list = members[writer];
    if (list.empty()) continue;
    const auto shape = slot_shape(plan, call.parameters, static_cast<std::int64_t>(list.size()));
    const auto left = [](const Member& member) { return member.next < member.access.end; };
    Stream stream;
    std::int64_t blocks = 0;
    while (blocks < budget && std::any_of(list.begin(), list.end(), left))
      blocks += add_round(list, shape, stream.requests);
    double done = 0, all = 0;
    for (const auto& member : list) {
      done += static_cast<double>(member.next - member.access.begin);
      all += static_cast<double>(member.access.bytes());
    }
    stream.part = done / all / static_cast<double>(step);
    streams.push_back(std::move(stream));
  }
  return streams;
}

/// One client's place in its stream.
struct Client {
  double clock = 0;
  std::size_t stream = 0, run = 0;
  std::int64_t block = 0;
  std::int64_t done = 0;
  std::int64_t sent = 0;   ///< bytes of the request under way
  std::int64_t part = 0;   ///< of what is being sent
  double alone_s = 0;      ///< what its requests take if nobody else is there
  bool read_back = false;  ///< the request under way has been read and is now written
  bool operator<(const Client& other) const {
    return clock != other.clock ? clock > other.clock : stream > other.stream;
  }
};

class Disks {
 public:
  Disks(const Servers& servers, StorageUse& use)
      : s_(servers),
        use_(use),
        free_(at(servers.count)),
        end_(at(servers.count), -1),
        busy_(at(servers.count)),
        requests_(at(servers.count)) {}

  /// Serves what the client sends next of its request: all parts of it, or in turn only one, so
  /// that others can come between. True once the request is answered.
  bool serve(Client& client, Extent request) {
    const auto begin = request.begin + client.sent;
    const auto end =
        s_.largest_request > 0 ? std::min(request.end, begin + s_.largest_request) : request.end;
    const auto first = begin / s_.unit, stripes = (end - 1) / s_.unit - first + 1;
    const auto parts = std::min<std::int64_t>(stripes, s_.count);
    const auto start = client.clock;
    double longest = 0;
    do {
      const auto i = client.part++;
      const auto answered = part(s_.in_turn ? client.clock : start, first + i,
                                 (stripes - 1 - i) / s_.count, {begin, end});
      client.clock = std::max(client.clock, answered);
      longest = s_.in_turn ? longest + cost_ : std::max(longest, cost_);
    } while (!s_.in_turn && client.part < parts);
    client.alone_s += longest;
    if (client.part < parts) return false;
    client.part = 0;
    client.alone_s += s_.request_s;
    client.sent += end - begin;
    const auto bytes = static_cast<double>(end - begin);
    if (s_.client_bandwidth > 0)
      client.clock = std::max(client.clock, start + bytes / s_.client_bandwidth);
    client.clock += s_.request_s * jitter();
    if (end < request.end) return false;
    client.sent = 0;
    ++use_.requests;
    return true;
  }

  /// 0.5 to 1.5. Real clients do not march in step; without it, ranks that interleave would reach
  /// the disk in perfect file order. A fixed sequence, so that equal input gives equal output.
  double jitter() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return 0.5 + static_cast<double>(state_ >> 40) / static_cast<double>(1 << 24);
  }

  double busiest() const { return *std::max_element(busy_.begin(), busy_.end()); }
  std::int64_t most_requests() const {
    return *std::max_element(requests_.begin(), requests_.end());
  }

 private:
  /// The stripes `stripe`, `stripe` + count, ... (`more` of them besides) are one request at their
  /// server.
  double part(double start, std::int64_t stripe, std::int64_t more, Extent range) {
    const auto server = at(stripe % s_.count);
    const auto last_stripe = stripe + more * s_.count;
    const auto head = std::max(range.begin, stripe * s_.unit),
               tail = std::min(range.end, (last_stripe + 1) * s_.unit);
    const auto local_begin = stripe / s_.count * s_.unit + head - stripe * s_.unit;
    const auto local_end = last_stripe / s_.count * s_.unit + tail - last_stripe * s_.unit;
    const auto bytes = local_end - local_begin;
    const bool seek = end_[server] != local_begin;
    const double cost = static_cast<double>(bytes) / s_.bandwidth + (seek ? s_.seek_s : 0);
    cost_ = cost;
    ++use_.server_requests;
    ++requests_[server];
    use_.seeks += seek ? 1 : 0;
    use_.bytes += bytes;
    busy_[server] += cost;
    end_[server] = local_end;
    free_[server] = std::max(free_[server], start) + cost;
    return free_[server];
  }

  const Servers& s_;
  StorageUse& use_;
  std::vector<double> free_;
  std::vector<std::int64_t> end_;
  std::vector<double> busy_;
  std::vector<std::int64_t> requests_;
  double cost_ = 0;  ///< of the part served last
  std::uint64_t state_ = 1;
};

/// What the simulated part stands for.
void scale_up(StorageUse& use, double by) {
  if (by <= 1.000001) return;
  use.sampled = true;
  for (auto* count :
       {&use.requests, &use.server_requests, &use.seeks, &use.bytes, &use.most_requests_of_server})
    *count = std::llround(static_cast<double>(*count) * by);
  use.busiest_s *= by;
  use.elapsed_s *= by;
  use.alone_s *= by;
}

}  // namespace

Coverage covered(const Call& call, std::span<const int> ranks, std::int64_t most_blocks) {
  std::int64_t low = INT64_MAX, high = 0, bytes = 0;
  for (const int rank : ranks) {
    const auto& one = call.ranks[at(rank)];
    if (one.empty()) continue;
    low = std::min(low, one.low), high = std::max(high, one.high), bytes += one.bytes;
  }
  if (bytes == 0) return {};
  if (bytes == high - low)
    return {{{low, bytes, 0, 1}}, 1};  // ranks do not overlap, so nothing is left out
  Runs runs;
  std::int64_t blocks = 0;
  bool complete = true;
  for (const int rank : ranks) {
    const auto mine = call.workload.access(rank, call.number);
    visit_runs(mine.file, mine.begin, mine.end, [&](const Run& run) {
      if (static_cast<std::int64_t>(runs.size()) < most_blocks)
        runs.push_back(run);
      else
        complete = false;
      blocks += run.count;
    });
  }
  if (complete) {
    runs = joined(std::move(runs));
    if (runs.size() == 1) return {std::move(runs), 1};
  }
  // Different strides: block by block, from the beginning of the file as far as the budget goes.
  const double part = std::min(1.0, static_cast<double>(most_blocks) /
                                        static_cast<double>(std::max<std::int64_t>(1, blocks)));
  const Extent range{
      low,
      part < 1 ? low + static_cast<std::int64_t>(static_cast<double>(high - low) * part) : high};
  std::vector<Extent> pieces;
  for (const int rank : ranks) {
    const auto mine = call.workload.access(rank, call.number);
    const auto wanted = mine.clip(range);
    visit_runs(mine.file, wanted.begin, wanted.end, [&](const Run& run) {
      for (std::int64_t i = 0; i < run.count; ++i)
        pieces.push_back({run.block(i), run.block(i) + run.length});
    });
  }
  return {merged_blocks(std::move(pieces)), part};
}

Stream stream_of(const Coverage& pattern, const Run& domain, std::int64_t cycle_bytes,
                 bool may_sieve, const Call& call) {
  Stream stream;
  stream.part = pattern.part;
  if (pattern.stretches.empty()) return stream;
  Runs inside;
  for (const auto& run : pattern.stretches) {
    if (domain.count == 1) {
      clip(run, {domain.offset, domain.end()}, inside);
    } else if (run.count == 1 && run.offset <= domain.offset && run.end() >= domain.end()) {
      append(inside, domain);
    } else {
      for (std::int64_t i = 0; i < domain.count && inside.size() < most_runs_of_stream; ++i)
        clip(run, {domain.block(i), domain.block(i) + domain.length}, inside);
    }
  }
  if (inside.empty()) return stream;
  const auto windows = window_count(domain, cycle_bytes);
  if (may_sieve && sieves(inside, windows, call.parameters)) {
    const Run whole{inside.front().offset, inside.back().end() - inside.front().offset, 0, 1};
    inside = {whole};
    stream.reads_back = call.writing;
    stream.part = 1;
  }
  for (const auto& run : inside) cut(run, cycle_bytes, stream);
  return stream;
}

std::vector<Stream> streams_of(const Plan& plan, const Call& call) {
  if (plan.exchange == Exchange::slots) return slot_streams(plan, call);
  std::vector<Stream> streams;
  if (plan.exchange == Exchange::none) {
    const int step = std::max(1, call.topology.ranks() / 20'000);
    for (int rank = 0; rank < call.topology.ranks(); rank += step) {
      if (call.ranks[at(rank)].empty()) continue;
      streams.push_back(own_stream(call, rank));
      streams.back().part /= step;
    }
    return streams;
  }
  if (plan.exchange != Exchange::windows) return streams;
  auto members = members_by_group(plan, call);
  const auto budget = std::max<std::int64_t>(
      2000,
      most_blocks_in_all / std::max<std::int64_t>(1, static_cast<std::int64_t>(members.size())));
  // Very many groups are alike: some of them stand for all.
  const auto step = static_cast<int>(members.size() / most_groups + 1);
  std::map<int, Coverage> patterns;
  for (const auto& aggregator : plan.aggregators) {
    if (aggregator.group % step != 0) continue;
    const auto [found, fresh] = patterns.try_emplace(aggregator.group);
    if (fresh) found->second = covered(call, members[aggregator.group], budget);
    auto stream = stream_of(found->second, aggregator.domain, plan.cycle_bytes,
                            plan.requests == Requests::sieve, call);
    stream.part /= step;
    if (!stream.requests.empty()) streams.push_back(std::move(stream));
  }
  return streams;
}

StorageUse simulate(const std::vector<Stream>& streams, const Servers& servers, int concurrent) {
  StorageUse use;
  use.clients = static_cast<int>(streams.size());
  if (streams.empty()) return use;
  double all = 0;
  for (const auto& stream : streams)
    all += static_cast<double>(requests_in(stream.requests)) / stream.part;
  // Every client gets the same share of its requests simulated, at least one.
  const auto share =
      std::max<std::int64_t>(1, simulated_requests / static_cast<std::int64_t>(streams.size()));
  Disks disks(servers, use);
  std::priority_queue<Client> clients;
  std::size_t next = 0;
  // Nobody knows in which order clients arrive, so a drawn order stands for it.
  const double spread = servers.request_s * static_cast<double>(streams.size());
  const auto admit = [&](double clock) {
    Client client;
    client.clock = clock + spread * (disks.jitter() - 0.5);
    client.stream = next++;
    clients.push(client);
  };
  const auto at_once =
      concurrent > 0 ? std::min<std::size_t>(at(concurrent), streams.size()) : streams.size();
  while (next < at_once) admit(0);
  std::int64_t simulated = 0;
  while (!clients.empty()) {
    auto client = clients.top();
    clients.pop();
    const auto& stream = streams[client.stream];
    if (client.run == stream.requests.size() || client.done >= share) {
      use.elapsed_s = std::max(use.elapsed_s, client.clock);
      use.alone_s = std::max(use.alone_s, client.alone_s);
      if (next < streams.size()) admit(client.clock);
      continue;
    }
    const auto& run = stream.requests[client.run];
    const Extent request{run.block(client.block), run.block(client.block) + run.length};
    if (disks.serve(client, request)) {
      const bool again = stream.reads_back && !client.read_back;
      client.read_back = again;
      if (!again) {
        ++simulated, ++client.done;
        if (++client.block == run.count) client.block = 0, ++client.run;
      }
    }
    clients.push(client);
  }
  use.busiest_s = disks.busiest();
  use.most_requests_of_server = disks.most_requests();
  scale_up(use, all / static_cast<double>(std::max<std::int64_t>(1, simulated)));
  return use;
}

}  // namespace choir::model
