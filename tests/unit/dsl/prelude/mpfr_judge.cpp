#include <mpfr.h>

#include <cmath>
#include <map>

#include "tests/unit/dsl/prelude/reference.h"

namespace tile::test {
namespace {

constexpr mpfr_prec_t precision = 160;

struct Number {
  mpfr_t v;
  Number() { mpfr_init2(v, precision); }
  ~Number() { mpfr_clear(v); }
  Number(const Number&) = delete;
};

int mpfr_sigmoid(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rnd) {
  mpfr_neg(r, x, rnd);
  mpfr_exp(r, r, rnd);
  mpfr_add_ui(r, r, 1, rnd);
  return mpfr_ui_div(r, 1, r, rnd);
}
int mpfr_rsqrt(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rnd) {
  mpfr_sqrt(r, x, rnd);
  return mpfr_ui_div(r, 1, r, rnd);
}
// MPFR's own takes the rounding of an inexact result; halves go away from zero.
int mpfr_round_away(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t) { return (mpfr_round)(r, x); }
#undef mpfr_round
#define mpfr_round mpfr_round_away

using One = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
using Two = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
const std::map<std::string_view, One> one = {
#define TILE_MATH1(name) {#name, mpfr_##name},
#define TILE_MATH2(name)
#include "tests/unit/dsl/prelude/math_functions.def"
};
const std::map<std::string_view, Two> two = {
#define TILE_MATH1(name)
#define TILE_MATH2(name) {#name, mpfr_##name},
#include "tests/unit/dsl/prelude/math_functions.def"
};

}  // namespace

double mpfr_ulp_error(std::string_view function, double x, double y, double got) {
  thread_local Number a, b, r, d;
  mpfr_set_d(a.v, x, MPFR_RNDN);
  if (auto it = one.find(function); it != one.end()) {
    it->second(r.v, a.v, MPFR_RNDN);
  } else {
    mpfr_set_d(b.v, y, MPFR_RNDN);
    two.at(function)(r.v, a.v, b.v, MPFR_RNDN);
  }
  if (mpfr_nan_p(r.v) || std::isnan(got)) return mpfr_nan_p(r.v) && std::isnan(got) ? 0.0 : wrong;
  bool negative = mpfr_signbit(r.v) != 0;
  if (got == 0.0 && std::signbit(got) != negative) return wrong;
  if (mpfr_inf_p(r.v)) return std::isinf(got) && std::signbit(got) == negative ? 0.0 : wrong;
  if (mpfr_zero_p(r.v)) return got == 0.0 ? 0.0 : wrong;
  if (std::isinf(got)) {
    mpfr_set_si_2exp(d.v, got < 0.0 ? -1 : 1, f64_format.max_exponent + 1, MPFR_RNDN);
    // Beyond that power of two an infinity is right.
    if (std::signbit(got) == negative && mpfr_cmpabs(r.v, d.v) >= 0) return 0.0;
  } else {
    mpfr_set_d(d.v, got, MPFR_RNDN);
  }
  mpfr_exp_t e = std::max<mpfr_exp_t>(mpfr_get_exp(r.v) - 1, f64_format.min_exponent) - f64_format.precision + 1;
  mpfr_sub(d.v, d.v, r.v, MPFR_RNDN);
  mpfr_mul_2si(d.v, d.v, -e, MPFR_RNDN);
  return std::fabs(mpfr_get_d(d.v, MPFR_RNDA));
}

}  // namespace tile::test
