// leftovers.hpp: data files that an interrupted or failed run must not leave behind.
//
// Local. Ctrl-C, a launcher that ends the job and a closed terminal remove the files noted here,
// and so does a program that fails; SIGKILL cannot be helped.
#pragma once

#include <string>

namespace choir::bench {

/// From now on a signal that ends this process removes `path` first. At most 64 files; more are
/// not noted.
void note_leftover(const std::string& path);
/// The file is gone, or to stay.
void forget_leftover(const std::string& path);
/// Removes what is noted. Calls only what signal handlers may call.
void remove_leftovers();

}  // namespace choir::bench
