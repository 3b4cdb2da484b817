#include "storage/device.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace choir {
namespace {

class SystemDevice final : public Device {
 public:
  // Not by the C library's functions of these names: they are cancellation points, which costs a
  // tenth of a small transfer, and a thread that ended here would leave the other ranks waiting.
  ssize_t pread(int fd, void* data, std::size_t size, off_t offset) override {
    return syscall(SYS_pread64, fd, data, size, offset);
  }
  ssize_t pwrite(int fd, const void* data, std::size_t size, off_t offset) override {
    return syscall(SYS_pwrite64, fd, data, size, offset);
  }
  ssize_t preadv(int fd, const iovec* parts, int count, off_t offset) override {
    return ::preadv(fd, parts, count, offset);
  }
  ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) override {
    return ::pwritev(fd, parts, count, offset);
  }
};

class FaultyDevice final : public Device {
 public:
  FaultyDevice(Device& under, const Fault& fault) : under_(under), fault_(fault) {}

  ssize_t pread(int fd, void* data, std::size_t size, off_t offset) override {
    if (!admit(Fault::Operation::read)) return -1;
    const auto moved = under_.pread(fd, data, limited(Fault::Operation::read, size), offset);
    return waited(offset, moved);
  }
  ssize_t pwrite(int fd, const void* data, std::size_t size, off_t offset) override {
    if (!admit(Fault::Operation::write)) return -1;
    const auto moved = under_.pwrite(fd, data, limited(Fault::Operation::write, size), offset);
    return waited(offset, moved);
  }
  ssize_t preadv(int fd, const iovec* parts, int, off_t offset) override {
    return pread(fd, parts[0].iov_base, parts[0].iov_len, offset);
  }
  ssize_t pwritev(int fd, const iovec* parts, int, off_t offset) override {
    return pwrite(fd, parts[0].iov_base, parts[0].iov_len, offset);
  }

 private:
  bool matches(Fault::Operation operation) const {
    return fault_.operation == Fault::Operation::any || fault_.operation == operation;
  }

  bool admit(Fault::Operation operation) {
    if (!matches(operation)) return true;
    if (fault_.interrupt && !interrupted_.exchange(true)) {
      errno = EINTR;
      return false;
    }
    interrupted_ = false;
    const auto number = requests_.fetch_add(1);
    if (fault_.error != 0 && number >= fault_.after) {
      errno = fault_.error;
      return false;
    }
    return true;
  }

  std::size_t limited(Fault::Operation operation, std::size_t size) const {
    return fault_.short_bytes > 0 && matches(operation)
               ? std::min(size, static_cast<std::size_t>(fault_.short_bytes))
               : size;
  }

  ssize_t waited(off_t offset, ssize_t moved) {
    if (moved <= 0) return moved;
    double seconds =
        fault_.bytes_per_second > 0 ? static_cast<double>(moved) / fault_.bytes_per_second : 0;
    if (head_.exchange(offset + moved) != offset) seconds += fault_.seek_seconds;
    if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return moved;
  }

  Device& under_;
  Fault fault_;
  std::atomic<std::int64_t> requests_{0};
  std::atomic<bool> interrupted_{false};
  std::atomic<std::int64_t> head_{-1};
};

int error_named(const std::string& name) {
  static const std::map<std::string, int> names{
      {"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EFBIG", EFBIG},  {"EDQUOT", EDQUOT},
      {"EROFS", EROFS},   {"EACCES", EACCES}, {"ESTALE", ESTALE}};
  const auto found = names.find(name);
  if (found == names.end()) throw std::invalid_argument("unknown error name '" + name + "'");
  return found->second;
}

Fault::Operation operation_named(const std::string& name) {
  if (name == "any") return Fault::Operation::any;
  if (name == "read") return Fault::Operation::read;
  if (name == "write") return Fault::Operation::write;
  throw std::invalid_argument("op must be read, write or any, not '" + name + "'");
}

/// The whole of `text` as a number, or an error that names the field.
template <class Number>
Number number(const std::string& key, const std::string& text,
              Number (*read)(const std::string&, std::size_t*)) {
  std::size_t used = 0;
  try {
    const auto value = read(text, &used);
    if (used == text.size() && value >= 0) return value;
  } catch (const std::exception&) {
  }
  throw std::invalid_argument(key + " must be a number from 0, not '" + text + "'");
}

long long whole(const std::string& key, const std::string& text) {
  return number<long long>(
      key, text, [](const std::string& t, std::size_t* used) { return std::stoll(t, used); });
}

double real(const std::string& key, const std::string& text) {
  return number<double>(key, text,
                        [](const std::string& t, std::size_t* used) { return std::stod(t, used); });
}

bool flag(const std::string& key, const std::string& text) {
  if (text == "0" || text == "1") return text == "1";
  throw std::invalid_argument(key + " must be 0 or 1, not '" + text + "'");
}

void set_field(Fault& fault, const std::string& key, const std::string& value) {
  if (key == "op")
    fault.operation = operation_named(value);
  else if (key == "after")
    fault.after = whole(key, value);
  else if (key == "error")
    fault.error = error_named(value);
  else if (key == "short")
    fault.short_bytes = whole(key, value);
  else if (key == "eintr")
    fault.interrupt = flag(key, value);
  else if (key == "rank")
    fault.rank = static_cast<int>(whole(key, value));
  else if (key == "bytes_per_second")
    fault.bytes_per_second = real(key, value);
  else if (key == "seek")
    fault.seek_seconds = real(key, value);
  else
    throw std::invalid_argument("unknown field '" + key + "'");
}

}  // namespace

Device& system_device() {
  static SystemDevice device;
  return device;
}

Fault parse_fault(const std::string& text) {
  Fault fault;
  for (std::size_t at = 0; at < text.size();) {
    const auto comma = std::min(text.find(',', at), text.size());
    const auto field = text.substr(at, comma - at);
    const auto equals = field.find('=');
    if (equals == std::string::npos)
      throw std::invalid_argument("'" + field + "' is not key=value");
    set_field(fault, field.substr(0, equals), field.substr(equals + 1));
    at = comma + 1;
  }
  return fault;
}

std::unique_ptr<Device> faulty_device(Device& under, const Fault& fault) {
  return std::make_unique<FaultyDevice>(under, fault);
}

}  // namespace choir
