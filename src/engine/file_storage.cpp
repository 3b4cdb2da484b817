// file_storage.cpp: how an open file's bytes are reached: its descriptor and its storage.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "engine/file.hpp"

namespace choir {

/// A descriptor of our own has a position and flags of its own. Where the program may not open the
/// file any more (it has changed its user, or has no descriptors left), the host's has to do.
Descriptor File::descriptor_for_transfers() const {
  const int source = facts_.descriptor.get();
  const bool writes = (facts_.mode & MPI_MODE_RDONLY) == 0;
  for (const int flags : {writes ? O_RDWR : O_RDONLY, writes ? O_WRONLY : O_RDONLY})
    if (auto own = Descriptor::owned(reopen(source, flags))) return own;
  const int error = errno;
  if (writes ? writes_anywhere(source) : reads_anywhere(source))
    return Descriptor::borrowed(source);
  errno = error;
  return {};
}

void File::open_descriptor() {
  tried_ = true;
  fd_ = descriptor_for_transfers();
  if (!fd_) {
    fd_error_ = errno;
    return;
  }
  if (!identity_ || identity_of(fd_.get()) != identity_) {
    fd_.reset();  // the host has closed its own, and the number means another file: never write
    fd_error_ = ESTALE;
    return;
  }
  readable_ = reads_anywhere(fd_.get());
  Device* device = &system_device();
  if (!settings_.fault.empty()) {
    const auto fault = parse_fault(settings_.fault);
    if (fault.rank < 0 || fault.rank == hood_->rank()) {
      faulty_ = faulty_device(*device, fault);
      device = faulty_.get();
    }
  }
  open_storage(*device);
}

void File::open_storage(Device& device) {
  // Local storage takes no longer than handing it over.
  const auto& wish = settings_.backend;
  const bool beside = wish == "threaded" || (wish == "auto" && !facts_.local_file_system);
  if (wish == "io_uring" && !faulty_) storage_ = uring_storage(fd_.get());
  if (beside) storage_ = threaded_storage(fd_.get(), device, [this] { ring(own_bell()); });
  if (!storage_) storage_ = posix_storage(fd_.get(), device);
}

int File::flush() {
  // Also bytes stored through a mapping: they are pages of the same file.
  if (!fd_ || (facts_.mode & MPI_MODE_RDONLY) != 0) return 0;
  int result = 0;
  do result = fsync(fd_.get());
  while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : error_class_of(errno);
}

int File::descriptor(int& error) {
  if (!tried_) open_descriptor();
  error = fd_error_;
  return fd_.get();
}

Storage* File::storage(int& error) {
  if (!tried_) open_descriptor();
  error = fd_error_;
  return storage_.get();
}

}  // namespace choir
