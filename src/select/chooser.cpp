#include "select/chooser.hpp"

#include "select/signature.hpp"

namespace choir::select {

void Chooser::stir_fingerprint(std::uint64_t fact) {
  fingerprint_ = static_cast<std::uint32_t>(avalanche(fingerprint_ + avalanche(fact)));
}

}  // namespace choir::select
