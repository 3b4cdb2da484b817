/* stripefs.c: a FUSE file system striped round-robin over data servers that behave like disks
 * behind one queue each.
 *
 * Server k of K keeps its part of every file in BACK/k. Stripe s (UNIT bytes) of a file lives on
 * server s % K, where the stripes of one file lie one after the other. A server works in arrival
 * order; a request takes (it continues the server's last request ? 0 : SEEK) + bytes / BANDWIDTH
 * and a call returns when its slowest server is done (a write already when no server is more than
 * WINDOW bytes behind; fsync and close wait for the rest). Times are absolute, so late wake-ups do
 * not add up.
 *
 * The layout is readable in CephFS's form (extended attribute ceph.file.layout), counters as JSON
 * in MOUNT/.stats. Files are consistent across all processes of the machine: nothing is cached in
 * the kernel. */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <getopt.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SERVERS = 64, MAX_REQUEST = 1 << 20, STATS_BYTES = 16384 };
#define STATS_PATH "/.stats"
#define LAYOUT_NAME "ceph.file.layout"

struct server {
  pthread_mutex_t mutex;
  double busy_until_s; /* monotonic clock */
  ino_t head_file;     /* where its last request ended */
  off_t head_offset;
  long requests, seeks;
  long bytes_read, bytes_written;
  double busy_s;
};

static struct {
  const char* back;
  int servers;
  off_t unit;
  double bytes_per_s, seek_s, window_s;
} settings;
static struct server servers[MAX_SERVERS];

/* An open file: one descriptor per server. */
struct handle {
  int fd[MAX_SERVERS];
  ino_t id;
  pthread_mutex_t mutex;
  double written_until_s; /* when all writes through this handle are on disk */
};

static struct handle* handle_of(const struct fuse_file_info* info) {
  return (struct handle*)(uintptr_t)info->fh;
}

/* ---- where bytes live ---- */

struct part {
  off_t begin; /* in the server's own file */
  off_t bytes;
};

static off_t server_bytes(off_t file_bytes, int server) {
  const off_t full = file_bytes / settings.unit;
  const off_t mine = full / settings.servers + (server < full % settings.servers);
  return mine * settings.unit +
         (server == full % settings.servers ? file_bytes % settings.unit : 0);
}

/* What [offset, offset + bytes) is on one server: always one contiguous part. */
static struct part part_of(int server, off_t offset, off_t bytes) {
  const off_t begin = server_bytes(offset, server);
  return (struct part){begin, server_bytes(offset + bytes, server) - begin};
}

/* The smallest file size that explains a server file of `bytes` bytes. */
static off_t file_bytes(off_t bytes, int server) {
  if (bytes == 0) return 0;
  const off_t last = bytes - 1;
  return (last / settings.unit * settings.servers + server) * settings.unit + last % settings.unit +
         1;
}

static int size_of(const struct handle* handle, off_t* size) {
  *size = 0;
  for (int k = 0; k < settings.servers; ++k) {
    struct stat status;
    if (fstat(handle->fd[k], &status) != 0) return -errno;
    const off_t mine = file_bytes(status.st_size, k);
    if (mine > *size) *size = mine;
  }
  return 0;
}

