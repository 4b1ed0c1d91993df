#include "tests/unit/dsl/prelude/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

// The vector variants of the C library (libmvec) are within 4 units of double, far less than what is measured here.
#ifdef TILE_HAVE_LIBMVEC
#define TILE_VECTOR(name) extern "C" __attribute__((simd("notinbranch"))) double name(double) noexcept;
TILE_VECTOR(exp) TILE_VECTOR(exp2) TILE_VECTOR(expm1) TILE_VECTOR(log) TILE_VECTOR(log2) TILE_VECTOR(log10) TILE_VECTOR(log1p)
TILE_VECTOR(sin) TILE_VECTOR(cos) TILE_VECTOR(tan) TILE_VECTOR(asin) TILE_VECTOR(acos) TILE_VECTOR(atan) TILE_VECTOR(sinh)
TILE_VECTOR(cosh) TILE_VECTOR(tanh) TILE_VECTOR(asinh) TILE_VECTOR(acosh) TILE_VECTOR(atanh) TILE_VECTOR(erf) TILE_VECTOR(cbrt)
#define TILE_WIDE __attribute__((target("avx2,fma")))
#else
#define TILE_WIDE
#endif

namespace tile::test {
namespace {

inline double sigmoid(double x) { return 1.0 / (1.0 + ::exp(-x)); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }

// Loops that the compiler may do with vectors, for any host and for wide ones.
#define TILE_MATH1(name)                                                           \
  void loop_##name(const double* x, const double*, double* ref, size_t n) {        \
    _Pragma("omp simd") for (size_t i = 0; i < n; ++i) ref[i] = name(x[i]);        \
  }                                                                                \
  TILE_WIDE void wide_##name(const double* x, const double*, double* ref, size_t n) { \
    _Pragma("omp simd") for (size_t i = 0; i < n; ++i) ref[i] = name(x[i]);        \
  }
#define TILE_MATH2(name)                                                           \
  void loop_##name(const double* x, const double* y, double* ref, size_t n) {      \
    for (size_t i = 0; i < n; ++i) ref[i] = name(x[i], y[i]);                      \
  }                                                                                \
  constexpr auto wide_##name = loop_##name;
#include "tests/unit/dsl/prelude/math_functions.def"

struct Row {
  std::string_view name;
  int arity;
  void (*loop)(const double*, const double*, double*, size_t);
  void (*wide)(const double*, const double*, double*, size_t);
};
const Row rows[] = {
#define TILE_MATH1(name) {#name, 1, loop_##name, wide_##name},
#define TILE_MATH2(name) {#name, 2, loop_##name, wide_##name},
#include "tests/unit/dsl/prelude/math_functions.def"
};

using Extended = long double;
inline Extended sigmoid(Extended x) { return 1.0L / (1.0L + std::exp(-x)); }
inline Extended rsqrt(Extended x) { return 1.0L / std::sqrt(x); }

struct ExtendedRow {
  std::string_view name;
  Extended (*one)(Extended);
  Extended (*two)(Extended, Extended);
};
const ExtendedRow extended_rows[] = {
#define TILE_MATH1(name) {#name, [](Extended x) -> Extended { using namespace std; return name(x); }, nullptr},
#define TILE_MATH2(name) {#name, nullptr, [](Extended x, Extended y) -> Extended { using namespace std; return name(x, y); }},
#include "tests/unit/dsl/prelude/math_functions.def"
};

bool wide_host() {
#ifdef TILE_HAVE_LIBMVEC
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

}  // namespace

const std::vector<std::string_view>& math_functions(int arguments) {
  static const std::vector<std::string_view> lists[2] = {[] {
    std::vector<std::string_view> v;
    for (const Row& r : rows) if (r.arity == 1) v.push_back(r.name);
    return v;
  }(), [] {
    std::vector<std::string_view> v;
    for (const Row& r : rows) if (r.arity == 2) v.push_back(r.name);
    return v;
  }()};
  return lists[arguments - 1];
}

int arity(std::string_view function) {
  for (const Row& r : rows) if (r.name == function) return r.arity;
  return 0;
}

void reference(std::string_view function, const double* x, const double* y, double* ref, size_t n) {
  static const bool wide = wide_host();
  for (const Row& r : rows) if (r.name == function) (wide ? r.wide : r.loop)(x, y, ref, n);
}

namespace {

inline bool all_within_of(const double* got, const double* ref, size_t n, double limit) {
  int beyond = 0;
  for (size_t i = 0; i < n; ++i) {
    // Equal bits are fine also where the comparison is not: zeros and infinities.
    bool near = std::fabs(got[i] - ref[i]) < limit * std::fabs(ref[i]);
    bool same = std::bit_cast<uint64_t>(got[i]) == std::bit_cast<uint64_t>(ref[i]);
    bool nan = (got[i] != got[i]) & (ref[i] != ref[i]);
    beyond += !(near | same | nan);
  }
  return beyond == 0;
}
TILE_WIDE bool all_within_wide(const double* got, const double* ref, size_t n, double limit) { return all_within_of(got, ref, n, limit); }

}  // namespace

bool all_within(const double* got, const double* ref, size_t n, double limit) {
  static const bool wide = wide_host();
  return wide ? all_within_wide(got, ref, n, limit) : all_within_of(got, ref, n, limit);
}

std::optional<double> extended_ulp_error(std::string_view function, double x, double y, double got) {
  if constexpr (std::numeric_limits<Extended>::digits < 64) return std::nullopt;
  for (const ExtendedRow& r : extended_rows) {
    if (r.name != function) continue;
    Extended ref = r.one != nullptr ? r.one(x) : r.two(x, y);
    if (!(std::fabs(ref) >= 0x1p-1060L && std::fabs(ref) < 0x1p1023L && std::isfinite(got) && got != 0.0)) return std::nullopt;
    int e = std::max(std::ilogb(ref), f64_format.min_exponent) - f64_format.precision + 1;
    return static_cast<double>(std::ldexp(std::fabs(got - ref), -e));
  }
  return std::nullopt;
}

double ulp_error(double got, double ref, const Format& f) {
  if (std::isnan(ref) || std::isnan(got)) return std::isnan(ref) && std::isnan(got) ? 0.0 : wrong;
  if (got == 0.0 && std::signbit(got) != std::signbit(ref)) return wrong;
  if (std::isinf(ref)) return got == ref ? 0.0 : wrong;
  double overflow = std::ldexp(1.0, f.max_exponent + 1);
  if (std::isinf(got)) {
    if (std::fabs(ref) >= overflow && std::signbit(got) == std::signbit(ref)) return 0.0;
    got = std::copysign(overflow, got);
  }
  if (got == ref) return 0.0;
  if (ref == 0.0) return wrong;
  int e = std::clamp(std::ilogb(ref), f.min_exponent, f.max_exponent) - f.precision + 1;
  return std::ldexp(std::fabs(got - ref), -e);
}

}  // namespace tile::test
