// assign.cpp: problems of choir assign, as CSV or JSON.
#include "../../tools/assign/input.hpp"
#include "input.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const choir::fuzz::AsFile file(data, size);
  choir::fuzz::may_refuse([&] { choir::assign::read_problem(file.path()); });
  return 0;
}
