#include "files/utf8.hpp"

namespace choir::files {

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto lead = byte(0);
  std::size_t length = 0;
  unsigned least = 0, value = 0;
  if (lead < 0x80) return 1;
  if ((lead & 0xe0) == 0xc0)
    length = 2, least = 0x80, value = lead & 0x1f;
  else if ((lead & 0xf0) == 0xe0)
    length = 3, least = 0x800, value = lead & 0x0f;
  else if ((lead & 0xf8) == 0xf0)
    length = 4, least = 0x10000, value = lead & 0x07;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = (value << 6) | (byte(i) & 0x3f);
  }
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  return value < least || value > 0x10ffff || surrogate ? 0 : length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace choir::files
