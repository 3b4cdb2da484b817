// elf.hpp: what an ELF file says to the dynamic loader, read and never executed.
//
// Only 64-bit files of this machine's byte order; others are reported as foreign. Every offset of
// the file is checked: a truncated or hostile file gives an error, not a crash.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace choir::command {

struct Elf {
  int machine = 0;               ///< e_machine
  bool foreign = false;          ///< another word size, byte order or architecture than choir's own
  bool has_interpreter = false;  ///< asks for the dynamic loader; a program without it is static
  std::string soname;
  std::vector<std::string> needed;
  std::vector<std::string> rpath;    ///< searched before LD_LIBRARY_PATH, if there is no runpath
  std::vector<std::string> runpath;  ///< searched after it
};

/// Nothing if the file is no ELF file. Throws std::runtime_error if it is one but damaged, or
/// cannot be read.
std::optional<Elf> read_elf(const std::string& path);

/// Whether the text is anywhere in the file. Throws std::runtime_error if it cannot be read.
bool file_contains(const std::string& path, std::string_view text);

}  // namespace choir::command
