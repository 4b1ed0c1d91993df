#pragma once
// Conversions of the fp8 types that the architecture's instructions know.
#include "frontend/lowering.h"

namespace tile::frontend {

bool is_native_fp8(Arch arch, DType t);
// The value of a code (i8) as f32.
llvm::Value* decode_fp8(Lowering& l, llvm::Value* code, DType t);
// The nearest code, ties to even, clamped to the largest finite value; NaN stays NaN.
llvm::Value* encode_fp8(Lowering& l, llvm::Value* f32, DType t);

}  // namespace tile::frontend
