// fault_test.cpp: how a fault is described.
#include <gtest/gtest.h>

#include <cerrno>
#include <stdexcept>
#include <string>

#include "storage/device.hpp"

namespace choir {
namespace {

std::string complaint(const std::string& text) {
  try {
    parse_fault(text);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Fault, IsReadFromText) {
  const auto fault = parse_fault(
      "op=write,after=3,error=EIO,short=100,eintr=1,rank=2,bytes_per_second=1e6,seek=0.005");
  EXPECT_EQ(fault.operation, Fault::Operation::write);
  EXPECT_EQ(fault.after, 3);
  EXPECT_EQ(fault.error, EIO);
  EXPECT_EQ(fault.short_bytes, 100);
  EXPECT_TRUE(fault.interrupt);
  EXPECT_EQ(fault.rank, 2);
  EXPECT_EQ(fault.bytes_per_second, 1e6);
  EXPECT_EQ(fault.seek_seconds, 0.005);
  EXPECT_EQ(parse_fault("").rank, -1);
}

TEST(Fault, WhatCannotBeReadIsNamed) {
  EXPECT_NE(complaint("error=EWHATEVER").find("EWHATEVER"), std::string::npos);
  EXPECT_NE(complaint("op=append").find("append"), std::string::npos);
  EXPECT_NE(complaint("speed=3").find("speed"), std::string::npos);
  EXPECT_NE(complaint("after").find("after"), std::string::npos);
  EXPECT_NE(complaint("after=three"), "accepted");
}

}  // namespace
}  // namespace choir
