#pragma once
// Conversion of one value between any two types. Rules (docs/semantics.md):
//   integer to integer   modulo 2^bits                      anything to bool    x != 0 (true for NaN)
//   integer to float     one rounding                       float to float      one rounding; widening is exact
//   float to integer     truncation, saturated; NaN gives 0 (ConvertMode does not matter)
// A value of the same type is unchanged, NaN payloads included.
#include <limits>

#include "dsl/num/float.h"
#include "dsl/num/format.h"
#include "dsl/num/storage.h"

namespace tile::num {
inline namespace TILE_NUM_ISA {

// Values pass through one of five types, which hold every source type exactly.
template <DType T>
using carrier_t = std::conditional_t<T == DType::F64, double, std::conditional_t<is_float(T), float,
    std::conditional_t<T == DType::U64, uint64_t, std::conditional_t<T == DType::I64 || T == DType::U32, int64_t, int32_t>>>>;

template <DType T>
[[gnu::always_inline]] constexpr carrier_t<T> to_carrier(storage_t<T> x) {
  if constexpr (T == DType::Bool) return x != 0;
  else if constexpr (!is_float(T)) return x;
  else return widen<T>(x);
}

// Truncated and saturated, NaN to 0.
template <class I, class F>
[[gnu::always_inline]] constexpr I saturating_int(F x) {
  // Both limits are powers of two (or 0), so they are exact in F; hi is the first value too large.
  constexpr F lo = static_cast<F>(std::numeric_limits<I>::min());
  constexpr F hi = static_cast<F>(std::numeric_limits<I>::max() / 2 + 1) * 2;
  // Types below 32 bits clamp to an i32 first: vector units convert to 32 bits only.
  using Wide = std::conditional_t<(sizeof(I) < 4), int32_t, I>;
  bool in_range = x > lo - 1 && x < hi;  // false for NaN; lo - 1 == lo in f32 only where no value lies between
  if constexpr (sizeof(I) >= 4) in_range = x >= lo && x < hi;
  Wide w = static_cast<Wide>(in_range ? x : F{0});
  w = x >= hi ? static_cast<Wide>(std::numeric_limits<I>::max()) : w;
  w = x < lo ? static_cast<Wide>(std::numeric_limits<I>::min()) : w;
  return static_cast<I>(w);
}

// An integer as the double that has its rounding to odd, which a second rounding to fewer bits turns into the right one.
[[gnu::always_inline]] constexpr double to_odd_f64(uint64_t x) {
  bool large = x >> 53 != 0;
  uint64_t m = large ? x >> 11 | ((x & 0x7ff) != 0) : x;
  return static_cast<double>(static_cast<int64_t>(m)) * (large ? 2048.0 : 1.0);
}
[[gnu::always_inline]] constexpr double to_odd_f64(int64_t x) {
  double d = to_odd_f64(x < 0 ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x));
  return x < 0 ? -d : d;
}
[[gnu::always_inline]] constexpr double to_odd_f64(int32_t x) { return x; }

// f64 to f32 and integers to f64 other than to nearest.
[[gnu::always_inline]] constexpr double round_int_f64(uint64_t magnitude, Rounding rounding, uint32_t random) {
  if (magnitude >> 53 == 0) return static_cast<double>(magnitude);
  unsigned shift = 64 - 53 - static_cast<unsigned>(__builtin_clzll(magnitude));
  if (rounding == Rounding::NearestEven) return static_cast<double>(magnitude);
  uint64_t q = magnitude >> shift, cut = magnitude & ((uint64_t{1} << shift) - 1);
  if (rounding == Rounding::Stochastic && cut + (random >> (32 - shift)) >= uint64_t{1} << shift) q++;
  return static_cast<double>(q) * static_cast<double>(uint64_t{1} << shift);
}

// From a carrier to T.
template <DType T, class C>
[[gnu::always_inline]] constexpr storage_t<T> from_carrier(C x, ConvertMode mode, uint32_t random) {
  using V = storage_t<T>;
  if constexpr (T == DType::Bool) {
    return x != 0;
  } else if constexpr (std::is_floating_point_v<C>) {
    if constexpr (!is_float(T)) return saturating_int<V>(x);
    else if constexpr (T == DType::F64) return static_cast<V>(x);
    else if constexpr (T == DType::F32 && std::is_same_v<C, float>) return x;
    else if constexpr (std::is_same_v<C, float>) return static_cast<V>(encode_f32<T>(x, mode.rounding, mode.saturate, random));
    else if constexpr (T == DType::F32)
      return mode.rounding == Rounding::NearestEven ? static_cast<float>(x) : bits_as<float>(encode_f64<T>(x, mode.rounding, mode.saturate, random));
    else return static_cast<V>(encode_f64<T>(x, mode.rounding, mode.saturate, random));
  } else if constexpr (!is_float(T)) {
    return static_cast<V>(x);
  } else if constexpr (T == DType::F64) {
    if (sizeof(C) == 4 || mode.rounding == Rounding::NearestEven) return static_cast<double>(x);
    bool negative = x < 0;
    double d = round_int_f64(negative ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x), mode.rounding, random);
    return negative ? -d : d;
  } else if constexpr (T == DType::F32) {
    return mode.rounding == Rounding::NearestEven ? static_cast<float>(x) : bits_as<float>(encode_f64<T>(to_odd_f64(x), mode.rounding, mode.saturate, random));
  } else {
    return static_cast<V>(encode_f64<T>(to_odd_f64(x), mode.rounding, mode.saturate, random));
  }
}

template <DType From, DType To>
[[gnu::always_inline]] constexpr storage_t<To> convert(storage_t<From> x, ConvertMode mode = {}, uint32_t random = 0) {
  if constexpr (From == To) return x;
  else return from_carrier<To>(to_carrier<From>(x), mode, random);
}

}  // namespace TILE_NUM_ISA
}  // namespace tile::num
