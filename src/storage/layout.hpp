// layout.hpp: how a file is striped over data servers, as its file system tells.
//
// Lustre and CephFS tell by extended attributes, BeeGFS by an ioctl; all are decoded here without
// their libraries.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace choir {

struct StripeLayout {
  std::int64_t unit = 0;  ///< bytes of one stripe
  int servers = 0;        ///< stripes go round-robin over this many servers
  bool operator==(const StripeLayout&) const = default;
};

/// What the file system says about an open file; nothing if it says nothing.
std::optional<StripeLayout> read_stripe_layout(int fd);

/// Decoders of the attributes' contents, for tests and for read_stripe_layout().
std::optional<StripeLayout> decode_lustre(std::span<const unsigned char> attribute);
std::optional<StripeLayout> decode_ceph(const std::string& attribute);

/// "ext4", "ext3" (also for ext2, which looks alike), "lustre", "nfs", ... or a hexadecimal magic
/// number.
std::string file_system_name(int fd);
/// Whether ranks of one node may store into a shared mapping of the file: local file systems only.
bool is_local_file_system(int fd);
/// Whether the file system can give a file blocks ahead of stores (fallocate). Files of ext2 and
/// ext3 cannot have them, also below an overlay; what is not known to give them counts as not
/// giving them. Asking changes nothing.
bool can_reserve_blocks(int fd);

}  // namespace choir
