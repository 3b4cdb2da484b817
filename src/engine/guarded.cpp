#include "engine/guarded.hpp"

#include <signal.h>

#include <mutex>

namespace choir {
namespace {

thread_local Guard guard;
struct sigaction previous_action;

void handle_bus_error(int signal, siginfo_t* info, void* context) {
  const auto* address = static_cast<const char*>(info->si_addr);
  if (guard.begin != nullptr && address >= guard.begin && address < guard.end)
    siglongjmp(guard.on_fault, 1);
  // Not ours: as if we had never been here.
  if ((previous_action.sa_flags & SA_SIGINFO) != 0 && previous_action.sa_sigaction != nullptr) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler == SIG_DFL || previous_action.sa_handler == SIG_IGN) {
    ::signal(signal, SIG_DFL);
    raise(signal);
  } else {
    previous_action.sa_handler(signal);
  }
}

}  // namespace

Guard& own_guard() { return guard; }

void catch_bus_errors() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = handle_bus_error;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous_action);
  });
}

}  // namespace choir
