#pragma once
// The arithmetic of single lanes that the instruction tables name. Header-only with internal linkage, because
// the vector files are compiled once per host instruction set.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "interpreter/machine/approx.h"

namespace tile::sim {
namespace {

[[maybe_unused]] inline int clz32(uint32_t x) { return __builtin_clz(x); }
[[maybe_unused]] inline int ctz32(uint32_t x) { return __builtin_ctz(x); }
[[maybe_unused]] inline int popcount32(uint32_t x) { return __builtin_popcount(x); }
template <class T> inline T imin(T a, T b) { return a < b ? a : b; }
template <class T> inline T imax(T a, T b) { return a > b ? a : b; }
template <class T> inline T imed(T a, T b, T c) { return imax(imin(a, b), imin(imax(a, b), c)); }
[[maybe_unused]] inline int32_t sext24(uint32_t x) { return int32_t(x << 8) >> 8; }
[[maybe_unused]] inline uint32_t sat_u8(int32_t x) { return uint32_t(imed(x, 0, 255)); }

[[maybe_unused]] inline uint32_t bit_reverse(uint32_t x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
[[maybe_unused]] inline uint32_t ffbh_i32(uint32_t x) {
  const uint32_t y = x ^ uint32_t(int32_t(x) >> 31);
  return y ? uint32_t(clz32(y)) : ~0u;
}
[[maybe_unused]] inline uint32_t bfe_u32(uint32_t a, uint32_t b, uint32_t c) {
  return (a >> (b & 31)) & ((1u << (c & 31)) - 1u);
}
[[maybe_unused]] inline int32_t bfe_i32(uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t n = c & 31;
  const uint32_t x = (a >> (b & 31)) & ((1u << n) - 1u);
  const uint32_t sign = n ? 1u << (n - 1) : 0u;
  return int32_t((x ^ sign) - sign);
}
// Byte selectors into {a, b}: b holds bytes 0-3. 8-11: sign of bytes 1, 3, 5, 7; 12: 0x00; above: 0xff.
[[maybe_unused]] inline uint32_t perm_b32(uint32_t a, uint32_t b, uint32_t sel) {
  const uint64_t data = uint64_t(a) << 32 | b;
  uint32_t r = 0;
  for (int k = 0; k < 4; ++k) {
    const uint32_t s = sel >> (8 * k) & 255u;
    uint32_t byte;
    if (s >= 13) byte = 255;
    else if (s == 12) byte = 0;
    else if (s >= 8) byte = (data >> (16 * (s - 8) + 15) & 1) ? 255 : 0;
    else byte = uint32_t(data >> (8 * s)) & 255u;
    r |= byte << (8 * k);
  }
  return r;
}
[[maybe_unused]] inline uint32_t lerp_u8(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t r = 0;
  for (int k = 0; k < 32; k += 8) r |= (((a >> k & 255u) + (b >> k & 255u) + (c >> k & 1u)) >> 1) << k;
  return r;
}
[[maybe_unused]] inline uint32_t sad_u8(uint32_t a, uint32_t b) {
  uint32_t r = 0;
  for (int k = 0; k < 32; k += 8) {
    const int d = int(a >> k & 255u) - int(b >> k & 255u);
    r += uint32_t(d < 0 ? -d : d);
  }
  return r;
}
// Bytes where the reference `b` is 0 do not count.
[[maybe_unused]] inline uint32_t msad_u8(uint32_t a, uint32_t b) {
  uint32_t r = 0;
  for (int k = 0; k < 32; k += 8) {
    const int y = int(b >> k & 255u), d = int(a >> k & 255u) - y;
    r += y == 0 ? 0u : uint32_t(d < 0 ? -d : d);
  }
  return r;
}
[[maybe_unused]] inline uint32_t sad_u16(uint32_t a, uint32_t b) {
  const int lo = int(a & 0xffffu) - int(b & 0xffffu), hi = int(a >> 16) - int(b >> 16);
  return uint32_t(lo < 0 ? -lo : lo) + uint32_t(hi < 0 ? -hi : hi);
}
[[maybe_unused]] inline uint64_t qsad_pk(uint64_t a, uint32_t b, uint64_t c, bool masked) {
  uint64_t r = 0;
  for (int k = 0; k < 4; ++k) {
    const uint32_t window = uint32_t(a >> (8 * k));
    const uint32_t sum = (masked ? msad_u8(window, b) : sad_u8(window, b)) + uint32_t(c >> (16 * k) & 0xffffu);
    r |= uint64_t(imin(sum, 0xffffu)) << (16 * k);
  }
  return r;
}
[[maybe_unused]] inline uint32_t ashr_pk_i8(int32_t a, int32_t b, uint32_t c) {
  return (uint32_t(imed(a >> (c & 31), -128, 127)) & 255u) | (uint32_t(imed(b >> (c & 31), -128, 127)) & 255u) << 8;
}
[[maybe_unused]] inline uint32_t ashr_pk_u8(int32_t a, int32_t b, uint32_t c) {
  return sat_u8(a >> (c & 31)) | sat_u8(b >> (c & 31)) << 8;
}
[[maybe_unused]] inline int64_t dot4_i8(uint32_t a, uint32_t b) {
  int64_t r = 0;
  for (int k = 0; k < 32; k += 8) r += int64_t(int8_t(a >> k)) * int8_t(b >> k);
  return r;
}
[[maybe_unused]] inline int64_t dot4_u8(uint32_t a, uint32_t b) {
  int64_t r = 0;
  for (int k = 0; k < 32; k += 8) r += int64_t(a >> k & 255u) * (b >> k & 255u);
  return r;
}
[[maybe_unused]] inline int64_t dot8_i4(uint32_t a, uint32_t b) {
  int64_t r = 0;
  for (int k = 0; k < 32; k += 4) r += (int32_t(a << (28 - k)) >> 28) * (int32_t(b << (28 - k)) >> 28);
  return r;
}
[[maybe_unused]] inline int64_t dot8_u4(uint32_t a, uint32_t b) {
  int64_t r = 0;
  for (int k = 0; k < 32; k += 4) r += int64_t(a >> k & 15u) * (b >> k & 15u);
  return r;
}
[[maybe_unused]] inline int64_t dot2_i16(uint32_t a, uint32_t b) {
  return int64_t(int16_t(a)) * int16_t(b) + int64_t(int16_t(a >> 16)) * int16_t(b >> 16);
}
[[maybe_unused]] inline int64_t dot2_u16(uint32_t a, uint32_t b) {
  return int64_t(a & 0xffffu) * (b & 0xffffu) + int64_t(a >> 16) * (b >> 16);
}

// ---- f16 and bf16 bits
[[maybe_unused]] inline float half_to_float(uint32_t h) {
  const float scaled = std::bit_cast<float>((h & 0x7fffu) << 13) * 0x1p112f;  // exact, also for subnormals
  const uint32_t special = (h & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | (h & 0x8000u) << 16);
}
// Nearest even; NaN stays NaN and becomes quiet.
[[maybe_unused]] inline uint32_t float_to_half(float f) {
  const uint32_t x = std::bit_cast<uint32_t>(f), sign = x >> 16 & 0x8000u, m = x & 0x7fffffffu;
  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(m < 0x38800000u ? m : 0u) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (m + 0xc8000fffu + (m >> 13 & 1u)) >> 13;
  uint32_t r = m < 0x38800000u ? small : normal;
  r = m >= 0x47800000u ? 0x7c00u : r;
  r = m > 0x7f800000u ? (0x7e00u | (m >> 13 & 0x3ffu)) : r;
  return r | sign;
}
// Any rounding mode: 0 nearest even, 1 up, 2 down, 3 to zero. `x` is exact or was rounded the same directed way.
// With no_overflow (MODE.FP16_OVFL) a finite value becomes at most the largest finite one.
constexpr int no_overflow = 16;
[[maybe_unused]] inline uint32_t double_to_half(double x, int control) {
  const int mode = control & 3;
  const uint64_t b = std::bit_cast<uint64_t>(x);
  const uint32_t sign = uint32_t(b >> 48 & 0x8000u);
  const uint64_t m = b & ~(uint64_t(1) << 63);
  if (m > 0x7ff0000000000000u) return sign | 0x7e00u | (uint32_t(m >> 42) & 0x3ffu);
  const bool away_up = (mode == 1 && !sign) || (mode == 2 && sign);
  if (m == 0x7ff0000000000000u) return sign | 0x7c00u;
  const int e = int(m >> 52) - 1023;
  const uint32_t over = !(control & no_overflow) && (mode == 0 || away_up) ? 0x7c00u : 0x7bffu;
  if (e > 15) return sign | over;
  uint64_t sig = (m & 0xfffffffffffffu) | (m >> 52 ? uint64_t(1) << 52 : 0);
  int shift = 42;                       // keep 11 significant bits
  int biased = e + 15;
  if (biased < 1) { shift += 1 - biased; biased = 0; }
  if (shift > 62) shift = 62;
  const uint64_t kept = sig >> shift, rest = sig & ((uint64_t(1) << shift) - 1), half = uint64_t(1) << (shift - 1);
  uint64_t r = biased ? ((uint64_t(biased) << 10) + (kept - (uint64_t(1) << 10))) : kept;
  const bool up = mode == 0 ? (rest > half || (rest == half && (kept & 1))) : (away_up && rest);
  r += up ? 1 : 0;
  if (r >= 0x7c00u) return sign | over;
  return sign | uint32_t(r);
}
[[maybe_unused]] inline uint32_t half_rtz(float f) { return double_to_half(double(f), 3); }
[[maybe_unused]] inline float round_f16(float f) { return half_to_float(float_to_half(f)); }
[[maybe_unused]] inline float bf16_to_float(uint32_t h) { return std::bit_cast<float>(h << 16); }
[[maybe_unused]] inline uint32_t float_to_bf16(float f) {
  const uint32_t x = std::bit_cast<uint32_t>(f);
  const uint32_t rounded = (x + 0x7fffu + (x >> 16 & 1u)) >> 16;
  return (x & 0x7fffffffu) > 0x7f800000u ? (x >> 16 | 0x40u) : rounded;
}

// ---- floating point
template <class F> struct bits_of;
template <> struct bits_of<float> { using type = uint32_t; };
template <> struct bits_of<double> { using type = uint64_t; };
template <class F> inline auto to_bits(F x) { return std::bit_cast<typename bits_of<F>::type>(x); }
template <class F> inline F from_bits(typename bits_of<F>::type x) { return std::bit_cast<F>(x); }
template <class F> inline bool is_nan(F x) { return !(x == x); }
template <class F> inline F quiet(F x) { return from_bits<F>(to_bits(x) | (sizeof(F) == 4 ? uint64_t(1) << 22 : uint64_t(1) << 51)); }

// A NaN operand gives the other one; +0 is above -0. (maxNum; of two NaNs the second.)
template <class F> inline F fmax_(F a, F b) {
  using B = typename bits_of<F>::type;
  const B same = to_bits(a) & to_bits(b);      // equal operands, or +0 and -0
  B r = a > b ? to_bits(a) : b > a ? to_bits(b) : same;
  r = is_nan(a) ? to_bits(is_nan(b) ? quiet(b) : b) : is_nan(b) ? to_bits(a) : r;
  return from_bits<F>(r);
}
template <class F> inline F fmin_(F a, F b) {
  using B = typename bits_of<F>::type;
  const B same = to_bits(a) | to_bits(b);
  B r = a < b ? to_bits(a) : b < a ? to_bits(b) : same;
  r = is_nan(a) ? to_bits(is_nan(b) ? quiet(b) : b) : is_nan(b) ? to_bits(a) : r;
  return from_bits<F>(r);
}
// A NaN operand gives NaN.
template <class F> inline F fmaximum_(F a, F b) { return is_nan(a) ? quiet(a) : is_nan(b) ? quiet(b) : fmax_(a, b); }
template <class F> inline F fminimum_(F a, F b) { return is_nan(a) ? quiet(a) : is_nan(b) ? quiet(b) : fmin_(a, b); }
template <class F> inline F fmed3_(F a, F b, F c) {
  const F lo = fmin_(fmin_(a, b), c);
  const F mid = fmax_(fmin_(a, b), fmin_(fmax_(a, b), c));
  return is_nan(a) || is_nan(b) || is_nan(c) ? lo : mid;
}
[[maybe_unused]] inline float fma32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
[[maybe_unused]] inline double fma64(double a, double b, double c) { return __builtin_fma(a, b, c); }
// v_mad_f32 rounds the product, and flushes it.
[[maybe_unused]] inline float mad32(float a, float b, float c) {
  float p = a * b;
  if ((to_bits(p) & 0x7f800000u) == 0) p = from_bits<float>(to_bits(p) & 0x80000000u);
  return p + c;
}
template <class F> inline F trunc_(F x) { return sizeof(F) == 4 ? F(__builtin_truncf(float(x))) : F(__builtin_trunc(double(x))); }
template <class F> inline F floor_(F x) { return sizeof(F) == 4 ? F(__builtin_floorf(float(x))) : F(__builtin_floor(double(x))); }
template <class F> inline F ceil_(F x) { return sizeof(F) == 4 ? F(__builtin_ceilf(float(x))) : F(__builtin_ceil(double(x))); }
// Nearest even, whatever the host's rounding mode.
template <class F> inline F rndne_(F x) {
  const F down = floor_(x), diff = x - down;
  const F half = F(0.5);
  const bool odd = floor_(down * half) * F(2) != down;
  const F r = diff > half || (diff == half && odd) ? down + F(1) : down;
  const F y = is_nan(x) || x - x != F(0) ? x : r;                                  // NaN and infinity stay
  const auto sign = std::bit_cast<typename bits_of<F>::type>(x) & (typename bits_of<F>::type(1) << (8 * sizeof(F) - 1));
  return from_bits<F>(to_bits(y) | sign);
}
// x - floor(x), below 1.
template <class F> inline F fract_(F x) {
  const F limit = sizeof(F) == 4 ? F(0x1.fffffep-1) : F(0x1.fffffffffffffp-1);
  const F f = x - floor_(x);
  return is_nan(f) ? f : (f > limit ? limit : f);
}
[[maybe_unused]] inline float fract16_(float x) {
  const float f = x - floor_(x);
  return f > 0x1.ffcp-1f ? 0x1.ffcp-1f : f;
}
// Exponent e with |x| = m * 2^e, 0.5 <= m < 1; 0 for zero, infinity and NaN.
template <class F> inline int32_t frexp_exp_(F x) {
  if (x == F(0) || !(x - x == F(0))) return 0;
  int e = 0;
  (void)std::frexp(double(x), &e);
  return e;
}
template <class F> inline F frexp_mant_(F x) {
  if (x == F(0) || !(x - x == F(0))) return is_nan(x) ? quiet(x) : x;
  int e = 0;
  return F(std::frexp(double(x), &e));
}
template <class F> inline F ldexp_(F x, int32_t n) {
  return F(sizeof(F) == 4 ? std::ldexp(float(x), n) : std::ldexp(double(x), n));
}
// Fixes up special cases of a quotient q of `n` by `d` (sources: q, d, n).
template <class F> inline F div_fixup_(F q, F d, F n) {
  using B = typename bits_of<F>::type;
  const B sign_bit = B(1) << (8 * sizeof(F) - 1);
  const B sign = (to_bits(d) ^ to_bits(n)) & sign_bit;
  const F inf = std::numeric_limits<F>::infinity();
  const bool d_inf = d == inf || d == -inf, n_inf = n == inf || n == -inf;
  if (is_nan(n)) return quiet(n);
  if (is_nan(d)) return quiet(d);
  if ((d == 0 && n == 0) || (d_inf && n_inf)) return from_bits<F>(to_bits(std::numeric_limits<F>::quiet_NaN()) | sign_bit);
  if (d == 0 || n_inf) return from_bits<F>(to_bits(inf) | sign);
  if (d_inf || n == 0) return from_bits<F>(sign);
  constexpr int bias_bits = sizeof(F) == 4 ? 23 : 52, mask = sizeof(F) == 4 ? 255 : 2047;
  const int en = int(to_bits(n) >> bias_bits) & mask, ed = int(to_bits(d) >> bias_bits) & mask;
  if (en - ed < (sizeof(F) == 4 ? -150 : -1075)) return from_bits<F>(B(0) | sign);   // underflow
  // Far beyond the largest number the approximations before this one overflow, and infinities cancel to NaN.
  if (is_nan(q) && en > ed) return from_bits<F>(to_bits(inf) | sign);
  return from_bits<F>((to_bits(q) & ~sign_bit) | sign);
}
[[maybe_unused]] inline float div_fixup16_(float q, float d, float n) {
  const uint32_t sign = (to_bits(d) ^ to_bits(n)) & 0x80000000u;
  const float inf = std::numeric_limits<float>::infinity();
  const bool d_inf = d == inf || d == -inf, n_inf = n == inf || n == -inf;
  if (is_nan(n)) return quiet(n);
  if (is_nan(d)) return quiet(d);
  if ((d == 0 && n == 0) || (d_inf && n_inf)) return from_bits<float>(0xffc00000u);
  if (d == 0 || n_inf) return from_bits<float>(0x7f800000u | sign);
  if (d_inf || n == 0) return from_bits<float>(sign);
  return from_bits<float>((to_bits(q) & 0x7fffffffu) | sign);
}
// Truncates and saturates; NaN gives 0.
template <class I, class F> inline I to_int(F x) {
  using W = std::conditional_t<(sizeof(I) < 4), int32_t, int64_t>;
  const double lo = double(std::numeric_limits<I>::min()), hi = double(std::numeric_limits<I>::max());
  double t = double(x);
  t = t != t ? 0.0 : t;
  t = t < lo ? lo : t;
  t = t > hi ? hi : t;
  return I(W(t));
}
[[maybe_unused]] inline int32_t norm_i16(float x) { return to_int<int16_t>(rndne_(imed(is_nan(x) ? 0.0f : x, -1.0f, 1.0f) * 32767.0f)); }
[[maybe_unused]] inline uint32_t norm_u16(float x) { return to_int<uint16_t>(rndne_(imed(is_nan(x) ? 0.0f : x, 0.0f, 1.0f) * 65535.0f)); }
[[maybe_unused]] inline uint32_t pk_u8(float a, uint32_t b, uint32_t c) {
  const uint32_t sh = 8 * (b & 3);
  return (c & ~(255u << sh)) | uint32_t(to_int<uint8_t>(rndne_(a))) << sh;
}
[[maybe_unused]] inline float flush_(float x) {
  return (to_bits(x) & 0x7f800000u) == 0 ? from_bits<float>(to_bits(x) & 0x80000000u) : x;
}
[[maybe_unused]] inline float dot2_f16(uint32_t a, uint32_t b, float c) {
  c = fma32(half_to_float(a & 0xffffu), half_to_float(b & 0xffffu), c);
  return fma32(half_to_float(a >> 16), half_to_float(b >> 16), flush_(c));
}
[[maybe_unused]] inline float dot2_bf16(uint32_t a, uint32_t b, float c) {
  const float lo = flush_(flush_(bf16_to_float(a & 0xffffu)) * flush_(bf16_to_float(b & 0xffffu)));
  const float hi = flush_(flush_(bf16_to_float(a >> 16)) * flush_(bf16_to_float(b >> 16)));
  return flush_(lo + hi) + c;
}
// Cube map helpers: face, coordinates and major axis.
[[maybe_unused]] inline int cube_face(float x, float y, float z) {
  const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
  if (az >= ax && az >= ay) return z < 0 ? 5 : 4;
  if (ay >= ax) return y < 0 ? 3 : 2;
  return x < 0 ? 1 : 0;
}
[[maybe_unused]] inline float cube_id(float x, float y, float z) { return float(cube_face(x, y, z)); }
[[maybe_unused]] inline float cube_sc(float x, float y, float z) {
  switch (cube_face(x, y, z)) { case 0: return -z; case 1: return z; case 5: return -x; default: return x; }
}
[[maybe_unused]] inline float cube_tc(float x, float y, float z) {
  switch (cube_face(x, y, z)) { case 2: return z; case 3: return -z; default: return -y; }
}
[[maybe_unused]] inline float cube_ma(float x, float y, float z) {
  switch (cube_face(x, y, z) / 2) { case 0: return 2 * x; case 1: return 2 * y; default: return 2 * z; }
}

}  // namespace
}  // namespace tile::sim
