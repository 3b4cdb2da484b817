// packet_test.cpp: a packet says what it carries, in few bytes, and a damaged one is refused.
#include "engine/packet.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace choir {
namespace {

TEST(Packet, ComesBackAsItWasMade) {
  const Runs runs{{100, 8, 64, 1000}, {70000, 3, 0, 1}};
  for (const std::int64_t slot : {0, 1}) {
    auto packet = begin_packet(runs, 5, slot);
    std::memcpy(packet_data(packet), "bytes", 5);
    EXPECT_EQ(packet_header(packet).answer_slot, slot);
    EXPECT_EQ(packet_runs(packet), runs);
    EXPECT_EQ(packet_overhead(packet) + 5, static_cast<std::int64_t>(packet.size()));
    EXPECT_EQ(std::memcmp(packet.data() + packet.size() - 5, "bytes", 5), 0);
  }
}

TEST(Packet, ARegularPatternCostsFewBytesBesidesItsData) {
  EXPECT_LE(packet_overhead(begin_packet({{0, 64, 512, 16384}}, 1 << 20)), 12);
}

TEST(Packet, ALongDescriptionHasALongerHeader) {
  Runs runs;
  for (std::int64_t i = 0; i < 100000; ++i) runs.push_back({i * i, 1, 0, 1});
  const auto packet = begin_packet(runs, 0, 1);
  EXPECT_EQ(packet_runs(packet), runs);
  EXPECT_EQ(packet_header(packet).answer_slot, 1);
}

TEST(Packet, ADamagedOneIsRefused) {
  auto packet = begin_packet({{100, 8, 64, 1000}}, 0);
  EXPECT_FALSE(packet_runs({}));
  for (std::size_t size = 0; size < packet.size(); ++size)
    EXPECT_FALSE(packet_runs({packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(size)}))
        << size << " bytes of it";
  packet[0] = static_cast<char>(0x7f);
  EXPECT_FALSE(packet_runs(packet)) << "longer than it is";
}

TEST(Packet, AReplyCarriesTheEndOfFile) {
  auto reply = begin_reply(10);
  set_reply_end_of_file(reply, 123456789012345);
  std::memset(reply_data(reply), 7, 10);
  EXPECT_EQ(reply_end_of_file(reply), 123456789012345);
  EXPECT_EQ(static_cast<std::int64_t>(reply.size()), reply_overhead + 10);
}

}  // namespace
}  // namespace choir
