// command.hpp: the user's command, and where `choir run` belongs in it.
//
// Pure: who is a program is asked of the caller.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace choir::compare {

using Words = std::vector<std::string>;

/// `command` with `inserted` in front of each program (after a launcher's `:` there is another).
/// Where the user has written `choir run`, these two words are replaced. Throws
/// std::invalid_argument if there is no program behind a launcher.
Words with_inserted(const Words& command, const Words& inserted,
                    const std::function<bool(const std::string&)>& is_program);

/// `command` with `folder` for each {}.
Words with_folder(Words command, const std::string& folder);

/// True if the command has a {}.
bool names_folder(const Words& command);

/// As one would type it; words with blanks in quotes.
std::string typed(const Words& command);

}  // namespace choir::compare
