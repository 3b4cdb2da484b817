// differential_blocking.cpp: one case of blocking and split collectives, mixed with individual
// calls.
#include <fmt/format.h>

#include "support/harness.hpp"

namespace choir::test {
namespace {

/// How a transfer is asked for.
struct Form {
  bool write;
  bool collective;
  bool explicit_offset;
  bool split;
  bool large_count;

  std::string name() const {
    return fmt::format("{}{}{}{}{}", write ? "write" : "read", explicit_offset ? "_at" : "",
                       collective ? "_all" : "", split ? "_begin/end" : "",
                       large_count ? "_c" : "");
  }
};

#ifdef CHOIR_HAS_LARGE_COUNT
constexpr bool has_large_count = true;
#define CHOIR_CALL(name, ...) (f.large_count ? name##_c(__VA_ARGS__) : name(__VA_ARGS__))
#else
constexpr bool has_large_count = false;
#define CHOIR_CALL(name, ...) name(__VA_ARGS__)
#endif

/// Individual calls are the host's own, so they need views that the host handles.
Form random_form(Rng& rng, bool may_write, bool may_read, bool may_be_individual) {
  Form form{};
  form.write = may_write && (!may_read || rng.chance(55));
  form.collective = !may_be_individual || rng.chance(70);
  form.explicit_offset = rng.chance(50);
  form.split = form.collective && rng.chance(25);
  form.large_count = has_large_count && rng.chance(25);
  return form;
}

int perform_split(const Form& f, MPI_File fh, MPI_Offset at, void* buffer, int count,
                  MPI_Datatype type, MPI_Status* status) {
  int code = MPI_SUCCESS;
  if (f.write && f.explicit_offset) {
    code = CHOIR_CALL(MPI_File_write_at_all_begin, fh, at, buffer, count, type);
    return code ? code : MPI_File_write_at_all_end(fh, buffer, status);
  }
  if (f.write) {
    code = CHOIR_CALL(MPI_File_write_all_begin, fh, buffer, count, type);
    return code ? code : MPI_File_write_all_end(fh, buffer, status);
  }
  if (f.explicit_offset) {
    code = CHOIR_CALL(MPI_File_read_at_all_begin, fh, at, buffer, count, type);
    return code ? code : MPI_File_read_at_all_end(fh, buffer, status);
  }
  code = CHOIR_CALL(MPI_File_read_all_begin, fh, buffer, count, type);
  return code ? code : MPI_File_read_all_end(fh, buffer, status);
}

int perform_individual(const Form& f, MPI_File fh, MPI_Offset at, void* buffer, int count,
                       MPI_Datatype type, MPI_Status* status) {
  if (f.write && f.explicit_offset)
    return CHOIR_CALL(MPI_File_write_at, fh, at, buffer, count, type, status);
  if (f.write) return CHOIR_CALL(MPI_File_write, fh, buffer, count, type, status);
  if (f.explicit_offset) return CHOIR_CALL(MPI_File_read_at, fh, at, buffer, count, type, status);
  return CHOIR_CALL(MPI_File_read, fh, buffer, count, type, status);
}

int perform(const Form& f, MPI_File fh, MPI_Offset at, void* buffer, int count, MPI_Datatype type,
            MPI_Status* status) {
  if (f.split) return perform_split(f, fh, at, buffer, count, type, status);
  if (!f.collective) return perform_individual(f, fh, at, buffer, count, type, status);
  if (f.write && f.explicit_offset)
    return CHOIR_CALL(MPI_File_write_at_all, fh, at, buffer, count, type, status);
  if (f.write) return CHOIR_CALL(MPI_File_write_all, fh, buffer, count, type, status);
  if (f.explicit_offset)
    return CHOIR_CALL(MPI_File_read_at_all, fh, at, buffer, count, type, status);
  return CHOIR_CALL(MPI_File_read_all, fh, buffer, count, type, status);
}

/// Where each rank's transfer starts; for pointer calls some ranks seek first.
std::int64_t choose_offset(Case& c, TestFile& file, const Form& form, int rank) {
  const std::int64_t reach = c.rng.pick(std::vector<std::int64_t>{0, 5, 40, 600});
  const std::int64_t wanted = c.rng.between(0, reach);
  if (form.explicit_offset) return wanted;
  std::int64_t& position = file.positions[static_cast<std::size_t>(rank)];
  if (!c.rng.chance(25) || (file.mode & MPI_MODE_APPEND && file.views.empty())) return position;
  const bool relative = c.rng.chance(40);
  const std::int64_t before = position;
  position = wanted;
  if (rank == file.me)
    c.expect_success(MPI_File_seek(file.handle, relative ? wanted - before : wanted,
                                   relative ? MPI_SEEK_CUR : MPI_SEEK_SET),
                     "MPI_File_seek");
  return position;
}

void check_position(Case& c, TestFile& file) {
  MPI_Offset found = -1;
  if (!c.expect_success(MPI_File_get_position(file.handle, &found), "MPI_File_get_position"))
    return;
  const std::int64_t expected = file.positions[static_cast<std::size_t>(file.me)];
  if (found != expected) c.fail(fmt::format("file pointer {} instead of {}", found, expected));
}

/// A short read leaves the pointer where implementations disagree; seek to where the model has it.
void restore_position(Case& c, TestFile& file) {
  c.expect_success(
      MPI_File_seek(file.handle, file.positions[static_cast<std::size_t>(file.me)], MPI_SEEK_SET),
      "MPI_File_seek");
}

std::vector<Transfer> choose_transfers(Case& c, TestFile& file, const Form& form) {
  std::vector<Transfer> transfers;
  for (int r = 0; r < file.ranks; ++r) {
    const std::int64_t offset = choose_offset(c, file, form, r);
    transfers.push_back(
        random_transfer(c.rng, file, r, offset, 1 << 16, file.passes_through || !form.collective));
  }
  return transfers;
}

/// Advances the pointers of all ranks by what was asked for.
void advance_pointers(TestFile& file, const Form& form, const std::vector<Transfer>& transfers) {
  if (form.explicit_offset) return;
  for (int r = 0; r < file.ranks; ++r)
    file.positions[static_cast<std::size_t>(r)] +=
        transfers[static_cast<std::size_t>(r)].bytes / file.etype_size(r);
}

void finish_read(Case& c, TestFile& file, const Form& form, const Transfer& mine, Buffer& expected,
                 const Buffer& found, const MPI_Status& status) {
  const Bytes stream = file.model.read(mine.in_file);
  const auto bytes = static_cast<std::int64_t>(stream.size());
  const bool is_short = bytes < mine.bytes;
  expected.scatter(mine.in_memory, stream);
  check_buffer(c, expected, found);
  check_status(c, mine, status, bytes);
  if (form.explicit_offset || !is_short) return check_position(c, file);
  restore_position(c, file);
}

/// Individual calls are the host's: they must not meet the end of the file (see open_file).
void keep_off_end_of_file(Case& c, TestFile& file, Form& form, const std::vector<Transfer>& all) {
  if (form.collective) return;
  std::int64_t end = 0;
  for (const Transfer& t : all)
    if (!t.in_file.empty()) end = std::max(end, t.in_file.back().offset + t.in_file.back().length);
  if (end <= file.model.size()) return;
  if (file.mode & MPI_MODE_RDONLY)
    form.collective = true;
  else
    ensure_size(c, file, end);
}

void one_call(Case& c, TestFile& file, Form form) {
  std::vector<Transfer> transfers = choose_transfers(c, file, form);
  keep_off_end_of_file(c, file, form, transfers);
  // Under Open MPI a later write of the same rank was seen to be overtaken by an earlier collective
  // one.
  if (file.passes_through) sync_file(c, file);
  const std::uint64_t pattern = c.rng.next();
  const auto me = static_cast<std::size_t>(file.me);
  Transfer& mine = transfers[me];
  mine.memory.commit();
  c.call = fmt::format("{} count {} of {} at {}", form.name(), mine.count, mine.memory.text(),
                       mine.offset);
  c.note(c.call);
  Buffer buffer(mine.memory.map(), mine.count, pattern + me);
  Buffer expected = buffer;
  MPI_Status status{};
  const int code = perform(form, file.handle, mine.offset, buffer.base(), mine.count,
                           mine.memory.handle(), &status);
  advance_pointers(file, form, transfers);
  if (!c.expect_success(code, form.name().c_str())) return;
  if (!form.write) return finish_read(c, file, form, mine, expected, buffer, status);
  check_buffer(c, expected, buffer);
  check_status(c, mine, status, mine.bytes);
  check_position(c, file);
  for (std::size_t r = 0; r < transfers.size(); ++r) {
    const Buffer theirs(transfers[r].memory.map(), transfers[r].count, pattern + r);
    file.model.write(transfers[r].in_file, theirs.gather(transfers[r].in_memory));
  }
}

/// Everybody appends behind everybody of lower rank, through the pointer that append mode left.
void append_once(Case& c, TestFile& file) {
  c.call = "append";
  check_position(c, file);
  std::vector<std::int64_t> bytes;
  std::int64_t before = 0;
  const std::uint64_t pattern = c.rng.next();
  for (int r = 0; r < file.ranks; ++r) {
    bytes.push_back(c.rng.between(0, 700));
    if (r < file.me) before += bytes.back();
  }
  c.expect_success(MPI_File_seek(file.handle, before, MPI_SEEK_CUR), "MPI_File_seek");
  const auto me = static_cast<std::size_t>(file.me);
  Bytes mine = pattern_bytes(static_cast<std::size_t>(bytes[me]), pattern + me);
  MPI_Status status;
  c.expect_success(MPI_File_write_all(file.handle, mine.data(), static_cast<int>(mine.size()),
                                      MPI_BYTE, &status),
                   "MPI_File_write_all");
  std::int64_t at = file.model.size();
  for (std::size_t r = 0; r < bytes.size(); at += bytes[r++])
    file.model.write({{at, bytes[r]}},
                     pattern_bytes(static_cast<std::size_t>(bytes[r]), pattern + r));
  sync_file(c, file);
  compare_file(c, file);
}

/// A view and a few calls through it.
void one_phase(Case& c, TestFile& file, bool may_write, bool may_read) {
  const bool writing = may_write && (!may_read || c.rng.chance(70));
  const bool tame = file.passes_through || c.rng.chance(30);
  auto views = tame      ? tame_views(c.rng, file.ranks, file.basic_bytes)
               : writing ? exclusive_views(c.rng, file.ranks, file.basic_bytes)
                         : overlapping_views(c.rng, file.ranks, file.basic_bytes);
  set_views(c, file, std::move(views));
  // A rank that failed goes on, or the others would wait for it.
  for (std::int64_t calls = c.rng.between(1, 4); calls > 0; --calls)
    one_call(c, file, random_form(c.rng, writing, may_read, tame));
}

struct OpenMode {
  int mode;
  std::int64_t existing;
};

OpenMode random_mode(Rng& rng) {
  const std::int64_t existing = rng.chance(50) ? rng.between(0, 60000) : -1;
  switch (rng.between(0, 9)) {
    case 0:
      return {MPI_MODE_RDONLY, rng.between(0, 60000)};
    case 1:
    case 2:
      return {MPI_MODE_WRONLY | MPI_MODE_CREATE, existing};
    case 3:
      return {MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_APPEND, existing};
    default:
      return {MPI_MODE_RDWR | MPI_MODE_CREATE, existing};
  }
}

void check_size(Case& c, TestFile& file) {
  MPI_Offset size = -1;
  c.expect_success(MPI_File_get_size(file.handle, &size), "MPI_File_get_size");
  if (size != file.model.size())
    c.fail(fmt::format("MPI_File_get_size gives {} instead of {}", size, file.model.size()));
}

/// All ranks must leave together: one rank's failure ends the case on all.
bool anyone_failed(Case& c, MPI_Comm comm) {
  int failed = c.failed;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm);
  return failed != 0;
}

void session(Case& c, MPI_Comm comm) {
  TestFile file;
  const OpenMode how = random_mode(c.rng);
  file.basic_bytes = 1 << c.rng.between(0, 3);
  if (!open_file(c, file, comm, how.mode, how.existing, fmt::format("case{}", c.index))) return;
  const bool may_write = !(how.mode & MPI_MODE_RDONLY);
  const bool may_read = !(how.mode & MPI_MODE_WRONLY);
  if (how.mode & MPI_MODE_APPEND) append_once(c, file);
  if (may_write && c.rng.chance(5)) {
    c.expect_success(MPI_File_set_atomicity(file.handle, 1), "MPI_File_set_atomicity");
    file.passes_through = true;
  }
  if (file.passes_through) ensure_size(c, file, largest_file);
  for (std::int64_t phases = c.rng.between(1, 3); phases > 0; --phases) {
    one_phase(c, file, may_write, may_read);
    if (anyone_failed(c, comm)) break;
    sync_file(c, file);
    check_size(c, file);
    compare_file(c, file);
  }
  close_file(c, file);
}

}  // namespace

void run_blocking_case(Case& c) {
  const std::vector<int> members = random_members(c.rng, c.world_size);
  MPI_Comm comm = communicator_of(members);
  if (comm == MPI_COMM_NULL) return;
  session(c, comm);
  MPI_Comm_free(&comm);
}

}  // namespace choir::test
