// seat.hpp: the owner's side of a pair of cycle buffers.
//
// A seat serves windows one after the other, two at a time. Every window goes through the same
// states, whether it is written or read, and whether its owner is an aggregator (bytes go to
// storage) or a relay (bytes go to an aggregator on another node):
//
//   write:  free -> open (ranks place bytes) -> moving (to storage) -> free
//   read:   free -> open (ranks mark what they need; skipped where everything is read) -> moving ->
//   full -> free
#pragma once

#include <array>

#include "engine/course.hpp"
#include "engine/packet.hpp"
#include "engine/window.hpp"

namespace choir {

/// One of a seat's two cycle buffers and the window it serves.
struct Buffer {
  enum class State { free, open, moving, full };
  /// A request of a rank elsewhere, answered once the window is full.
  struct Request {
    int rank;
    std::int64_t slot;
    Runs runs;
  };

  State state = State::free;
  int index = 0;
  Context* call = nullptr;  ///< the one whose window it is
  std::size_t aggregator = 0;
  Run window;
  Guests guests;
  std::vector<Incoming> incoming;
  std::vector<Request> requests;
  std::vector<std::unique_ptr<Outgoing>> replies;
};

class Seat : public Task {
 public:
  /// Courses of one call, or of several that are carried out together: at least one. All are for
  /// the same operation, and in the same room.
  Seat(int seat, std::vector<Course> courses);
  /// Tickets come again (see ticket()): none is left where a later call's lanes would find it.
  ~Seat() override;
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  bool done() const override { return exhausted_ && idle(); }
  bool poll() override;

 protected:
  virtual void start_move(Buffer& buffer, Coverage& coverage) = 0;
  virtual bool poll_move(Buffer& buffer) = 0;
  /// Readers must say what they need before the window can be filled.
  virtual bool needs_marks(const Buffer& buffer) const { return buffer.call->marks; }
  /// Windows of one aggregator must leave in their order, even if a later one is complete first.
  virtual bool keeps_order() const { return false; }

  /// No other window of this seat is under way or will be.
  bool is_last(const Buffer& buffer) const;
  bool writing() const { return operation_ == Operation::write; }
  char* data(const Buffer& buffer) { return room_.arena->data(seat_, buffer.index); }
  SeatBuffer& control(const Buffer& buffer) { return room_.arena->control(seat_, buffer.index); }
  Coverage coverage(const Buffer& buffer) {
    return {room_.arena->coverage(seat_, buffer.index), buffer.window.bytes(), buffer.call->grain};
  }

  Neighbourhood& hood_;
  Room& room_;

 private:
  bool opens(const Buffer& buffer) const { return writing() || needs_marks(buffer); }
  bool idle() const;
  Course* next_course();
  std::uint64_t ticket_of(const Buffer& buffer) const {
    return buffer.call->ticket_of(buffer.aggregator, buffer.guests.window);
  }

  bool step(Buffer& buffer);
  bool begin(Buffer& buffer);
  bool gather(Buffer& buffer);
  bool finish_move(Buffer& buffer);
  bool serve(Buffer& buffer);

  void invite(Buffer& buffer);
  void ring_guests(const Buffer& buffer);
  bool receive(Buffer& buffer);
  bool expected_in_older(const Buffer& buffer, int rank) const;
  void accept(Buffer& buffer, Incoming& message);
  bool follows_open_window(const Buffer& buffer) const;
  void reply(Buffer& buffer, const Buffer::Request& request);

  Operation operation_;
  int seat_;
  std::vector<Course> courses_;
  std::array<Buffer, 2> buffers_;
  int older_ = 0;
  bool exhausted_ = false;
};

}  // namespace choir
