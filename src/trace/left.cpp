#include "trace/left.hpp"

namespace choir::trace {
namespace {

constexpr std::array<std::string_view, left_reasons> texts{
    "",
    "processes of another MPI_COMM_WORLD take part (spawned or connected)",
    "the MPI library does not say which processes the job has",
    "the file is open with MPI_MODE_SEQUENTIAL",
    "this is not a regular file that choir can open",
    "a rank cannot reach the file that the MPI library has opened",
    "no shared memory for cycle buffers",
    "the strategy is set to native",
    "atomic mode is on",
    "the call uses the shared file pointer",
    "a buffer is in device memory",
    "the file view holds no byte",
    "the call goes backwards in the file",
    "the data representation is not native",
};
static_assert(!texts.back().empty());

}  // namespace

std::string_view text_of(Left reason) { return texts[static_cast<std::size_t>(reason)]; }

std::string left_line(std::int64_t calls, std::string_view reason) {
  auto line = std::to_string(calls) + (calls == 1 ? " collective call" : " collective calls");
  return line.append(" left to the MPI library: ").append(reason);
}

}  // namespace choir::trace
