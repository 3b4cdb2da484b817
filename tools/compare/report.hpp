// report.hpp: what a comparison found, as a table, a sentence and lines for scripts. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/paired.hpp"
#include "files.hpp"

namespace choir::compare {

enum class Bytes { identical, differ, vary, none };  ///< vary: between two native runs too

/// One line of the table: a file, all files, or the whole run.
struct Row {
  std::string name;
  std::string how;  ///< "written", "read", "in all", "whole run"
  std::vector<tools::Pair> pairs;
  Bytes bytes = Bytes::none;
  std::string difference;  ///< where the bytes differ

  tools::Ratio ratio() const { return tools::ratio_of(pairs); }
  double native_s() const;  ///< medians
  double choir_s() const;
};

struct Findings {
  std::vector<Row> files;  ///< those that took longest first
  Row all, whole;
  Parts native, choir;       ///< medians of all files' parts
  tools::Pair first{};       ///< the first run of each, when choir knew nothing
  double others_share = -1;  ///< of the processors, used by other programs; below 0: unknown
};

/// Opening and closing, calls: where most of the difference lies.
std::string where_it_lies(const Parts& native, const Parts& choir);
/// The answer, in one or two plain sentences.
std::string sentence_of(const Findings& findings);
std::string table_of(const Findings& findings);
/// Tab-separated: how, native s, choir s, ratio, low, high, verdict, bytes, name.
std::string lines_of(const Findings& findings);

/// "12 ms", "3.45 s".
std::string seconds_text(double seconds);
std::string_view name_of(Bytes bytes);

}  // namespace choir::compare
