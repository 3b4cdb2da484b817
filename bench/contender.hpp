// contender.hpp: who carries out a step: the host MPI, a strategy of choir, or plain contiguous
// POSIX.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "program.hpp"

namespace choir::bench {

enum class Operation { write, read };
inline const char* name_of(Operation operation) {
  return operation == Operation::write ? "write" : "read";
}

struct StepOptions {
  bool sync = false;    // a write step ends with a sync
  bool direct = false;  // bypass the page cache where the contender can
};

/// One way to carry out a step. Collective throughout; nothing throws for an error of the contender
/// itself: the first error text is returned, and calls go on, so that a rank never leaves the
/// others alone in a collective.
class Contender {
 public:
  virtual ~Contender() = default;
  virtual std::string open(const std::string& path, Operation operation) = 0;
  /// The `number`-th step that follows the first in the file (see Call::step_offset).
  virtual std::string step(Operation operation, const Program& program, char* buffer,
                           int number) = 0;
  /// What a program sets once, before its first call: the view of that call.
  virtual std::string view(const Program&) { return {}; }
  virtual std::string close() = 0;
  /// Makes written bytes visible to other nodes; not timed.
  virtual std::string flush() = 0;
  /// What MPI_File_get_info says under this key (`choir_strategy`, `choir_reason`); empty where it
  /// says nothing.
  virtual std::string info(const char*) const { return {}; }
  /// False for the floor and for memory, which do not put the bytes where the workload wants them.
  virtual bool same_bytes() const { return true; }
};

/// Path of choir's preloaded library if MPI_File_open comes from there, else empty.
std::string choir_library();

/// The names --contenders always accepts.
const std::vector<std::string>& contender_names();

/// Collective. Throws Unsuitable on every rank, with the text on rank 0, unless each name is one of
/// contender_names() or a strategy that rank 0's configuration or a plug-in adds. choir itself
/// serves a strategy it does not know by `auto`, whose figures would then bear the wrong name.
void require_known(const std::vector<std::string>& names);

/// `name` is a known one. Throws Unsuitable for strategies when choir is not there to carry them
/// out.
std::unique_ptr<Contender> make_contender(const std::string& name, const StepOptions& options);

}  // namespace choir::bench
