#pragma once
// Plain scalar arithmetic for tests, written without dsl/num: values as raw bits, floats through long double or an
// exact rounding of a double.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "dsl/ops/ops.h"
#include "dsl/types/dtype.h"

namespace tile::interp::test {

__extension__ using Int128 = __int128;

inline uint64_t mask_of(DType t) {
  unsigned bits = is_bool(t) ? 1 : bit_width(t);
  return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

// The value of an f16, bf16, f32 or f64.
inline double decode(DType t, uint64_t bits) {
  const DTypeInfo& f = info(t);
  uint64_t sign = bits >> (f.bits - 1) & 1, exp = bits >> f.man_bits & ((uint64_t{1} << f.exp_bits) - 1);
  uint64_t man = bits & ((uint64_t{1} << f.man_bits) - 1);
  double v;
  if (exp == (uint64_t{1} << f.exp_bits) - 1) v = man ? std::nan("") : INFINITY;
  else if (exp == 0) v = std::ldexp(static_cast<double>(man), 1 - f.bias - static_cast<int>(f.man_bits));
  else v = std::ldexp(static_cast<double>(man | uint64_t{1} << f.man_bits), static_cast<int>(exp) - f.bias - static_cast<int>(f.man_bits));
  return sign ? -v : v;
}

// x rounded to nearest even; x holds the exact result, or is a long double that rounds on to the same (sticky) value.
inline uint64_t encode(DType t, long double x) {
  const DTypeInfo& f = info(t);
  uint64_t sign = std::signbit(x) ? uint64_t{1} << (f.bits - 1) : 0;
  uint64_t inf = ((uint64_t{1} << f.exp_bits) - 1) << f.man_bits;
  if (std::isnan(x)) return inf | uint64_t{1} << (f.man_bits - 1);
  if (std::isinf(x)) return sign | inf;
  long double a = std::fabs(x);
  if (a == 0) return sign;
  int e;
  std::frexp(a, &e);
  int exponent = std::max(e - 1, 1 - f.bias);
  long double scaled = std::ldexp(a, static_cast<int>(f.man_bits) - exponent);
  long double floor = std::floor(scaled), rest = scaled - floor;
  auto n = static_cast<uint64_t>(floor);
  if (rest > 0.5L || (rest == 0.5L && (n & 1))) ++n;
  // n counts units of the last place; a subnormal has no implicit bit, a carry moves into the exponent by itself.
  uint64_t hidden = uint64_t{1} << f.man_bits;
  uint64_t bits = n < hidden ? n : (static_cast<uint64_t>(exponent + f.bias - 1) << f.man_bits) + n;
  return bits >= inf ? sign | inf : sign | bits;
}

inline bool is_nan_bits(DType t, uint64_t bits) { return is_arith_float(t) && std::isnan(decode(t, bits)); }
// Equal, where any NaN is any NaN.
inline bool same_value(DType t, uint64_t a, uint64_t b) {
  return a == b || (is_nan_bits(t, a) && is_nan_bits(t, b));
}

// p + c, moved off a rounding boundary in the direction of what the sum has lost.
inline long double sticky_sum(long double p, long double c) {
  long double s = p + c;
  if (!std::isfinite(s)) return s;
  long double t = s - p, lost = (p - (s - t)) + (c - t);
  if (lost == 0) return s;
  // A boundary of a narrow type has many trailing zeros; one unit in the last place of s is enough to leave it.
  return std::nextafter(s, lost > 0 ? INFINITY : -INFINITY);
}

// Sum or product that keeps what a second rounding needs: f16, bf16 and f32 are exact in long double or near enough
// (64 bits of mantissa, sticky by the rounding test below); f64 has the hardware's own operation.
inline std::optional<uint64_t> float_op(OpKind op, DType t, uint64_t x, uint64_t y, uint64_t z) {
  double a = decode(t, x), b = decode(t, y), c = decode(t, z);
  uint64_t sign = uint64_t{1} << (bit_width(t) - 1);
  bool nan = std::isnan(a) || std::isnan(b);
  auto lower = [&] { return a < b || (a == b && std::signbit(a)) ? x : y; };
  auto upper = [&] { return a > b || (a == b && !std::signbit(a)) ? x : y; };
  switch (op) {
    case OpKind::AddF: return t == DType::F64 ? encode(t, a + b) : encode(t, static_cast<long double>(a + b));
    case OpKind::SubF: return encode(t, a - b);
    case OpKind::MulF: return encode(t, a * b);
    case OpKind::DivF: return encode(t, a / b);
    case OpKind::FmaF:
      if (t == DType::F64) return encode(t, std::fma(a, b, c));
      if (t == DType::F32) return encode(t, std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
      return encode(t, sticky_sum(static_cast<long double>(a) * b, c));
    case OpKind::SqrtF: return encode(t, std::sqrt(a));
    case OpKind::NegF: return x ^ sign;
    case OpKind::AbsF: return x & ~sign;
    case OpKind::FloorF: return encode(t, std::floor(a));
    case OpKind::CeilF: return encode(t, std::ceil(a));
    case OpKind::TruncF: return encode(t, std::trunc(a));
    case OpKind::RintF: return encode(t, std::nearbyint(a));
    case OpKind::CopysignF: return (x & ~sign) | (y & sign);
    case OpKind::MinF: return std::isnan(a) ? y : std::isnan(b) ? x : lower();
    case OpKind::MaxF: return std::isnan(a) ? y : std::isnan(b) ? x : upper();
    case OpKind::MinimumF: return nan ? encode(t, NAN) : lower();
    case OpKind::MaximumF: return nan ? encode(t, NAN) : upper();
    case OpKind::EqF: return a == b;
    case OpKind::NeF: return a != b;
    case OpKind::LtF: return a < b;
    case OpKind::LeF: return a <= b;
    case OpKind::GtF: return a > b;
    case OpKind::GeF: return a >= b;
    default: return std::nullopt;
  }
}

inline std::optional<uint64_t> int_op(OpKind op, DType t, uint64_t x, uint64_t y) {
  unsigned bits = is_bool(t) ? 1 : bit_width(t);
  uint64_t mask = mask_of(t);
  auto value = [&](uint64_t v) -> Int128 {
    return is_signed(t) && (v >> (bits - 1) & 1) ? static_cast<Int128>(v) - (static_cast<Int128>(mask) + 1) : static_cast<Int128>(v);
  };
  Int128 a = value(x), b = value(y);
  auto wrap = [&](Int128 v) { return static_cast<uint64_t>(v) & mask; };
  auto count = [&](uint64_t v) {
    unsigned n = 0;
    for (; v; v &= v - 1) ++n;
    return uint64_t{n};
  };
  switch (op) {
    case OpKind::AddI: return wrap(a + b);
    case OpKind::SubI: return wrap(a - b);
    case OpKind::MulI: return x * y & mask;
    case OpKind::DivS:
    case OpKind::DivU: return b == 0 ? mask : wrap(a / b);
    case OpKind::RemS:
    case OpKind::RemU: return b == 0 ? x : wrap(a % b);
    case OpKind::NegI: return wrap(-a);
    case OpKind::AbsS: return wrap(a < 0 ? -a : a);
    case OpKind::AbsU: return x;
    case OpKind::MinS:
    case OpKind::MinU: return a < b ? x : y;
    case OpKind::MaxS:
    case OpKind::MaxU: return a > b ? x : y;
    case OpKind::And: return x & y;
    case OpKind::Or: return x | y;
    case OpKind::Xor: return x ^ y;
    case OpKind::Not: return ~x & mask;
    case OpKind::Shl: return y >= bits ? 0 : x << y & mask;
    case OpKind::ShrU: return y >= bits ? 0 : x >> y;
    case OpKind::ShrS: return wrap(a >> (y >= bits ? 127 : static_cast<int>(y)));
    case OpKind::MulhiS:
    case OpKind::MulhiU: {
      __extension__ using U128 = unsigned __int128;
      return static_cast<uint64_t>(static_cast<U128>(x) * y >> bits) & mask;
    }
    case OpKind::Popcount: return count(x);
    case OpKind::Ctlz: {
      uint64_t n = 0;
      while (n < bits && !(x >> (bits - 1 - n) & 1)) ++n;
      return n;
    }
    case OpKind::Cttz: {
      uint64_t n = 0;
      while (n < bits && !(x >> n & 1)) ++n;
      return n;
    }
    case OpKind::EqI: return a == b;
    case OpKind::NeI: return a != b;
    case OpKind::LtS:
    case OpKind::LtU: return a < b;
    case OpKind::LeS:
    case OpKind::LeU: return a <= b;
    case OpKind::GtS:
    case OpKind::GtU: return a > b;
    case OpKind::GeS:
    case OpKind::GeU: return a >= b;
    default: return std::nullopt;
  }
}

// What an elementwise operation returns; nothing for those of class Approximate.
inline std::optional<uint64_t> elementwise(OpKind op, DType t, uint64_t x, uint64_t y, uint64_t z) {
  if (op == OpKind::Where) return x ? y : z;
  return is_float(t) ? float_op(op, t, x, y, z) : int_op(op, t, x, y);
}

}  // namespace tile::interp::test
