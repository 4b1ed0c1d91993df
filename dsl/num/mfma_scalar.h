#pragma once
// The sums of matrix instructions for one output element and any operands: the definition, and the way out of the
// vectorised kernels where NaN, Inf or far-off exponents occur. Follows docs/semantics.md step by step.
#include <cstdint>

#include "dsl/types/dtype.h"

namespace tile::num {

// A finite operand is sig * 2^(exp - man_bits); sig includes the implicit bit and the sign. Subnormals keep the
// exponent of the smallest normal: the hardware aligns by encoded exponents.
struct MfmaOperand {
  enum Class : uint8_t { Finite, Inf, Nan };
  Class cls;
  bool negative;
  int32_t sig;
  int exp;
};

// An element type of TR and GTR operands. xf32 is f32 with the low 13 bits cleared.
struct MfmaOperandType {
  DType dtype;
  bool xf32 = false;
};
int mfma_man_bits(MfmaOperandType t);
MfmaOperand mfma_decode(MfmaOperandType t, uint32_t bits);

// One group of L products with C. `scale` is added to every product's exponent (scaled instructions; otherwise 0);
// `man_bits` is that of A plus that of B.
float mfma_tr_group(const MfmaOperand* a, const MfmaOperand* b, unsigned L, int man_bits, int scale, float c);
float mfma_gtr_group(const MfmaOperand* a, const MfmaOperand* b, unsigned L, int man_bits, float c);

}  // namespace tile::num
