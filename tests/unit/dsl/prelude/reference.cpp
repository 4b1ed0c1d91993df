#include "tests/unit/dsl/prelude/reference.h"

#include <algorithm>
#include <cmath>

namespace tile::test {
namespace {

double exp_of(double x) { return std::exp(x); }
double sigmoid(double x) { return 1.0 / (1.0 + exp_of(-x)); }
double rsqrt(double x) { return 1.0 / std::sqrt(x); }

// A loop a function, so that the compiler may call the vector variant of the C library (-fopenmp-simd).
#define TILE_MATH1(name)                                      \
  void loop_##name(const double* x, const double*, double* ref, size_t n) { \
    _Pragma("omp simd") for (size_t i = 0; i < n; ++i) ref[i] = name(x[i]); \
  }
#define TILE_MATH2(name)                                        \
  void loop_##name(const double* x, const double* y, double* ref, size_t n) { \
    for (size_t i = 0; i < n; ++i) ref[i] = name(x[i], y[i]);   \
  }
#include "tests/unit/dsl/prelude/math_functions.def"

struct Row {
  std::string_view name;
  int arity;
  void (*loop)(const double*, const double*, double*, size_t);
};
const Row rows[] = {
#define TILE_MATH1(name) {#name, 1, loop_##name},
#define TILE_MATH2(name) {#name, 2, loop_##name},
#include "tests/unit/dsl/prelude/math_functions.def"
};

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
  for (const Row& r : rows) if (r.name == function) r.loop(x, y, ref, n);
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
