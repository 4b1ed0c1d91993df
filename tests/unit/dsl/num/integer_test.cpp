#include "dsl/num/integer.h"

#include <gtest/gtest.h>

namespace tile::num {
namespace {

// All pairs of 8-bit values against 64-bit arithmetic.
TEST(Integer, AllPairsOf8Bits) {
  for (int i = -128; i < 256; i++)
    for (int j = -128; j < 256; j++) {
      if (i < 128 && j < 128) {
        auto a = static_cast<int8_t>(i), b = static_cast<int8_t>(j);
        ASSERT_EQ(op::AddI<DType::I8>(a, b), static_cast<int8_t>(i + j));
        ASSERT_EQ(op::SubI<DType::I8>(a, b), static_cast<int8_t>(i - j));
        ASSERT_EQ(op::MulI<DType::I8>(a, b), static_cast<int8_t>(i * j));
        ASSERT_EQ(op::DivS<DType::I8>(a, b), j == 0 ? -1 : static_cast<int8_t>(i / j));
        ASSERT_EQ(op::RemS<DType::I8>(a, b), j == 0 ? i : i % j);
        ASSERT_EQ(op::MulhiS<DType::I8>(a, b), static_cast<int8_t>((i & 255) * (j & 255) >> 8));
        unsigned count = j & 255;
        ASSERT_EQ(op::Shl<DType::I8>(a, b), static_cast<int8_t>(count > 7 ? 0 : i << count));
        ASSERT_EQ(op::ShrS<DType::I8>(a, b), count > 7 ? (i < 0 ? -1 : 0) : i >> count);
      }
      if (i >= 0 && j >= 0) {
        auto a = static_cast<uint8_t>(i), b = static_cast<uint8_t>(j);
        ASSERT_EQ(op::DivU<DType::U8>(a, b), j == 0 ? 255 : i / j);
        ASSERT_EQ(op::RemU<DType::U8>(a, b), j == 0 ? i : i % j);
        ASSERT_EQ(op::MulhiU<DType::U8>(a, b), i * j >> 8);
        ASSERT_EQ(op::Shl<DType::U8>(a, b), static_cast<uint8_t>(j > 7 ? 0 : i << j));
        ASSERT_EQ(op::ShrU<DType::U8>(a, b), j > 7 ? 0 : i >> j);
      }
    }
}

TEST(Integer, EdgesOfWideTypes) {
  constexpr int32_t min32 = std::numeric_limits<int32_t>::min();
  constexpr int64_t min64 = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(op::AddI<DType::I32>(std::numeric_limits<int32_t>::max(), 1), min32);
  EXPECT_EQ(op::DivS<DType::I32>(min32, -1), min32);
  EXPECT_EQ(op::RemS<DType::I32>(min32, -1), 0);
  EXPECT_EQ(op::DivS<DType::I64>(min64, int64_t{-1}), min64);
  EXPECT_EQ(op::DivS<DType::I64>(int64_t{7}, int64_t{0}), -1);
  EXPECT_EQ(op::DivU<DType::U64>(uint64_t{7}, uint64_t{0}), ~uint64_t{0});
  EXPECT_EQ(op::AbsS<DType::I64>(min64), min64);
  EXPECT_EQ(op::NegI<DType::I32>(min32), min32);
  EXPECT_EQ(op::MulI<DType::U16>(uint16_t{65535}, uint16_t{65535}), 1);
  EXPECT_EQ(op::MulI<DType::I64>(min64, int64_t{3}), min64);
  EXPECT_EQ(op::MulhiU<DType::U64>(~uint64_t{0}, ~uint64_t{0}), ~uint64_t{0} - 1);
  // A peer's failure: umulhi of negative int32 works on the unsigned values.
  EXPECT_EQ(op::MulhiS<DType::I32>(-1, -1), -2);
  EXPECT_EQ(op::MulhiS<DType::I32>(-1, 2), 1);
  EXPECT_EQ(op::Shl<DType::I32>(1, 32), 0);
  EXPECT_EQ(op::Shl<DType::I32>(1, -1), 0);
  EXPECT_EQ(op::Shl<DType::I32>(-1, 31), min32);
  EXPECT_EQ(op::ShrS<DType::I32>(-5, 64), -1);
  EXPECT_EQ(op::ShrS<DType::I64>(int64_t{-5}, int64_t{1}), -3);
  EXPECT_EQ(op::ShrU<DType::U64>(~uint64_t{0}, uint64_t{63}), 1u);
  EXPECT_EQ(op::Ctlz<DType::I16>(int16_t{0}), 16);
  EXPECT_EQ(op::Ctlz<DType::I8>(int8_t{1}), 7);
  EXPECT_EQ(op::Cttz<DType::I8>(int8_t{0}), 8);
  EXPECT_EQ(op::Cttz<DType::U64>(uint64_t{1} << 40), 40u);
  EXPECT_EQ(op::Popcount<DType::I16>(int16_t{-1}), 16);
  EXPECT_EQ(op::Not<DType::Bool>(uint8_t{1}), 0);
  EXPECT_EQ(op::Not<DType::U8>(uint8_t{1}), 254);
}

}  // namespace
}  // namespace tile::num
