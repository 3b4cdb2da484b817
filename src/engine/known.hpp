// known.hpp: what this process knows of strategies, for the files of which it is rank 0.
//
// One for the process, whatever communicators come and go: HDF5 duplicates one for every file. The
// user's file is read when the first file of several ranks is opened, and written when the program
// ends, or at a close when a minute has passed: jobs that are stopped at their time limit never
// end.
#pragma once

#include <map>
#include <string>

#include "select/store.hpp"

namespace choir {

/// What rank 0 sends to the other ranks when a file is opened.
struct KnownAtOpen {
  std::string lines;   ///< of the file's site
  int open_files = 1;  ///< of which this process is rank 0, with this one
};

/// Local. `memory` as the setting: on, off or a path. Off: nothing is known, nothing is kept.
KnownAtOpen open_known(const select::Site& site, const std::string& memory);
/// Local: a file of which this process is rank 0 is open, until close_known().
void count_open_file();
/// Local.
void close_known(const select::Site& site, const std::string& memory,
                 std::map<select::ClassKey, select::Difference> differences);
/// Local, before MPI_Finalize.
void save_known();

/// The host's kind and the host MPI are those of this process.
select::Site site_of(int ranks, int nodes, const std::string& path, const std::string& file_system);

}  // namespace choir
