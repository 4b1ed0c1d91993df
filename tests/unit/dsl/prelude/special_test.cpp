// Results that are exact: special values, and arguments whose result the type holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/unit/dsl/prelude/math_kernel.h"

namespace tile::test {
namespace {

const double inf = INFINITY, nan = NAN;

template <class T>
void expect_same(const std::string& function, const std::vector<double>& x, const std::vector<double>& y, const std::vector<double>& wanted) {
  Result<MathKernel> k = MathKernel::make(function, sizeof(T) == 4 ? DType::F32 : DType::F64);
  ASSERT_TRUE(k) << k.error().message;
  std::vector<T> a(x.begin(), x.end()), b(y.begin(), y.end()), out(x.size());
  b.resize(x.size());
  Status s = k->run(a.data(), b.data(), out.data(), a.size());
  ASSERT_TRUE(s) << s.error().message;
  for (size_t i = 0; i < x.size(); ++i) {
    T w = static_cast<T>(wanted[i]);
    bool same = std::isnan(w) ? std::isnan(out[i]) : std::memcmp(&w, &out[i], sizeof w) == 0;
    EXPECT_TRUE(same) << function << " f" << 8 * sizeof(T) << "(" << x[i] << (y.empty() ? "" : ", " + std::to_string(y[i]))
                      << ") gave " << out[i] << ", not " << w;
  }
}
void expect(const std::string& function, const std::vector<double>& x, const std::vector<double>& wanted) {
  expect_same<float>(function, x, {}, wanted);
  expect_same<double>(function, x, {}, wanted);
}

TEST(Special, OneArgument) {
  expect("exp", {0.0, -0.0, inf, -inf, nan, 1000.0, -1000.0}, {1, 1, inf, 0, nan, inf, 0});
  expect("exp2", {0.0, -0.0, inf, -inf, nan}, {1, 1, inf, 0, nan});
  expect("expm1", {0.0, -0.0, inf, -inf, nan, -100.0}, {0.0, -0.0, inf, -1, nan, -1});
  for (const char* f : {"log", "log2", "log10"}) expect(f, {1.0, 0.0, -0.0, inf, -inf, -1.0, nan}, {0, -inf, -inf, inf, nan, nan, nan});
  expect("log1p", {0.0, -0.0, -1.0, -2.0, inf, -inf, nan}, {0.0, -0.0, -inf, nan, inf, nan, nan});
  for (const char* f : {"sin", "tan"}) expect(f, {0.0, -0.0, inf, -inf, nan}, {0.0, -0.0, nan, nan, nan});
  expect("cos", {0.0, -0.0, inf, -inf, nan}, {1, 1, nan, nan, nan});
  for (const char* f : {"asin", "atanh"}) expect(f, {0.0, -0.0, 1.5, -1.5, inf, nan}, {0.0, -0.0, nan, nan, nan, nan});
  expect("atanh", {1.0, -1.0}, {inf, -inf});
  expect("acos", {1.0, 1.5, -1.5, -inf, nan}, {0, nan, nan, nan, nan});
  for (const char* f : {"atan", "sinh", "tanh", "asinh", "erf", "cbrt", "round"}) expect(f, {0.0, -0.0, nan}, {0.0, -0.0, nan});
  for (const char* f : {"sinh", "asinh", "cbrt", "round"}) expect(f, {inf, -inf}, {inf, -inf});
  for (const char* f : {"tanh", "erf"}) expect(f, {inf, -inf, 30.0, -30.0}, {1, -1, 1, -1});
  expect("cosh", {0.0, -0.0, inf, -inf, nan}, {1, 1, inf, inf, nan});
  expect("acosh", {1.0, 0.5, -1.0, inf, -inf, nan}, {0, nan, nan, inf, nan, nan});
  expect("sigmoid", {0.0, -0.0, inf, -inf, nan}, {0.5, 0.5, 1, 0, nan});
  expect("rsqrt", {0.0, -0.0, inf, -1.0, nan, 4.0, 0.25}, {inf, -inf, 0, nan, nan, 0.5, 2});
  expect("round", {0.5, -0.5, 1.5, 2.5, -2.5, 0.25, -0.25, 0x1.fffffep-2}, {1, -1, 2, 3, -3, 0.0, -0.0, 0.0});
}

TEST(Special, ExactCases) {
  std::vector<double> n, power, cube;
  for (int i = -149; i <= 127; ++i) n.push_back(i), power.push_back(std::ldexp(1.0, i));
  expect("exp2", n, power);
  expect("log2", power, n);
  std::vector<double> k = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, ten;
  for (double i : k) ten.push_back(std::pow(10.0, i));
  expect("log10", ten, k);
  n.clear();
  for (int i = -200; i <= 200; ++i) n.push_back(i), cube.push_back(static_cast<double>(i) * i * i);
  expect("cbrt", cube, n);
}

// f(-x) is -f(x) or f(x), bit for bit: the sweep over all f32 takes one half of them for granted.
TEST(Special, Symmetry) {
  for (const char* name : {"sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf", "cbrt", "round", "cos", "cosh"}) {
    bool even = std::string(name) == "cos" || std::string(name) == "cosh";
    Result<MathKernel> k = MathKernel::make(name, DType::F32);
    ASSERT_TRUE(k) << k.error().message;
    std::vector<uint32_t> x, negative;
    for (uint64_t bits = 0; bits <= 0x7f800000; bits += 9973) x.push_back(static_cast<uint32_t>(bits)), negative.push_back(x.back() | 0x80000000);
    std::vector<uint32_t> a(x.size()), b(x.size());
    ASSERT_TRUE(k->run(x.data(), nullptr, a.data(), x.size()));
    ASSERT_TRUE(k->run(negative.data(), nullptr, b.data(), x.size()));
    size_t different = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      bool nan = (a[i] & 0x7fffffff) > 0x7f800000 && (b[i] & 0x7fffffff) > 0x7f800000;
      different += !nan && b[i] != (even ? a[i] : a[i] ^ 0x80000000);
    }
    EXPECT_EQ(different, 0u) << name;
  }
}

// Outside of their domain: the other half that the sweep takes for granted.
TEST(Special, NegativeArgumentsOfLogarithms) {
  for (const char* name : {"log", "log2", "log10", "acosh", "rsqrt"}) {
    Result<MathKernel> k = MathKernel::make(name, DType::F32);
    ASSERT_TRUE(k) << k.error().message;
    std::vector<float> x, out;
    for (uint64_t bits = 0x80000001; bits <= 0xff800000; bits += 9967) {
      uint32_t word = static_cast<uint32_t>(bits);
      x.emplace_back();
      std::memcpy(&x.back(), &word, 4);
    }
    out.resize(x.size());
    ASSERT_TRUE(k->run(x.data(), nullptr, out.data(), x.size()));
    EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](float v) { return std::isnan(v); })) << name;
  }
}

