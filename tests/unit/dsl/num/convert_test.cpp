#include "dsl/num/convert_scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "dsl/num/kernels.h"

namespace tile::num {
namespace {

TEST(Convert, FloatToIntSaturates) {
  constexpr auto to_i8 = convert<DType::F16, DType::I8>;
  // A peer's failure: f16 {inf, 510, -200} to i8.
  EXPECT_EQ(to_i8(0x7c00, {}, 0), 127);
  EXPECT_EQ(to_i8(static_cast<uint16_t>(encode_f32<DType::F16>(510.0f)), {}, 0), 127);
  EXPECT_EQ(to_i8(static_cast<uint16_t>(encode_f32<DType::F16>(-200.0f)), {}, 0), -128);
  EXPECT_EQ(to_i8(0x7e00, {}, 0), 0);
  EXPECT_EQ((convert<DType::F32, DType::I8>(-128.9f)), -128);
  EXPECT_EQ((convert<DType::F32, DType::I8>(127.9f)), 127);
  EXPECT_EQ((convert<DType::F32, DType::U8>(-0.9f)), 0);
  EXPECT_EQ((convert<DType::F32, DType::U8>(255.9f)), 255);
  EXPECT_EQ((convert<DType::F32, DType::I32>(2147483648.0f)), std::numeric_limits<int32_t>::max());
  EXPECT_EQ((convert<DType::F32, DType::I32>(-2147483648.0f)), std::numeric_limits<int32_t>::min());
  EXPECT_EQ((convert<DType::F32, DType::U32>(4294967040.0f)), 4294967040u);
  EXPECT_EQ((convert<DType::F32, DType::U32>(-1.0f)), 0u);
  EXPECT_EQ((convert<DType::F64, DType::I32>(2147483647.5)), 2147483647);
  EXPECT_EQ((convert<DType::F64, DType::I64>(9.3e18)), std::numeric_limits<int64_t>::max());
  EXPECT_EQ((convert<DType::F64, DType::U64>(18446744073709549568.0)), 18446744073709549568u);
  EXPECT_EQ((convert<DType::F64, DType::U64>(1e30)), ~uint64_t{0});
  EXPECT_EQ((convert<DType::F64, DType::U64>(-5.0)), 0u);
  EXPECT_EQ((convert<DType::F64, DType::I64>(NAN)), 0);
  EXPECT_EQ((convert<DType::F32, DType::I64>(-INFINITY)), std::numeric_limits<int64_t>::min());
  EXPECT_EQ((convert<DType::F64, DType::I16>(-32768.9)), -32768);
  EXPECT_EQ((convert<DType::F64, DType::I16>(-32769.0)), -32768);
  EXPECT_EQ((convert<DType::F64, DType::U16>(65535.99)), 65535);
}

TEST(Convert, IntToFloatRoundsOnce) {
  EXPECT_EQ((convert<DType::I64, DType::F32>((int64_t{1} << 40) + (int64_t{1} << 16))), static_cast<float>((int64_t{1} << 40)));
  // One above a tie of f16, with the deciding bit below f64's last place.
  int64_t x = 2049;
  EXPECT_EQ((convert<DType::I64, DType::F16>(x)), encode_f32<DType::F16>(2048.0f));
  EXPECT_EQ((convert<DType::U64, DType::BF16>((uint64_t{1} << 63) + (uint64_t{1} << 55) + 1)), encode_f32<DType::BF16>(0x1.02p63f));
  EXPECT_EQ((convert<DType::U64, DType::BF16>((uint64_t{1} << 63) + (uint64_t{1} << 55))), encode_f32<DType::BF16>(0x1p63f));
  EXPECT_EQ((convert<DType::I64, DType::BF16>(-(int64_t{1} << 62) - (int64_t{1} << 54) - 1)), encode_f32<DType::BF16>(-0x1.02p62f));
  EXPECT_EQ((convert<DType::I32, DType::F16>(65520)), 0x7c00);
  EXPECT_EQ((convert<DType::I32, DType::F16>(65519)), 0x7bff);
  EXPECT_EQ((convert<DType::U64, DType::F64>(~uint64_t{0})), 0x1p64);
  EXPECT_EQ((convert<DType::U64, DType::F64>(~uint64_t{0}, {Rounding::TowardZero, true})), 0x1.fffffffffffffp63);
  EXPECT_EQ((convert<DType::I32, DType::F32>(0x7fffffff, {Rounding::TowardZero, true})), 0x1.fffffep30f);
  EXPECT_EQ((convert<DType::I32, DType::F8E4M3>(-1000)), 0xfe);
}

TEST(Convert, Bool) {
  EXPECT_EQ((convert<DType::F32, DType::Bool>(NAN)), 1);
  EXPECT_EQ((convert<DType::F32, DType::Bool>(-0.0f)), 0);
  EXPECT_EQ((convert<DType::F64, DType::Bool>(1e-300)), 1);
  EXPECT_EQ((convert<DType::I64, DType::Bool>(int64_t{1} << 40)), 1);
  EXPECT_EQ((convert<DType::Bool, DType::F16>(1)), 0x3c00);
  EXPECT_EQ((convert<DType::Bool, DType::I64>(1)), 1);
}

TEST(Convert, DoubleRoundsOnceToNarrowTypes) {
  // Through f32 this would be a tie.
  double x = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ((convert<DType::F64, DType::F16>(x)), 0x3c01);
  EXPECT_EQ((convert<DType::F64, DType::BF16>(1.0 + 0x1p-8 + 0x1p-40)), 0x3f81);
  EXPECT_EQ((convert<DType::F64, DType::F32>(1.0 + 0x1p-24 + 0x1p-50)), 1.0f + 0x1p-23f);
  EXPECT_EQ((convert<DType::F64, DType::F32>(-1e300)), -INFINITY);
  EXPECT_EQ((convert<DType::F64, DType::F32>(-1e300, {Rounding::TowardZero, true})), -std::numeric_limits<float>::max());
}

// The array form agrees with the scalar form for every pair of types, mode and host instruction set.
TEST(Convert, ArraysMatchScalars) {
  std::mt19937_64 rng(3);
  constexpr size_t n = 1100;
  std::vector<uint64_t> raw(n);
  std::vector<uint32_t> random(n);
  for (size_t i = 0; i < n; i++) raw[i] = rng(), random[i] = static_cast<uint32_t>(rng());
  for (unsigned f = 0; f < num_dtypes; f++) {
    DType from = static_cast<DType>(f);
    std::vector<unsigned char> src(n * 8);
    for (size_t i = 0; i < n; i++) {
      uint64_t v = raw[i] & (bit_width(from) == 64 ? ~uint64_t{0} : (uint64_t{1} << bit_width(from)) - 1);
      if (i % 3 == 0 && from == DType::F32) v = bits_as<uint32_t>(static_cast<float>(static_cast<int16_t>(v)) / 16);
      if (i % 3 == 0 && from == DType::F64) v = bits_as<uint64_t>(static_cast<double>(static_cast<int32_t>(v)) / 4096);
      memcpy(&src[i * buffer_bytes(from)], &v, buffer_bytes(from));
    }
    visit_dtype(from, [&]<DType From>() {
      for (unsigned t = 0; t < num_dtypes; t++)
        visit_dtype(static_cast<DType>(t), [&]<DType To>() {
          for (Rounding rounding : {Rounding::NearestEven, Rounding::TowardZero, Rounding::Stochastic})
            for (bool saturate : {true, false})
              for (HostIsa isa : {HostIsa::Base, HostIsa::Avx2, HostIsa::Avx512}) {
                if (rounding != Rounding::NearestEven && isa != HostIsa::Base) continue;
                set_host_isa(isa);
                std::vector<storage_t<To>> got(n);
                if (rounding == Rounding::Stochastic) convert_stochastic(From, To, saturate, src.data(), random.data(), got.data(), n);
                else convert(From, To, {rounding, saturate}, src.data(), got.data(), n);
                for (size_t i = 0; i < n; i++) {
                  storage_t<From> x;
                  memcpy(&x, &src[i * sizeof x], sizeof x);
                  storage_t<To> want = convert<From, To>(x, {rounding, saturate}, random[i]);
                  ASSERT_EQ(memcmp(&got[i], &want, sizeof want), 0) << name(From) << " to " << name(To) << " element " << i
                      << " isa " << static_cast<int>(isa) << " got " << +got[i] << " want " << +want;
                }
              }
        });
    });
  }
  set_host_isa(best_host_isa());
}

}  // namespace
}  // namespace tile::num