static int backing_path(char* out, int server, const char* path) {
  const int written = snprintf(out, PATH_MAX, "%s/%d%s", settings.back, server, path);
  return written < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* ---- time ---- */

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void sleep_until(double when_s) {
  const struct timespec t = {(time_t)when_s, (long)((when_s - (double)(time_t)when_s) * 1e9)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
  }
}

/* Puts a request at the end of the server's queue; returns when it will be done. */
static double enqueue(int server, ino_t file, struct part part, int is_write) {
  struct server* s = &servers[server];
  pthread_mutex_lock(&s->mutex);
  const double now = now_s();
  const int seek = s->head_file != file || s->head_offset != part.begin;
  const double cost_s = (seek ? settings.seek_s : 0) + (double)part.bytes / settings.bytes_per_s;
  if (s->busy_until_s < now) s->busy_until_s = now;
  s->busy_until_s += cost_s;
  s->head_file = file;
  s->head_offset = part.begin + part.bytes;
  s->requests += 1;
  s->seeks += seek;
  s->busy_s += cost_s;
  *(is_write ? &s->bytes_written : &s->bytes_read) += part.bytes;
  const double done_s = s->busy_until_s;
  pthread_mutex_unlock(&s->mutex);
  return done_s;
}

static double enqueue_all(ino_t file, off_t offset, off_t bytes, int is_write) {
  double done_s = 0;
  const int first = (int)(offset / settings.unit % settings.servers);
  for (int i = 0; i < settings.servers; ++i) {
    const int k = (first + i) % settings.servers;
    const struct part part = part_of(k, offset, bytes);
    if (part.bytes == 0) continue;
    const double mine_s = enqueue(k, file, part, is_write);
    if (mine_s > done_s) done_s = mine_s;
  }
  return done_s;
}

static void wait_for_writes(struct handle* handle) {
  pthread_mutex_lock(&handle->mutex);
  const double until_s = handle->written_until_s;
  pthread_mutex_unlock(&handle->mutex);
  sleep_until(until_s);
}

/* ---- moving bytes ---- */

static int move_piece(int fd, char* data, size_t bytes, off_t at, int is_write) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t n = is_write ? pwrite(fd, data + done, bytes - done, at + (off_t)done)
                               : pread(fd, data + done, bytes - done, at + (off_t)done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -errno;
    if (n == 0) { /* a hole at the end of this server's file */
      memset(data + done, 0, bytes - done);
      return 0;
    }
    done += (size_t)n;
  }
  return 0;
}

static int move(struct handle* handle, char* data, off_t bytes, off_t offset, int is_write) {
  for (off_t done = 0; done < bytes;) {
    const off_t at = offset + done, stripe = at / settings.unit, within = at % settings.unit;
    const int k = (int)(stripe % settings.servers);
    const off_t left = settings.unit - within, piece = left < bytes - done ? left : bytes - done;
    const off_t local = stripe / settings.servers * settings.unit + within;
    const int error = move_piece(handle->fd[k], data + done, (size_t)piece, local, is_write);
    if (error != 0) return error;
    done += piece;
  }
  return 0;
}

static int print_stats(char* out, size_t room) {
  size_t used = (size_t)snprintf(out, room, "[");
  for (int k = 0; k < settings.servers; ++k) {
    struct server* s = &servers[k];
    pthread_mutex_lock(&s->mutex);
    used += (size_t)snprintf(out + used, room - used,
                             "%s{\"requests\": %ld, \"seeks\": %ld, \"bytes_read\": %ld, "
                             "\"bytes_written\": %ld, \"busy_s\": %.6f}",
                             k == 0 ? "" : ",\n ", s->requests, s->seeks, s->bytes_read,
                             s->bytes_written, s->busy_s);
    pthread_mutex_unlock(&s->mutex);
  }
  return (int)(used + (size_t)snprintf(out + used, room - used, "]\n"));
}

static int read_stats(char* data, size_t bytes, off_t offset) {
  char text[STATS_BYTES];
  const off_t length = print_stats(text, sizeof text);
  if (offset >= length) return 0;
  const size_t n = bytes < (size_t)(length - offset) ? bytes : (size_t)(length - offset);
  memcpy(data, text + offset, n);
  return (int)n;
}

static int op_read(const char* path, char* data, size_t bytes, off_t offset,
                   struct fuse_file_info* info) {
  (void)path;
  struct handle* handle = handle_of(info);
  if (handle == NULL) return read_stats(data, bytes, offset);
  off_t size = 0;
  int error = size_of(handle, &size);
  if (error != 0) return error;
  if (offset >= size) return 0;
  const off_t n = (off_t)bytes < size - offset ? (off_t)bytes : size - offset;
  const double done_s = enqueue_all(handle->id, offset, n, 0);
  error = move(handle, data, n, offset, 0);
  if (error != 0) return error;
  sleep_until(done_s);
  return (int)n;
}

