// part.hpp: one rank's part of the hold: a ring of entries and an arena for their bytes.
//
// A view of memory that two processes map: the rank writes entries and bytes, the keeper writes
// what became of them. Either may die at any instruction and the other goes on: an entry counts
// from the store to `committed` on, and is over with the store to its state.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "stage/core/entry.hpp"

namespace choir::stage {

class Part {
 public:
  /// Bytes of memory for a part.
  static std::size_t size_for(std::uint64_t slots, std::uint64_t arena_bytes);
  /// Makes a part of zeroed memory, aligned to 64 bytes.
  static Part make(char* memory, int rank, std::uint64_t slots, std::uint64_t arena_bytes);
  /// A part that somebody made. Nothing: it is none.
  static std::optional<Part> in(char* memory);

  int rank() const { return header_->rank; }
  std::uint64_t slots() const { return header_->slots; }
  std::uint64_t arena_bytes() const { return header_->arena_bytes; }
  char* at(std::uint64_t place) const { return arena_ + place; }

  /// Entries committed so far: their numbers are 1 to this.
  std::uint64_t committed() const { return header_->committed.load(std::memory_order_acquire); }
  Entry& slot(std::uint64_t number) const { return entries_[number % header_->slots]; }

  // What the rank writes.

  /// Whether the slot of the next entry may be used again.
  bool has_slot() const;
  /// Makes an entry known. Its number is given here. Needs has_slot().
  void commit(Words words);
  /// Begins and ends the time in which the rank relies on its grant.
  std::uint64_t enter();
  void leave() { header_->busy.store(0, std::memory_order_release); }
  /// Asks for a grant of so many bytes.
  void wish(std::uint64_t bytes);
  /// Whether the keeper has seen the last wish, whatever it did.
  bool wish_answered() const {
    return header_->answered.load(std::memory_order_acquire) ==
           header_->wishes.load(std::memory_order_relaxed);
  }

  // What the keeper writes.

  /// The entry's words, if they are whole.
  std::optional<Words> words_of(std::uint64_t number) const;
  std::span<const Run> runs_of(const Words& words) const;
  const char* bytes_of(const Words& words) const;
  void settle(std::uint64_t number, State state, int error = 0, std::int64_t answer = 0);
  /// The number of the last wish, and its bytes.
  std::uint64_t wishes() const { return header_->wishes.load(std::memory_order_acquire); }
  std::uint64_t wished() const { return header_->wished.load(std::memory_order_relaxed); }
  std::uint64_t answered() const { return header_->answered.load(std::memory_order_relaxed); }
  void answer_wish(std::uint64_t number) {
    header_->answered.store(number, std::memory_order_release);
  }
  std::uint64_t granted() const { return header_->granted.load(std::memory_order_relaxed); }
  void grant(std::uint64_t bytes) { header_->granted.store(bytes, std::memory_order_seq_cst); }
  /// Whether the rank may be relying on an earlier grant. To be asked after grant().
  bool is_busy() const { return header_->busy.load(std::memory_order_seq_cst) != 0; }

 private:
  struct Header {
    std::uint64_t magic = 0;
    std::int32_t rank = 0;
    std::uint32_t version = 0;
    std::uint64_t slots = 0;
    std::uint64_t arena_bytes = 0;
    // The rank's line and the keeper's: each has one writer.
    alignas(64) std::atomic<std::uint64_t> committed = 0;
    std::atomic<std::uint64_t> wished = 0;
    std::atomic<std::uint64_t> wishes = 0;
    std::atomic<std::uint32_t> busy = 0;
    alignas(64) std::atomic<std::uint64_t> granted = 0;
    std::atomic<std::uint64_t> answered = 0;
  };
  static constexpr std::uint64_t magic = 0x31657a6172696f68;  // changes with the layout
  static constexpr std::uint32_t version = 1;

  explicit Part(char* memory);
  bool lies_inside(const Words& words) const;

  Header* header_;
  Entry* entries_;
  char* arena_;
};

}  // namespace choir::stage
