#pragma once
// Operations whose recipe in elementwise.def is CUSTOM(name): custom::name. Operands are single elements of type t (or
// pairs of them where elementwise.cpp packs); never bf16, except for fma_bf16.
#include "frontend/lowering.h"

namespace tile::frontend::custom {

using Args = llvm::ArrayRef<llvm::Value*>;

// integer_ops.cpp
llvm::Value* div_s(Lowering& l, DType t, Args a);
llvm::Value* div_u(Lowering& l, DType t, Args a);
llvm::Value* rem_s(Lowering& l, DType t, Args a);
llvm::Value* rem_u(Lowering& l, DType t, Args a);
llvm::Value* neg_i(Lowering& l, DType t, Args a);
llvm::Value* abs_s(Lowering& l, DType t, Args a);
llvm::Value* abs_u(Lowering& l, DType t, Args a);
llvm::Value* not_i(Lowering& l, DType t, Args a);
llvm::Value* shl(Lowering& l, DType t, Args a);
llvm::Value* shr_s(Lowering& l, DType t, Args a);
llvm::Value* shr_u(Lowering& l, DType t, Args a);
llvm::Value* mulhi_s(Lowering& l, DType t, Args a);
llvm::Value* mulhi_u(Lowering& l, DType t, Args a);
llvm::Value* ctlz(Lowering& l, DType t, Args a);
llvm::Value* cttz(Lowering& l, DType t, Args a);
llvm::Value* select(Lowering& l, DType t, Args a);

// float_ops.cpp
llvm::Value* div_f(Lowering& l, DType t, Args a);
llvm::Value* sqrt_f(Lowering& l, DType t, Args a);
llvm::Value* fma_f(Lowering& l, DType t, Args a);
llvm::Value* fma_bf16(Lowering& l, Args a);
llvm::Value* min_f(Lowering& l, DType t, Args a);
llvm::Value* max_f(Lowering& l, DType t, Args a);
llvm::Value* floor_f(Lowering& l, DType t, Args a);
llvm::Value* ceil_f(Lowering& l, DType t, Args a);
llvm::Value* trunc_f(Lowering& l, DType t, Args a);
llvm::Value* rint_f(Lowering& l, DType t, Args a);
llvm::Value* fast_exp2(Lowering& l, DType t, Args a);
llvm::Value* fast_log2(Lowering& l, DType t, Args a);
llvm::Value* fast_rcp(Lowering& l, DType t, Args a);
llvm::Value* fast_rsqrt(Lowering& l, DType t, Args a);
llvm::Value* fast_sin(Lowering& l, DType t, Args a);
llvm::Value* fast_cos(Lowering& l, DType t, Args a);

}  // namespace tile::frontend::custom
