#pragma once
// dot: by the matrix instruction that fix_values chose, through dsl/num's models, or as a chain of fused
// multiply-adds.
#include <vector>

#include "dsl/support/result.h"
#include "dsl/target/mfma.h"
#include "interpreter/tile/code.h"

namespace tile::interp {

struct Dot {
  Ref a, b, c, dst;
  DType a_type = DType::F16, b_type = DType::F16, c_type = DType::F32;
  int64_t m = 0, n = 0, k = 0;
  // The machine's stream of K: position s multiplies column stream[s] of a with row stream[s] of b, +0 where it is -1.
  std::vector<int64_t> stream;
  bool identity = false;  // stream[s] == s for all s < k, and there are k of them
  std::optional<MfmaId> mfma;
  Arch arch = Arch::Gfx942;
};
void run_dot(Worker& w, const void* payload);
// c += a * b on dense row-major arrays of d.m x d.k, d.k x d.n, d.m x d.n. `scratch` is kept for the next call.
void dot_arrays(const Dot& d, const std::byte* a, const std::byte* b, std::byte* c, std::vector<std::byte>& scratch);

// Fills stream and mfma from the attributes of a dot whose shapes and types are set.
Status plan_dot(const ir::Op& op, Dot& dot);

}  // namespace tile::interp
