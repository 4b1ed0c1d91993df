#pragma once
// How a dot is done: instruction, waves, order of K.
#include "dsl/ir/ir.h"
#include "dsl/support/result.h"
#include "dsl/target/mfma.h"

namespace tile::passes {

// The type to which the operands of a dot are cast, exactly, so that an instruction has them: nothing if it takes both as
// they are. Errors: no instruction even then.
Result<std::optional<DType>> operand_cast(Arch arch, DType a, DType b, DType c);

struct DotChoice {
  MfmaId mfma;
  unsigned waves_m, waves_n;
  std::vector<int64_t> k_bits;
};
// For operands of types that operand_cast is content with. `waves` is a power of two. `rows_first`: the result is reduced
// along N or is the operand of another dot, so waves should not share rows.
//
// The rule: 32 x 32 if both extents are at least 64 and each wave still has a whole 32 x 32 tile, else 16 x 16; of
// those the instruction with the most K that the tile fills, else the one with the least. Waves divide the tile so that
// each reads the least of the operands, the more of them along M when equal. K is permuted so that lanes hold 16 bytes of
// neighbours.
DotChoice choose_dot(Arch arch, DType a, DType b, DType c, int64_t m, int64_t n, int64_t k, unsigned waves, bool rows_first);

}  // namespace tile::passes
