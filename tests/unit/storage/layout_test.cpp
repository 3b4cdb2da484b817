// layout_test.cpp: stripe layouts decoded from hand-made attributes, as real file systems write
// them.
#include "storage/layout.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace choir {
namespace {

using Attribute = std::vector<unsigned char>;

template <class Number>
void put(Attribute& bytes, std::size_t offset, Number value) {
  if (bytes.size() < offset + sizeof value) bytes.resize(offset + sizeof value);
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

/// struct lov_user_md_v1 or v3.
Attribute lustre(std::uint32_t magic, std::uint32_t unit, std::uint16_t count) {
  Attribute bytes(magic == 0x0BD30BD0 ? 48 : 32);
  put(bytes, 0, magic);
  put(bytes, 4, std::uint32_t{1});  // raid0
  put(bytes, 24, unit);
  put(bytes, 28, count);
  return bytes;
}

/// struct lov_comp_md_v1 with the given components.
Attribute composite(const std::vector<Attribute>& components) {
  Attribute bytes(32 + 48 * components.size());
  put(bytes, 0, std::uint32_t{0x0BD60BD0});
  put(bytes, 14, static_cast<std::uint16_t>(components.size()));
  for (std::size_t i = 0; i < components.size(); ++i) {
    put(bytes, 32 + 48 * i + 24, static_cast<std::uint32_t>(bytes.size()));
    put(bytes, 32 + 48 * i + 28, static_cast<std::uint32_t>(components[i].size()));
    bytes.insert(bytes.end(), components[i].begin(), components[i].end());
  }
  put(bytes, 4, static_cast<std::uint32_t>(bytes.size()));
  return bytes;
}

TEST(StripeLayout, LustrePlain) {
  EXPECT_EQ(decode_lustre(lustre(0x0BD10BD0, 1 << 20, 4)), (StripeLayout{1 << 20, 4}));
  EXPECT_EQ(decode_lustre(lustre(0x0BD30BD0, 4 << 20, 160)), (StripeLayout{4 << 20, 160}));
}

TEST(StripeLayout, LustreProgressiveTakesTheLastComponent) {
  const auto bytes = composite({lustre(0x0BD10BD0, 65536, 1), lustre(0x0BD30BD0, 1 << 20, 8)});
  EXPECT_EQ(decode_lustre(bytes), (StripeLayout{1 << 20, 8}));
}

TEST(StripeLayout, WhatIsNotALustreLayoutIsNone) {
  EXPECT_FALSE(decode_lustre({}));
  EXPECT_FALSE(decode_lustre(lustre(0x0BD40BD0, 1 << 20, 4))) << "unknown magic";
  EXPECT_FALSE(decode_lustre(lustre(0x0BD10BD0, 0, 4)));
  EXPECT_FALSE(decode_lustre(lustre(0x0BD10BD0, 1 << 20, 0)));
  EXPECT_FALSE(decode_lustre(composite({})));
  EXPECT_FALSE(decode_lustre(composite({composite({lustre(0x0BD10BD0, 65536, 1)})}))) << "nested";
}

TEST(StripeLayout, TruncatedLustreAttributesAreNone) {
  const auto plain = lustre(0x0BD10BD0, 1 << 20, 4);
  for (std::size_t size = 0; size < 30; ++size)
    EXPECT_FALSE(decode_lustre(std::span(plain).first(size))) << size;
  const auto progressive =
      composite({lustre(0x0BD10BD0, 65536, 1), lustre(0x0BD10BD0, 1 << 20, 8)});
  for (std::size_t size = 0; size < progressive.size() - 2; ++size)
    EXPECT_FALSE(decode_lustre(std::span(progressive).first(size))) << size;
}

TEST(StripeLayout, AComponentOutsideOfTheAttributeIsNone) {
  for (const std::uint32_t offset : {0U, 31U, 1000U, 0xffffffffU}) {
    auto bytes = composite({lustre(0x0BD10BD0, 65536, 1)});
    put(bytes, 32 + 24, offset);
    EXPECT_FALSE(decode_lustre(bytes)) << offset;
  }
  auto many = composite({lustre(0x0BD10BD0, 65536, 1)});
  put(many, 14, std::uint16_t{0xffff});
  EXPECT_FALSE(decode_lustre(many));
}

TEST(StripeLayout, Ceph) {
  EXPECT_EQ(decode_ceph("stripe_unit=4194304 stripe_count=3 object_size=4194304 pool=cephfs_data"),
            (StripeLayout{4194304, 3}));
  EXPECT_FALSE(decode_ceph(""));
  EXPECT_FALSE(decode_ceph("stripe_unit=4194304"));
  EXPECT_FALSE(decode_ceph("stripe_unit=4194304 stripe_cou"));
  EXPECT_FALSE(decode_ceph("stripe_unit=4194304 stripe_count="));
  EXPECT_FALSE(decode_ceph("stripe_unit=many stripe_count=3"));
  EXPECT_FALSE(decode_ceph("stripe_unit=4194304 stripe_count=0"));
  EXPECT_FALSE(decode_ceph("stripe_unit=-4194304 stripe_count=1"));
}

TEST(FileSystem, IsNamed) {
  const int tmp = open("/tmp", O_RDONLY | O_DIRECTORY);
  ASSERT_GE(tmp, 0);
  EXPECT_FALSE(file_system_name(tmp).empty());
  EXPECT_FALSE(read_stripe_layout(tmp) && is_local_file_system(tmp))
      << "local files are not striped";
  close(tmp);

  const int proc = open("/proc", O_RDONLY | O_DIRECTORY);
  if (proc < 0) GTEST_SKIP() << "no /proc here";
  EXPECT_EQ(file_system_name(proc), "0x9fa0") << "an unknown one is its magic number";
  EXPECT_FALSE(is_local_file_system(proc));
  EXPECT_FALSE(read_stripe_layout(proc));
  close(proc);
}

/// What it says yes to has to be so; on file systems it does not know it may say no.
TEST(Layout, BlocksCanBeReservedWhereItSaysSo) {
  auto path = testing::TempDir() + "/choir-layout-XXXXXX";
  const int fd = mkstemp(path.data());
  ASSERT_GE(fd, 0);
  unlink(path.c_str());
  struct stat before {
  }, after{};
  fstat(fd, &before);
  const bool can = can_reserve_blocks(fd);
  fstat(fd, &after);
  EXPECT_EQ(before.st_blocks, after.st_blocks) << "asking changes nothing";
  EXPECT_TRUE(!can || fallocate(fd, 0, 0, 4096) == 0);
  close(fd);
}

}  // namespace
}  // namespace choir
