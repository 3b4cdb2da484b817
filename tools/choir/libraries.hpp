// libraries.hpp: the shared libraries a program would load, found as the dynamic loader finds them.
//
// Like ldd, but nothing is executed: rpath, LD_LIBRARY_PATH, runpath, /etc/ld.so.cache, the
// standard folders.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "elf.hpp"

namespace choir::command {

/// Where libraries are looked for, in this process's environment.
class LibrarySearch {
 public:
  LibrarySearch();
  /// Path of `name`, needed by a file in `origin_folder`; empty if there is none.
  std::string find(const std::string& name, const Elf& by, const std::string& origin_folder,
                   const std::vector<std::string>& inherited_rpath) const;

 private:
  void read_cache();

  std::vector<std::string> environment_;
  std::map<std::string, std::string> cache_;
};

/// Name as needed -> path, or "" for a library that is not found; the program's own and those of
/// its libraries.
using Libraries = std::map<std::string, std::string>;
Libraries libraries_of(const std::string& program, const Elf& elf);

}  // namespace choir::command
