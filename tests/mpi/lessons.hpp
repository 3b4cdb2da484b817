// lessons.hpp: what the checks of lessons_test share.
#pragma once

#include <span>

#include "support/checks.hpp"

namespace choir::test {

std::span<const NamedCheck> lessons_of_data();
std::span<const NamedCheck> lessons_of_errors();
std::span<const NamedCheck> lessons_of_files();
std::span<const NamedCheck> lessons_of_names();
std::span<const NamedCheck> lessons_of_large_counts();
std::span<const NamedCheck> lessons_of_surroundings();

/// Bytes that tell whose they are.
Bytes pattern(std::int64_t bytes, int owner);
void append(Bytes& to, const Bytes& more);
/// Rank r sees `block` bytes at r * block of every tile of ranks * block bytes.
void set_interleaved_view(Checks& t, MPI_File fh, int block);
/// What a file holds after every rank wrote `bytes` of its pattern through the interleaved view.
Bytes interleaved_file(int ranks, int block, int bytes);
/// A collective write and read that must work: proves the file is usable after an error.
void expect_usable(Checks& t, MPI_File fh);

}  // namespace choir::test