TEST(Special, Pow) {
  struct Case { double x, y, wanted; };
  const Case cases[] = {
      {nan, 0, 1}, {nan, -0.0, 1}, {inf, 0, 1}, {0, 0, 1}, {1, nan, 1}, {1, inf, 1}, {1, -inf, 1}, {-1, inf, 1}, {-1, -inf, 1},
      {nan, 1, nan}, {2, nan, nan}, {nan, nan, nan}, {-1, nan, nan},
      {0, 3, 0}, {-0.0, 3, -0.0}, {0, 2, 0}, {-0.0, 2, 0}, {-0.0, 0.5, 0}, {0, inf, 0}, {-0.0, inf, 0},
      {0, -3, inf}, {-0.0, -3, -inf}, {0, -2, inf}, {-0.0, -2, inf}, {-0.0, -0.5, inf}, {0, -inf, inf}, {-0.0, -inf, inf},
      {0.5, inf, 0}, {0.5, -inf, inf}, {-0.5, inf, 0}, {-0.5, -inf, inf}, {2, inf, inf}, {2, -inf, 0}, {-2, inf, inf}, {-2, -inf, 0},
      {inf, 2, inf}, {inf, 0.5, inf}, {inf, -2, 0}, {-inf, 3, -inf}, {-inf, 2, inf}, {-inf, 2.5, inf}, {-inf, -3, -0.0}, {-inf, -2, 0},
      {-inf, -2.5, 0}, {inf, inf, inf}, {inf, -inf, 0}, {-inf, inf, inf}, {-inf, -inf, 0},
      {-2, 0.5, nan}, {-2, 3, -8}, {-2, 2, 4}, {-2, -3, -0.125}, {-1, 1e30, 1}, {2, 127, 0x1p127}, {2, -149, 0x1p-149},
      {3, 5, 243}, {7, 2, 49}, {1.5, 2, 2.25}, {4, 0.5, 2}, {10, 3, 1000}, {0.5, 100, 0x1p-100}, {-3, 1, -3}, {123456, 1, 123456},
      {2, 1e30, inf}, {2, -1e30, 0}, {-2, -1e30, 0}, {0x1p-149, 0.5, std::sqrt(0x1p-149)}};
  std::vector<double> x, y, wanted;
  for (const Case& c : cases) x.push_back(c.x), y.push_back(c.y), wanted.push_back(c.wanted);
  expect_same<float>("pow", x, y, wanted);
  x.pop_back(), y.pop_back(), wanted.pop_back();
  expect_same<double>("pow", x, y, wanted);
}

TEST(Special, Atan2AndFmod) {
  const double pi = M_PI;
  std::vector<double> y = {0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 1, -1, 1, -1, inf, inf, -inf, -inf, inf, 1, -1, 1, -1, nan, 1, 1, -1};
  std::vector<double> x = {1, 1, -1, -1, -0.0, 0.0, 0.0, 0.0, -0.0, -0.0, inf, -inf, inf, -inf, 5, inf, inf, -inf, -inf, 1, nan, 1, -1};
  expect_same<double>("atan2", y, x, {0.0, -0.0, pi, -pi, pi, -0.0, pi / 2, -pi / 2, pi / 2, -pi / 2, pi / 4, 3 * pi / 4, -pi / 4,
                                      -3 * pi / 4, pi / 2, 0.0, -0.0, pi, -pi, nan, nan, pi / 4, -3 * pi / 4});
  x = {5, -5, 5, -5, 5.5, 0.0, -0.0, inf, 1, 1, nan, 1, 3, 0x1p127, -0x1p127, 6, -6};
  y = {3, 3, -3, -3, 2, 1, 1, 1, 0.0, inf, 1, nan, 5, 3, 7, 3, 3};
  expect_same<float>("fmod", x, y, {2, -2, 2, -2, 1.5, 0.0, -0.0, nan, nan, 1, nan, nan, 3, 2, -2, 0.0, -0.0});
  expect_same<double>("fmod", x, y, {2, -2, 2, -2, 1.5, 0.0, -0.0, nan, nan, 1, nan, nan, 3, 2, -2, 0.0, -0.0});
}

}  // namespace
}  // namespace tile::test
