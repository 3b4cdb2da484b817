// memory.cpp: what earlier runs have learned.
#include "select/memory.hpp"

#include "input.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = choir::fuzz::text_of(data, size);
  const auto memory = choir::select::Memory::parse(text);
  const auto again = choir::select::Memory::parse(memory.serialise());
  if (again.size() != memory.size())
    __builtin_trap();  // what was kept is written so that it is read
  return 0;
}
