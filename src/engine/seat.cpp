#include "engine/seat.hpp"

#include <algorithm>
#include <cerrno>

namespace choir {
namespace {

bool fits(const Runs& runs, const Run& window) {
  return std::all_of(runs.begin(), runs.end(), [&](const Run& run) {
    return run.offset >= 0 && run.end() <= window.bytes();
  });
}

/// Two windows of the same aggregator of the same call.
bool same_aggregator(const Buffer& a, const Buffer& b) {
  return a.call == b.call && a.aggregator == b.aggregator;
}

}  // namespace

Seat::Seat(int seat, std::vector<Course> courses)
    : hood_(courses.front().context().hood),
      room_(courses.front().context().room),
      operation_(courses.front().context().operation),
      seat_(seat),
      courses_(std::move(courses)) {
  buffers_[1].index = 1;
}

Seat::~Seat() {
  for (const auto& buffer : buffers_) control(buffer).take_down();
}

bool Seat::idle() const {
  return std::all_of(buffers_.begin(), buffers_.end(),
                     [](const Buffer& buffer) { return buffer.state == Buffer::State::free; });
}

bool Seat::is_last(const Buffer& buffer) const {
  return buffers_[static_cast<std::size_t>(1 - buffer.index)].state == Buffer::State::free &&
         std::all_of(courses_.begin(), courses_.end(),
                     [](const Course& course) { return course.done(); });
}

bool Seat::poll() {
  bool advanced = false;
  // The older window first: messages of one rank arrive in the order of windows.
  for (const int b : {older_, 1 - older_})
    while (step(buffers_[static_cast<std::size_t>(b)])) advanced = true;
  return advanced;
}

bool Seat::step(Buffer& buffer) {
  switch (buffer.state) {
    case Buffer::State::free:
      return begin(buffer);
    case Buffer::State::open:
      return gather(buffer);
    case Buffer::State::moving:
      return finish_move(buffer);
    case Buffer::State::full:
      return serve(buffer);
  }
  return false;
}

/// All seats and relays follow this one order, so that none can wait for another in a circle.
Course* Seat::next_course() {
  Course* best = nullptr;
  for (auto& course : courses_)
    if (!course.done() && (best == nullptr || course.precedes(*best))) best = &course;
  return best;
}

bool Seat::begin(Buffer& buffer) {
  Course* course = next_course();
  if (course == nullptr) {
    exhausted_ = true;
    return false;
  }
  auto& call = course->context();
  buffer.call = &call;
  buffer.aggregator = course->aggregator();
  buffer.guests = course->take();
  const auto& domain = call.plan.aggregators[buffer.aggregator].domain;
  buffer.window = window_of(domain, call.plan.cycle_bytes, buffer.guests.window);
  older_ = buffers_[static_cast<std::size_t>(1 - buffer.index)].state == Buffer::State::free
               ? buffer.index
               : 1 - buffer.index;
  invite(buffer);
  ++call.traffic.cycles;
  return true;
}

void Seat::invite(Buffer& buffer) {
  for (const int rank : buffer.guests.remote)
    buffer.incoming.emplace_back(rank, buffer.call->contribution_tag_of(buffer.aggregator),
                                 room_.comm.get());
  auto& shared = control(buffer);
  shared.arrived.store(0, std::memory_order_relaxed);
  shared.marked.store(0, std::memory_order_relaxed);
  shared.expected.store(static_cast<std::uint32_t>(buffer.guests.local.size()),
                        std::memory_order_relaxed);
  shared.end_of_file.store(no_end_of_file, std::memory_order_relaxed);
  if (opens(buffer)) {
    coverage(buffer).clear();
    shared.open.store(ticket_of(buffer), std::memory_order_release);
    buffer.state = Buffer::State::open;
    ring_guests(buffer);
  } else {
    auto all = coverage(buffer);
    buffer.state = Buffer::State::moving;
    start_move(buffer, all);
  }
}

void Seat::ring_guests(const Buffer& buffer) {
  for (const int rank : buffer.guests.local)
    if (rank != hood_.rank()) ring(room_.arena->bell(hood_.local_of(rank)));
}

/// Takes in what has arrived from elsewhere; true if anything did.
bool Seat::receive(Buffer& buffer) {
  bool advanced = false;
  for (std::size_t i = 0; i < buffer.incoming.size();) {
    auto& message = buffer.incoming[i];
    if (expected_in_older(buffer, message.from()) || !message.poll()) {
      ++i;
      continue;
    }
    accept(buffer, message);
    buffer.incoming.erase(buffer.incoming.begin() + static_cast<std::ptrdiff_t>(i));
    advanced = true;
  }
  return advanced;
}

bool Seat::expected_in_older(const Buffer& buffer, int rank) const {
  if (buffer.index == older_) return false;
  const auto& older = buffers_[static_cast<std::size_t>(older_)];
  return older.state != Buffer::State::free && same_aggregator(older, buffer) &&
         std::any_of(older.incoming.begin(), older.incoming.end(),
                     [&](const Incoming& message) { return message.from() == rank; });
}

void Seat::accept(Buffer& buffer, Incoming& message) {
  auto runs = packet_runs(message.bytes());
  if (!runs || !fits(*runs, buffer.window)) {
    buffer.call->fail(EIO);
    return;
  }
  auto marked = coverage(buffer);
  if (opens(buffer))
    for (const auto& run : *runs) marked.mark(run);
  if (writing()) {
    copy_runs(Direction::to_window, *runs, packet_data(message.bytes()), data(buffer));
  } else {
    buffer.requests.push_back(
        {message.from(), packet_header(message.bytes()).answer_slot, std::move(*runs)});
  }
}

bool Seat::gather(Buffer& buffer) {
  const bool advanced = receive(buffer);
  const auto& shared = control(buffer);
  const auto& counter = writing() ? shared.arrived : shared.marked;
  if (!buffer.incoming.empty() ||
      counter.load(std::memory_order_acquire) != buffer.guests.local.size())
    return advanced;
  if (keeps_order() && follows_open_window(buffer)) return advanced;
  auto marked = coverage(buffer);
  buffer.state = Buffer::State::moving;
  start_move(buffer, marked);
  return true;
}

bool Seat::follows_open_window(const Buffer& buffer) const {
  const auto& other = buffers_[static_cast<std::size_t>(1 - buffer.index)];
  return other.state == Buffer::State::open && same_aggregator(other, buffer) &&
         other.guests.window < buffer.guests.window;
}

bool Seat::finish_move(Buffer& buffer) {
  if (!poll_move(buffer)) return false;
  if (writing()) {
    buffer.state = Buffer::State::free;
    return true;
  }
  buffer.state = Buffer::State::full;
  control(buffer).full.store(ticket_of(buffer), std::memory_order_release);
  ring_guests(buffer);
  return true;
}

bool Seat::serve(Buffer& buffer) {
  bool advanced = receive(buffer);
  for (const auto& request : buffer.requests) reply(buffer, request);
  buffer.requests.clear();
  for (auto& outgoing : buffer.replies)
    if (outgoing->poll()) advanced = true;
  std::erase_if(buffer.replies, [](const auto& outgoing) { return !outgoing->busy(); });
  const bool taken =
      control(buffer).arrived.load(std::memory_order_acquire) == buffer.guests.local.size();
  if (!taken || !buffer.incoming.empty() || !buffer.replies.empty()) return advanced;
  buffer.state = Buffer::State::free;
  return true;
}

void Seat::reply(Buffer& buffer, const Buffer::Request& request) {
  const auto bytes = total_bytes(request.runs);
  if (bytes == 0) return;
  auto answer = begin_reply(bytes);
  set_reply_end_of_file(answer, control(buffer).end_of_file.load(std::memory_order_relaxed));
  copy_runs(Direction::from_window, request.runs, reply_data(answer), data(buffer));
  buffer.call->traffic.count_message(bytes, reply_overhead);
  buffer.replies.push_back(std::make_unique<Outgoing>());
  buffer.replies.back()->send(std::move(answer), request.rank,
                              buffer.call->reply_tag_of(buffer.aggregator, request.slot),
                              room_.comm.get());
}

}  // namespace choir
