// trace.cpp: a rank's trace, as choir explain and report read it.
#include "advice.hpp"
#include "input.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const choir::fuzz::AsFile file(data, size);
  choir::fuzz::may_refuse([&] {
    const auto trace = choir::report::load_trace(file.path());
    choir::report::advise(trace, choir::report::summarise(trace));
  });
  return 0;
}
