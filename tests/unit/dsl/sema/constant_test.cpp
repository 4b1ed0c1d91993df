#include "dsl/sema/constant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tile::sema {
namespace {

TEST(Constant, LiteralsFitByValue) {
  EXPECT_TRUE(holds_integer(DType::U8, 255));
  EXPECT_FALSE(holds_integer(DType::U8, 256));
  EXPECT_FALSE(holds_integer(DType::U8, -1));
  EXPECT_TRUE(holds_integer(DType::I8, -128));
  EXPECT_FALSE(holds_integer(DType::I8, 128));
  EXPECT_TRUE(holds_integer(DType::U64, static_cast<Wide>(UINT64_MAX)));
  EXPECT_FALSE(holds_integer(DType::I64, static_cast<Wide>(UINT64_MAX)));
  EXPECT_TRUE(holds_integer(DType::F32, 1 << 24));
  EXPECT_FALSE(holds_integer(DType::F32, (1 << 24) + 1));
  EXPECT_TRUE(holds_integer(DType::F16, 2048));
  EXPECT_FALSE(holds_integer(DType::F16, 2049));
  EXPECT_FALSE(holds_integer(DType::F16, 65536));
  EXPECT_TRUE(holds_integer(DType::F8E4M3, 448));
  EXPECT_FALSE(holds_integer(DType::F8E4M3, 449));
  EXPECT_FALSE(holds_integer(DType::F8E8M0, 0));  // it has powers of two only
  EXPECT_FALSE(holds_integer(DType::Bool, 1));
  EXPECT_TRUE(holds_float(DType::F16, 0.1));
  EXPECT_FALSE(holds_float(DType::F16, 1e9));
  EXPECT_TRUE(holds_float(DType::F16, HUGE_VAL));
  EXPECT_FALSE(holds_float(DType::F8E4M3, HUGE_VAL));
  EXPECT_TRUE(holds_float(DType::F8E4M3, NAN));
  EXPECT_FALSE(holds_float(DType::F4E2M1, NAN));
  EXPECT_FALSE(holds_float(DType::I32, 1.0));
}

TEST(Constant, FoldingFollowsTheRules) {
  EXPECT_EQ(fold(OpKind::AddI, DType::I32, {0x7fffffff, 1}), 0x80000000u);
  EXPECT_EQ(fold(OpKind::DivS, DType::I32, {0x80000000, 0xffffffff}), 0x80000000u);
  EXPECT_EQ(fold(OpKind::DivU, DType::U8, {5, 0}), 0xffu);
  EXPECT_EQ(fold(OpKind::RemS, DType::I16, {7, 0}), 7u);
  EXPECT_EQ(fold(OpKind::LtS, DType::I8, {0xff, 0}), 1u);
  EXPECT_EQ(fold(OpKind::LtU, DType::U8, {0xff, 0}), 0u);
  EXPECT_EQ(fold(OpKind::AddF, DType::F32, {0x3f800000, 0x40000000}), 0x40400000u);
  EXPECT_EQ(fold(OpKind::Where, DType::F16, {1, 0x3c00, 0}), 0x3c00u);
  EXPECT_EQ(fold(OpKind::Not, DType::Bool, {0}), 1u);
  EXPECT_FALSE(fold(OpKind::AddF, DType::F8E4M3, {0, 0}));
}

TEST(Constant, Conversions) {
  EXPECT_EQ(convert_bits(DType::F32, DType::I8, 0x43c80000), 127u);                 // 400 saturates
  EXPECT_EQ(convert_bits(DType::F32, DType::F8E4M3, 0x461c4000), 0x7eu);            // 10000 to the largest, 448
  EXPECT_EQ(convert_bits(DType::F64, DType::F16, 0x40effff000000000ull), 0x7c00u);  // 65535.5 to Inf
  EXPECT_EQ(convert_bits(DType::F32, DType::BF16, 0x3f80ffff, true), 0x3f80u);      // towards zero
  EXPECT_EQ(convert_bits(DType::F32, DType::BF16, 0x3f80ffff), 0x3f81u);
  EXPECT_EQ(bits_to_wide(DType::I8, 0x80), -128);
  EXPECT_EQ(bits_to_wide(DType::U64, UINT64_MAX), static_cast<Wide>(UINT64_MAX));
}

TEST(Constant, Text) {
  EXPECT_EQ(to_text(0), "0");
  EXPECT_EQ(to_text(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(to_text(static_cast<Wide>(UINT64_MAX)), "18446744073709551615");
  EXPECT_EQ(constant_text(DType::I16, 0xffff), "-1");
  EXPECT_EQ(constant_text(DType::F32, 0x3f000000), "0.5");
  EXPECT_EQ(constant_text(DType::F32, 0x40000000), "2.0");
  EXPECT_EQ(constant_text(DType::Bool, 1), "true");
  EXPECT_EQ(float_text(-HUGE_VAL), "-inf");
}

}  // namespace
}  // namespace tile::sema
