#include "engine/present.hpp"

#include <link.h>
#include <sys/mman.h>

namespace choir {
namespace {

constexpr std::uintptr_t page = 4096;

/// The executable part of the object this function is in, whole pages; nothing of other objects.
int populate_own_code(dl_phdr_info* object, std::size_t, void*) {
  const auto here = reinterpret_cast<std::uintptr_t>(&populate_own_code);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    const auto begin = object->dlpi_addr + segment.p_vaddr;
    const auto end = begin + segment.p_memsz;
    if (segment.p_type != PT_LOAD || here < begin || here >= end) continue;
    const auto first = begin / page * page;
    make_present(reinterpret_cast<char*>(first), static_cast<std::int64_t>(end - first), false);
    return 1;
  }
  return 0;
}

}  // namespace

void make_present([[maybe_unused]] char* begin, [[maybe_unused]] std::int64_t bytes,
                  [[maybe_unused]] bool for_writing) {
#ifdef MADV_POPULATE_WRITE
  madvise(begin, static_cast<std::size_t>(bytes),
          for_writing ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
#endif
}

void make_code_present() { dl_iterate_phdr(populate_own_code, nullptr); }

}  // namespace choir
