#include "runs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>

namespace choir::compare {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t interrupted = 0;

bool is_program(const std::string& word) {
  const auto executable = [](const std::string& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
  };
  if (word.find('/') != std::string::npos) return executable(word);
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (executable((folder.empty() ? "." : folder) + "/" + word)) return true;
  return false;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Nanoseconds since 1970 of the clock from which the system takes the times of files.
std::int64_t file_clock_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME_COARSE, &time);
  return time.tv_sec * std::int64_t{1000000000} + time.tv_nsec;
}

/// Seconds all processors have been busy, and all seconds they had, since the machine started.
struct Processors {
  double busy_s = 0, all_s = 0;
};

Processors processors() {
  std::ifstream in("/proc/stat");
  std::string word;
  in >> word;
  Processors sum;
  double ticks = 0;
  for (int field = 0; field < 8 && in >> ticks; ++field) {  // user ... steal
    const double seconds = ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
    sum.all_s += seconds;
    if (field != 3 && field != 4) sum.busy_s += seconds;  // idle, waiting for devices
  }
  return sum;
}

/// Processor seconds of this process, of its children that have ended, and of theirs.
double own_s() {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  double sum = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    sum += seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  return sum;
}

std::string last_lines(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::string text;
  for (std::size_t i = lines.size() - std::min<std::size_t>(lines.size(), 8); i < lines.size(); ++i)
    text += "\n  | " + lines[i];
  return text;
}

/// In the child: output into `said`, then the command. Does not return.
[[noreturn]] void become(const Words& command, const std::string& said) {
  const int in = open("/dev/null", O_RDONLY);
  const int out = open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (in >= 0 && out >= 0 && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(out, 2) >= 0) {
    std::vector<char*> raw;
    for (const auto& word : command) raw.push_back(const_cast<char*>(word.c_str()));
    raw.push_back(nullptr);
    execvp(raw.front(), raw.data());
    dprintf(2, "cannot run %s: %s\n", raw.front(), std::strerror(errno));
  }
  _exit(127);
}

