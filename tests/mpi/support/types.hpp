// types.hpp: datatypes built twice, once by MPI and once as a type map of our own.
//
// Each constructor calls the MPI constructor of the same name and computes the type map from the
// standard's definition. MPI is never asked what a type looks like, so that an oracle built on the
// map is independent of it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace choir::test {

/// One basic element of a type map.
struct Piece {
  std::int64_t offset = 0;
  std::int64_t length = 0;
};

struct Typemap {
  std::vector<Piece> pieces;  // in type map order
  std::int64_t lb = 0;
  std::int64_t ub = 0;

  std::int64_t extent() const { return ub - lb; }
  std::int64_t size() const;
  std::int64_t true_lb() const;
  std::int64_t true_ub() const;
};

/// An owned MPI datatype with its map. Predefined types are not freed.
class Type {
 public:
  Type(MPI_Datatype handle, bool predefined, Typemap map, std::string text);
  Type(Type&& other) noexcept;
  Type& operator=(Type&& other) noexcept;
  ~Type();

  MPI_Datatype handle() const { return handle_; }
  const Typemap& map() const { return map_; }
  /// The construction, readable enough to repeat it by hand.
  const std::string& text() const { return text_; }
  void commit();
  /// Frees the handle before its time; the map stays.
  void free_handle();

 private:
  MPI_Datatype handle_;
  bool predefined_;
  Typemap map_;
  std::string text_;
};

using Ints = std::vector<int>;
using Offsets = std::vector<MPI_Aint>;

Type basic(int bytes);  // 1, 2, 4 or 8
Type dup(const Type& of);
Type contiguous(int count, const Type& of);
Type vector(int count, int block, int stride, const Type& of);
Type hvector(int count, int block, MPI_Aint stride, const Type& of);
Type indexed(const Ints& blocks, const Ints& at, const Type& of);
Type hindexed(const Ints& blocks, const Offsets& at, const Type& of);
Type indexed_block(int block, const Ints& at, const Type& of);
Type hindexed_block(int block, const Offsets& at, const Type& of);
Type structure(const Ints& blocks, const Offsets& at, const std::vector<const Type*>& of);
Type resized(const Type& of, MPI_Aint lb, MPI_Aint extent);
Type subarray(const Ints& sizes, const Ints& part, const Ints& start, int order, const Type& of);

struct Distribution {
  int kind;      // MPI_DISTRIBUTE_BLOCK, _CYCLIC or _NONE
  int argument;  // block length, or MPI_DISTRIBUTE_DFLT_DARG
  int processes;
};
Type darray(int rank, const Ints& sizes, const std::vector<Distribution>& dims, int order,
            const Type& of);

}  // namespace choir::test
