#include "select/class_key.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <vector>

#include "select/signature.hpp"

namespace choir::select {
namespace {

constexpr std::array layout_words{"apart", "adjacent", "interleaved"};
constexpr std::array ground_words{"beyond", "inside", "rewritten", "warm", "cold", "prepared"};

int log2_of(std::int64_t value) {
  return value < 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
}

/// 24 as "16M".
std::string size_word(int log2) {
  constexpr std::array units{"", "K", "M", "G", "T", "P", "E"};
  return std::to_string(1 << log2 % 10) + units[static_cast<std::size_t>(log2 / 10)];
}

std::optional<int> parse_size_word(std::string_view word) {
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || number < 1 || number > 512 || !std::has_single_bit(unsigned(number)))
    return std::nullopt;
  constexpr std::string_view units = "KMGTPE";
  const std::string_view unit(end, static_cast<std::size_t>(word.data() + word.size() - end));
  if (unit.size() > 1) return std::nullopt;
  const auto place = unit.empty() ? 0 : units.find(unit.front()) + 1;
  if (!unit.empty() && place == 0) return std::nullopt;
  return log2_of(number) + 10 * static_cast<int>(place);
}

template <class Word, std::size_t count>
std::optional<Word> parse_word(std::string_view word, const std::array<const char*, count>& words) {
  for (std::size_t i = 0; i < count; ++i)
    if (word == words[i]) return static_cast<Word>(i);
  return std::nullopt;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const auto cut = text.find(' ');
    words.push_back(text.substr(0, cut));
    if (cut == std::string_view::npos) return words;
    text.remove_prefix(cut + 1);
  }
}

}  // namespace

std::string ClassKey::text() const {
  std::string text = writing ? "write " : "read ";
  text += size_word(bytes) + " by " + size_word(piece) + ' ';
  text += layout_words[static_cast<std::size_t>(layout)];
  text += holes ? " gaps" : " dense";
  text += even ? " even " : " uneven ";
  text += ground_words[static_cast<std::size_t>(ground)];
  if (files > 1) text += ' ' + std::to_string(files) + "files";
  return text;
}

std::optional<ClassKey> ClassKey::parse(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() < 8 || words.size() > 9 || words[2] != "by") return std::nullopt;
  const auto bytes = parse_size_word(words[1]), piece = parse_size_word(words[3]);
  const auto layout = parse_word<Layout>(words[4], layout_words);
  const auto ground = parse_word<Ground>(words[7], ground_words);
  if (!bytes || !piece || !layout || !ground) return std::nullopt;
  ClassKey key{words[0] == "write", *bytes,  *piece, *layout, words[5] == "gaps",
               words[6] == "even",  *ground, 1};
  if (words.size() == 9)
    std::from_chars(words[8].data(), words[8].data() + words[8].size(), key.files);
  if (key.text() != text) return std::nullopt;
  return key;
}

std::uint64_t ClassKey::number() const {
  return Signature()
      .add(writing)
      .add(bytes)
      .add(piece)
      .add(static_cast<std::int64_t>(layout))
      .add(holes)
      .add(even)
      .add(static_cast<std::int64_t>(ground))
      .add(files)
      .value();
}

ClassKey shape_class(std::span<const Share> ranks, std::int64_t pieces) {
  ClassKey key;
  std::int64_t total = 0, most = 0, least = INT64_MAX, end = -1, low = INT64_MAX, high = 0;
  bool apart = true, adjacent = true;
  for (const auto& rank : ranks) {
    if (rank.bytes == 0) continue;
    if (end >= 0 && rank.low < end) apart = false;
    if (end >= 0 && rank.low != end) adjacent = false;
    end = std::max(end, rank.high);
    total += rank.bytes;
    most = std::max(most, rank.bytes);
    least = std::min(least, rank.bytes);
    low = std::min(low, rank.low);
    high = std::max(high, rank.high);
    if (rank.high - rank.low > rank.bytes) key.holes = true;
  }
  if (total == 0) return key;
  key.layout = !apart ? Layout::interleaved : adjacent ? Layout::adjacent : Layout::apart;
  // Ranks that interleave have holes only where nobody asks for the bytes between theirs.
  if (!apart) key.holes = high - low > total;
  key.bytes = log2_of(total);
  key.piece = log2_of(total / std::max<std::int64_t>(1, pieces));
  key.even = most <= 2 * least;
  return key;
}

}  // namespace choir::select
