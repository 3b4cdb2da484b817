// codec.hpp: runs on the wire: differences as variable-length integers.
//
// A regular pattern takes a few bytes; an irregular list two to five bytes per piece. Pure: no MPI.
#pragma once

#include <optional>

#include "access/run.hpp"

namespace choir {

using Bytes = std::vector<unsigned char>;

/// Appends the encoding of `runs`, ascending or not, to `out`.
void encode(const Runs& runs, Bytes& out);

/// One number by itself: seven bits a byte.
void encode_number(std::uint64_t value, Bytes& out);
struct DecodedNumber {
  std::uint64_t value = 0;
  std::size_t size = 0;  ///< bytes it took; 0: there is none
};
DecodedNumber decode_number(const unsigned char* data, std::size_t size);

/// Decodes what encode() wrote in the first bytes of [data, data + size). Nothing if it is not well
/// formed.
std::optional<Runs> decode(const unsigned char* data, std::size_t size);

}  // namespace choir
