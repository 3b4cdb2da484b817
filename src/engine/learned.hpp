// learned.hpp: which strategy won for which signature, kept between the files of a communicator and
// between runs.
//
// Rank 0 reads the user's memory file once and broadcasts what fits this job, so that all ranks
// start from the same knowledge; at close it adds what was found.
#pragma once

#include <map>
#include <string>

#include "select/selector.hpp"

namespace choir {

class Neighbourhood;
struct Room;

class Learned {
 public:
  using BySignature = std::map<std::uint64_t, select::Remembered>;

  /// Collective, the first time; later calls do nothing. `setting`: on, off, or a path.
  void load(const Neighbourhood& hood, Room& room, const std::string& setting);
  const BySignature& of(const std::string& file_system) { return known_[file_system]; }
  /// Local, and the same on every rank.
  void remember(const std::string& file_system, std::uint64_t signature,
                const select::Remembered& result);
  /// Rank 0 writes what is new.
  void store(const Neighbourhood& hood, const std::string& setting);

 private:
  std::map<std::string, BySignature> known_;
  std::map<std::string, BySignature> fresh_;
  bool loaded_ = false;
};

}  // namespace choir
