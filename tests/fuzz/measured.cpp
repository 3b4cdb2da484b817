// measured.cpp: what choir netbench and choir iobench wrote, as choir model reads it.
#include "../../tools/model/measured.hpp"

#include "input.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const choir::fuzz::AsFile file(data, size);
  choir::model::Machine machine;
  choir::fuzz::may_refuse([&] { choir::model::use_netbench(machine, file.path()); });
  choir::fuzz::may_refuse([&] { choir::model::use_iobench(machine, file.path()); });
  return 0;
}
