#include "engine/present.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace choir {
namespace {

constexpr std::int64_t page = 4096;

bool kernel_can(char* memory) {
#ifdef MADV_POPULATE_WRITE
  return madvise(memory, page, MADV_POPULATE_READ) == 0 || errno != EINVAL;
#else
  return false;
#endif
}

TEST(Present, PagesAreThereBeforeTheyAreTouched) {
  constexpr std::int64_t pages = 32;
  auto* memory = static_cast<char*>(
      mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  if (!kernel_can(memory)) GTEST_SKIP() << "needs MADV_POPULATE_*, which Linux has since 5.14";
  make_present(memory, pages * page, true);
  std::vector<unsigned char> there(pages);
  ASSERT_EQ(mincore(memory, pages * page, there.data()), 0);
  EXPECT_EQ(std::count_if(there.begin(), there.end(), [](auto flags) { return flags & 1; }), pages);
  munmap(memory, pages * page);
}

}  // namespace
}  // namespace choir
