// Conversions between element types; the rules are those of dsl/num/convert_scalar.h.
#include <llvm/IR/Intrinsics.h>

#include "frontend/lowering.h"
#include "frontend/narrow_float.h"

namespace tile::frontend {

using namespace llvm;

namespace {

bool is_narrow(DType t) { return is_float(t) && !is_arith_float(t); }

// To the float type `to` from f32 or f64.
Value* round_float(Lowering& l, Value* v, DType to, bool toward_zero, bool saturate) {
  auto& b = l.b;
  bool from_f64 = v->getType()->isDoubleTy();
  if (to == DType::F64) return from_f64 ? v : b.CreateFPExt(v, b.getDoubleTy());
  if (to == DType::F32) {
    if (!from_f64) return v;
    Value* f = b.CreateFPTrunc(v, b.getFloatTy());
    if (!toward_zero) return f;
    Value* back = b.CreateFPExt(f, b.getDoubleTy());
    Value* bits = b.CreateBitCast(f, b.getInt32Ty());
    Value* too_far = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(Intrinsic::fabs, back), b.CreateUnaryIntrinsic(Intrinsic::fabs, v));
    return b.CreateBitCast(b.CreateSelect(too_far, b.CreateSub(bits, l.i32(1)), bits), b.getFloatTy());
  }
  if (!is_narrow(to) && !toward_zero) return b.CreateFPTrunc(v, l.type(to));
  Value* f32 = from_f64 ? f64_to_odd_f32(l, v) : v;
  Value* code = encode_narrow(l, f32, to, toward_zero, saturate);
  return is_narrow(to) ? code : b.CreateBitCast(code, l.type(to));
}

Value* widen_float(Lowering& l, Value* v, DType from) {
  if (is_narrow(from)) return decode_narrow(l, v, from);
  if (from == DType::F16 || from == DType::BF16) return l.b.CreateFPExt(v, l.b.getFloatTy());
  return v;
}

Value* float_to_int(Lowering& l, Value* v, DType to) {
  Intrinsic::ID id = is_signed(to) ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat;
  return l.b.CreateIntrinsic(id, {l.type(to), v->getType()}, {v});
}

Value* int_to_float(Lowering& l, Value* v, DType from, DType to, bool toward_zero, bool saturate) {
  auto& b = l.b;
  bool sign = is_signed(from);
  unsigned bits = v->getType()->getIntegerBitWidth();
  bool exact_in_f64 = bits <= 32;
  if (to == DType::F64 && toward_zero && !exact_in_f64) {
    Value* negative = sign ? b.CreateICmpSLT(v, b.getInt64(0)) : static_cast<Value*>(b.getFalse());
    Value* mag = b.CreateSelect(negative, b.CreateNeg(v), v);
    Value* zeros = b.CreateIntrinsic(Intrinsic::ctlz, {b.getInt64Ty()}, {mag, b.getFalse()});
    Value* cut = b.CreateIntrinsic(Intrinsic::usub_sat, {b.getInt64Ty()}, {b.getInt64(11), zeros});
    Value* kept = b.CreateShl(b.CreateLShr(mag, cut), cut);
    Value* d = b.CreateUIToFP(kept, b.getDoubleTy());
    return b.CreateSelect(negative, b.CreateFNeg(d), d);
  }
  bool direct = to == DType::F64 || (to == DType::F32 && !toward_zero);
  if (direct) return sign ? b.CreateSIToFP(v, l.type(to)) : b.CreateUIToFP(v, l.type(to));
  return round_float(l, int_to_odd_f64(l, v, sign), to, toward_zero, saturate);
}

}  // namespace

Value* emit_cast(Lowering& l, Value* v, DType from, DType to, bool toward_zero, bool saturate) {
  auto& b = l.b;
  if (from == to) return v;
  if (is_float(from)) {
    Value* wide = widen_float(l, v, from);
    if (is_bool(to)) return b.CreateFCmpUNE(wide, ConstantFP::get(wide->getType(), 0.0));
    if (is_int(to)) return float_to_int(l, wide, to);
    return round_float(l, wide, to, toward_zero, saturate);
  }
  if (is_bool(to)) return b.CreateICmpNE(v, Constant::getNullValue(v->getType()));
  if (is_int(to)) return is_signed(from) ? b.CreateSExtOrTrunc(v, l.type(to)) : b.CreateZExtOrTrunc(v, l.type(to));
  if (is_bool(from)) return int_to_float(l, b.CreateZExt(v, b.getInt32Ty()), DType::U32, to, toward_zero, saturate);
  return int_to_float(l, v, from, to, toward_zero, saturate);
}

Status lower_cast(Lowering& l, const ir::Op& o) {
  DType from = l.dtype(o.operands[0]), to = l.dtype(o.results[0]);
  bool toward_zero = o.get_text(AttrKey::Rounding, "rtne") == "rtz";
  bool saturate = o.get_int(AttrKey::Saturate, 1) != 0;
  Regs out;
  for (Value* v : l.regs(o.operands[0])) out.push_back(emit_cast(l, v, from, to, toward_zero, saturate));
  l.set(o.results[0], std::move(out));
  return Unit{};
}

Status lower_bitcast(Lowering& l, const ir::Op& o) {
  llvm::Type* to = l.type(l.dtype(o.results[0]));
  Regs out;
  for (Value* v : l.regs(o.operands[0])) out.push_back(v->getType() == to ? v : l.b.CreateBitCast(v, to));
  l.set(o.results[0], std::move(out));
  return Unit{};
}

}  // namespace tile::frontend
