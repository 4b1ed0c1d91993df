// Float operations with exactly one rounding, and the hardware's approximate ones.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "frontend/elementwise.h"

namespace tile::frontend::custom {

using namespace llvm;

namespace {

Value* call(Lowering& l, Intrinsic::ID id, Args a) { return l.b.CreateIntrinsic(id, {a[0]->getType()}, a); }

// f16 through f32 and one rounding to f16. f32 has 24 bits of precision, 2 * 11 + 2: rounding twice is rounding once.
// The canonicalize does nothing to the value; it keeps LLVM from computing in f16 after all, where 1 / x and sqrt are
// single instructions that are not correctly rounded.
template <class F>
Value* through_f32(Lowering& l, Args a, const F& f) {
  SmallVector<Value*, 2> wide;
  for (Value* v : a) wide.push_back(l.b.CreateFPExt(v, l.b.getFloatTy()));
  Value* r = call(l, Intrinsic::canonicalize, {f(wide)});
  return l.b.CreateFPTrunc(r, l.b.getHalfTy());
}

}  // namespace

Value* div_f(Lowering& l, DType t, Args a) {
  if (t == DType::F16) return through_f32(l, a, [&](Args w) { return l.b.CreateFDiv(w[0], w[1]); });
  return l.b.CreateFDiv(a[0], a[1]);
}

Value* sqrt_f(Lowering& l, DType t, Args a) {
  if (t == DType::F16) return through_f32(l, a, [&](Args w) { return call(l, Intrinsic::sqrt, w); });
  return call(l, Intrinsic::sqrt, a);
}

Value* fma_f(Lowering& l, DType, Args a) { return call(l, Intrinsic::fma, a); }

// The product of two bf16 is exact in f64; the sum with c is rounded to odd there (the error term of Knuth's two-sum
// says whether and where it was inexact), so that the conversion to bf16 is the only rounding that counts.
Value* fma_bf16(Lowering& l, Args a) {
  Type* f64 = l.b.getDoubleTy();
  Type* i64 = l.b.getInt64Ty();
  Value *x = l.b.CreateFPExt(a[0], f64), *y = l.b.CreateFPExt(a[1], f64), *c = l.b.CreateFPExt(a[2], f64);
  Value* p = l.b.CreateFMul(x, y);
  Value* s = l.b.CreateFAdd(p, c);
  Value* c_part = l.b.CreateFSub(s, p);
  Value* p_part = l.b.CreateFSub(s, c_part);
  Value* error = l.b.CreateFAdd(l.b.CreateFSub(p, p_part), l.b.CreateFSub(c, c_part));
  Value* bits = l.b.CreateBitCast(s, i64);
  Value* error_bits = l.b.CreateBitCast(error, i64);
  // Towards the error: away from zero if it has the sign of s, else towards zero. An even s becomes odd either way.
  Value* same = l.b.CreateICmpSGE(l.b.CreateXor(bits, error_bits), l.b.getInt64(0));
  Value* nudged = l.b.CreateAdd(bits, l.b.CreateSelect(same, l.b.getInt64(1), l.b.getInt64(~uint64_t{0})));
  Value* inexact = l.b.CreateFCmpONE(error, ConstantFP::get(f64, 0.0));  // false for NaN, which comes with Inf and NaN
  Value* even = l.b.CreateICmpEQ(l.b.CreateAnd(bits, 1), l.b.getInt64(0));
  Value* odd = l.b.CreateSelect(l.b.CreateAnd(inexact, even), nudged, bits);
  return l.b.CreateFPTrunc(l.b.CreateBitCast(odd, f64), l.b.getBFloatTy());
}

Value* min_f(Lowering& l, DType, Args a) { return call(l, Intrinsic::minimumnum, a); }
Value* max_f(Lowering& l, DType, Args a) { return call(l, Intrinsic::maximumnum, a); }
Value* floor_f(Lowering& l, DType, Args a) { return call(l, Intrinsic::floor, a); }
Value* ceil_f(Lowering& l, DType, Args a) { return call(l, Intrinsic::ceil, a); }
Value* trunc_f(Lowering& l, DType, Args a) { return call(l, Intrinsic::trunc, a); }
Value* rint_f(Lowering& l, DType, Args a) { return call(l, Intrinsic::roundeven, a); }

Value* fast_exp2(Lowering& l, DType, Args a) { return call(l, Intrinsic::amdgcn_exp2, a); }
Value* fast_log2(Lowering& l, DType, Args a) { return call(l, Intrinsic::amdgcn_log, a); }
Value* fast_rcp(Lowering& l, DType, Args a) { return call(l, Intrinsic::amdgcn_rcp, a); }
Value* fast_rsqrt(Lowering& l, DType, Args a) { return call(l, Intrinsic::amdgcn_rsq, a); }

namespace {
// x / 2 pi, which v_sin and v_cos take: one product, rounded.
Value* turns(Lowering& l, Value* x) { return l.b.CreateFMul(x, ConstantFP::get(x->getType(), 0x1.45f306p-3)); }
}  // namespace

Value* fast_sin(Lowering& l, DType, Args a) { return call(l, Intrinsic::amdgcn_sin, {turns(l, a[0])}); }
Value* fast_cos(Lowering& l, DType, Args a) { return call(l, Intrinsic::amdgcn_cos, {turns(l, a[0])}); }

}  // namespace tile::frontend::custom
