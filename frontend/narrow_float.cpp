#include "frontend/narrow_float.h"

#include "frontend/amdgpu/fp8.h"

#include <llvm/IR/Intrinsics.h>

#include <cmath>

namespace tile::frontend {

using namespace llvm;

namespace {

struct NarrowFormat {
  explicit NarrowFormat(DType t) : row(info(t)) {
    man = static_cast<int>(row.man_bits);
    bias = row.bias;
    emin = 1 - bias;
    sign_shift = row.bits - 1;
    magnitude = (1u << sign_shift) - 1;
    exp_ones = ((1u << row.exp_bits) - 1) << man;
    ieee = row.nan == NanEncoding::Ieee;
    largest = ieee ? exp_ones - 1 : row.nan == NanEncoding::AllOnes ? magnitude - 1 : magnitude;
  }
  const DTypeInfo& row;
  int man, bias, emin;
  unsigned sign_shift;
  uint32_t magnitude, exp_ones, largest;
  bool ieee;
};

Value* as_int(Lowering& l, Value* f) { return l.b.CreateBitCast(f, l.b.getInt32Ty()); }
Value* as_float(Lowering& l, Value* i) { return l.b.CreateBitCast(i, l.b.getFloatTy()); }
Constant* power(Lowering& l, int e) { return ConstantFP::get(l.b.getFloatTy(), std::ldexp(1.0, e)); }

// The nearest power of two, ties up; 0 and less to 2^-127, negative values to NaN.
Value* encode_e8m0(Lowering& l, Value* bits, bool toward_zero, bool saturate) {
  auto& b = l.b;
  Value* abs = b.CreateAnd(bits, 0x7fffffff);
  Value* nan = b.CreateOr(b.CreateICmpUGT(abs, l.i32(0x7f800000)), b.CreateICmpUGT(bits, l.i32(0x80000000)));
  Value* field = b.CreateLShr(abs, 23);
  Value* code = field;
  if (!toward_zero) {
    // Above 1.5 times the power of two it is the next. Subnormals: 2^-127 is 0x400000, and 1.5 times that 0x600000.
    Value* up = b.CreateLShr(b.CreateAnd(abs, 0x400000), 22);
    Value* sub = b.CreateZExt(b.CreateICmpUGE(abs, l.i32(0x600000)), b.getInt32Ty());
    code = b.CreateAdd(code, b.CreateSelect(b.CreateICmpEQ(field, l.i32(0)), sub, up));
  }
  Value* inf = b.CreateICmpUGE(abs, l.i32(0x7f800000));
  Value* over = b.CreateOr(b.CreateICmpUGT(code, l.i32(254)), inf);
  Value* beyond = saturate ? static_cast<Value*>(l.i32(254)) : toward_zero ? b.CreateSelect(inf, l.i32(255), l.i32(254)) : l.i32(255);
  code = b.CreateSelect(over, beyond, code);
  return b.CreateTrunc(b.CreateSelect(nan, l.i32(255), code), b.getInt8Ty());
}

}  // namespace

Value* decode_narrow(Lowering& l, Value* code, DType from) {
  if (is_native_fp8(l.k.arch, from)) return decode_fp8(l, code, from);
  auto& b = l.b;
  Value* c = b.CreateZExt(code, b.getInt32Ty());
  if (from == DType::F8E8M0) {
    Value* bits = b.CreateSelect(b.CreateICmpEQ(c, l.i32(0)), l.i32(0x00400000), b.CreateShl(c, 23));
    return as_float(l, b.CreateSelect(b.CreateICmpEQ(c, l.i32(255)), l.i32(0x7fc00000), bits));
  }
  NarrowFormat f(from);
  Value* sign = b.CreateShl(b.CreateAnd(c, 1u << f.sign_shift), 31 - f.sign_shift);
  Value* mag = b.CreateAnd(c, f.magnitude);
  Value* normal = b.CreateAdd(b.CreateShl(mag, static_cast<uint64_t>(23 - f.man)), l.i32((127 - f.bias) << 23));
  Value* sub = as_int(l, b.CreateFMul(b.CreateUIToFP(mag, b.getFloatTy()), power(l, f.emin - f.man)));
  Value* bits = b.CreateSelect(b.CreateICmpULT(mag, l.i32(1 << f.man)), sub, normal);
  if (f.ieee) {
    Value* special = b.CreateOr(b.CreateShl(b.CreateAnd(mag, (1u << f.man) - 1), static_cast<uint64_t>(23 - f.man)), l.i32(0x7f800000));
    bits = b.CreateSelect(b.CreateICmpUGE(mag, l.i32(f.exp_ones)), special, bits);
  }
  bits = b.CreateOr(bits, sign);
  if (f.row.nan == NanEncoding::AllOnes) bits = b.CreateSelect(b.CreateICmpEQ(mag, l.i32(f.magnitude)), b.CreateOr(sign, l.i32(0x7fc00000)), bits);
  if (f.row.nan == NanEncoding::NegZero) bits = b.CreateSelect(b.CreateICmpEQ(c, l.i32(0x80)), l.i32(0x7fc00000), bits);
  return as_float(l, bits);
}

Value* encode_narrow(Lowering& l, Value* x, DType to, bool toward_zero, bool saturate) {
  if (is_native_fp8(l.k.arch, to) && !toward_zero && saturate) return encode_fp8(l, x, to);
  auto& b = l.b;
  Value* bits = as_int(l, x);
  if (to == DType::F8E8M0) return encode_e8m0(l, bits, toward_zero, saturate);
  NarrowFormat f(to);
  Value* abs = b.CreateAnd(bits, 0x7fffffff);
  int cut = 23 - f.man;
  // Normal in `to`: round the low bits away, then move the exponent to the new bias.
  Value* rounded = abs;
  if (!toward_zero) {
    Value* even = b.CreateAnd(b.CreateLShr(abs, static_cast<uint64_t>(cut)), 1);
    rounded = b.CreateAdd(abs, b.CreateAdd(even, l.i32((1u << (cut - 1)) - 1)));
  }
  Value* code = b.CreateSub(b.CreateLShr(rounded, static_cast<uint64_t>(cut)), l.i32((127 - f.bias) << f.man));
  // Subnormal in `to`: count units of its smallest number. Adding 2^23 units leaves the count in the low bits, rounded to
  // nearest even. bf16 has the exponents of f32, and its subnormals come out right above.
  if (f.bias != 127) {
    Value* few;
    if (toward_zero) {
      few = b.CreateFPToUI(b.CreateFMul(as_float(l, b.CreateSelect(b.CreateICmpULT(abs, l.i32((127 + f.emin) << 23)), abs, l.i32(0))),
                                        power(l, f.man - f.emin)), b.getInt32Ty());
    } else {
      Constant* magic = power(l, f.emin - f.man + 23);
      few = b.CreateSub(as_int(l, b.CreateFAdd(as_float(l, abs), magic)), as_int(l, magic));
    }
    code = b.CreateSelect(b.CreateICmpULT(abs, l.i32((127 + f.emin) << 23)), few, code);
  }
  bool narrow = f.row.bits <= 8;
  uint32_t unsaturated = f.row.has_inf ? f.exp_ones : f.row.nan == NanEncoding::AllOnes ? f.magnitude : f.largest;
  Value* is_inf = b.CreateICmpEQ(abs, l.i32(0x7f800000));
  Value* is_nan = b.CreateICmpUGT(abs, l.i32(0x7f800000));
  Value* over = b.CreateICmpUGT(code, l.i32(f.largest));  // also NaN and Inf
  bool always_largest = narrow && saturate;
  Value* beyond = l.i32(always_largest ? f.largest : unsaturated);
  if (!always_largest && toward_zero) beyond = b.CreateSelect(is_inf, l.i32(unsaturated), l.i32(f.largest));
  Value* magnitude = b.CreateSelect(over, beyond, code);
  Value* sign = b.CreateAnd(b.CreateLShr(bits, 31 - f.sign_shift), 1u << f.sign_shift);
  Value* result = b.CreateOr(magnitude, sign);
  if (f.row.nan == NanEncoding::NegZero) {
    result = b.CreateSelect(b.CreateICmpEQ(magnitude, l.i32(0)), l.i32(0), result);
    Value* nan = is_nan;
    if (!always_largest) nan = b.CreateOr(nan, toward_zero ? b.CreateAnd(over, is_inf) : over);
    result = b.CreateSelect(nan, l.i32(0x80), result);
  } else {
    uint32_t code_of_nan = f.ieee ? f.exp_ones | 1u << (f.man - 1) : f.row.nan == NanEncoding::AllOnes ? f.magnitude : f.largest;
    result = b.CreateSelect(is_nan, b.CreateOr(sign, l.i32(code_of_nan)), result);
  }
  return b.CreateTrunc(result, l.int_type(f.row.bits > 8 ? 16 : 8));
}

Value* f64_to_odd_f32(Lowering& l, Value* x) {
  auto& b = l.b;
  Value* f = b.CreateFPTrunc(x, b.getFloatTy());
  Value* back = b.CreateFPExt(f, b.getDoubleTy());
  Value* bits = as_int(l, f);
  auto abs = [&](Value* v) { return b.CreateUnaryIntrinsic(Intrinsic::fabs, v); };
  Value* too_far = b.CreateFCmpOGT(abs(back), abs(x));
  Value* nudged = b.CreateAdd(bits, b.CreateSelect(too_far, l.i32(-1), l.i32(1)));
  Value* inexact = b.CreateFCmpONE(back, x);
  Value* even = b.CreateICmpEQ(b.CreateAnd(bits, 1), l.i32(0));
  return as_float(l, b.CreateSelect(b.CreateAnd(inexact, even), nudged, bits));
}

Value* int_to_odd_f64(Lowering& l, Value* v, bool is_signed) {
  auto& b = l.b;
  Type* f64 = b.getDoubleTy();
  if (v->getType()->getIntegerBitWidth() <= 32) return is_signed ? b.CreateSIToFP(v, f64) : b.CreateUIToFP(v, f64);
  Value* negative = is_signed ? b.CreateICmpSLT(v, b.getInt64(0)) : static_cast<Value*>(b.getFalse());
  Value* mag = is_signed ? b.CreateSelect(negative, b.CreateNeg(v), v) : v;
  // From 2^53 on: 11 bits fewer, the last one set if anything was lost.
  Value* large = b.CreateICmpUGE(mag, b.getInt64(uint64_t{1} << 53));
  Value* sticky = b.CreateZExt(b.CreateICmpNE(b.CreateAnd(mag, 0x7ff), b.getInt64(0)), b.getInt64Ty());
  Value* cut = b.CreateOr(b.CreateLShr(mag, 11), sticky);
  Value* d = b.CreateUIToFP(b.CreateSelect(large, cut, mag), f64);
  d = b.CreateFMul(d, b.CreateSelect(large, ConstantFP::get(f64, 2048.0), ConstantFP::get(f64, 1.0)));
  return b.CreateSelect(negative, b.CreateFNeg(d), d);
}

}  // namespace tile::frontend
