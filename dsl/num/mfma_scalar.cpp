#include "dsl/num/mfma_scalar.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dsl/num/format.h"
#include "dsl/num/storage.h"

namespace tile::num {
namespace {

constexpr int no_exponent = std::numeric_limits<int>::min() / 4;  // of a zero product, and of no products at all
constexpr int fraction_bits = 24;                                 // F: products are cut at 2^(E - F)

// floor(x * 2^shift)
int64_t floor_shift(int64_t x, int shift) { return shift >= 0 ? x << shift : x >> std::min(-shift, 63); }

// trunc(x * 2^shift), toward zero
int64_t trunc_shift(int64_t x, int shift) {
  if (shift >= 0) return x << shift;
  int64_t magnitude = (x < 0 ? -x : x) >> std::min(-shift, 63);
  return x < 0 ? -magnitude : magnitude;
}

// Step 1: what NaN and Inf among products and C make. None: all finite.
struct Special {
  bool decided;
  float value;
};

Special special_result(const MfmaOperand* a, const MfmaOperand* b, unsigned L, int man_bits, int scale, float c) {
  bool nan = std::isnan(c), plus = c == INFINITY, minus = c == -INFINITY;
  for (unsigned k = 0; k < L; k++) {
    bool negative = a[k].negative != b[k].negative;
    bool inf = false;
    if (a[k].cls == MfmaOperand::Nan || b[k].cls == MfmaOperand::Nan) {
      nan = true;
    } else if (a[k].cls == MfmaOperand::Inf || b[k].cls == MfmaOperand::Inf) {
      if ((a[k].cls == MfmaOperand::Finite && a[k].sig == 0) || (b[k].cls == MfmaOperand::Finite && b[k].sig == 0)) nan = true;
      else inf = true;
    } else {
      double p = std::ldexp(static_cast<double>(static_cast<int64_t>(a[k].sig) * b[k].sig), a[k].exp + b[k].exp + scale - man_bits);
      inf = std::abs(p) >= 0x1p128;
    }
    if (inf) (negative ? minus : plus) = true;
  }
  if (nan || (plus && minus)) return {true, std::nanf("")};
  if (plus || minus) return {true, plus ? INFINITY : -INFINITY};
  return {false, 0};
}

// Step 2: products with even or odd k (or all: step 1) truncated at 2^(E - F) and added exactly.
struct TruncatedSum {
  int64_t sum;  // in units of 2^(exp - F)
  int exp;      // E
};

TruncatedSum truncated_sum(const MfmaOperand* a, const MfmaOperand* b, unsigned first, unsigned step, unsigned L, int man_bits, int scale) {
  TruncatedSum r{0, no_exponent};
  for (unsigned k = first; k < L; k += step)
    if (a[k].sig != 0 && b[k].sig != 0) r.exp = std::max(r.exp, a[k].exp + b[k].exp + scale);
  for (unsigned k = first; k < L; k += step) {
    if (a[k].sig == 0 || b[k].sig == 0) continue;
    int e = a[k].exp + b[k].exp + scale;
    r.sum += trunc_shift(static_cast<int64_t>(a[k].sig) * b[k].sig, e - man_bits + fraction_bits - r.exp);
  }
  return r;
}

// Steps 3 and 4: the sum and C floored at 2^(X - 32) and 2^(X - 24), added, floored to 31 fraction bits, rounded.
float add_to_c(TruncatedSum s, float c, bool drop_small_c) {
  uint32_t bits = bits_as<uint32_t>(c);
  int field = static_cast<int>(bits >> 23 & 255);
  int exp_c = std::max(field, 1) - 127;
  int64_t sig_c = (bits & 0x7fffff) | (field != 0 ? 0x800000 : 0);
  if (bits >> 31) sig_c = -sig_c;
  int x = std::max(s.exp, exp_c);
  int64_t sum = s.exp == no_exponent ? 0 : floor_shift(s.sum, s.exp - x + 8);
  int64_t cut_c = drop_small_c && exp_c < x - 25 ? 0 : floor_shift(sig_c, exp_c - x + 1);
  int64_t t = sum + cut_c * 256;
  if (t == 0) return 0.0f;
  int leading = 63 - __builtin_clzll(static_cast<uint64_t>(t < 0 ? -t : t));
  int e = std::max(leading + x - 32, -126);
  int cut = e - 31 - (x - 32);
  if (cut > 0) t = (t >> cut) * (int64_t{1} << cut);
  return static_cast<float>(std::ldexp(static_cast<double>(t), x - 32));
}

}  // namespace

int mfma_man_bits(MfmaOperandType t) { return t.xf32 ? 10 : static_cast<int>(info(t.dtype).man_bits); }

MfmaOperand mfma_decode(MfmaOperandType t, uint32_t bits) {
  if (t.xf32) bits &= ~0x1fffu;
  float value = visit_dtype(t.dtype, [&]<DType T>() {
    if constexpr (T == DType::F32) return bits_as<float>(bits);
    else if constexpr (is_float(T) && bit_width(T) <= 16) return decode_f32<T>(bits);
    else return 0.0f;
  });
  MfmaOperand r{MfmaOperand::Finite, std::signbit(value), 0, 0};
  if (std::isnan(value)) r.cls = MfmaOperand::Nan;
  else if (std::isinf(value)) r.cls = MfmaOperand::Inf;
  if (r.cls != MfmaOperand::Finite) return r;
  const DTypeInfo& row = info(t.dtype);
  int man = mfma_man_bits(t), emin = 1 - row.bias;
  r.exp = value == 0 ? emin : std::max(std::ilogb(value), emin);
  r.sig = static_cast<int32_t>(std::ldexp(value, man - r.exp));  // exact
  return r;
}

float mfma_tr_group(const MfmaOperand* a, const MfmaOperand* b, unsigned L, int man_bits, int scale, float c) {
  Special special = special_result(a, b, L, man_bits, scale, c);
  if (special.decided) return special.value;
  return add_to_c(truncated_sum(a, b, 0, 1, L, man_bits, scale), c, false);
}

float mfma_gtr_group(const MfmaOperand* a, const MfmaOperand* b, unsigned L, int man_bits, float c) {
  Special special = special_result(a, b, L, man_bits, 0, c);
  if (special.decided) return special.value;
  TruncatedSum even = truncated_sum(a, b, 0, 2, L, man_bits, 0), odd = truncated_sum(a, b, 1, 2, L, man_bits, 0);
  TruncatedSum both{0, std::max(even.exp, odd.exp)};
  if (even.exp != no_exponent) both.sum += floor_shift(even.sum, even.exp - both.exp);
  if (odd.exp != no_exponent) both.sum += floor_shift(odd.sum, odd.exp - both.exp);
  return add_to_c(both, c, true);
}

}  // namespace tile::num