/// The status as a shell tells it.
int run_command(const Words& command, const std::string& said) {
  const pid_t child = fork();
  if (child < 0) throw Trouble(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (child == 0) become(command, said);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw Trouble(fmt::format("waitpid: {}", std::strerror(errno)));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Run {
  Records records;
  double wall_s = 0;
};

class Comparison {
 public:
  Comparison(const Options& options, const Progress& progress)
      : options_(options), progress_(progress), here_(fs::current_path().string()) {
    auto name = here_ + "/choir-compare-XXXXXX";
    if (mkdtemp(name.data()) == nullptr)
      throw Trouble(fmt::format("cannot make a folder here: {}", std::strerror(errno)));
    work_ = name;
    // What choir learns in these runs serves these runs, as with a program that is run again.
    setenv("CHOIR_MEMORY", (work_ / "memory").c_str(), 0);
    save_originals();
  }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;
  ~Comparison() {
    try {
      put_back();
    } catch (const std::exception& e) {
      fmt::print(stderr, "choir compare: {}; the files are in {}\n", e.what(), work_.string());
      return;
    }
    std::error_code error;
    if (!options_.keep) fs::remove_all(work_, error);
  }

  Findings findings() {
    const auto most = options_.pairs > 0 ? options_.pairs : std::end(tools::kLooks)[-1];
    const auto load = processors();
    const double own = own_s(), begin = now_s();
    progress_(0, most, "natively, for the first time");
    const auto native = once(false);
    progress_(0, most, "under choir, for the first time");
    const auto choir = once(true);
    findings_.first = {native.records.all.total(), choir.records.all.total()};
    for (std::size_t done = 0; done < most && !decided(done); ++done) {
      if (done > 0 && options_.pairs == 0 && now_s() - begin > options_.minutes * 60) break;
      pair(done % 2 == 1, done, most);
    }
    progress_(most, most, "");
    const auto after = processors();
    if (after.all_s > load.all_s)
      findings_.others_share =
          std::max(0.0, after.busy_s - load.busy_s - (own_s() - own)) / (after.all_s - load.all_s);
    return collected();
  }

 private:
  bool decided(std::size_t pairs) const {
    return options_.pairs == 0 && tools::is_look(pairs) &&
           judge(tools::ratio_of(all_)) != tools::Verdict::unclear;
  }

  /// One run each, `choir_first` or not.
  void pair(bool choir_first, std::size_t done, std::size_t most) {
    Run native, choir;
    for (const bool under : {choir_first, !choir_first}) {
      progress_(done, most, under ? "under choir" : "natively");
      (under ? choir : native) = once(under);
    }
    all_.push_back({native.records.all.total(), choir.records.all.total()});
    whole_.push_back({native.wall_s, choir.wall_s});
    native_parts_.push_back(native.records.all);
    choir_parts_.push_back(choir.records.all);
    for (const auto& [use, parts] : native.records.files)
      if (const auto found = choir.records.files.find(use); found != choir.records.files.end())
        files_[use].push_back({parts.total(), found->second.total()});
  }

  /// A run with files of its own. The first one's are the reference of all others.
  Run once(bool under_choir) {
    const bool first = !fs::exists(work_ / "reference");
    const auto own = work_ / (first ? "reference" : "run"), clock = work_ / "clock",
               said = work_ / "said";
    fs::create_directories(own / "aside");
    fs::create_directories(clock);
    if (first) setenv("CHOIR_CLOCK_GUARD", std::to_string(file_clock_ns()).c_str(), 1);
    restore_originals();
    const auto words =
        with_folder(under_choir ? choir_command(options_, clock) : native_command(options_, clock),
                    own.string());
    const double begin = now_s();
    const int status = run_command(words, said);
    Run run{read_records(clock, own, here_), now_s() - begin};
    unsetenv("CHOIR_CLOCK_GUARD");
    fs::remove_all(clock);
    set_aside(run.records, own, first);
    if (interrupted != 0) throw Trouble("interrupted; files that were there are as they were");
    if (!run.records.existing.empty())
      throw Trouble(
          fmt::format("{} was there before, and the program writes into it. Remove it, "
                      "or let each run begin with a copy of it: --files '{}'",
                      run.records.existing.front(), run.records.existing.front()));
    if (status != 0)
      throw Trouble(fmt::format("the program failed {} (exit status {}):{}",
                                under_choir ? "under choir" : "natively", status,
                                last_lines(said)));
    if (!first) {
      compare_bytes(run.records, under_choir);
      fs::remove_all(own);
    }
    return run;
  }

  /// Written files by the name the user knows them by, and where they are now.
  std::map<std::string, fs::path> written_files(const Records& records, const fs::path& own) {
    std::map<std::string, fs::path> files;
    for (const auto& [use, parts] : records.files)
      if (use.how == "written")
        files[use.path] = use.path.starts_with("{}") ? fs::path(own.string() + use.path.substr(2))
                                                     : fs::absolute(use.path);
    for (const auto& name : matching(options_.files)) files[name] = fs::absolute(name);
    return files;
  }

  void set_aside(const Records& records, const fs::path& own, bool first) {
    int number = 0;
    aside_.clear();
    for (const auto& [name, path] : written_files(records, own)) {
      if (!fs::is_regular_file(path)) continue;  // the program has removed it itself
      auto place = path;
      if (!name.starts_with("{}")) {
        place = own / "aside" / std::to_string(number++);
        move_file(path, place);
      }
      aside_[name] = place;
      if (first) reference_[name] = place;
    }
  }

  void compare_bytes(const Records& records, bool under_choir) {
    for (const auto& [name, reference] : reference_) {
      std::string text;
      if (const auto found = aside_.find(name); found == aside_.end())
        text = "was not written";
      else if (const auto at = first_difference(reference, found->second); at >= 0)
        text = fmt::format("the first byte that differs is number {}", at);
      if (!text.empty()) (under_choir ? differs_ : varies_)[name] = text;
    }
    for (const auto& [use, parts] : records.files)
      if (use.how == "written" && !reference_.contains(use.path) && aside_.contains(use.path))
        (under_choir ? differs_ : varies_)[use.path] = "was not written in the first native run";
  }

  void save_originals() {
    for (const auto& name : matching(options_.files)) {
      const auto copy = work_ / fmt::format("original-{}", originals_.size());
      fs::copy_file(name, copy);
      originals_[fs::absolute(name).string()] = copy;
    }
  }

  void restore_originals() const {
    for (const auto& [name, copy] : originals_)
      fs::copy_file(copy, name, fs::copy_options::overwrite_existing);
  }

  /// The user finds what one native run would have left; files that were there are as they were.
  void put_back() {
    if (!options_.keep)
      for (const auto& [name, place] : reference_)
        if (!name.starts_with("{}") && !originals_.contains(fs::absolute(name).string()) &&
            fs::exists(place))
          move_file(place, fs::absolute(name));
    restore_originals();
  }

  Bytes bytes_of(const std::string& name) const {
    if (varies_.contains(name)) return Bytes::vary;
    if (differs_.contains(name)) return Bytes::differ;
    return reference_.contains(name) ? Bytes::identical : Bytes::none;
  }

  Parts median_of(const std::vector<Parts>& parts) const {
    const auto middle = [&](double Parts::*part) {
      std::vector<double> values;
      for (const auto& each : parts) values.push_back(each.*part);
      return tools::median(values);
    };
    return {middle(&Parts::open_s), middle(&Parts::calls_s), middle(&Parts::close_s)};
  }

  Findings collected() {
    for (const auto& [use, pairs] : files_) {
      const bool written = use.how == "written";
      findings_.files.push_back(
          {use.path, use.how, pairs, written ? bytes_of(use.path) : Bytes::none,
           written && differs_.contains(use.path) ? differs_.at(use.path) : std::string()});
    }
    std::stable_sort(findings_.files.begin(), findings_.files.end(),
                     [](const Row& a, const Row& b) { return a.native_s() > b.native_s(); });
    auto all_bytes = reference_.empty() ? Bytes::none : Bytes::identical;
    for (const auto& [name, place] : reference_)
      if (bytes_of(name) != Bytes::identical && all_bytes != Bytes::differ)
        all_bytes = bytes_of(name);
    if (all_bytes != Bytes::differ)
      for (const auto& [name, text] : differs_)
        if (!varies_.contains(name)) all_bytes = Bytes::differ;
    findings_.all = {"", "in all", all_, all_bytes, ""};
    findings_.whole = {"", "whole run", whole_, Bytes::none, ""};
    findings_.native = median_of(native_parts_);
    findings_.choir = median_of(choir_parts_);
    return findings_;
  }

  const Options& options_;
  const Progress& progress_;
  std::string here_;
  fs::path work_;
  std::map<std::string, fs::path> originals_;  // absolute name -> copy
  std::map<std::string, fs::path> reference_;  // name -> the first native run's file
  std::map<std::string, fs::path> aside_;      // name -> the last run's file
  std::map<std::string, std::string> differs_, varies_;
  std::map<Use, std::vector<tools::Pair>> files_;
  std::vector<tools::Pair> all_, whole_;
  std::vector<Parts> native_parts_, choir_parts_;
  Findings findings_;
};

}  // namespace

Words native_command(const Options& options, const std::string& clock) {
  return with_inserted(options.command, {options.choir, "run", "--native", "--clock", clock},
                       is_program);
}

Words choir_command(const Options& options, const std::string& clock) {
  return with_inserted(options.command, {options.choir, "run", "--clock", clock}, is_program);
}

void interrupt() noexcept { interrupted = 1; }

Findings compare(const Options& options, const Progress& progress) {
  return Comparison(options, progress).findings();
}

}  // namespace choir::compare