static int op_write(const char* path, const char* data, size_t bytes, off_t offset,
                    struct fuse_file_info* info) {
  (void)path;
  struct handle* handle = handle_of(info);
  if (handle == NULL) return -EBADF;
  const double done_s = enqueue_all(handle->id, offset, (off_t)bytes, 1);
  const int error = move(handle, (char*)data, (off_t)bytes, offset, 1);
  if (error != 0) return error;
  pthread_mutex_lock(&handle->mutex);
  if (done_s > handle->written_until_s) handle->written_until_s = done_s;
  pthread_mutex_unlock(&handle->mutex);
  sleep_until(done_s - settings.window_s);
  return (int)bytes;
}

static int op_flush(const char* path, struct fuse_file_info* info) {
  (void)path;
  if (handle_of(info) != NULL) wait_for_writes(handle_of(info));
  return 0;
}

static int op_fsync(const char* path, int data_only, struct fuse_file_info* info) {
  (void)data_only;
  return op_flush(path, info);
}

/* ---- open and close ---- */

/* Linux 6.2 and later let writes to one file run in parallel when the reply to open says so.
 * libfuse 3.14 knows no such field, so we set the bit in the reply on its way out: this thread's
 * next writev ends in struct fuse_open_out {u64 fh; u32 flags; u32 padding}. */
enum { PARALLEL_DIRECT_WRITES = 1 << 6 };
static __thread int next_reply_is_open;

ssize_t writev(int fd, const struct iovec* parts, int count) {
  if (next_reply_is_open && count > 1 && parts[count - 1].iov_len >= 16) {
    char* end = (char*)parts[count - 1].iov_base + parts[count - 1].iov_len;
    uint32_t flags;
    memcpy(&flags, end - 8, sizeof flags);
    flags |= PARALLEL_DIRECT_WRITES;
    memcpy(end - 8, &flags, sizeof flags);
  }
  next_reply_is_open = 0;
  return syscall(SYS_writev, fd, parts, count);
}

static void close_all(struct handle* handle, int opened) {
  for (int k = 0; k < opened; ++k) close(handle->fd[k]);
  pthread_mutex_destroy(&handle->mutex);
  free(handle);
}

static int open_all(const char* path, int flags, mode_t mode, struct fuse_file_info* info) {
  struct handle* handle = calloc(1, sizeof *handle);
  if (handle == NULL) return -ENOMEM;
  pthread_mutex_init(&handle->mutex, NULL);
  for (int k = 0; k < settings.servers; ++k) {
    char name[PATH_MAX];
    int error = backing_path(name, k, path);
    if (error == 0 && (handle->fd[k] = open(name, flags, mode)) < 0) error = -errno;
    if (error != 0) {
      close_all(handle, k);
      return error;
    }
  }
  struct stat status;
  if (fstat(handle->fd[0], &status) != 0) {
    const int error = -errno;
    close_all(handle, settings.servers);
    return error;
  }
  handle->id = status.st_ino;
  info->fh = (uint64_t)(uintptr_t)handle;
  info->direct_io = 1;
  next_reply_is_open = 1;
  return 0;
}

static int op_create(const char* path, mode_t mode, struct fuse_file_info* info) {
  return open_all(path, O_CREAT | (info->flags & (O_ACCMODE | O_EXCL | O_TRUNC)), mode, info);
}

static int op_open(const char* path, struct fuse_file_info* info) {
  if (strcmp(path, STATS_PATH) == 0) {
    info->direct_io = 1;
    info->fh = 0;
    return (info->flags & O_ACCMODE) == O_RDONLY ? 0 : -EACCES;
  }
  return open_all(path, info->flags & (O_ACCMODE | O_TRUNC), 0, info);
}

static int op_release(const char* path, struct fuse_file_info* info) {
  (void)path;
  if (handle_of(info) != NULL) close_all(handle_of(info), settings.servers);
  return 0;
}

/* ---- names and attributes: every server has the same tree ---- */

/* Runs CALL with `name` set to the path on each server; the first failure is the result. */
#define ON_EACH_SERVER(path, CALL)                    \
  for (int k = 0; k < settings.servers; ++k) {        \
    char name[PATH_MAX];                              \
    const int too_long = backing_path(name, k, path); \
    if (too_long != 0) return too_long;               \
    if ((CALL) != 0) return -errno;                   \
  }                                                   \
  return 0

