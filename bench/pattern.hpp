// pattern.hpp: bytes that tell where they belong.
//
// The byte at file offset o in generation g is a function of both, so a byte that is missing, stale
// or in the wrong place is seen, whoever wrote it.
#pragma once

#include <cstdint>

#include "program.hpp"

namespace choir::bench {

/// Writes the bytes of file range [offset, offset + length) to `out`.
void fill_pattern(char* out, std::int64_t offset, std::int64_t length, std::uint64_t generation);

/// The first offset of the range whose byte differs, or -1.
std::int64_t find_mismatch(const char* bytes, std::int64_t offset, std::int64_t length,
                           std::uint64_t generation);

/// Puts into the buffer what the program's calls will write.
void fill_buffer(const Program& program, char* buffer, std::uint64_t generation);

/// The first wrong file offset among what the program's calls have read, or -1.
std::int64_t check_buffer(const Program& program, const char* buffer, std::uint64_t generation);

/// The first wrong offset in [begin, end) of a file read with plain pread, or -1. Throws on read
/// errors.
std::int64_t check_file_range(int fd, std::int64_t begin, std::int64_t end,
                              std::uint64_t generation);

/// The same for the program's own pieces only.
std::int64_t check_file_pieces(int fd, const Program& program, std::uint64_t generation);

}  // namespace choir::bench
