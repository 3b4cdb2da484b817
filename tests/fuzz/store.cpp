// store.cpp: what is known of strategies, kept between runs.
#include "select/store.hpp"

#include "input.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using choir::select::Store;
  const auto store = Store::parse(choir::fuzz::text_of(data, size));
  std::size_t skipped = 0;
  Store::parse(store.text(), &skipped);
  if (skipped > 0) __builtin_trap();  // what is kept is written so that it is read again
  return 0;
}
