#include "dsl/num/fast.h"

#include <cmath>
#include <numbers>

namespace tile::num {

double hw_exp2(double x) { return std::exp2(x); }

double hw_log2(double x) { return std::log2(x); }

double hw_rcp(double x) { return 1.0 / x; }

double hw_rsqrt(double x) { return 1.0 / std::sqrt(x); }

double hw_sin(double revolutions) {
  if (std::isinf(revolutions)) return std::nan("");
  if (std::abs(revolutions) > 256) return 0.0;
  double r = revolutions - std::rint(revolutions);  // exact
  // Multiples of a quarter are exact in the instruction's range.
  if (r == 0) return std::copysign(0.0, revolutions);
  if (std::abs(r) == 0.5) return std::copysign(0.0, revolutions);
  return std::sin(2 * std::numbers::pi * r);
}

double hw_cos(double revolutions) {
  if (std::isinf(revolutions)) return std::nan("");
  if (std::abs(revolutions) > 256) return 1.0;
  double r = revolutions - std::rint(revolutions);
  if (std::abs(r) == 0.25) return 0.0;
  return std::cos(2 * std::numbers::pi * r);
}

}  // namespace tile::num
