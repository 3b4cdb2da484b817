// regressions_test.cpp: faults that were once there, each with the input that showed it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "access/codec.hpp"
#include "access/coverage.hpp"
#include "plan/strategy.hpp"
#include "storage/layout.hpp"
#include "storage/storage.hpp"
using namespace choir;

TEST(Coverage, AWindowMayEndInTheMiddleOfAGrain) {
  std::uint64_t words[4];
  ASSERT_LE(Coverage::words_for(10, 4), 4);
  Coverage coverage(words, 10, 4);
  coverage.clear();
  coverage.mark({0, 10, 0, 1});
  EXPECT_EQ(coverage.next(0), (Extent{0, 10}));
  ASSERT_TRUE(coverage.next(10).empty()) << "extents() would never end";
  EXPECT_EQ(coverage.extents(), (std::vector<Extent>{{0, 10}}));
}

RC_GTEST_PROP(CodecProperty, AnyBytesGiveRunsOrNothing, ()) {
  const auto bytes = *rc::gen::container<Bytes>(rc::gen::inRange<int>(0, 256));
  const auto runs = decode(bytes.data(), bytes.size());
  if (runs)
    for (const auto& run : *runs) RC_ASSERT(run.length > 0 && run.count > 0);
}
TEST(Codec, RunsThatLeave64BitsAreRefused) {
  const Bytes stride{1, 0, 3, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 5};
  EXPECT_FALSE(decode(stride.data(), stride.size()));
}

TEST(Fault, NumbersAreReadInFullAndNamed) {
  for (const char* text : {"after=three", "after=3x", "after=99999999999999999999", "eintr=maybe",
                           "short=-1", "seek=fast"}) {
    const std::string field = text;
    try {
      parse_fault(field);
      ADD_FAILURE() << field << " is accepted";
    } catch (const std::invalid_argument& e) {
      const std::string what = e.what();
      EXPECT_NE(what.find(field.substr(0, field.find('='))), std::string::npos) << what;
      EXPECT_NE(what.find("'" + field.substr(field.find('=') + 1) + "'"), std::string::npos)
          << what;
    }
  }
}
TEST(Fault, ShortTransfersAreOfTheNamedOperationOnly) {
  const int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);  // in storage_test.cpp: TempFile
  ASSERT_GE(fd, 0);
  char bytes[20] = {};
  const auto device = faulty_device(system_device(), parse_fault("op=write,short=3"));
  EXPECT_EQ(device->pwrite(fd, bytes, 20, 0), 3);
  ASSERT_EQ(::pwrite(fd, bytes, 20, 0), 20);
  EXPECT_EQ(device->pread(fd, bytes, 20, 0), 20);
  // bug 6
  for (auto& storage : {posix_storage(fd, system_device()), uring_storage(fd)}) {
    if (!storage) continue;
    Job write{Operation::write, {{0, bytes, 0}, {5, bytes, 5}, {10, bytes, 0}}};
    EXPECT_EQ(storage->run(write), 0);
    Job read{Operation::read, {{0, bytes, 0}, {5, bytes, 5}}};
    EXPECT_EQ(storage->run(read), 0);
    EXPECT_EQ(read.end_of_file, no_end_of_file);
  }
  close(fd);
}

TEST(StripeLayout, AllServersIsNotANumber) {
  std::vector<unsigned char> bytes(32);
  const std::uint32_t magic = 0x0BD10BD0, unit = 1 << 20;
  const std::uint16_t all = 0xffff;
  std::memcpy(bytes.data(), &magic, 4), std::memcpy(bytes.data() + 24, &unit, 4),
      std::memcpy(bytes.data() + 28, &all, 2);
  EXPECT_FALSE(decode_lustre(bytes));
}

TEST(Plan, GroupsStayEqualWhenThereAreFewCycleBuffers) {
  const Topology topology(std::vector<int>(40, 0), 4);
  std::vector<RankSummary> ranks;
  for (std::int64_t r = 0; r < 40; ++r) ranks.push_back({r << 20, (r + 1) << 20, 1 << 20});
  Parameters parameters;
  parameters.group_size = 1;
  const StrategyTable table;
  const auto plan =
      table.rows()[static_cast<std::size_t>(*table.find("dynamic_segmentation"))].plan(
          {topology, ranks, parameters, 2});
  std::map<int, int> sizes;
  for (const int group : plan.group_of) ++sizes[group];
  EXPECT_EQ(sizes, (std::map<int, int>{{0, 20}, {1, 20}}));
}
