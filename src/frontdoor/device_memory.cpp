#include "frontdoor/device_memory.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <mutex>

namespace choir {
namespace {

/// cuPointerGetAttributes and hipDrvPointerGetAttributes alike.
using GetAttributes = int (*)(unsigned count, int* attributes, void** values,
                              unsigned long long pointer);

/// A library that may know a pointer.
struct Vendor {
  const char* library;
  const char* function;
  unsigned device_type;  ///< its word for device memory
};
constexpr std::array vendors{
    Vendor{"libcuda.so.1", "cuPointerGetAttributes", 2},
    Vendor{"libamdhip64.so.5", "hipDrvPointerGetAttributes", 1},
    Vendor{"libamdhip64.so.6", "hipDrvPointerGetAttributes", 2},
    Vendor{"libamdhip64.so.7", "hipDrvPointerGetAttributes", 2},
};

// The numbers of both vendors.
constexpr int attribute_memory_type = 2;
constexpr int attribute_is_managed = 8;

/// Device and host memory never share one: of the parts of a page one is asked about.
constexpr std::int64_t page = 4096;

struct Loaded {
  std::array<std::atomic<GetAttributes>, vendors.size()> ask{};
  std::atomic<bool> any{false};
  std::atomic<unsigned long long> libraries{0};  ///< ever loaded, when we looked last
  std::mutex mutex;
};

Loaded& loaded() {
  static auto* const all = new Loaded;  // programs call MPI at exit
  return *all;
}

int count_loaded(dl_phdr_info* info, std::size_t, void* count) {
  *static_cast<unsigned long long*>(count) = info->dlpi_adds;
  return 1;  // the first object tells
}

/// The program may load them at any time.
void look_for_libraries() {
  auto& all = loaded();
  unsigned long long count = 0;
  dl_iterate_phdr(count_loaded, &count);
  if (count == all.libraries.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(all.mutex);
  for (std::size_t i = 0; i < vendors.size(); ++i) {
    if (all.ask[i] != nullptr) continue;
    void* const library = dlopen(vendors[i].library, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;  // else it stays: we keep the handle
    all.ask[i] = reinterpret_cast<GetAttributes>(dlsym(library, vendors[i].function));
    if (all.ask[i] != nullptr) all.any = true;
  }
  all.libraries.store(count, std::memory_order_release);
}

bool is_device_pointer(std::int64_t address) {
  for (std::size_t i = 0; i < vendors.size(); ++i) {
    const auto ask = loaded().ask[i].load(std::memory_order_relaxed);
    if (ask == nullptr) continue;
    unsigned type = 0, managed = 0;
    std::array attributes{attribute_memory_type, attribute_is_managed};
    std::array<void*, 2> values{&type, &managed};
    const int error = ask(attributes.size(), attributes.data(), values.data(),
                          static_cast<unsigned long long>(address));
    if (error == 0 && type == vendors[i].device_type && managed == 0) return true;
  }
  return false;
}

}  // namespace

bool in_device_memory(const Layout& buffer, std::int64_t bytes) {
  if (bytes == 0) return false;
  look_for_libraries();
  if (!loaded().any.load(std::memory_order_relaxed)) return false;
  // One tile: its copies lie in the same allocations.
  std::int64_t asked = -1;
  for (const auto& run : buffer.tile->runs())
    for (std::int64_t block = 0; block < run.count; ++block) {
      const auto address = buffer.origin + run.block(block);
      if (address / page == asked) continue;
      asked = address / page;
      if (is_device_pointer(address)) return true;
    }
  return false;
}

}  // namespace choir
