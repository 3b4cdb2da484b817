// crew.hpp: processes that do the same work at the same time, as ranks do, and how long they take.
//
// Forked, without MPI. Who does not take part sleeps. Nobody outlives the one that started them.
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

namespace choir::measure {

class Crew;
/// One process's part: member `me` of `members`. Returns an errno value, 0 if all went well.
using Work = std::function<int(Crew& crew, int me, int members)>;

class Crew {
 public:
  /// `works` is fixed from here on: the processes are copies made now. Throws std::system_error.
  Crew(int size, std::vector<Work> works);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int size() const { return size_; }
  /// Seconds from the first to begin until the last to end. Throws std::system_error if a member
  /// fails or dies.
  double run(std::size_t work, int members);

  /// All members wait for each other, once; false: somebody has failed. Inside a work.
  bool meet(int members);

 private:
  struct Shared;
  int carry_out(std::size_t work, int me, int members);
  [[noreturn]] void serve(int me);
  void check_alive();

  int size_;
  std::vector<Work> works_;
  Shared* shared_;
  std::vector<pid_t> others_;
};

}  // namespace choir::measure
