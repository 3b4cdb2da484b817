#include "elf.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <stdexcept>

namespace choir::command {
namespace {

#if defined(__x86_64__)
constexpr int own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int own_machine = EM_AARCH64;
#elif defined(__powerpc64__)
constexpr int own_machine = EM_PPC64;
#elif defined(__riscv)
constexpr int own_machine = EM_RISCV;
#else
constexpr int own_machine = EM_NONE;
#endif
constexpr unsigned char own_order =
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

/// A whole file, mapped; only touched pages are read.
class Mapped {
 public:
  explicit Mapped(const std::string& path) : path_(path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (fd < 0 || fstat(fd, &info) != 0) fail(fd);
    size_ = static_cast<std::size_t>(info.st_size);
    if (size_ > 0) {
      data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
      if (data_ == MAP_FAILED) fail(fd);
    }
    ::close(fd);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    if (size_ > 0) munmap(data_, size_);
  }

  std::span<const char> bytes(std::size_t at, std::size_t length) const {
    if (at > size_ || length > size_ - at)
      throw std::runtime_error(path_ + " is a damaged ELF file");
    return {static_cast<const char*>(data_) + at, length};
  }
  template <class T>
  T get(std::size_t at) const {
    T value;
    std::memcpy(&value, bytes(at, sizeof value).data(), sizeof value);
    return value;
  }
  std::string text(std::size_t at) const {
    const auto rest = bytes(at, size_ - std::min(at, size_));
    return {rest.data(), strnlen(rest.data(), rest.size())};
  }
  std::size_t size() const { return size_; }

 private:
  [[noreturn]] void fail(int fd) const {
    const int why = errno;
    if (fd >= 0) ::close(fd);
    throw std::runtime_error(fmt::format("cannot read {}: {}", path_, std::strerror(why)));
  }

  std::string path_;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

std::vector<Elf64_Phdr> segments_of(const Mapped& file) {
  const auto header = file.get<Elf64_Ehdr>(0);
  std::vector<Elf64_Phdr> segments;
  for (std::size_t i = 0; i < header.e_phnum; ++i)
    segments.push_back(file.get<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr)));
  return segments;
}

/// Where in the file the loader would find an address.
std::size_t file_position(const std::vector<Elf64_Phdr>& segments, std::size_t address) {
  for (const auto& s : segments)
    if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
      return address - s.p_vaddr + s.p_offset;
  throw std::runtime_error("an ELF file's dynamic section points nowhere");
}

std::vector<std::string> split_path(const std::string& list) {
  std::vector<std::string> folders;
  for (std::size_t at = 0; at <= list.size();) {
    const auto end = std::min(list.find(':', at), list.size());
    if (end > at) folders.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return folders;
}

void read_dynamic(const Mapped& file, const std::vector<Elf64_Phdr>& segments,
                  const Elf64_Phdr& dynamic, Elf& elf) {
  std::vector<Elf64_Dyn> entries;
  std::size_t strings = 0;
  for (std::size_t i = 0; i < dynamic.p_filesz / sizeof(Elf64_Dyn); ++i) {
    const auto entry = file.get<Elf64_Dyn>(dynamic.p_offset + i * sizeof(Elf64_Dyn));
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_STRTAB) strings = file_position(segments, entry.d_un.d_ptr);
    entries.push_back(entry);
  }
  for (const auto& entry : entries) {
    const auto text = [&] { return file.text(strings + entry.d_un.d_val); };
    if (entry.d_tag == DT_NEEDED)
      elf.needed.push_back(text());
    else if (entry.d_tag == DT_SONAME)
      elf.soname = text();
    else if (entry.d_tag == DT_RPATH)
      elf.rpath = split_path(text());
    else if (entry.d_tag == DT_RUNPATH)
      elf.runpath = split_path(text());
  }
  if (!elf.runpath.empty()) elf.rpath.clear();  // as the loader does
}

}  // namespace

std::optional<Elf> read_elf(const std::string& path) {
  const Mapped file(path);
  if (file.size() < EI_NIDENT || std::memcmp(file.bytes(0, SELFMAG).data(), ELFMAG, SELFMAG) != 0)
    return std::nullopt;
  Elf elf;
  const auto ident = file.get<std::array<unsigned char, EI_NIDENT>>(0);
  elf.foreign = ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != own_order;
  if (elf.foreign) return elf;
  elf.machine = file.get<Elf64_Ehdr>(0).e_machine;
  elf.foreign = elf.machine != own_machine;
  if (elf.foreign) return elf;
  const auto segments = segments_of(file);
  for (const auto& segment : segments) {
    if (segment.p_type == PT_INTERP) elf.has_interpreter = true;
    if (segment.p_type == PT_DYNAMIC) read_dynamic(file, segments, segment, elf);
  }
  return elf;
}

bool file_contains(const std::string& path, std::string_view text) {
  const Mapped file(path);
  const auto all = file.bytes(0, file.size());
  return memmem(all.data(), all.size(), text.data(), text.size()) != nullptr;
}

}  // namespace choir::command