static int op_getattr(const char* path, struct stat* status, struct fuse_file_info* info) {
  (void)info;
  if (strcmp(path, STATS_PATH) == 0) {
    memset(status, 0, sizeof *status);
    status->st_mode = S_IFREG | 0444;
    status->st_nlink = 1;
    return 0;
  }
  char name[PATH_MAX];
  int error = backing_path(name, 0, path);
  if (error != 0) return error;
  if (lstat(name, status) != 0) return -errno;
  status->st_blksize = (blksize_t)settings.unit;
  if (!S_ISREG(status->st_mode)) return 0;
  off_t size = 0;
  blkcnt_t blocks = 0;
  for (int k = 0; k < settings.servers; ++k) {
    struct stat mine;
    error = backing_path(name, k, path);
    if (error != 0) return error;
    if (lstat(name, &mine) != 0) return -errno;
    const off_t whole = file_bytes(mine.st_size, k);
    if (whole > size) size = whole;
    blocks += mine.st_blocks;
  }
  status->st_size = size;
  status->st_blocks = blocks;
  return 0;
}

static int op_truncate(const char* path, off_t size, struct fuse_file_info* info) {
  (void)info;
  ON_EACH_SERVER(path, truncate(name, server_bytes(size, k)));
}

static int op_unlink(const char* path) { ON_EACH_SERVER(path, unlink(name)); }
static int op_mkdir(const char* path, mode_t mode) { ON_EACH_SERVER(path, mkdir(name, mode)); }
static int op_rmdir(const char* path) { ON_EACH_SERVER(path, rmdir(name)); }

static int op_chmod(const char* path, mode_t mode, struct fuse_file_info* info) {
  (void)info;
  ON_EACH_SERVER(path, chmod(name, mode));
}

static int op_chown(const char* path, uid_t owner, gid_t group, struct fuse_file_info* info) {
  (void)info;
  ON_EACH_SERVER(path, lchown(name, owner, group));
}

static int op_utimens(const char* path, const struct timespec times[2],
                      struct fuse_file_info* info) {
  (void)info;
  ON_EACH_SERVER(path, utimensat(AT_FDCWD, name, times, AT_SYMLINK_NOFOLLOW));
}

static int op_rename(const char* from, const char* to, unsigned flags) {
  for (int k = 0; k < settings.servers; ++k) {
    char source[PATH_MAX], target[PATH_MAX];
    const int error = backing_path(source, k, from) | backing_path(target, k, to);
    if (error != 0) return -ENAMETOOLONG;
    if (renameat2(AT_FDCWD, source, AT_FDCWD, target, flags) != 0) return -errno;
  }
  return 0;
}

static int op_readdir(const char* path, void* buffer, fuse_fill_dir_t fill, off_t offset,
                      struct fuse_file_info* info, enum fuse_readdir_flags flags) {
  (void)offset, (void)info, (void)flags;
  char name[PATH_MAX];
  const int error = backing_path(name, 0, path);
  if (error != 0) return error;
  DIR* folder = opendir(name);
  if (folder == NULL) return -errno;
  const struct dirent* entry;
  while ((entry = readdir(folder)) != NULL) fill(buffer, entry->d_name, NULL, 0, 0);
  closedir(folder);
  return 0;
}

static int op_statfs(const char* path, struct statvfs* status) {
  (void)path;
  return statvfs(settings.back, status) == 0 ? 0 : -errno;
}

/* ---- the layout, as CephFS shows it ---- */

static int layout_text(const char* attribute, char* out, size_t room) {
  const char* rest = attribute + strlen(LAYOUT_NAME);
  const long unit = (long)settings.unit;
  if (strncmp(attribute, LAYOUT_NAME, strlen(LAYOUT_NAME)) != 0) return -ENODATA;
  if (*rest == '\0')
    return snprintf(out, room, "stripe_unit=%ld stripe_count=%d object_size=%ld pool=stripefs",
                    unit, settings.servers, unit);
  if (strcmp(rest, ".stripe_unit") == 0 || strcmp(rest, ".object_size") == 0)
    return snprintf(out, room, "%ld", unit);
  if (strcmp(rest, ".stripe_count") == 0) return snprintf(out, room, "%d", settings.servers);
  if (strcmp(rest, ".pool") == 0) return snprintf(out, room, "stripefs");
  return -ENODATA;
}

