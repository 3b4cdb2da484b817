// elf.cpp: programs and libraries that choir run looks into.
#include "../../tools/choir/elf.hpp"

#include "input.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const choir::fuzz::AsFile file(data, size);
  choir::fuzz::may_refuse([&] { choir::command::read_elf(file.path()); });
  return 0;
}
