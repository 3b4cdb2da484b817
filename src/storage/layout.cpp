#include "storage/layout.hpp"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

namespace choir {
namespace {

struct FileSystem {
  std::uint32_t magic;
  const char* name;
  bool local;
  bool reserves = false;  ///< gives every file blocks ahead of stores
};

constexpr std::uint32_t ext_magic = 0xEF53;          // of ext2, ext3 and ext4
constexpr std::uint32_t overlay_magic = 0x794C7630;  // whatever lies below

constexpr std::array file_systems{
    FileSystem{ext_magic, "ext4", true},
    FileSystem{0x58465342, "xfs", true, true},
    FileSystem{0x9123683E, "btrfs", true, true},
    FileSystem{0x01021994, "tmpfs", true, true},
    FileSystem{overlay_magic, "overlayfs", true},
    FileSystem{0x2FC12FC1, "zfs", false},
    FileSystem{0xF2F52010, "f2fs", true, true},
    FileSystem{0x0BD00BD0, "lustre", false},
    FileSystem{0x6969, "nfs", false},
    FileSystem{0x47504653, "gpfs", false},
    FileSystem{0x00C36400, "ceph", false},
    FileSystem{0x19830326, "beegfs", false},
    FileSystem{0x65735546, "fuse", false},
    FileSystem{0x20030528, "pvfs2", false},
    FileSystem{0xAAD7AAEA, "panfs", false},
    FileSystem{0xFF534D42, "cifs", false},
};

std::uint32_t magic_of(int fd) {
  struct statfs info {};
  return fstatfs(fd, &info) == 0 ? static_cast<std::uint32_t>(info.f_type) : 0;
}

const FileSystem* known(std::uint32_t magic) {
  for (const auto& system : file_systems)
    if (system.magic == magic) return &system;
  return nullptr;
}

/// Whether the file's blocks are kept as extents: ext4's flag, which an overlay passes on. Files
/// that ext2 or ext3 made, and their file systems, have none, whichever driver serves them.
bool has_extents(int fd) {
  long flags = 0;  // the kernel writes an int there
  return ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_EXTENT_FL) != 0;
}

template <class Number>
Number number_at(std::span<const unsigned char> bytes, std::size_t offset) {
  Number value = 0;
  if (offset + sizeof value <= bytes.size())
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::optional<StripeLayout> plausible(std::int64_t unit, std::int64_t servers) {
  if (unit < 512 || servers < 1 || servers > 1'000'000) return std::nullopt;
  return StripeLayout{unit, static_cast<int>(servers)};
}

/// 0xffff stands for all servers, in a component that has none yet: their number is not known.
int lustre_servers(std::span<const unsigned char> attribute) {
  const auto count = number_at<std::uint16_t>(attribute, 28);
  return count == 0xffff ? 0 : count;
}

std::vector<unsigned char> attribute_of(int fd, const char* name) {
  std::vector<unsigned char> value(64 * 1024);
  const auto size = fgetxattr(fd, name, value.data(), value.size());
  value.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return value;
}

// The reply of BEEGFS_IOC_GET_STRIPEINFO: two 32-bit words and a 16-bit one, _IOR('f', 25, ...).
struct BeegfsStripeInfo {
  std::uint32_t pattern, chunk_size;
  std::uint16_t targets;
};
constexpr unsigned long beegfs_get_stripe_info = _IOR('f', 25, BeegfsStripeInfo);

std::optional<StripeLayout> ask_beegfs(int fd) {
  BeegfsStripeInfo info{};
  if (ioctl(fd, beegfs_get_stripe_info, &info) != 0) return std::nullopt;
  return plausible(info.chunk_size, info.targets);
}

}  // namespace

std::optional<StripeLayout> decode_lustre(std::span<const unsigned char> attribute) {
  constexpr std::uint32_t plain_v1 = 0x0BD10BD0, plain_v3 = 0x0BD30BD0, composite = 0x0BD60BD0;
  const auto magic = number_at<std::uint32_t>(attribute, 0);
  if (magic == plain_v1 || magic == plain_v3)
    return plausible(number_at<std::uint32_t>(attribute, 24), lustre_servers(attribute));
  if (magic != composite) return std::nullopt;
  // Progressive layouts: the last component holds the bulk of a large file.
  const auto entries = number_at<std::uint16_t>(attribute, 14);
  constexpr std::size_t header = 32, entry = 48;
  if (entries == 0) return std::nullopt;
  const auto last = header + entry * (entries - 1U);
  const auto offset = number_at<std::uint32_t>(attribute, last + 24);
  if (offset < header || offset >= attribute.size()) return std::nullopt;
  const auto component = attribute.subspan(offset);
  if (number_at<std::uint32_t>(component, 0) == composite) return std::nullopt;
  return decode_lustre(component);
}

std::optional<StripeLayout> decode_ceph(const std::string& attribute) {
  long long unit = 0, count = 0;
  const auto field = [&](const char* name, long long& value) {
    const auto at = attribute.find(name);
    return at != std::string::npos &&
           std::sscanf(attribute.c_str() + at + std::strlen(name), "=%lld", &value) == 1;
  };
  if (!field("stripe_unit", unit) || !field("stripe_count", count)) return std::nullopt;
  return plausible(unit, count);
}

std::optional<StripeLayout> read_stripe_layout(int fd) {
  switch (magic_of(fd)) {
    case 0x0BD00BD0:
      return decode_lustre(attribute_of(fd, "lustre.lov"));
    case 0x00C36400:
    case 0x65735546: {  // CephFS by the kernel or by FUSE
      const auto text = attribute_of(fd, "ceph.file.layout");
      return decode_ceph({text.begin(), text.end()});
    }
    case 0x19830326:
      return ask_beegfs(fd);
    default:
      return std::nullopt;
  }
}

std::string file_system_name(int fd) {
  const auto magic = magic_of(fd);
  if (magic == ext_magic && !has_extents(fd)) return "ext3";
  if (const auto* system = known(magic)) return system->name;
  char text[16];
  std::snprintf(text, sizeof text, "%#x", magic);
  return text;
}

bool is_local_file_system(int fd) {
  const auto* system = known(magic_of(fd));
  return system != nullptr && system->local;
}

bool can_reserve_blocks(int fd) {
  const auto magic = magic_of(fd);
  if (magic == ext_magic || magic == overlay_magic) return has_extents(fd);
  const auto* system = known(magic);
  return system != nullptr && system->reserves;
}

}  // namespace choir
