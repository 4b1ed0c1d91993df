#include "dsl/num/float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "dsl/num/fast.h"

namespace tile::num {
namespace {

// A second way to round: the nearest code, found by trying the neighbours in exact arithmetic (long double holds every
// value here, and the differences of candidates close to x).
template <DType T>
bool is_nan_code(uint32_t code) { return std::isnan(decode_f32<T>(code)); }

template <DType T>
void check_nearest(double x, uint32_t code) {
  ASSERT_FALSE(is_nan_code<T>(code)) << x;
  auto value = [](uint32_t c) { return static_cast<long double>(decode_f32<T>(c)); };
  long double distance = std::abs(value(code) - x);
  uint32_t magnitude = code & Format<T>::magnitude_mask;
  for (int d : {-1, 1}) {
    uint32_t neighbour = magnitude + static_cast<uint32_t>(d);
    if ((magnitude == 0 && d < 0) || neighbour > Format<T>::max_code) continue;
    uint32_t sign = neighbour == 0 ? 0 : code & ~Format<T>::magnitude_mask;  // -0 is NaN in fnuz types
    long double other = std::abs(value(neighbour | sign) - x);
    if (other == distance) {
      ASSERT_EQ(magnitude & 1, 0u) << x;
    } else {
      ASSERT_LT(distance, other) << x;
    }
  }
}

template <DType T>
void check_encode_nearest() {
  std::mt19937_64 rng(1);
  double lo = std::ldexp(1.0, Format<T>::emin - Format<T>::man - 2), hi = decode_f32<T>(Format<T>::max_code);
  std::uniform_real_distribution<double> log_magnitude(std::log2(lo), std::log2(hi));
  for (int i = 0; i < 200000; i++) {
    double x = std::exp2(log_magnitude(rng));
    if (x > hi) continue;
    if (i & 1) x = -x;
    check_nearest<T>(x, encode_f64<T>(x));
    float f = static_cast<float>(x);
    check_nearest<T>(f, encode_f32<T>(f));
  }
  // Every midpoint between neighbours, exactly, and just above and below.
  for (uint32_t c = 0; c < Format<T>::max_code; c++) {
    double mid = (static_cast<double>(decode_f32<T>(c)) + decode_f32<T>(c + 1)) / 2;
    uint32_t even = c & 1 ? c + 1 : c;
    ASSERT_EQ(encode_f64<T>(mid), even) << c;
    ASSERT_EQ(encode_f64<T>(std::nextafter(mid, 0)), c) << c;
    ASSERT_EQ(encode_f64<T>(std::nextafter(mid, 1e300)), c + 1) << c;
  }
}

TEST(Encode, Nearest) {
  check_encode_nearest<DType::F16>();
  check_encode_nearest<DType::BF16>();
  check_encode_nearest<DType::F8E4M3>();
  check_encode_nearest<DType::F8E5M2>();
  check_encode_nearest<DType::F8E4M3FNUZ>();
  check_encode_nearest<DType::F8E5M2FNUZ>();
  check_encode_nearest<DType::F6E2M3>();
  check_encode_nearest<DType::F6E3M2>();
  check_encode_nearest<DType::F4E2M1>();
}

template <DType T>
void check_round_trip() {
  for (uint32_t c = 0; c < 1u << bit_width(T); c++) {
    if (is_nan_code<T>(c)) {
      ASSERT_TRUE(is_nan_code<T>(encode_f32<T>(decode_f32<T>(c))));
    } else {
      ASSERT_EQ(encode_f32<T>(decode_f32<T>(c), Rounding::NearestEven, false), c);
      ASSERT_EQ(encode_f64<T>(decode_f32<T>(c), Rounding::TowardZero, false), c);
    }
  }
}

TEST(Encode, RoundTripsOfEveryCode) {
  check_round_trip<DType::F16>();
  check_round_trip<DType::BF16>();
  check_round_trip<DType::F8E4M3>();
  check_round_trip<DType::F8E5M2>();
  check_round_trip<DType::F8E4M3FNUZ>();
  check_round_trip<DType::F8E5M2FNUZ>();
  check_round_trip<DType::F6E2M3>();
  check_round_trip<DType::F6E3M2>();
  check_round_trip<DType::F4E2M1>();
  check_round_trip<DType::F8E8M0>();
}

TEST(Encode, KnownValues) {
  // Failures that users of other tile languages have reported.
  EXPECT_EQ(decode_f32<DType::F8E4M3>(encode_f32<DType::F8E4M3>(126.24f)), 128.0f);
  EXPECT_EQ(decode_f32<DType::BF16>(encode_f32<DType::BF16>(1.99609375f)), 2.0f);
  EXPECT_TRUE(std::isnan(decode_f32<DType::F8E4M3FNUZ>(0x80)));
  EXPECT_TRUE(std::isnan(decode_f32<DType::F8E5M2FNUZ>(0x80)));
  EXPECT_EQ(decode_f32<DType::F8E8M0>(0), 0x1p-127f);
  EXPECT_EQ(decode_f32<DType::F8E8M0>(254), 0x1p127f);
  EXPECT_TRUE(std::isnan(decode_f32<DType::F8E8M0>(255)));
  // Largest values.
  EXPECT_EQ(decode_f32<DType::F8E4M3>(0x7e), 448.0f);
  EXPECT_EQ(decode_f32<DType::F8E5M2>(0x7b), 57344.0f);
  EXPECT_EQ(decode_f32<DType::F8E4M3FNUZ>(0x7f), 240.0f);
  EXPECT_EQ(decode_f32<DType::F8E5M2FNUZ>(0x7f), 57344.0f);
  EXPECT_EQ(decode_f32<DType::F6E2M3>(0x1f), 7.5f);
  EXPECT_EQ(decode_f32<DType::F6E3M2>(0x1f), 28.0f);
  EXPECT_EQ(decode_f32<DType::F4E2M1>(0x7), 6.0f);
}

TEST(Encode, Overflow) {
  float inf = INFINITY;
  // Saturating.
  for (float x : {1e9f, inf}) {
    EXPECT_EQ(encode_f32<DType::F8E4M3>(-x), 0xfeu);
    EXPECT_EQ(encode_f32<DType::F8E5M2>(x), 0x7bu);
    EXPECT_EQ(encode_f32<DType::F8E4M3FNUZ>(-x), 0xffu);
    EXPECT_EQ(encode_f32<DType::F6E3M2>(-x), 0x3fu);
    EXPECT_EQ(encode_f32<DType::F4E2M1>(x), 0x7u);
    EXPECT_EQ(encode_f32<DType::F8E8M0>(x), x < inf ? 157u : 254u);
    EXPECT_EQ(encode_f32<DType::F16>(-x), 0xfc00u);
  }
  // As the hardware.
  auto nosat = [](auto encode, float x) { return encode(x, Rounding::NearestEven, false, 0u); };
  EXPECT_EQ(nosat(encode_f32<DType::F8E4M3>, -1e9f), 0xffu);
  EXPECT_EQ(nosat(encode_f32<DType::F8E4M3>, 464.0f), 0x7eu);  // a tie, to even
  EXPECT_EQ(nosat(encode_f32<DType::F8E4M3>, 465.0f), 0x7fu);
  EXPECT_EQ(nosat(encode_f32<DType::F8E5M2>, 61440.0f), 0x7cu);
  EXPECT_EQ(nosat(encode_f32<DType::F8E5M2>, -inf), 0xfcu);
  EXPECT_EQ(nosat(encode_f32<DType::F8E4M3FNUZ>, 1e9f), 0x80u);
  EXPECT_EQ(nosat(encode_f32<DType::F8E5M2FNUZ>, -inf), 0x80u);
  EXPECT_EQ(nosat(encode_f32<DType::F6E2M3>, -inf), 0x3fu);
  EXPECT_EQ(nosat(encode_f32<DType::F8E8M0>, inf), 0xffu);
  // NaN, kept or the largest with the sign.
  EXPECT_EQ(encode_f32<DType::F8E4M3>(NAN), 0x7fu);
  EXPECT_EQ(encode_f32<DType::F8E5M2FNUZ>(NAN), 0x80u);
  EXPECT_EQ(encode_f32<DType::F4E2M1>(NAN), 0x7u);
  EXPECT_EQ(encode_f32<DType::F4E2M1>(-NAN), 0xfu);
  EXPECT_EQ(encode_f32<DType::F8E8M0>(-1.0f), 0xffu);
  // Signed zeros; the fnuz types have one zero.
  EXPECT_EQ(encode_f32<DType::F8E4M3>(-0.0f), 0x80u);
  EXPECT_EQ(encode_f32<DType::F8E4M3FNUZ>(-0.0f), 0u);
  EXPECT_EQ(encode_f32<DType::F8E5M2FNUZ>(-1e-30f), 0u);
}

TEST(Encode, TowardZeroAndStochastic) {
  EXPECT_EQ(encode_f32<DType::F16>(65519.9f, Rounding::TowardZero), 0x7bffu);
  EXPECT_EQ(encode_f32<DType::F16>(1e9f, Rounding::TowardZero), 0x7bffu);
  EXPECT_EQ(encode_f32<DType::F16>(INFINITY, Rounding::TowardZero), 0x7c00u);
  EXPECT_EQ(encode_f32<DType::BF16>(1.99609375f, Rounding::TowardZero), 0x3fffu);
  // 1 + 3/4 of a place: up for three quarters of the random words.
  float x = 1.0f + 0.75f * 0x1p-7f;
  EXPECT_EQ(encode_f32<DType::BF16>(x, Rounding::Stochastic, true, 0x3fffffffu), 0x3f80u);
  EXPECT_EQ(encode_f32<DType::BF16>(x, Rounding::Stochastic, true, 0x40000000u), 0x3f81u);
  EXPECT_EQ(encode_f32<DType::BF16>(-x, Rounding::Stochastic, true, 0xffffffffu), 0xbf81u);
  std::mt19937 rng(7);
  int up = 0;
  for (int i = 0; i < 100000; i++) up += encode_f64<DType::F8E4M3>(1.0 + 0.3 / 8, Rounding::Stochastic, true, rng()) == 0x39;
  EXPECT_NEAR(up, 30000, 600);
  // Subnormal results: a fraction of the smallest value.
  up = 0;
  for (int i = 0; i < 100000; i++) up += encode_f32<DType::F16>(0.25f * 0x1p-24f, Rounding::Stochastic, true, rng()) == 1;
  EXPECT_NEAR(up, 25000, 600);
}

TEST(Encode, E8m0) {
  EXPECT_EQ(encode_f32<DType::F8E8M0>(1.0f), 127u);
  EXPECT_EQ(encode_f32<DType::F8E8M0>(1.49f), 127u);
  EXPECT_EQ(encode_f32<DType::F8E8M0>(1.5f), 128u);
  EXPECT_EQ(encode_f32<DType::F8E8M0>(1.99f, Rounding::TowardZero), 127u);
  EXPECT_EQ(encode_f32<DType::F8E8M0>(0.0f), 0u);
  EXPECT_EQ(encode_f32<DType::F8E8M0>(0x1p-149f), 0u);
  EXPECT_EQ(encode_f32<DType::F8E8M0>(0x1.4p-127f), 0u);
  EXPECT_EQ(encode_f32<DType::F8E8M0>(0x1.8p-127f), 1u);
  EXPECT_EQ(encode_f64<DType::F8E8M0>(0x1.8p-127), 1u);
  EXPECT_EQ(encode_f64<DType::F8E8M0>(0x1p-300), 0u);
  EXPECT_EQ(encode_f64<DType::F8E8M0>(0x1.7p127), 254u);
  EXPECT_EQ(encode_f64<DType::F8E8M0>(0x1.8p127), 254u);
  EXPECT_EQ(encode_f64<DType::F8E8M0>(0x1.8p127, Rounding::NearestEven, false), 255u);
}

TEST(Float, MinMax) {
  float inf = INFINITY, nan = NAN;
  auto bits = [](float x) { return bits_as<uint32_t>(x); };
  EXPECT_EQ(bits(op::MaxF<DType::F32>(0.0f, -0.0f)), 0u);
  EXPECT_EQ(bits(op::MaxF<DType::F32>(-0.0f, 0.0f)), 0u);
  EXPECT_EQ(bits(op::MinF<DType::F32>(0.0f, -0.0f)), 0x80000000u);
  EXPECT_EQ(bits(op::MinF<DType::F32>(-0.0f, 0.0f)), 0x80000000u);
  EXPECT_EQ(op::MaxF<DType::F32>(nan, 1.0f), 1.0f);
  EXPECT_EQ(op::MaxF<DType::F32>(1.0f, nan), 1.0f);
  EXPECT_EQ(op::MinF<DType::F32>(nan, -inf), -inf);
  EXPECT_TRUE(std::isnan(op::MinF<DType::F32>(nan, nan)));
  EXPECT_TRUE(std::isnan(op::MaximumF<DType::F32>(nan, 1.0f)));
  EXPECT_TRUE(std::isnan(op::MaximumF<DType::F32>(1.0f, nan)));
  EXPECT_TRUE(std::isnan(op::MinimumF<DType::F32>(nan, -inf)));
  EXPECT_TRUE(std::isnan(op::MinimumF<DType::F32>(-inf, nan)));
  EXPECT_EQ(bits(op::MinimumF<DType::F32>(0.0f, -0.0f)), 0x80000000u);
  EXPECT_EQ(op::MinF<DType::F16>(uint16_t{0x7e00}, uint16_t{0x3c00}), 0x3c00);
  EXPECT_EQ(op::MaxF<DType::BF16>(uint16_t{0x8000}, uint16_t{0}), 0);
  EXPECT_EQ(op::MaxF<DType::F64>(-1.0, 2.0), 2.0);
}

TEST(Float, FmaRoundsOnce) {
  uint16_t tiny = 0x0001;
  EXPECT_EQ(op::FmaF<DType::F16>(tiny, tiny, static_cast<uint16_t>(encode_f32<DType::F16>(2049.0f / 2))), encode_f32<DType::F16>(2049.0f / 2));
  // c is 2^15 and a * b is 16 + 2^-6: half a place of c and a little more, which a product rounded to f16 would lose.
  uint16_t c = encode_f32<DType::F16>(0x1p15f), a = encode_f32<DType::F16>(4.0f + 0x1p-8f), b = encode_f32<DType::F16>(4.0f);
  EXPECT_EQ(decode_f32<DType::F16>(op::FmaF<DType::F16>(a, b, c)), 0x1p15f + 32);
  EXPECT_EQ(decode_f32<DType::F16>(op::FmaF<DType::F16>(b, b, c)), 0x1p15f);
  EXPECT_TRUE(std::isnan(decode_f32<DType::F16>(op::FmaF<DType::F16>(uint16_t{0x7c00}, uint16_t{0}, uint16_t{0}))));
  EXPECT_EQ(op::FmaF<DType::F16>(uint16_t{0x7c00}, uint16_t{0x3c00}, uint16_t{0}), 0x7c00);
  EXPECT_EQ(op::FmaF<DType::F16>(uint16_t{0x8000}, uint16_t{0x3c00}, uint16_t{0x8000}), 0x8000);
  EXPECT_EQ(op::FmaF<DType::F16>(uint16_t{0x8000}, uint16_t{0x3c00}, uint16_t{0}), 0);
}

TEST(Float, FastInstructions) {
  EXPECT_EQ(op::FastExp2<DType::F32>(3.0f), 8.0f);
  EXPECT_EQ(bits_as<uint32_t>(op::FastExp2<DType::F32>(-130.0f)), 0u);  // a subnormal result
  EXPECT_EQ(op::FastExp2<DType::F16>(encode_f32<DType::F16>(-20.0f)), encode_f32<DType::F16>(0x1p-20f));
  EXPECT_EQ(op::FastLog2<DType::F32>(0x1p-140f), -INFINITY);
  EXPECT_EQ(op::FastLog2<DType::F16>(uint16_t{1}), encode_f32<DType::F16>(-24.0f));
  EXPECT_EQ(op::FastRcp<DType::F32>(-0x1p-140f), -INFINITY);
  EXPECT_EQ(bits_as<uint32_t>(op::FastRcp<DType::F32>(-0x1p127f)), 0x80000000u);
  EXPECT_EQ(op::FastRsqrt<DType::F32>(4.0f), 0.5f);
  EXPECT_TRUE(std::isnan(op::FastRsqrt<DType::F32>(-4.0f)));
  EXPECT_EQ(op::FastSin<DType::F32>(0.0f), 0.0f);
  EXPECT_NEAR(op::FastSin<DType::F32>(1.0f), std::sin(1.0f), 1e-6);
  EXPECT_NEAR(op::FastCos<DType::F32>(-1.0f), std::cos(1.0f), 1e-6);
  EXPECT_EQ(op::FastSin<DType::F32>(1e9f), 0.0f);
  EXPECT_EQ(op::FastCos<DType::F32>(1e9f), 1.0f);
}

}  // namespace
}  // namespace tile::num
