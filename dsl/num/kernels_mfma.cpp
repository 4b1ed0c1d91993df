// Compiled once per host instruction set; see isa.h. Vectors run along the columns of the output; each lane does what
// mfma_scalar.cpp does, in other number types:
//   * A product of two operands of at most 11 significant bits is exact in f32. Multiplied by 2^(24 - E), also exact,
//     and truncated to an integer it is the truncated product of step 2, below 2^26 in magnitude; 32 of them fit int32
//     (operands of groups of 32 have at most 4 significant bits, so products are below 3.52 * 2^24).
//   * Steps 3 and 4 are done in f64: the sums have at most 40 bits.
// Lanes where that does not hold are done by `exact_group`; until then they hold anything, so their sums wrap.
#include <algorithm>
#include <memory>

#include "dsl/num/mfma_kernels.h"
#include "dsl/num/simd.h"

namespace tile::num {
inline namespace TILE_NUM_ISA {
namespace {

constexpr int32_t zero_exp = -2000;  // encoded exponent of a zero operand; sums with it stay below no_products
constexpr int32_t no_products = -1000;
// Exponents E of a group for which products and their scaling neither overflow nor lose bits that count.
constexpr int32_t min_exp = -100, max_exp = 120;

VecI splat(int32_t x) { return x - VecI{}; }
HalfL splat_long(int64_t x) { return x - HalfL{}; }

// 2^n for -1000 < n < 1000.
[[gnu::always_inline]] inline HalfD pow2(HalfL n) { return reinterpret_cast<HalfD>((n + 1023) << 52); }

// Encoded exponents of values that were widened to f32.
[[gnu::always_inline]] inline VecI encoded_exp(VecF x, int emin) {
  VecI b = reinterpret_cast<VecI>(x) & 0x7fffffff;
  return b == 0 ? splat(zero_exp) : max((b >> 23) - 127, splat(emin));
}

// Steps 3 and 4 for half a vector.
template <bool drop_small_c>
[[gnu::always_inline]] inline HalfF add_half(HalfI sum, HalfI exp, HalfI sig_c, HalfI exp_c, HalfI x) {
  HalfL long_x = __builtin_convertvector(x, HalfL);
  HalfL below_s = __builtin_convertvector(x - exp, HalfL), below_c = __builtin_convertvector(x - exp_c, HalfL);
  HalfD s = floor(__builtin_convertvector(sum, HalfD) * pow2(8 - below_s));
  HalfD c = floor(__builtin_convertvector(sig_c, HalfD) * pow2(1 - below_c));
  if constexpr (drop_small_c) c = below_c > 25 ? HalfD{} : c;
  HalfD t = s + c * 256.0;
  // Floor to 31 bits after the leading one: clear the last 21 of 52, upwards in magnitude when negative.
  HalfL b = reinterpret_cast<HalfL>(t);
  HalfL negative = b < 0;
  b = (b + (negative & 0x1fffff)) & ~splat_long(0x1fffff);
  return __builtin_convertvector(reinterpret_cast<HalfD>(b) * pow2(long_x - 32), HalfF);
}

// A group's truncated sum.
struct GroupSum {
  VecI sum, exp;
};

// Adds a group's sum to C. `again`: lanes for the exact path.
template <bool drop_small_c>
[[gnu::always_inline]] inline VecF add_to_c(GroupSum s, VecF c, VecI& again) {
  VecI bits = reinterpret_cast<VecI>(c);
  VecI field = (bits >> 23) & 255;
  VecI sig = (bits & 0x7fffff) | (field != 0 ? splat(0x800000) : VecI{});
  VecI exp_c = max(field, splat(1)) - 127;
  sig = bits < 0 ? -sig : sig;
  VecI exp = max(s.exp, splat(-500));
  VecI x = max(exp, exp_c);
  // C not finite; or so small a result that its last places lie below the smallest subnormal.
  again |= field == 255 ? splat(-1) : VecI{};
  again |= (x < -125) & ((s.sum | sig) != 0);
  return join(add_half<drop_small_c>(half(s.sum, 0), half(exp, 0), half(sig, 0), half(exp_c, 0), half(x, 0)),
              add_half<drop_small_c>(half(s.sum, 1), half(exp, 1), half(sig, 1), half(exp_c, 1), half(x, 1)));
}

// The panel of B for one vector of columns: values and encoded exponents, k after k.
struct Panel {
  const float* b;
  const int32_t* exp;
};

[[gnu::always_inline]] inline VecI group_exp(const int32_t* a_exp, const int32_t* b_exp, unsigned first, unsigned step, unsigned L) {
  VecI e = splat(zero_exp);
#pragma GCC unroll 32
  for (unsigned k = first; k < L; k += step) e = max(e, load<VecI>(b_exp + k * lanes) + a_exp[k]);
  return e;
}

[[gnu::always_inline]] inline VecI group_sum(const float* a, const float* b, VecI exp, unsigned first, unsigned step, unsigned L) {
  VecF scale = reinterpret_cast<VecF>((127 + 24 - min(max(exp, splat(min_exp)), splat(max_exp))) << 23);
  VecI sum = {};
#pragma GCC unroll 32
  for (unsigned k = first; k < L; k += step) sum = add_wrapping(sum, __builtin_convertvector(load<VecF>(b + k * lanes) * a[k] * scale, VecI));
  return sum;
}

[[gnu::always_inline]] inline VecI out_of_range(VecI exp) { return (exp > max_exp) | ((exp < min_exp) & (exp > no_products)); }

// One group of TR(L).
template <unsigned L>
[[gnu::always_inline]] inline VecF tr_group(const float* a, const int32_t* a_exp, const float* b, const int32_t* b_exp, VecI shift, VecF c, VecI& again) {
  VecI e = group_exp(a_exp, b_exp, 0, 1, L);
  VecI sum = group_sum(a, b, e, 0, 1, L);
  again |= out_of_range(e);
  VecI scaled = e < no_products ? e : e + shift;
  again |= scaled > max_exp;
  return add_to_c<false>({sum, scaled}, c, again);
}

// One group of GTR(16).
[[gnu::always_inline]] inline VecF gtr_group(const float* a, const int32_t* a_exp, const float* b, const int32_t* b_exp, VecF c, VecI& again) {
  VecI e0 = group_exp(a_exp, b_exp, 0, 2, 16), e1 = group_exp(a_exp, b_exp, 1, 2, 16);
  VecI s0 = group_sum(a, b, e0, 0, 2, 16), s1 = group_sum(a, b, e1, 1, 2, 16);
  again |= out_of_range(e0) | out_of_range(e1);
  VecI e = max(e0, e1);
  VecI sum = add_wrapping(s0 >> min(e - e0, splat(31)), s1 >> min(e - e1, splat(31)));
  return add_to_c<true>({sum, e}, c, again);
}

// Denormals to zero of the same sign.
[[gnu::always_inline]] inline VecF flush(VecF x) {
  VecI b = reinterpret_cast<VecI>(x);
  return reinterpret_cast<VecF>((b & 0x7f800000) == 0 ? b & static_cast<int32_t>(0x80000000u) : b);
}
[[gnu::always_inline]] inline VecF flush_to_plus(VecF x) {
  VecI b = reinterpret_cast<VecI>(x);
  return reinterpret_cast<VecF>((b & 0x7f800000) == 0 ? VecI{} : b);
}

template <unsigned P>
[[gnu::always_inline]] inline VecF ftz_group(const float* a, const float* b, VecF c) {
  VecF s = flush(flush(load<VecF>(b) * a[0]) + flush(load<VecF>(b + lanes) * a[1]));
  if constexpr (P == 4) s = flush(s + flush(flush(load<VecF>(b + 2 * lanes) * a[2]) + flush(load<VecF>(b + 3 * lanes) * a[3])));
  return flush(c + s);
}

// All of K for one row and one vector of columns, for models that need exponents.
template <MfmaModel model>
[[gnu::always_inline]] inline VecF aligned_row(const DotF32& dot, size_t i, size_t j, const int32_t* a_exp, Panel panel, VecF c) {
  constexpr unsigned L = model == MfmaModel::Tr4 ? 4 : model == MfmaModel::Tr8 ? 8 : model == MfmaModel::Gtr16 ? 16 : 32;
  const float* a = dot.a + i * dot.k;
  for (size_t k = 0; k < dot.k; k += L) {
    VecI again = {};
    VecF before = c;
    const float* b = panel.b + k * lanes;
    const int32_t* b_exp = panel.exp + k * lanes;
    if constexpr (model == MfmaModel::Gtr16) {
      c = gtr_group(a + k, a_exp + k, b, b_exp, c, again);
    } else {
      VecI shift = {};
      if constexpr (model == MfmaModel::ScaledTr32) {
        if (dot.a_scale != nullptr) shift += dot.a_scale[i * (dot.k / 32) + k / 32];
        if (dot.b_scale != nullptr)
          for (size_t l = 0; l < lanes && j + l < dot.n; l++) shift[l] += dot.b_scale[k / 32 * dot.n + j + l];
      }
      c = tr_group<L>(a + k, a_exp + k, b, b_exp, shift, c, again);
    }
    if (__builtin_expect(any(again), 0)) {
      for (size_t l = 0; l < lanes && j + l < dot.n; l++) {
        if (again[l] == 0) continue;
        float x = before[l];
        dot.exact_group(dot.context, i, j + l, k, &x);
        c[l] = x;
      }
    }
  }
  return c;
}

// The same for models of plain f32 operations.
template <MfmaModel model>
[[gnu::always_inline]] inline VecF plain_row(const DotF32& dot, size_t i, const float* b, VecF c) {
  const float* a = dot.a + i * dot.k;
  if constexpr (model == MfmaModel::Fma) {
    for (size_t k = 0; k < dot.k; k++) c = fma(load<VecF>(b + k * lanes), a[k] - VecF{}, c);
  } else {
    constexpr unsigned P = model == MfmaModel::Ftz2 ? 2 : 4;
    for (size_t k0 = 0; k0 < dot.k; k0 += dot.inst_k) {
      c = flush_to_plus(c);
      for (size_t k = k0; k < k0 + dot.inst_k; k += P) c = ftz_group<P>(a + k, b + k * lanes, c);
    }
  }
  return c;
}

template <MfmaModel model>
void run(const DotF32& dot) {
  constexpr bool aligned = model != MfmaModel::Fma && model != MfmaModel::Ftz2 && model != MfmaModel::Ftz4;
  auto b = std::make_unique_for_overwrite<float[]>(dot.k * lanes);
  std::unique_ptr<int32_t[]> b_exp, a_exp;
  if (aligned) {
    b_exp = std::make_unique_for_overwrite<int32_t[]>(dot.k * lanes);
    a_exp = std::make_unique_for_overwrite<int32_t[]>(dot.m * dot.k);
    size_t count = dot.m * dot.k, x = 0;
    for (; x + lanes <= count; x += lanes) store(&a_exp[x], encoded_exp(load<VecF>(dot.a + x), dot.a_emin));
    VecF rest = {};
    std::memcpy(&rest, dot.a + x, (count - x) * sizeof(float));
    VecI rest_exp = encoded_exp(rest, dot.a_emin);
    std::memcpy(&a_exp[x], &rest_exp, (count - x) * sizeof(int32_t));
  }
  for (size_t j = 0; j < dot.n; j += lanes) {
    size_t width = dot.n - j < lanes ? dot.n - j : lanes;
    for (size_t k = 0; k < dot.k; k++) {
      VecF v = {};
      if (width == lanes) v = load<VecF>(dot.b + k * dot.n + j);
      else std::memcpy(&v, dot.b + k * dot.n + j, width * sizeof(float));
      store(&b[k * lanes], v);
      if (aligned) store(&b_exp[k * lanes], encoded_exp(v, dot.b_emin));
    }
    for (size_t i = 0; i < dot.m; i++) {
      float* row = dot.c + i * dot.ldc + j;
      VecF c = {};
      std::memcpy(&c, row, width * sizeof(float));
      if constexpr (aligned) c = aligned_row<model>(dot, i, j, &a_exp[i * dot.k], {b.get(), b_exp.get()}, c);
      else c = plain_row<model>(dot, i, b.get(), c);
      std::memcpy(row, &c, width * sizeof(float));
    }
  }
}

void dot_f32_out(const DotF32& dot) {
  switch (dot.model) {
    case MfmaModel::Fma: return run<MfmaModel::Fma>(dot);
    case MfmaModel::Ftz2: return run<MfmaModel::Ftz2>(dot);
    case MfmaModel::Ftz4: return run<MfmaModel::Ftz4>(dot);
    case MfmaModel::Tr4: return run<MfmaModel::Tr4>(dot);
    case MfmaModel::Tr8: return run<MfmaModel::Tr8>(dot);
    case MfmaModel::Gtr16: return run<MfmaModel::Gtr16>(dot);
    case MfmaModel::ScaledTr32: return run<MfmaModel::ScaledTr32>(dot);
    case MfmaModel::Int32: case MfmaModel::None: break;
  }
}

void dot_i8(size_t m, size_t n, size_t k, const int8_t* a, const int8_t* b, int32_t* c, size_t ldc) {
  for (size_t i = 0; i < m; i++) {
    auto row = reinterpret_cast<uint32_t*>(c + i * ldc);  // wraps
    for (size_t x = 0; x < k; x++) {
      int32_t factor = a[i * k + x];
      const int8_t* b_row = b + x * n;
#pragma GCC ivdep
      for (size_t j = 0; j < n; j++) row[j] += static_cast<uint32_t>(factor * b_row[j]);
    }
  }
}

void dot_f64(size_t m, size_t n, size_t k, const double* a, const double* b, double* c, size_t ldc) {
  for (size_t i = 0; i < m; i++)
    for (size_t x = 0; x < k; x++) {
      double factor = a[i * k + x];
      double* row = c + i * ldc;
      const double* b_row = b + x * n;
#pragma GCC ivdep
      for (size_t j = 0; j < n; j++) row[j] = __builtin_fma(factor, b_row[j], row[j]);
    }
}

}  // namespace

DotKernels dot_kernels() { return {dot_f32_out, dot_i8, dot_f64}; }

}  // namespace TILE_NUM_ISA
}  // namespace tile::num
