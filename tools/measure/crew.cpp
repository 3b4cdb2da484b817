#include "crew.hpp"

#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <new>
#include <system_error>

namespace choir::measure {
namespace {

constexpr int most_members = 1024;

[[noreturn]] void fail(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), what);
}

double now_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // one clock for all processes
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

/// What all processes see.
struct Crew::Shared {
  struct alignas(64) Member {
    sem_t called;
    double began_s, ended_s;
  };
  alignas(64) std::atomic<int> arrived;
  alignas(64) std::atomic<int> meetings;
  alignas(64) std::atomic<int> error;
  std::size_t work;
  int members;
  Member member[most_members];
};

Crew::Crew(int size, std::vector<Work> works)
    : size_(std::clamp(size, 1, most_members)), works_(std::move(works)) {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail(errno, "shared memory");
  shared_ = static_cast<Shared*>(memory);  // all zero, which is how everything begins
  for (int me = 0; me < size_; ++me) sem_init(&shared_->member[me].called, 1, 0);
  const pid_t parent = getpid();
  for (int me = 1; me < size_; ++me) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      serve(me);
    }
    if (child < 0) {
      size_ = me;  // as many as the system allows
      break;
    }
    others_.push_back(child);
  }
}

Crew::~Crew() {
  for (const pid_t child : others_) kill(child, SIGKILL);
  for (const pid_t child : others_) waitpid(child, nullptr, 0);
  munmap(shared_, sizeof(Shared));
}

void Crew::serve(int me) {
  for (;;) {
    while (sem_wait(&shared_->member[me].called) != 0) {
    }
    carry_out(shared_->work, me, shared_->members);
  }
}

bool Crew::meet(int members) {
  constexpr int looks_between = 1000;
  const int before = shared_->meetings.load();
  if (shared_->arrived.fetch_add(1) + 1 == members) {
    shared_->arrived = 0;
    ++shared_->meetings;
    return shared_->error == 0;
  }
  for (int looks = 1; shared_->meetings.load() == before; ++looks) {
    if (looks % 100 == 0) sched_yield();
    if (looks % looks_between == 0) check_alive();
  }
  return shared_->error == 0;
}

/// In the one that started the others: a member that died would never come.
void Crew::check_alive() {
  for (pid_t& child : others_)
    if (waitpid(child, nullptr, WNOHANG) == child) {
      child = others_.back();
      others_.pop_back();
      fail(ECHILD, "a measuring process");
    }
}

int Crew::carry_out(std::size_t work, int me, int members) {
  auto& mine = shared_->member[me];
  meet(members);
  mine.began_s = now_s();
  int error = 0;
  try {
    error = works_[work](*this, me, members);
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  }
  mine.ended_s = now_s();
  if (error != 0) shared_->error = error;
  meet(members);
  return shared_->error;
}

double Crew::run(std::size_t work, int members) {
  shared_->work = work;
  shared_->members = members;
  for (int me = 1; me < members; ++me) sem_post(&shared_->member[me].called);
  if (const int error = carry_out(work, 0, members)) fail(error, "measuring");
  double began = shared_->member[0].began_s, ended = shared_->member[0].ended_s;
  for (int me = 1; me < members; ++me) {
    began = std::min(began, shared_->member[me].began_s);
    ended = std::max(ended, shared_->member[me].ended_s);
  }
  return ended - began;
}

}  // namespace choir::measure
