#pragma once
// Matrix instructions.
#include "dsl/target/mfma.h"
#include "frontend/lowering.h"

namespace tile::frontend {

// d = a * b + c. Elements as this lane holds them, least significant first: a_elements(id) of a, b_elements(id) of b,
// d_elements(id) of c. `a_type` and `b_type` choose the formats of the scaled instructions (used without scales).
Regs emit_mfma(Lowering& l, MfmaId id, DType a_type, DType b_type, llvm::ArrayRef<llvm::Value*> a, llvm::ArrayRef<llvm::Value*> b,
               llvm::ArrayRef<llvm::Value*> c);

}  // namespace tile::frontend
