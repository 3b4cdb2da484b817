#include "place/recording.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "files/output.hpp"
#include "files/trust.hpp"

namespace choir::place {

namespace {

constexpr const char* magic = "choir-recording 1";

void write_matrix(std::ostream& out, const char* kind, const PairSums& sums) {
  const auto& pairs = sums.sorted();
  out << "matrix " << kind << ' ' << pairs.size() << '\n';
  for (std::size_t first = 0; first < pairs.size();) {
    std::size_t past = first;
    while (past < pairs.size() && pairs[past].a == pairs[first].a) ++past;
    out << "row " << pairs[first].a << ' ' << past - first;
    for (; first < past; ++first)
      out << ' ' << pairs[first].b << ' ' << pairs[first].contacts << ' ' << pairs[first].bytes;
    out << '\n';
  }
}

void write_pattern(std::ostream& out, const Pattern& pattern) {
  out << "pattern " << pattern.times << ' ' << pattern.span << ' ' << pattern.bytes << ' '
      << (pattern.coarse ? "coarse" : "exact") << '\n';
  for (int rank = 0; rank < pattern.runs.ranks(); ++rank) {
    const auto runs = pattern.runs.of(rank);
    out << "runs " << runs.size();
    for (const auto& run : runs)
      out << ' ' << run.offset << ' ' << run.length << ' ' << run.stride << ' ' << run.count;
    out << '\n';
  }
}

/// Lines of words; every complaint names file and line.
class Reader {
 public:
  Reader(std::istream& in, std::string name) : in_(in), name_(std::move(name)) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(name_ + ":" + std::to_string(line_) + ": " + what);
  }
  void next_line(const char* expected) {
    std::string text;
    ++line_;
    if (!std::getline(in_, text))
      fail(std::string("the file ends where '") + expected + "' should be");
    words_.clear();
    words_.str(text);
  }
  void keyword(const char* expected) {
    next_line(expected);
    if (word() != expected) fail(std::string("expected '") + expected + "'");
  }
  std::string word() {
    std::string text;
    if (!(words_ >> text)) fail("the line is too short");
    return text;
  }
  std::int64_t number(std::int64_t least, std::int64_t most) {
    std::int64_t value = 0;
    if (!(words_ >> value)) fail("expected a number");
    if (value < least || value > most)
      fail("number " + std::to_string(value) + " is out of range " + std::to_string(least) +
           " to " + std::to_string(most));
    return value;
  }
  std::int64_t size() { return number(0, std::int64_t{1} << 60); }
  void line_ends() {
    std::string rest;
    if (words_ >> rest) fail("unexpected '" + rest + "'");
  }
  void magic_line() {
    std::string text;
    ++line_;
    if (!std::getline(in_, text) || text != magic)
      fail(std::string("not a recording: the first line should be '") + magic + "'");
  }

 private:
  std::istream& in_;
  std::string name_;
  std::istringstream words_;
  int line_ = 0;
};

void read_matrix(Reader& reader, const char* kind, int ranks, PairSums& sums) {
  reader.keyword("matrix");
  if (reader.word() != kind) reader.fail(std::string("expected the matrix of ") + kind);
  auto left = reader.size();
  reader.line_ends();
  while (left > 0) {
    reader.keyword("row");
    const auto row = reader.number(0, ranks - 1);
    const auto entries = reader.number(1, left);
    for (std::int64_t i = 0; i < entries; ++i) {
      const auto column = reader.number(row + 1, ranks - 1);
      const auto contacts = reader.number(1, std::int64_t{1} << 60);
      sums.add(static_cast<int>(row), static_cast<int>(column), contacts, reader.size());
    }
    reader.line_ends();
    left -= entries;
  }
}

Pattern read_pattern(Reader& reader, int ranks) {
  Pattern pattern;
  reader.keyword("pattern");
  pattern.times = reader.number(1, std::int64_t{1} << 60);
  pattern.span = reader.size();
  pattern.bytes = reader.size();
  const auto kind = reader.word();
  if (kind != "exact" && kind != "coarse") reader.fail("expected 'exact' or 'coarse'");
  pattern.coarse = kind == "coarse";
  reader.line_ends();
  std::int64_t bytes = 0;
  std::vector<AccessRun> runs;
  for (int rank = 0; rank < ranks; ++rank) {
    reader.keyword("runs");
    const auto count = reader.size();
    runs.clear();
    for (std::int64_t i = 0; i < count; ++i) {
      AccessRun run;
      run.offset = reader.size();
      run.length = reader.number(1, std::int64_t{1} << 60);
      run.stride = reader.size();
      run.count = reader.number(
          1, (std::int64_t{1} << 60) / std::max<std::int64_t>(run.stride, run.length));
      if (run.count > 1 && run.stride < run.length) reader.fail("blocks of a run overlap");
      if (end_of(run) > pattern.span) reader.fail("a run ends past the pattern's span");
      bytes += run.length * run.count;
      runs.push_back(run);
    }
    reader.line_ends();
    pattern.runs.append_rank(runs);
  }
  if (bytes != pattern.bytes) reader.fail("the runs do not add up to the pattern's bytes");
  return pattern;
}

}  // namespace

