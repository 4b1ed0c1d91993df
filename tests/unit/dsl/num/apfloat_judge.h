#pragma once
// The meaning of values and conversions by LLVM's APFloat, for tests.
#include <llvm/ADT/APFloat.h>

#include <cstdint>

#include "dsl/num/format.h"
#include "dsl/types/dtype.h"

namespace tile::num {

inline const llvm::fltSemantics& judge_semantics(DType t) {
  using llvm::APFloat;
  switch (t) {
    case DType::F16: return APFloat::IEEEhalf();
    case DType::BF16: return APFloat::BFloat();
    case DType::F64: return APFloat::IEEEdouble();
    case DType::F8E4M3: return APFloat::Float8E4M3FN();
    case DType::F8E5M2: return APFloat::Float8E5M2();
    case DType::F8E4M3FNUZ: return APFloat::Float8E4M3FNUZ();
    case DType::F8E5M2FNUZ: return APFloat::Float8E5M2FNUZ();
    case DType::F6E2M3: return APFloat::Float6E2M3FN();
    case DType::F6E3M2: return APFloat::Float6E3M2FN();
    case DType::F4E2M1: return APFloat::Float4E2M1FN();
    case DType::F8E8M0: return APFloat::Float8E8M0FNU();
    default: return APFloat::IEEEsingle();
  }
}

// The value of raw bits.
inline llvm::APFloat judge_value(DType t, uint64_t bits) { return llvm::APFloat(judge_semantics(t), llvm::APInt(bit_width(t), bits)); }

inline bool is_nan_code(DType t, uint64_t bits) {
  return is_float(t) && info(t).nan != NanEncoding::None && judge_value(t, bits).isNaN();
}
inline bool same_or_nan(DType t, uint64_t x, uint64_t y) { return x == y || (is_nan_code(t, x) && is_nan_code(t, y)); }

// Float to float, nearest even, as the language says. APFloat converts as `nosat`; what it does not define (NaN and Inf
// to types without them, signs in f8e8m0) and saturation are the language's rules.
inline uint64_t judge_convert(DType from, DType to, uint64_t bits, bool saturate) {
  using llvm::APFloat;
  APFloat x = judge_value(from, bits);
  const auto& semantics = judge_semantics(to);
  bool narrow = bit_width(to) <= 8;
  bool finite_only = info(to).nan == NanEncoding::None;
  if (to == DType::F8E8M0) {
    if (x.isNaN() || (x.isNegative() && !x.isZero())) return 255;
    if (x.isZero()) return 0;
    if (x.isInfinity()) return saturate ? 254 : 255;
  }
  // The NaN of fnuz types has no sign.
  bool negative = x.isNegative() && !(x.isNaN() && info(from).nan == NanEncoding::NegZero);
  if (finite_only && (x.isNaN() || x.isInfinity())) return APFloat::getLargest(semantics, negative).bitcastToAPInt().getZExtValue();
  if (x.isNaN()) return APFloat::getNaN(semantics).bitcastToAPInt().getZExtValue();  // LLVM 22 makes Inf of f8e8m0's
  APFloat r = x;
  bool lost;
  r.convert(semantics, APFloat::rmNearestTiesToEven, &lost);
  // Saturation: everything that did not stay finite.
  if (narrow && saturate && !x.isNaN() && !r.isFinite()) return APFloat::getLargest(semantics, x.isNegative()).bitcastToAPInt().getZExtValue();
  return r.bitcastToAPInt().getZExtValue();
}

}  // namespace tile::num
