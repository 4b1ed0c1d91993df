#pragma once
// reduce and arg_reduce.
#include <vector>

#include "dsl/support/result.h"
#include "interpreter/tile/code.h"

namespace tile::interp {

// A reduction seen as [outer, extent, inner]. It goes as a tree over the bits of the axis index: `source[j]` is the
// axis index that takes place j, so arranged that the first bit to combine is the top bit of j. Places without an
// element (source[j] >= extent) hold the identity.
struct Reduce {
  Ref src, dst;
  num::ElementwiseKernel combine = nullptr;
  uint32_t size = 0;
  int64_t outer = 1, extent = 1, inner = 1;
  std::vector<uint32_t> source;
  uint64_t identity = 0;  // raw bits
};
void run_reduce(Worker& w, const void* payload);

struct ArgReduce {
  Ref src, value, index;
  DType dtype = DType::F32;
  bool max = true;
  int64_t outer = 1, extent = 1, inner = 1;
};
void run_arg_reduce(Worker& w, const void* payload);

// The elementwise operation behind a `combine` attribute, and the raw bits e with combine(e, x) == x for all x.
struct Combine {
  OpKind op;
  uint64_t identity;
};
Result<Combine> combine_of(std::string_view name, DType t);
// `source` of Reduce for an order (bits of the axis, first combined first); an empty order means ascending.
Result<std::vector<uint32_t>> reduce_places(const std::vector<int64_t>& order, int64_t extent);

}  // namespace tile::interp