Span span_of(const GatheredRuns& runs) {
  Span span{std::numeric_limits<std::int64_t>::max(), 0, 0};
  for (const auto& run : runs.runs) {
    if (run.length <= 0 || run.count <= 0) continue;
    span.begin = std::min(span.begin, run.offset);
    span.end = std::max(span.end, end_of(run));
    span.bytes += run.length * run.count;
  }
  if (span.bytes == 0) span.begin = 0;
  return span;
}

bool add_pattern(Recording& recording, Pattern pattern) {
  for (auto& known : recording.patterns) {
    if (!known.same_shape(pattern)) continue;
    known.times += pattern.times;
    return true;
  }
  if (recording.patterns.size() >= Recording::most_patterns) return false;
  recording.patterns.push_back(std::move(pattern));
  return true;
}

void merge(Recording& into, const Recording& other) {
  if (into.ranks != other.ranks)
    throw std::runtime_error("recordings of " + std::to_string(into.ranks) + " and of " +
                             std::to_string(other.ranks) + " ranks cannot be merged");
  into.calls += other.calls;
  into.bytes += other.bytes;
  into.views += other.views;
  into.estimated = into.estimated || other.estimated;
  into.call_contacts.add(other.call_contacts, 1);
  into.view_contacts.add(other.view_contacts, 1);
  for (const auto& pattern : other.patterns) add_pattern(into, pattern);
}

void write(std::ostream& out, const Recording& recording) {
  out << magic << '\n';
  out << "ranks " << recording.ranks << '\n';
  out << "calls " << recording.calls << ' ' << recording.bytes << '\n';
  out << "views " << recording.views << '\n';
  out << "contacts " << (recording.estimated ? "estimated" : "exact") << '\n';
  write_matrix(out, "calls", recording.call_contacts);
  write_matrix(out, "views", recording.view_contacts);
  out << "patterns " << recording.patterns.size() << '\n';
  for (const auto& pattern : recording.patterns) write_pattern(out, pattern);
  out << "end\n";
}

Recording read(std::istream& in, const std::string& name) {
  Reader reader(in, name);
  Recording recording;
  reader.magic_line();
  reader.keyword("ranks");
  recording.ranks =
      static_cast<int>(reader.number(1, std::numeric_limits<std::int32_t>::max() - 1));
  reader.keyword("calls");
  recording.calls = reader.size();
  recording.bytes = reader.size();
  reader.keyword("views");
  recording.views = reader.size();
  reader.keyword("contacts");
  const auto quality = reader.word();
  if (quality != "exact" && quality != "estimated") reader.fail("expected 'exact' or 'estimated'");
  recording.estimated = quality == "estimated";
  read_matrix(reader, "calls", recording.ranks, recording.call_contacts);
  read_matrix(reader, "views", recording.ranks, recording.view_contacts);
  reader.keyword("patterns");
  const auto patterns = reader.number(0, Recording::most_patterns);
  for (std::int64_t i = 0; i < patterns; ++i)
    recording.patterns.push_back(read_pattern(reader, recording.ranks));
  reader.keyword("end");
  return recording;
}

void write_file(const std::string& path, const Recording& recording) {
  const auto temporary = path + ".part";
  const auto fail = [&](const char* what, const std::string& name) {
    throw std::runtime_error(std::string(what) + " " + name + ": " + files::reason(errno));
  };
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    throw std::runtime_error("cannot replace " + path + ": it is no file");
  std::ostringstream text;
  write(text, recording);
  const files::Descriptor out(files::create_output(temporary, 0666));
  if (out.get() < 0) fail("cannot create", temporary);
  const bool written = files::write_all(out.get(), text.view());
  if (!written || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int why = errno;
    std::remove(temporary.c_str());
    errno = why;
    fail(written ? "cannot replace" : "cannot write", path);
  }
}

Recording read_file(const std::string& path) {
  errno = 0;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot open " + path + ": " + std::strerror(errno));
  return read(in, path);
}

}  // namespace choir::place
