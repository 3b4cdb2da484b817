// recording.cpp: recordings of choir place.
#include "place/recording.hpp"

#include <sstream>

#include "input.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  choir::fuzz::may_refuse([&] {
    std::istringstream in(choir::fuzz::text_of(data, size));
    auto recording = choir::place::read(in, "input");
    choir::place::merge(recording, recording);
  });
  return 0;
}
