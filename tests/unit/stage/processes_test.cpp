// Real processes: ranks that give bytes away, and a keeper that is killed with SIGKILL while it
// works and started again. In the end the files hold what the ranks gave.
//
// `CHOIR_STAGE_KILLS` says how often the keeper is killed (make soak: more).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "stage/node/loop.hpp"

namespace choir::stage {
namespace {

constexpr int ranks = 3;
constexpr std::int64_t block = 700;  // odd, so that nothing is aligned
constexpr std::uint64_t the_open = 7;

int kills_wanted() {
  const char* const given = std::getenv("CHOIR_STAGE_KILLS");
  return given != nullptr ? std::atoi(given) : 5;
}

/// What the processes of a test share besides the hold.
struct Board {
  std::atomic<int> ranks_done = 0;
  std::atomic<std::uint32_t> at_barrier = 0;
  std::atomic<std::uint32_t> barriers = 0;
};

void barrier(Board& board) {
  const auto now = board.barriers.load();
  if (board.at_barrier.fetch_add(1) + 1 == ranks) {
    board.at_barrier = 0;
    board.barriers = now + 1;
  }
  while (board.barriers.load() == now) usleep(50);
}

/// Like Files, but the process dies at its n-th step.
class DoomedFiles : public Files {
 public:
  DoomedFiles(std::function<void()> wake, int steps) : Files(std::move(wake)), steps_(steps) {}
  void step() override {
    if (--steps_ == 0) raise(SIGKILL);
  }

 private:
  int steps_;
};

/// Waits for the keeper where there is something to wait for.
class Giver {
 public:
  Giver(int hold, int rank) : hold_(hold, rank), client_(hold_.part(), clock_) {}

  void write(std::uint64_t call, const Access& access, const char* data) {
    Memory memory;
    memory.layout = {contiguous_tile(), reinterpret_cast<std::int64_t>(data)};
    Handover handover(client_, file(), call, access, memory);
    wait([&] { return handover.poll(); });
  }
  std::uint64_t say(Kind kind, std::uint64_t call) {
    std::uint64_t number = 0;
    wait([&] { return (number = client_.say(file(), kind, call)) != 0; });
    return number;
  }
  State end_of(std::uint64_t number) {
    wait([&] { return client_.is_over(number); });
    return client_.entry(number).state.load();
  }
  int take_error() { return client_.take_error(the_open); }
  static OpenFile file() { return {the_open, {1, 2}}; }

 private:
  template <class Done>
  void wait(Done&& done) {
    while (true) {
      const bool is_done = done();
      hold_.ring_keeper();
      if (is_done) return;
      Nap nap(hold_.bell());
      if (done()) return hold_.ring_keeper();
      nap.sleep(0.1);
    }
  }

  RanksHold hold_;
  NodeClock clock_;
  Client client_;
};

class Processes : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/choir-stage-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    file_ = Descriptor::owned(::open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_GE(file_.get(), 0);
    void* const shared =
        mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    board_ = new (shared) Board;
  }
  void TearDown() override {
    munmap(board_, sizeof(Board));
    std::filesystem::remove_all(folder_);
  }
  std::string path() const { return folder_ + "/file"; }

  template <class Body>
  static pid_t start(Body&& body) {
    const auto pid = fork();
    if (pid != 0) return pid;
    alarm(60);  // whatever happens
    int code = 3;
    try {
      code = body();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
    }
    _exit(code);
  }

  /// A keeper's whole life; 0 when all was kept.
  int keep_all(int hold, int steps) {
    const KeepersHold memory(hold);
    DoomedFiles files([&] { ring(memory.keepers_bell()); }, steps);
    files.add(the_open, Descriptor::owned(dup(file_.get())));
    std::vector<KnownOpen> opens;
    for (int rank = 0; rank < ranks; ++rank) opens.push_back({the_open, {1, 2}, rank, ranks, 0});
    LoopSettings settings;
    settings.grants.reserve = 64 << 10;
    settings.grants.limit = 1 << 20;
    settings.keeper.retry_for_ns = 200'000'000;
    keep(memory, files, opens, settings, [&] { return board_->ranks_done == ranks; });
    return 0;
  }

  /// Starts keepers, one after the other, until one lives to the end. How many were killed.
  int keep_with_kills(int hold, int kills, std::uint64_t seed) {
    std::mt19937_64 dice(seed);
    for (int killed = 0;; ++killed) {
      const int steps = killed < kills ? 1 + static_cast<int>(dice() % 12) : 0;
      const auto keeper = start([&] { return keep_all(hold, steps); });
      int status = 0;
      waitpid(keeper, &status, 0);
      if (WIFEXITED(status)) {
        EXPECT_EQ(WEXITSTATUS(status), 0);
        return killed;
      }
      EXPECT_EQ(WTERMSIG(status), SIGKILL);
    }
  }

  static void expect_well(const std::vector<pid_t>& children) {
    for (const auto child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
    }
  }

  void end_rank(int hold) {
    board_->ranks_done += 1;
    RanksHold(hold, 0).ring_keeper();
  }

