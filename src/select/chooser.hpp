// chooser.hpp: who serves the calls of one open file. Two rules have this interface: choir's
// (book.hpp) and that of the Orthrus paper (paper.hpp).
//
// Every rank of the file has one, starts it from what rank 0 sent, and feeds it the same agreed
// times. Not thread-safe: collective calls of a file are ordered.
#pragma once

#include "select/class_key.hpp"
#include "select/rule.hpp"

namespace choir::select {

class Chooser {
 public:
  virtual ~Chooser() = default;
  /// The decision as far as it does not depend on estimates, and the strategy it means: to be
  /// followed if that one applies. Nothing: choose() has to be asked.
  struct Known {
    std::string_view strategy;
    Decision decision;
  };
  virtual std::optional<Known> choose_unestimated(const ClassKey& key,
                                                  const Occasion& occasion) = 0;
  /// May be asked again for the same call.
  virtual Decision choose(const ClassKey& key, std::span<const Contender> contenders,
                          const Occasion& occasion) = 0;
  /// The agreed time of a blocking call. One that is not positive and finite tells nothing.
  virtual void record(const ClassKey& key, std::string_view strategy, const Decision& decision,
                      double seconds, double bytes) = 0;
  virtual void record_failure(const ClassKey& key, std::string_view strategy, Role role) = 0;
  /// A number that differs between ranks that know different things, so that they notice before
  /// they decide differently, and forget.
  std::uint32_t fingerprint() const { return fingerprint_; }
  virtual void forget() = 0;
  /// What is known of a class, for the tables; null: nothing.
  virtual const Evidence* evidence(const ClassKey& key) = 0;

 protected:
  void stir_fingerprint(std::uint64_t fact);
  void clear_fingerprint() { fingerprint_ = 0; }

 private:
  std::uint32_t fingerprint_ = 0;
};

}  // namespace choir::select
