// machines.hpp: which measured figures hold for a file: those of this kind of node and of the mount
// it lies on. Local; reads files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "settings/machine_file.hpp"

namespace choir {

/// This node.
HostKind host_kind_here();

/// The top of the mount a folder or file lies on. Throws std::runtime_error.
std::string mount_of(const std::string& path);

/// Where machine files lie: the user's folder, then the site's.
std::string user_machine_folder();  ///< empty: neither XDG_CONFIG_HOME nor HOME is set
inline constexpr const char* site_machine_folder = "/etc/choir/machines";

/// The machine files that count for a process.
class Machines {
 public:
  /// `setting` is `machine`: auto (both folders), off, or a file. The kind of this node is looked
  /// up only where there is a file to compare it with: that may take milliseconds.
  explicit Machines(const std::string& setting, std::optional<HostKind> host = {});

  /// The figures for files of this device; null: none.
  const MachineCosts* costs_for(std::int64_t device);
  /// What the user should know, once: the sentences since the last call.
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  void read(const std::string& path);

  struct Usable {
    std::int64_t device;
    MachineFile file;
  };
  std::optional<HostKind> host_;
  std::vector<Usable> usable_;          ///< of this kind of node
  std::vector<std::string> strangers_;  ///< what is to be said of the figures of other nodes
  std::vector<std::string> warnings_;
  bool said_mount_ = false;
};

}  // namespace choir
