#include "tests/unit/dsl/prelude/inputs.h"

#include <bit>
#include <cmath>

#include "tests/unit/dsl/prelude/reference.h"

namespace tile::test {
namespace {

double rounded(double x, DType type) { return type == DType::F64 ? x : static_cast<double>(static_cast<float>(x)); }

void add(std::vector<double>& v, double x, DType type) {
  x = rounded(x, type);
  double near[3];
  if (type == DType::F64) {
    near[0] = x, near[1] = std::nextafter(x, INFINITY), near[2] = std::nextafter(x, -INFINITY);
  } else {
    float f = static_cast<float>(x);
    near[0] = f, near[1] = std::nextafterf(f, INFINITY), near[2] = std::nextafterf(f, -INFINITY);
  }
  for (double n : near) v.push_back(n), v.push_back(-n);
}

}  // namespace

std::vector<double> edge_values(DType type) {
  const Format& f = type == DType::F64 ? f64_format : f32_format;
  std::vector<double> v = {NAN};
  for (double x : {0.0, static_cast<double>(INFINITY), std::ldexp(1.0, f.min_exponent), std::ldexp(3.0, f.min_exponent - 5),
                   0.1, 0.25, 0.3, 1.0 / 3.0, 0.5, 0.75, 1.25, 1.5, 2.5, 3.5, 1e10, 1e22})
    add(v, x, type);
  for (int i = 1; i <= 12; ++i) add(v, i, type), add(v, i * 0.78539816339744830962, type);
  for (double x : {16.0, 17.0, 20.0, 23.0, 24.0, 53.0, 64.0, 100.0, 1000.0, 1e5, 88.72283905206835, 87.33654475055310,
                   103.97207708399179, 709.782712893384, 745.1332191019411, 128.0, 149.0, 150.0, 126.0, 1023.0, 1024.0, 1074.0,
                   1075.0, 89.41598629223294, 710.4758600739439, 9.010913347279288, 0.87, 0.78515625})
    add(v, x, type);
  for (int e : {f.precision, f.precision - 1, f.precision + 1, 30, 60, -25, -54, -12, 32, 63, f.max_exponent, f.min_exponent - 5})
    add(v, std::ldexp(1.0, e), type);
  return v;
}

double RandomInputs::any() {
  uint64_t bits = engine_();
  if (type_ == DType::F64) return std::bit_cast<double>(bits);
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

void RandomInputs::next(double& x, double& y) {
  double range = type_ == DType::F64 ? 760.0 : 110.0;
  double sign = (engine_() & 1) != 0 ? -1.0 : 1.0;
  switch (engine_() % 4) {
    case 0: x = any(), y = any(); break;
    case 1: x = sign * std::exp2(uniform(-70.0, 11.0)), y = std::exp2(uniform(-70.0, 11.0)); break;
    case 2: x = uniform(-range, range), y = uniform(-range, range); break;
    default: x = uniform(-2.0, 2.0), y = x * uniform(0.5, 2.0); break;
  }
  if (function_ == "pow" && engine_() % 4 != 0) {
    // A power between underflow and overflow, of a base near one half of the time.
    x = (engine_() & 1) != 0 ? std::fabs(x) : 1.0 + sign * std::exp2(uniform(-30.0, -1.0));
    x = rounded(x, type_);
    y = uniform(-1.4, 1.4) * range / std::log(x);
  }
  if (function_ == "pow" && engine_() % 8 == 0) y = std::rint(y);
  x = rounded(x, type_);
  y = rounded(y, type_);
}

}  // namespace tile::test
