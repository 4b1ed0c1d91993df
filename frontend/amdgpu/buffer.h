#pragma once
// Buffer descriptors and the accesses through them, and elements as they are in memory.
#include "frontend/lowering.h"

namespace tile::frontend {

// Offsets and num_records stay below 2^31, so that no sum of two of them wraps. A multiple of 16.
inline constexpr int64_t max_records = 0x7FFFFFF0;
inline constexpr uint32_t out_of_range = 0x80000000u;  // and up to 15 more

// `records` (i64): bytes from `base` that are inside.
llvm::Value* buffer_descriptor(Lowering& l, llvm::Value* base, llvm::Value* records);
// `count` neighbours of `bytes` bytes each (16 at most in all, a power of two) as integers of that width, lowest first.
// Those whose entry of `keep` is false become 0; an empty `keep` keeps all.
Regs buffer_load(Lowering& l, llvm::Value* descriptor, llvm::Value* offset, llvm::Value* scalar_offset, unsigned count, unsigned bytes,
                 llvm::ArrayRef<llvm::Value*> keep = {});
void buffer_store(Lowering& l, llvm::ArrayRef<llvm::Value*> elements, llvm::Value* descriptor, llvm::Value* offset, llvm::Value* scalar_offset);

// Integers of one width as what one access moves (an integer up to 32 bits, or a vector of dwords), lowest first; and back.
llvm::Value* pack_elements(Lowering& l, llvm::ArrayRef<llvm::Value*> elements);
Regs unpack_elements(Lowering& l, llvm::Value* v, unsigned count, unsigned bytes);

// The same for memory at a pointer of any address space.
Regs plain_load(Lowering& l, llvm::Value* pointer, unsigned count, unsigned bytes, unsigned align);
void plain_store(Lowering& l, llvm::ArrayRef<llvm::Value*> elements, llvm::Value* pointer, unsigned align);

// An element as an integer of its width in memory, and back. bool is a byte, true if not zero.
llvm::Value* to_memory(Lowering& l, llvm::Value* v);
llvm::Value* from_memory(Lowering& l, llvm::Value* v, DType t);

}  // namespace tile::frontend
