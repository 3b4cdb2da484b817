// works.hpp: what is timed: the things a strategy is made of, done by one process and by many.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "crew.hpp"

namespace choir::measure {

/// What one timed work moves, in all.
struct Amount {
  double bytes = 0, requests = 0;
};

/// One figure is the difference of two amounts where a request costs something besides its bytes.
enum class Figure {
  copy,
  copy_cached,
  write_new,
  write_new_small,
  write_again,
  write_again_small,
  write_cached,
  read,
  read_small,
  reserve,
  reserve_small,
  fault_new,
  fault_again,
  fault_read,
  meeting,
  count
};
inline constexpr auto figures = static_cast<std::size_t>(Figure::count);

/// An unnamed file in a folder: nothing is left behind, whatever happens.
class TestFile {
 public:
  /// Throws std::system_error.
  explicit TestFile(const std::string& folder);
  ~TestFile();
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;
  int descriptor() const { return fd_; }

 private:
  int fd_;
};

/// All works, timed by a crew.
class Bench {
 public:
  /// Throws std::system_error.
  Bench(const std::string& folder, int cores);

  int cores() const { return crew_.size(); }
  Amount amount(Figure figure) const;
  /// Seconds. Throws std::system_error.
  double time(Figure figure, int members);

 private:
  void prepare(Figure figure);
  std::vector<Work> works();

  std::size_t file_bytes_;
  TestFile file_;
  char* together_;  ///< memory that all processes see, file_bytes_ long
  Crew crew_;
};

}  // namespace choir::measure
