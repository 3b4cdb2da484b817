// book.hpp: the evidence of one open file, and what its calls have added.
#pragma once

#include <map>

#include "select/chooser.hpp"

namespace choir::select {

/// What the calls of a file have added to the evidence of one class.
struct Difference {
  std::vector<Comparison> comparisons;
  double time_s = 0, lost_s = 0, prepared_s = 0, calls = 0;
  int ageings = 0;
  Evidence after;  ///< its last calls say more than those of another file

  void merge_into(Evidence& evidence) const;
};

class Book final : public Chooser {
 public:
  /// `known`: lines of what rank 0 knows (store.hpp). A line is read when its class first occurs.
  explicit Book(std::string known = {});

  std::optional<Known> choose_unestimated(const ClassKey& key, const Occasion& occasion) override;
  Decision choose(const ClassKey& key, std::span<const Contender> contenders,
                  const Occasion& occasion) override;
  void record(const ClassKey& key, std::string_view strategy, const Decision& decision,
              double seconds, double bytes) override;
  void record_failure(const ClassKey& key, std::string_view strategy, Role role) override;
  void forget() override;
  const Evidence* evidence(const ClassKey& key) override;

  /// What rank 0 adds to what it knows when the file is closed.
  std::map<ClassKey, Difference> take_differences();

 private:
  struct Page {
    Evidence evidence;
    Difference difference;
  };
  Page& page(const ClassKey& key);
  /// Where a call like this one is once a mapping is prepared; null: this one already is, or it is
  /// the first on its ground.
  const Evidence* after_preparing(const ClassKey& key);
  Occasion complete(const ClassKey& key, const Occasion& occasion);

  std::string known_;
  std::map<ClassKey, Page> pages_;
};

}  // namespace choir::select
