#pragma once
// Global memory through 64-bit addresses, for the threads where a mask is true.
#include "frontend/lowering.h"

namespace tile::frontend {

// `count` neighbours of `bytes` bytes as integers; 0 where the mask is false. A null mask is true everywhere.
Regs masked_load(Lowering& l, llvm::Value* pointer, unsigned count, unsigned bytes, unsigned align, llvm::Value* mask);
void masked_store(Lowering& l, llvm::ArrayRef<llvm::Value*> elements, llvm::Value* pointer, unsigned align, llvm::Value* mask);

}  // namespace tile::frontend
