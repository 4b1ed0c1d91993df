// Integer operations that LLVM leaves undefined somewhere: here they are defined everywhere (docs/semantics.md).
#include <llvm/IR/Intrinsics.h>

#include "frontend/elementwise.h"

namespace tile::frontend::custom {

using namespace llvm;

namespace {

Constant* zero(Value* like) { return Constant::getNullValue(like->getType()); }
Constant* ones(Value* like) { return Constant::getAllOnesValue(like->getType()); }
Constant* number(Value* like, uint64_t v) { return ConstantInt::get(like->getType(), v); }
unsigned width(Value* v) { return v->getType()->getIntegerBitWidth(); }

// A divisor that is neither zero nor -1 where that overflows: 1 in its place.
Value* safe_divisor(Lowering& l, Value* y, bool is_signed) {
  Value* bad = l.b.CreateICmpEQ(y, zero(y));
  if (is_signed) bad = l.b.CreateOr(bad, l.b.CreateICmpEQ(y, ones(y)));
  return l.b.CreateSelect(bad, number(y, 1), y);
}

// Quotient and remainder by a scalar or tile divisor that may be anything. Constants fold away.
Value* signed_quotient(Lowering& l, Value* x, Value* y) {
  Value* q = l.b.CreateSDiv(x, safe_divisor(l, y, true));
  q = l.b.CreateSelect(l.b.CreateICmpEQ(y, ones(y)), l.b.CreateNeg(x), q);  // also MIN / -1 = MIN
  return l.b.CreateSelect(l.b.CreateICmpEQ(y, zero(y)), ones(y), q);
}

Value* in_range(Lowering& l, Value* count) { return l.b.CreateICmpULT(count, number(count, width(count))); }
Value* safe_count(Lowering& l, Value* count) { return l.b.CreateAnd(count, number(count, width(count) - 1)); }

}  // namespace

Value* div_s(Lowering& l, DType, Args a) { return signed_quotient(l, a[0], a[1]); }

Value* div_u(Lowering& l, DType, Args a) {
  Value* q = l.b.CreateUDiv(a[0], safe_divisor(l, a[1], false));
  return l.b.CreateSelect(l.b.CreateICmpEQ(a[1], zero(a[1])), ones(a[1]), q);
}

Value* rem_s(Lowering& l, DType, Args a) {
  Value* r = l.b.CreateSRem(a[0], safe_divisor(l, a[1], true));  // 0 for the divisor 1 that stands for -1
  return l.b.CreateSelect(l.b.CreateICmpEQ(a[1], zero(a[1])), a[0], r);
}

Value* rem_u(Lowering& l, DType, Args a) {
  Value* r = l.b.CreateURem(a[0], safe_divisor(l, a[1], false));
  return l.b.CreateSelect(l.b.CreateICmpEQ(a[1], zero(a[1])), a[0], r);
}

Value* neg_i(Lowering& l, DType, Args a) { return l.b.CreateNeg(a[0]); }

Value* abs_s(Lowering& l, DType, Args a) {
  return l.b.CreateIntrinsic(Intrinsic::abs, {a[0]->getType()}, {a[0], l.b.getFalse()});
}

Value* abs_u(Lowering&, DType, Args a) { return a[0]; }

Value* not_i(Lowering& l, DType, Args a) { return l.b.CreateNot(a[0]); }

Value* shl(Lowering& l, DType, Args a) {
  return l.b.CreateSelect(in_range(l, a[1]), l.b.CreateShl(a[0], safe_count(l, a[1])), zero(a[0]));
}

Value* shr_s(Lowering& l, DType, Args a) {
  Value* count = l.b.CreateSelect(in_range(l, a[1]), a[1], number(a[1], width(a[1]) - 1));
  return l.b.CreateAShr(a[0], count);
}

Value* shr_u(Lowering& l, DType, Args a) {
  return l.b.CreateSelect(in_range(l, a[1]), l.b.CreateLShr(a[0], safe_count(l, a[1])), zero(a[0]));
}

Value* mulhi_u(Lowering& l, DType, Args a) {
  unsigned bits = width(a[0]);
  Type* wide = l.int_type(2 * bits);
  Value* product = l.b.CreateMul(l.b.CreateZExt(a[0], wide), l.b.CreateZExt(a[1], wide));
  return l.b.CreateTrunc(l.b.CreateLShr(product, bits), a[0]->getType());
}

Value* mulhi_s(Lowering& l, DType t, Args a) { return mulhi_u(l, t, a); }

Value* ctlz(Lowering& l, DType, Args a) {
  return l.b.CreateIntrinsic(Intrinsic::ctlz, {a[0]->getType()}, {a[0], l.b.getFalse()});
}

Value* cttz(Lowering& l, DType, Args a) {
  return l.b.CreateIntrinsic(Intrinsic::cttz, {a[0]->getType()}, {a[0], l.b.getFalse()});
}

Value* select(Lowering& l, DType, Args a) { return l.b.CreateSelect(a[0], a[1], a[2]); }

}  // namespace tile::frontend::custom
