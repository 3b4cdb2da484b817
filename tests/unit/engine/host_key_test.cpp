// host_key_test.cpp: hosts are told apart by everything that decides whether memory can be shared.
#include "engine/host_key.hpp"

#include <gtest/gtest.h>

namespace choir {
namespace {

TEST(HostKey, IsStableOnOneHost) {
  EXPECT_EQ(key_of(this_host()), key_of(this_host()));
  EXPECT_FALSE(this_host().name.empty());
}

TEST(HostKey, DiffersWithEachPart) {
  const HostIdentity here{"n1", "boot", 21};
  EXPECT_NE(key_of(here), key_of({"n2", "boot", 21}));
  EXPECT_NE(key_of(here), key_of({"n1", "later", 21}));
  EXPECT_NE(key_of(here), key_of({"n1", "boot", 22}));
  EXPECT_NE(key_of({"n1b", "oot", 21}), key_of(here));
}

}  // namespace
}  // namespace choir
