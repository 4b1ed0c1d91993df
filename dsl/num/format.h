#pragma once
// Float formats narrower than f64: decoding to f32 (always exact) and encoding from f32 or f64 with one rounding.
//
// A value is held as raw bits in the low bits of its storage type (dsl/num/storage.h). Everything here is written
// without branches on data, so that loops over arrays vectorise.
#include <cstdint>

#include "dsl/num/isa.h"
#include "dsl/types/dtype.h"

namespace tile::num {

enum class Rounding : uint8_t {
  NearestEven,  // to the nearest, ties to the even code
  TowardZero,   // truncation; a finite value never becomes Inf
  Stochastic,   // up in magnitude with a probability of the discarded fraction, decided by a given random word
};

// How a conversion to a float type rounds and what becomes of values beyond its largest.
struct ConvertMode {
  Rounding rounding = Rounding::NearestEven;
  // Types of 8 bits and fewer: true (`as T`): the largest with the sign, for Inf too. false (`as T(nosat)`): what the
  // hardware does: Inf where the type has it, else NaN where the type has it, else the largest. f16, bf16, f32, f64 go
  // to Inf in either case.
  bool saturate = true;
  bool operator==(const ConvertMode&) const = default;
};

inline namespace TILE_NUM_ISA {

// The numbers of a format, all from dtype.def.
template <DType T>
struct Format {
  static_assert(is_float(T) && T != DType::F8E8M0);
  static constexpr const DTypeInfo& row = info(T);
  static constexpr int man = row.man_bits, exp = row.exp_bits, bias = row.bias;
  static constexpr int emin = 1 - bias;  // exponent of the smallest normal and of all subnormals
  static constexpr int sign_shift = row.bits - 1;
  static constexpr uint32_t magnitude_mask = static_cast<uint32_t>((uint64_t{1} << sign_shift) - 1);
  static constexpr uint32_t exp_ones = ((1u << exp) - 1) << man;
  static constexpr bool ieee = row.nan == NanEncoding::Ieee;
  // Codes without the sign.
  static constexpr uint32_t max_code = ieee ? exp_ones - 1 : row.nan == NanEncoding::AllOnes ? magnitude_mask - 1 : magnitude_mask;
};

// The value of a code of at most 16 bits, exactly. Quiet and signalling NaNs give NaN with sign and payload kept.
template <DType T>
[[gnu::always_inline]] constexpr float decode_f32(uint32_t code) {
  if constexpr (T == DType::F8E8M0) {
    uint32_t b = code << 23;
    b = code == 0 ? 0x00400000u : b;  // 2^-127
    return bits_as<float>(code == 0xff ? 0x7fc00000u : b);
  } else if constexpr (T == DType::BF16) {
    return bits_as<float>(code << 16);
  } else {
    using F = Format<T>;
    uint32_t sign = (code >> F::sign_shift & 1) << 31;
    uint32_t mag = code & F::magnitude_mask;
    uint32_t normal = (mag << (23 - F::man)) + (static_cast<uint32_t>(127 - F::bias) << 23);
    // Subnormal: mag * 2^(emin - man), exact in f32 without touching f32 subnormals.
    float quantum = bits_as<float>(static_cast<uint32_t>(127 + F::emin - F::man) << 23);
    uint32_t sub = bits_as<uint32_t>(static_cast<float>(static_cast<int32_t>(mag)) * quantum);
    uint32_t b = mag >> F::man == 0 ? sub : normal;
    if constexpr (F::ieee) b = mag >= F::exp_ones ? 0x7f800000u | (mag & ((1u << F::man) - 1)) << (23 - F::man) : b;
    b |= sign;
    if constexpr (F::row.nan == NanEncoding::AllOnes) b = mag == F::magnitude_mask ? 0x7fc00000u | sign : b;
    if constexpr (F::row.nan == NanEncoding::NegZero) b = code == 0x80 ? 0x7fc00000u : b;
    return bits_as<float>(b);
  }
}

// The source side of an encoding.
struct SourceF32 {
  using Bits = uint32_t;
  using Int = int32_t;
  static constexpr int man = 23, bits = 32, bias = 127, exp_ones = 255;
};
struct SourceF64 {
  using Bits = uint64_t;
  using Int = int64_t;
  static constexpr int man = 52, bits = 64, bias = 1023, exp_ones = 2047;
};

// f8e8m0, a power of two without sign: the nearest, ties up (the significand of a power of two is odd, so the even
// neighbour is the next exponent), 0 and everything below 2^-127 to 2^-127, negative values to NaN; beyond 2^127 the
// largest or NaN. TowardZero gives the largest power of two not above.
template <class S>
[[gnu::always_inline]] constexpr uint32_t encode_e8m0(typename S::Bits bits, Rounding rounding, bool saturate, uint32_t random) {
  using U = typename S::Bits;
  using I = typename S::Int;
  constexpr U one = 1;
  U abs = bits & ((one << (S::bits - 1)) - 1);
  bool negative = bits >> (S::bits - 1) != 0 && abs != 0;
  I field = static_cast<I>(abs >> S::man);
  U man = abs & ((one << S::man) - 1);
  // Between 2^-127 and 2^-126 an f32 is subnormal: the upper half of the subnormals, whose fraction starts a bit later.
  if constexpr (S::man == 23) {
    U fraction = (man & ((one << 22) - 1)) << 1;
    man = field != 0 ? man : man >> 22 != 0 ? fraction : 0;
  }
  I code = field - S::bias + 127;
  bool up = false;
  if (rounding == Rounding::NearestEven) up = man >> (S::man - 1) != 0;
  if (rounding == Rounding::Stochastic) up = man + (S::man == 23 ? U{random >> 9} : static_cast<U>(static_cast<uint64_t>(random) << 20)) >= one << S::man;
  code = code < 0 ? 0 : code + (up ? 1 : 0);
  bool nan = field == S::exp_ones && (abs & ((one << S::man) - 1)) != 0;
  bool inf = field == S::exp_ones && !nan;
  bool over = code > 254 || inf;
  uint32_t r = over ? (saturate || (rounding == Rounding::TowardZero && !inf) ? 254u : 255u) : static_cast<uint32_t>(code);
  return nan || negative ? 255u : r;
}

// Encodes the bits of an f32 or f64 as T with one rounding. `random` is used by Stochastic only: with the fraction of
// the last place that is cut off called f (0 <= f < 1, s bits long), the magnitude goes up when
// f + floor(random / 2^(32-s)) / 2^s >= 1.
template <DType T, class S>
[[gnu::always_inline]] constexpr uint32_t encode_bits(typename S::Bits bits, Rounding rounding, bool saturate, uint32_t random = 0) {
  if constexpr (T == DType::F8E8M0) {
    return encode_e8m0<S>(bits, rounding, saturate, random);
  } else {
    using F = Format<T>;
    using U = typename S::Bits;
    using I = typename S::Int;
    static_assert(F::man < S::man);
    constexpr U one = 1;
    uint32_t sign = static_cast<uint32_t>(bits >> (S::bits - 1));
    U abs = bits & ((one << (S::bits - 1)) - 1);
    I field = static_cast<I>(abs >> S::man);
    U fraction = abs & ((one << S::man) - 1);
    // value = sig * 2^(e - S::man), also for subnormals.
    U sig = fraction | (field != 0 ? one << S::man : 0);
    I e = (field != 0 ? field : 1) - S::bias;
    I below = F::emin - e;  // > 0: subnormal in T
    I shift = (S::man - F::man) + (below > 0 ? below : 0);
    constexpr I max_shift = S::man + 3;  // everything is cut off, and less than half of the last place
    shift = shift > max_shift ? max_shift : shift;
    U q = sig >> shift;
    if (rounding == Rounding::NearestEven) {
      q = (sig + ((one << (shift - 1)) - 1) + (q & 1)) >> shift;
    } else if (rounding == Rounding::Stochastic) {
      U r = shift <= 32 ? U{random} >> (32 - shift) : static_cast<U>(static_cast<uint64_t>(random) << (shift - 32));
      q = (sig + r) >> shift;
    }
    U code = q + (static_cast<U>(below < 0 ? -below : 0) << F::man);
    constexpr uint32_t largest = F::max_code;
    constexpr bool narrow = F::row.bits <= 8;
    constexpr uint32_t unsaturated = F::row.has_inf ? F::exp_ones : F::row.nan == NanEncoding::AllOnes ? F::magnitude_mask : largest;
    bool is_inf = abs == static_cast<U>(S::exp_ones) << S::man;
    bool to_largest = (narrow && saturate) || (rounding == Rounding::TowardZero && !is_inf);
    bool over = code > largest;
    uint32_t r = over ? (to_largest ? largest : unsaturated) : static_cast<uint32_t>(code);
    bool is_nan = abs > static_cast<U>(S::exp_ones) << S::man;
    uint32_t signed_r = r | sign << F::sign_shift;
    if constexpr (F::row.nan == NanEncoding::NegZero) {
      // No -0; NaN and, unsaturated, everything too large is 0x80.
      signed_r = r == 0 ? 0 : signed_r;
      return is_nan || (over && !to_largest) ? 0x80u : signed_r;
    } else {
      constexpr uint32_t nan_base = F::ieee ? F::exp_ones | 1u << (F::man - (F::man > 0)) : F::row.nan == NanEncoding::AllOnes ? F::magnitude_mask : largest;
      uint32_t nan = nan_base | sign << F::sign_shift;
      if constexpr (F::ieee) nan |= static_cast<uint32_t>(fraction >> (S::man - F::man));
      return is_nan ? nan : signed_r;
    }
  }
}

template <DType T>
[[gnu::always_inline]] constexpr uint32_t encode_f32(float x, Rounding rounding = Rounding::NearestEven, bool saturate = true, uint32_t random = 0) {
  return encode_bits<T, SourceF32>(bits_as<uint32_t>(x), rounding, saturate, random);
}
template <DType T>
[[gnu::always_inline]] constexpr uint32_t encode_f64(double x, Rounding rounding = Rounding::NearestEven, bool saturate = true, uint32_t random = 0) {
  return encode_bits<T, SourceF64>(bits_as<uint64_t>(x), rounding, saturate, random);
}

}  // namespace TILE_NUM_ISA
}  // namespace tile::num
