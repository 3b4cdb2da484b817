#include "stage/core/part.hpp"

#include <new>

namespace choir::stage {
namespace {

constexpr std::size_t line = 64;  // of the caches

constexpr std::size_t round_up(std::size_t bytes) { return (bytes + line - 1) / line * line; }

}  // namespace

std::size_t Part::size_for(std::uint64_t slots, std::uint64_t arena_bytes) {
  return round_up(sizeof(Header)) + round_up(slots * sizeof(Entry)) + round_up(arena_bytes);
}

Part::Part(char* memory)
    : header_(reinterpret_cast<Header*>(memory)),
      entries_(reinterpret_cast<Entry*>(memory + round_up(sizeof(Header)))),
      arena_(memory + round_up(sizeof(Header)) + round_up(header_->slots * sizeof(Entry))) {}

Part Part::make(char* memory, int rank, std::uint64_t slots, std::uint64_t arena_bytes) {
  auto* const header = new (memory) Header;
  header->rank = rank;
  header->version = version;
  header->slots = slots;
  header->arena_bytes = arena_bytes;
  auto* const entries = reinterpret_cast<Entry*>(memory + round_up(sizeof(Header)));
  for (std::uint64_t i = 0; i < slots; ++i) {
    auto* const entry = new (entries + i) Entry;
    entry->state.store(State::settled, std::memory_order_relaxed);
  }
  header->magic = magic;
  return Part(memory);
}

std::optional<Part> Part::in(char* memory) {
  const auto* const header = reinterpret_cast<const Header*>(memory);
  if (header->magic != magic || header->version != version || header->slots == 0)
    return std::nullopt;
  return Part(memory);
}

bool Part::has_slot() const {
  const auto next = header_->committed.load(std::memory_order_relaxed) + 1;
  return is_final(slot(next).state.load(std::memory_order_acquire));
}

void Part::commit(Words words) {
  words.number = header_->committed.load(std::memory_order_relaxed) + 1;
  auto& entry = slot(words.number);
  entry.words = words;
  entry.sum = sum_of(words);
  entry.error = 0;
  entry.answer = 0;
  // Behind the words: a slot that is held and has another number was not committed yet.
  entry.state.store(State::held, std::memory_order_release);
  header_->committed.store(words.number, std::memory_order_release);
}

std::uint64_t Part::enter() {
  header_->busy.store(1, std::memory_order_seq_cst);
  return header_->granted.load(std::memory_order_seq_cst);
}

void Part::wish(std::uint64_t bytes) {
  header_->wished.store(bytes, std::memory_order_relaxed);
  header_->wishes.store(header_->wishes.load(std::memory_order_relaxed) + 1,
                        std::memory_order_release);
}

bool Part::lies_inside(const Words& words) const {
  const auto runs = std::uint64_t{words.runs} * sizeof(Run);
  const auto bytes = static_cast<std::uint64_t>(words.bytes);
  const auto room = header_->arena_bytes;
  return words.bytes >= 0 && words.place <= room && runs <= room - words.place &&
         bytes <= room - words.place - runs;
}

std::optional<Words> Part::words_of(std::uint64_t number) const {
  const auto& entry = slot(number);
  const auto words = entry.words;
  if (words.number != number || entry.sum != sum_of(words) || !lies_inside(words))
    return std::nullopt;
  return words;
}

std::span<const Run> Part::runs_of(const Words& words) const {
  return {reinterpret_cast<const Run*>(arena_ + words.place), words.runs};
}

const char* Part::bytes_of(const Words& words) const {
  return arena_ + words.place + std::uint64_t{words.runs} * sizeof(Run);
}

void Part::settle(std::uint64_t number, State state, int error, std::int64_t answer) {
  auto& entry = slot(number);
  entry.error = error;
  entry.answer = answer;
  entry.state.store(state, std::memory_order_release);
}

}  // namespace choir::stage
