// output.hpp: files that choir writes, so that no other user decides where the bytes go.
//
// A folder that others may write, such as /tmp, can hold links that lead to files of the user's.
// No link of a file's name is followed, and a link of a folder's name only if it belongs to the
// user or to root. Local, throws nothing; -1 and errno on failure, as open(2).
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace choir::files {

/// An empty file of that name, open for writing. An older file is replaced, not written over: it
/// may have other names. errno is ELOOP for a link and EISDIR for what is no file.
int create_output(const std::string& path, mode_t mode);

/// A file of that name, open for reading and writing, made if it is missing, for locks. Its content
/// stays.
int open_own(const std::string& path, mode_t mode);

/// Makes the folder and those above it; false and errno on failure. The last one may be a link only
/// if it belongs to the user or to root (errno EPERM).
bool make_folders(const std::string& path, mode_t mode);

/// All of it, or false and errno.
bool write_all(int descriptor, std::string_view text);

/// What errno says, in the words of this header.
std::string reason(int error);

}  // namespace choir::files
