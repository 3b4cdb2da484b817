// leftovers.cpp: see leftovers.hpp. The handler touches fixed memory and calls only what signal
// handlers may call.
#include "leftovers.hpp"

#include <unistd.h>

#include <array>
#include <climits>
#include <csignal>
#include <cstring>

namespace choir::bench {
namespace {

using Name = std::array<char, PATH_MAX>;
std::array<Name, 64> names;  // an empty one is free

extern "C" void remove_and_end(int signal) {
  remove_leftovers();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void install_handlers() {
  static bool installed = false;
  if (installed) return;
  installed = true;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction action {};
    action.sa_handler = remove_and_end;
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace

void note_leftover(const std::string& path) {
  install_handlers();
  if (path.empty() || path.size() >= PATH_MAX) return;
  forget_leftover(path);
  for (auto& name : names) {
    if (name[0] != '\0') continue;
    std::memcpy(name.data() + 1, path.c_str() + 1, path.size());  // with its end
    name[0] = path[0];  // last: from here on the handler sees it
    return;
  }
}

void remove_leftovers() {
  for (const auto& name : names)
    if (name[0] != '\0') unlink(name.data());
}

void forget_leftover(const std::string& path) {
  for (auto& name : names)
    if (path == name.data()) name[0] = '\0';
}

}  // namespace choir::bench