  std::string folder_;
  Descriptor file_;
  Board* board_ = nullptr;
};

/// What rank `rank` writes at byte `at` of call `call`.
char byte_of(int call, int rank, std::int64_t at) {
  return static_cast<char>(call * 31 + rank * 7 + at % 113);
}

TEST_F(Processes, AKeeperThatIsKilledLosesNothing) {
  const int calls = 40 + kills_wanted();
  const std::int64_t bytes = 40 * block;  // of a rank, in a call
  const auto hold = make_hold({ranks, 64, 1 << 20});
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank)
    children.push_back(start([&, rank] {
      Giver giver(hold.get(), rank);
      Access access;
      // Blocks of the ranks in turn; later calls write over half of what the one before wrote.
      access.file.tile =
          std::make_shared<const Tile>(Runs{{rank * block, block, 0, 1}}, ranks * block);
      std::vector<char> data(bytes);
      for (int call = 0; call < calls; ++call) {
        access.begin = call * bytes / 2;
        access.end = access.begin + bytes;
        for (std::int64_t i = 0; i < bytes; ++i)
          data[static_cast<std::size_t>(i)] = byte_of(call, rank, i);
        giver.write(static_cast<std::uint64_t>(call) + 1, access, data.data());
      }
      const auto sync = giver.say(Kind::sync, calls + 1);
      const bool well = giver.end_of(sync) == State::settled;
      giver.say(Kind::close, calls + 2);
      end_rank(hold.get());
      return well ? 0 : 1;
    }));
  EXPECT_EQ(keep_with_kills(hold.get(), kills_wanted(), 20261119), kills_wanted());
  expect_well(children);

  const auto size = (calls + 1) * bytes / 2 * ranks;
  std::vector<char> found(static_cast<std::size_t>(size) + 1);
  ASSERT_EQ(pread(file_.get(), found.data(), found.size(), 0), size);
  for (std::int64_t at = 0; at < size; ++at) {
    const auto rank = static_cast<int>(at / block % ranks);
    const auto stream = at / (block * ranks) * block + at % block;
    const auto call = std::min<std::int64_t>(calls - 1, stream / (bytes / 2));
    ASSERT_EQ(found[static_cast<std::size_t>(at)],
              byte_of(static_cast<int>(call), rank, stream - call * bytes / 2))
        << "byte " << at;
  }
}

TEST_F(Processes, WritesOfOneRankBehindAnothersAcrossABarrierArriveInThatOrder) {
  constexpr int rounds = 60;
  const auto hold = make_hold({ranks, 64, 1 << 20});
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank)
    children.push_back(start([&, rank] {
      Giver giver(hold.get(), rank);
      Access access;
      access.file = {contiguous_tile(), 0};
      access.end = block;
      for (int round = 0; round < rounds; ++round) {
        const std::vector<char> data(block, static_cast<char>(round));
        if (round % ranks == rank) giver.write(0, access, data.data());
        barrier(*board_);
      }
      end_rank(hold.get());
      return 0;
    }));
  keep_with_kills(hold.get(), kills_wanted(), 4711);
  expect_well(children);
  std::vector<char> found(block);
  ASSERT_EQ(pread(file_.get(), found.data(), block, 0), block);
  EXPECT_EQ(found, std::vector<char>(block, rounds - 1));
}

TEST_F(Processes, AFileThatMayNotGrowIsAnErrorOfItsRanksAndHoldsUpNobody) {
  const auto hold = make_hold({ranks, 64, 1 << 20});
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank)
    children.push_back(start([&, rank] {
      Giver giver(hold.get(), rank);
      Access access;
      access.file = {contiguous_tile(), rank * 100 * block};
      access.end = 100 * block;
      const std::vector<char> data(100 * block, 'x');
      giver.write(1, access, data.data());
      const auto sync = giver.say(Kind::sync, 2);
      const bool told = giver.end_of(sync) == State::failed && giver.take_error() == EFBIG;
      giver.say(Kind::close, 3);
      end_rank(hold.get());
      return told ? 0 : 1;
    }));
  const auto keeper = start([&] {
    const rlimit limit{block, block};
    setrlimit(RLIMIT_FSIZE, &limit);
    return keep_all(hold.get(), 0);
  });
  expect_well(children);
  expect_well({keeper});
}

/// Bytes of the hold that this process has mapped.
std::uint64_t mapped_bytes() {
  std::ifstream maps("/proc/self/maps");
  std::uint64_t sum = 0;
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0, end = 0;
    if (line.find("choir-hold") != std::string::npos &&
        std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2)
      sum += end - begin;
  }
  return sum;
}

TEST(Hold, ARankHasItsOwnPartInItsMemoryAndNoOther) {
  const auto hold = make_hold({4, 64, 1 << 20});
  const KeepersHold all(hold.get());
  const auto everything = mapped_bytes();
  const RanksHold own(hold.get(), 2);
  EXPECT_EQ(own.part().rank(), 2);
  EXPECT_GT(everything, 4U << 20);
  EXPECT_LT(mapped_bytes() - everything, 2U << 20);
}

TEST(Hold, OtherMemoryIsRefused) {
  const auto other = Descriptor::owned(memfd_create("other", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(other.get(), 8192), 0);
  EXPECT_THROW(KeepersHold{other.get()}, std::runtime_error);
  EXPECT_THROW(RanksHold(other.get(), 0), std::runtime_error);
}

TEST(Hold, NobodyCanCutIt) {
  const auto hold = make_hold({1, 64, 1 << 20});
  EXPECT_NE(ftruncate(hold.get(), 0), 0);
}

}  // namespace
}  // namespace choir::stage
