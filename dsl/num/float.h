#pragma once
// Elementwise operations on f16, bf16, f32 and f64, one function a row of dsl/ops/elementwise.def and named as the row.
// All are correctly rounded (nearest even), subnormals kept.
//
// f16 and bf16 are computed in f32 and rounded once more. That is as good as one rounding where an f32 holds more than
// 2p + 1 bits for a p-bit type (24 >= 2 * 11 + 2; Figueroa, 'When is double rounding innocuous?', 1995), and the tests
// check it against an independent implementation. fma is not such an operation: it is computed exactly to f64 rounded
// to odd, whose second rounding is right (Boldo and Melquiond, 'Emulation of FMA and correctly rounded sums', 2008).
#include "dsl/num/format.h"
#include "dsl/num/isa.h"
#include "dsl/num/storage.h"

namespace tile::num {
inline namespace TILE_NUM_ISA {

// The type that T is computed in: f32 for f16, bf16 and f32.
template <DType T>
using compute_t = std::conditional_t<T == DType::F64, double, float>;

template <DType T>
[[gnu::always_inline]] constexpr compute_t<T> widen(storage_t<T> x) {
  if constexpr (T == DType::F32 || T == DType::F64) return x;
  else return decode_f32<T>(x);
}
template <DType T>
[[gnu::always_inline]] constexpr storage_t<T> narrow(compute_t<T> x) {
  if constexpr (T == DType::F32 || T == DType::F64) return x;
  else return static_cast<storage_t<T>>(encode_f32<T>(x));
}

// The raw bits of a stored value, and back.
template <DType T>
[[gnu::always_inline]] constexpr auto raw_bits(storage_t<T> x) {
  if constexpr (T == DType::F32) return bits_as<uint32_t>(x);
  else if constexpr (T == DType::F64) return bits_as<uint64_t>(x);
  else return x;
}
template <DType T>
[[gnu::always_inline]] constexpr storage_t<T> from_bits(uint64_t b) {
  if constexpr (T == DType::F32) return bits_as<float>(static_cast<uint32_t>(b));
  else if constexpr (T == DType::F64) return bits_as<double>(b);
  else return static_cast<storage_t<T>>(b);
}
template <DType T>
inline constexpr uint64_t sign_bit = uint64_t{1} << (bit_width(T) - 1);

// a * b + c for doubles whose product is exact, rounded to odd: truncated, and the last bit set if anything was cut
// off. (The sum's rounding error is exact by Knuth's two-sum.)
[[gnu::always_inline]] inline double fma_to_odd(double a, double b, double c) {
  double p = a * b;
  double s = p + c;
  double t = s - p;
  double err = (p - (s - t)) + (c - t);
  uint64_t bits = bits_as<uint64_t>(s), err_bits = bits_as<uint64_t>(err);
  uint64_t magnitude_of_err = err_bits & 0x7fffffffffffffff;
  // NaN errors come from infinite or NaN sums, which stay.
  bool inexact = magnitude_of_err != 0 && magnitude_of_err <= 0x7ff0000000000000;
  bool fix = inexact && (bits & 1) == 0;
  bool toward_zero = ((bits ^ err_bits) >> 63) != 0;
  uint64_t fixed = toward_zero ? bits - 1 : bits + 1;
  return bits_as<double>(fix ? fixed : bits);
}

namespace op {

#define TILE_NUM_BODY [[gnu::always_inline]] inline

template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V AddF(V a, V b) { return narrow<T>(widen<T>(a) + widen<T>(b)); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V SubF(V a, V b) { return narrow<T>(widen<T>(a) - widen<T>(b)); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V MulF(V a, V b) { return narrow<T>(widen<T>(a) * widen<T>(b)); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V DivF(V a, V b) { return narrow<T>(widen<T>(a) / widen<T>(b)); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V FmaF(V a, V b, V c) {
  if constexpr (T == DType::F32) return __builtin_fmaf(a, b, c);
  else if constexpr (T == DType::F64) return __builtin_fma(a, b, c);
  else return static_cast<V>(encode_f64<T>(fma_to_odd(widen<T>(a), widen<T>(b), widen<T>(c))));
}
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V SqrtF(V a) {
  if constexpr (T == DType::F64) return __builtin_sqrt(a);
  else return narrow<T>(__builtin_sqrtf(widen<T>(a)));
}

template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V NegF(V a) { return from_bits<T>(raw_bits<T>(a) ^ sign_bit<T>); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V AbsF(V a) { return from_bits<T>(raw_bits<T>(a) & ~sign_bit<T>); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V CopysignF(V a, V b) { return from_bits<T>((raw_bits<T>(a) & ~sign_bit<T>) | (raw_bits<T>(b) & sign_bit<T>)); }

// Equal operands have equal bits, except zeros: +0 is the larger one.
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V MinF(V a, V b) {
  auto x = widen<T>(a), y = widen<T>(b);
  uint64_t ra = raw_bits<T>(a), rb = raw_bits<T>(b);
  uint64_t r = x < y ? ra : rb;
  r = x == y ? ra | rb : r;
  r = y != y ? ra : r;
  return from_bits<T>(r);
}
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V MaxF(V a, V b) {
  auto x = widen<T>(a), y = widen<T>(b);
  uint64_t ra = raw_bits<T>(a), rb = raw_bits<T>(b);
  uint64_t r = x > y ? ra : rb;
  r = x == y ? ra & rb : r;
  r = y != y ? ra : r;
  return from_bits<T>(r);
}
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V MinimumF(V a, V b) {
  auto x = widen<T>(a), y = widen<T>(b);
  uint64_t ra = raw_bits<T>(a), rb = raw_bits<T>(b);
  uint64_t r = x < y ? ra : rb;
  r = x == y ? ra | rb : r;
  r = x != x ? ra : r;
  return from_bits<T>(r);
}
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V MaximumF(V a, V b) {
  auto x = widen<T>(a), y = widen<T>(b);
  uint64_t ra = raw_bits<T>(a), rb = raw_bits<T>(b);
  uint64_t r = x > y ? ra : rb;
  r = x == y ? ra & rb : r;
  r = x != x ? ra : r;
  return from_bits<T>(r);
}

template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V FloorF(V a) {
  if constexpr (T == DType::F64) return __builtin_floor(a);
  else return narrow<T>(__builtin_floorf(widen<T>(a)));
}
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V CeilF(V a) {
  if constexpr (T == DType::F64) return __builtin_ceil(a);
  else return narrow<T>(__builtin_ceilf(widen<T>(a)));
}
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V TruncF(V a) {
  if constexpr (T == DType::F64) return __builtin_trunc(a);
  else return narrow<T>(__builtin_truncf(widen<T>(a)));
}
// The host's rounding mode is never changed, so it is nearest even.
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V RintF(V a) {
  if constexpr (T == DType::F64) return __builtin_rint(a);
  else return narrow<T>(__builtin_rintf(widen<T>(a)));
}

template <DType T, class V = storage_t<T>>
TILE_NUM_BODY uint8_t EqF(V a, V b) { return widen<T>(a) == widen<T>(b); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY uint8_t NeF(V a, V b) { return widen<T>(a) != widen<T>(b); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY uint8_t LtF(V a, V b) { return widen<T>(a) < widen<T>(b); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY uint8_t LeF(V a, V b) { return widen<T>(a) <= widen<T>(b); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY uint8_t GtF(V a, V b) { return widen<T>(a) > widen<T>(b); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY uint8_t GeF(V a, V b) { return widen<T>(a) >= widen<T>(b); }

#undef TILE_NUM_BODY

}  // namespace op
}  // namespace TILE_NUM_ISA
}  // namespace tile::num
