#pragma once
// Values from other lanes of the wave. Elements of any width: pieces of 32 bits move by themselves.
#include "dsl/layout/lane_plan.h"
#include "frontend/lowering.h"

namespace tile::frontend {

// A value as dwords, lowest first (narrower ones zero-extended), and back to a type.
Regs to_dwords(Lowering& l, llvm::Value* v);
llvm::Value* from_dwords(Lowering& l, llvm::ArrayRef<llvm::Value*> dwords, llvm::Type* t);

// One dword of lane (own lane ^ mask); mask is a power of two below 64.
llvm::Value* from_lane_xor(Lowering& l, llvm::Value* dword, unsigned mask);
llvm::Value* dpp(Lowering& l, llvm::Value* dword, unsigned control);
// The dword of lane index[own lane].
llvm::Value* bpermute(Lowering& l, llvm::Value* dword, llvm::Value* index);
// v_permlane16_swap (rows = 16) or v_permlane32_swap (rows = 32): the new vdst and the new src.
std::pair<llvm::Value*, llvm::Value*> permlane_swap(Lowering& l, unsigned rows, llvm::Value* vdst, llvm::Value* src);

}  // namespace tile::frontend
