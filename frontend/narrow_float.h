#pragma once
// Floats of 16 and fewer bits by integer arithmetic: the rules of dsl/num/format.h, written as LLVM IR.
#include "frontend/lowering.h"

namespace tile::frontend {

// The value of a code (i8) of fp8, fp6, fp4 or e8m0 as f32, exactly.
llvm::Value* decode_narrow(Lowering& l, llvm::Value* code, DType from);
// The code of type `to` (at most 16 bits, as an integer of the storage's width) for an f32, rounded once.
llvm::Value* encode_narrow(Lowering& l, llvm::Value* f32, DType to, bool toward_zero, bool saturate);
// An f64 as f32 rounded to odd: rounding that to 16 or fewer bits is rounding the f64.
llvm::Value* f64_to_odd_f32(Lowering& l, llvm::Value* f64);
// An integer as f64 rounded to odd in the same sense.
llvm::Value* int_to_odd_f64(Lowering& l, llvm::Value* v, bool is_signed);

}  // namespace tile::frontend
