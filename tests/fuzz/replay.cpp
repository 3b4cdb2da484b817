// replay.cpp: runs a reader over each file of a folder, and over that file cut and changed.
//
// The same every time. A crash ends the process, and the last line says which input it was.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "input.hpp"

namespace {

using Bytes = std::vector<std::uint8_t>;
namespace fs = std::filesystem;

constexpr std::size_t most_places = 200;  // of a file at which it is cut, and changed
constexpr std::uint8_t damages[] = {0x00, 0xff, '"', '-', '9', '\n'};

void run(const Bytes& input) { LLVMFuzzerTestOneInput(input.data(), input.size()); }

long run_damaged(const Bytes& good) {
  long inputs = 1;
  run(good);
  const auto step = std::max<std::size_t>(1, good.size() / most_places);
  for (std::size_t at = 0; at < good.size(); at += step) {
    run(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(at)));
    ++inputs;
    for (const auto damage : damages) {
      Bytes changed = good;
      changed[at] = damage;
      run(changed);
      ++inputs;
    }
  }
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(argv[1])) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  long inputs = 0;
  for (const auto& path : files) {
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);
    std::ifstream in(path, std::ios::binary);
    inputs += run_damaged(Bytes(std::istreambuf_iterator<char>(in), {}));
  }
  std::printf("%ld inputs of %zu files\n", inputs, files.size());
  return files.empty() ? 1 : 0;  // an empty folder would test nothing
}