static int op_getxattr(const char* path, const char* attribute, char* value, size_t room) {
  struct stat status;
  const int error = op_getattr(path, &status, NULL);
  if (error != 0) return error;
  if (!S_ISREG(status.st_mode) || strcmp(path, STATS_PATH) == 0) return -ENODATA;
  char text[256];
  const int length = layout_text(attribute, text, sizeof text);
  if (length < 0 || room == 0) return length;
  if ((size_t)length > room) return -ERANGE;
  memcpy(value, text, (size_t)length);
  return length;
}

/* ---- start ---- */

static void* op_init(struct fuse_conn_info* connection, struct fuse_config* config) {
  connection->max_write = MAX_REQUEST;
  config->attr_timeout = config->entry_timeout = config->negative_timeout = 0;
  config->use_ino = 1;
  return NULL;
}

static const struct fuse_operations operations = {
    .init = op_init,
    .getattr = op_getattr,
    .create = op_create,
    .open = op_open,
    .release = op_release,
    .read = op_read,
    .write = op_write,
    .flush = op_flush,
    .fsync = op_fsync,
    .truncate = op_truncate,
    .unlink = op_unlink,
    .mkdir = op_mkdir,
    .rmdir = op_rmdir,
    .rename = op_rename,
    .readdir = op_readdir,
    .chmod = op_chmod,
    .chown = op_chown,
    .utimens = op_utimens,
    .statfs = op_statfs,
    .getxattr = op_getxattr,
};

static _Noreturn void usage(void) {
  fprintf(
      stderr,
      "usage: stripefs --back DIR --servers K --unit BYTES --bandwidth BYTES_PER_S --seek-ms MS "
      "[--window BYTES] MOUNTPOINT\n");
  exit(2);
}

static double number(const char* text) {
  char* end;
  const double value = strtod(text, &end);
  if (end == text || *end != '\0' || value < 0) usage();
  return value;
}

static const char* parse(int argc, char** argv) {
  static const struct option options[] = {{"back", 1, NULL, 'b'},    {"servers", 1, NULL, 'k'},
                                          {"unit", 1, NULL, 'u'},    {"bandwidth", 1, NULL, 'w'},
                                          {"seek-ms", 1, NULL, 's'}, {"window", 1, NULL, 'a'},
                                          {NULL, 0, NULL, 0}};
  double window = 0;
  for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    switch (c) {
      case 'b':
        settings.back = optarg;
        break;
      case 'k':
        settings.servers = (int)number(optarg);
        break;
      case 'u':
        settings.unit = (off_t)number(optarg);
        break;
      case 'w':
        settings.bytes_per_s = number(optarg);
        break;
      case 's':
        settings.seek_s = number(optarg) / 1000;
        break;
      case 'a':
        window = number(optarg);
        break;
      default:
        usage();
    }
  }
  if (settings.back == NULL || settings.servers < 1 || settings.servers > MAX_SERVERS ||
      settings.unit < 1 || settings.bytes_per_s <= 0 || optind + 1 != argc)
    usage();
  settings.window_s = window / settings.bytes_per_s;
  return argv[optind];
}

static void prepare_server(int k) {
  char name[PATH_MAX];
  if (backing_path(name, k, "") != 0 || (mkdir(name, 0755) != 0 && errno != EEXIST)) {
    fprintf(stderr, "stripefs: cannot make %s: %s\n", name, strerror(errno));
    exit(1);
  }
  pthread_mutex_init(&servers[k].mutex, NULL);
  servers[k].head_offset = -1;
}

int main(int argc, char** argv) {
  const char* mountpoint = parse(argc, argv);
  /* Every open file of every rank is one on each server. */
  struct rlimit files = {1 << 18, 1 << 18};
  if (setrlimit(RLIMIT_NOFILE, &files) != 0 && getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  for (int k = 0; k < settings.servers; ++k) prepare_server(k);
  /* A waiting request holds a thread, so there are more of them than any test has ranks. */
  char* fuse_argv[] = {
      argv[0],           "-f", "-o", "max_threads=256,fsname=stripefs,subtype=choir",
      (char*)mountpoint, NULL};
  return fuse_main(5, fuse_argv, &operations, NULL);
}
