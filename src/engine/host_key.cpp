#include "engine/host_key.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace choir {
namespace {

constexpr std::uint64_t fnv_start = 1469598103934665603U;
constexpr std::uint64_t fnv_prime = 1099511628211U;

std::uint64_t mix(std::uint64_t hash, std::string_view text) {
  for (const unsigned char c : text) hash = (hash ^ c) * fnv_prime;
  return (hash ^ 0xffU) * fnv_prime;  // so that "ab" + "c" and "a" + "bc" differ
}

}  // namespace

HostIdentity this_host() {
  HostIdentity host;
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) == 0) host.name = name;
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::getline(boot, host.boot);
  struct stat memory = {};
  if (stat("/dev/shm", &memory) == 0) host.memory = memory.st_dev;
  return host;
}

std::uint64_t key_of(const HostIdentity& host) {
  auto hash = mix(mix(fnv_start, host.name), host.boot);
  for (int byte = 0; byte < 8; ++byte)
    hash = (hash ^ (host.memory >> (8 * byte) & 0xffU)) * fnv_prime;
  return hash == 0 ? 1 : hash;
}

}  // namespace choir
