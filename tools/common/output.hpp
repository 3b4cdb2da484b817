// output.hpp: standard output that did not take what was printed must not end in success.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

namespace choir::tools {

/// After the last print. Throws if anything of it was lost, as on a full device.
inline void finish_output() {
  const bool flushed = std::fflush(stdout) == 0;
  if (!flushed || std::ferror(stdout) != 0)
    throw std::runtime_error("cannot write to standard output");
}

/// Prints all of `text`, or throws.
inline void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);  // a failure stays with the stream
  finish_output();
}

}  // namespace choir::tools
