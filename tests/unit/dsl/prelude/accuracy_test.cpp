// Every function stays below one unit in the last place, in every type. tests/sweeps/math_sweep.cpp does the same for all
// inputs; here it is a sample and all edge values.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/dsl/prelude/reference.h"
#include "tests/unit/dsl/prelude/sweep.h"

namespace tile::test {
namespace {

std::vector<std::string> all() {
  std::vector<std::string> v;
  for (int arguments : {1, 2})
    for (std::string_view f : math_functions(arguments)) v.emplace_back(f);
  return v;
}

class Accuracy : public testing::TestWithParam<std::string> {
 protected:
  void expect_below_one(const Result<Worst>& w, double limit = 1.0) {
    ASSERT_TRUE(w) << w.error().message;
    EXPECT_LT(w->error, limit) << w->where(arity(GetParam()));
  }
};

TEST_P(Accuracy, F32Patterns) {
  if (arity(GetParam()) == 1) expect_below_one(sweep_patterns(GetParam(), DType::F32, 0, 0xffffffff, 3989));
}
TEST_P(Accuracy, F32Points) { expect_below_one(sweep_points(GetParam(), DType::F32, arity(GetParam()) == 1 ? 50'000 : 500'000, 1)); }
TEST_P(Accuracy, F64Points) { expect_below_one(sweep_points(GetParam(), DType::F64, 20'000, 2)); }

// All inputs; the one rounding behind f32 leaves little more than half a unit.
TEST_P(Accuracy, HalfPrecision) {
  for (DType type : {DType::F16, DType::BF16}) {
    if (arity(GetParam()) == 1) expect_below_one(sweep_patterns(GetParam(), type, 0, 0xffff, 1), 0.502);
    else expect_below_one(sweep_points(GetParam(), type, 200'000, 3), 0.502);
  }
}

INSTANTIATE_TEST_SUITE_P(Prelude, Accuracy, testing::ValuesIn(all()), [](const auto& i) { return i.param; });

// The measure itself.
TEST(UlpError, CountsUnits) {
  EXPECT_EQ(ulp_error(1.0, 1.0, f32_format), 0.0);
  EXPECT_EQ(ulp_error(1.0 + 0x1p-23, 1.0, f32_format), 1.0);
  EXPECT_EQ(ulp_error(1.0, 1.0 - 0x1p-25, f32_format), 0.5);  // the unit below 1 is half of that above
  EXPECT_EQ(ulp_error(0.0, 0x1p-150, f32_format), 0.5);
  EXPECT_EQ(ulp_error(-0.0, 0x1p-150, f32_format), wrong);
  EXPECT_EQ(ulp_error(INFINITY, 0x1.ffffffp127, f32_format), 0.5);
  EXPECT_EQ(ulp_error(INFINITY, 0x1p500, f32_format), 0.0);
  EXPECT_EQ(ulp_error(-INFINITY, 0x1p500, f32_format), ulp_error(-0x1p128, 0x1p500, f32_format));
  EXPECT_EQ(ulp_error(NAN, NAN, f32_format), 0.0);
  EXPECT_EQ(ulp_error(NAN, 1.0, f32_format), wrong);
  EXPECT_EQ(ulp_error(1.0, INFINITY, f32_format), wrong);
}
TEST(UlpError, AgreesWithMpfr) {
  EXPECT_EQ(mpfr_ulp_error("exp2", 3.0, 0, 8.0), 0.0);
  EXPECT_EQ(mpfr_ulp_error("exp2", 3.0, 0, 8.0 + 0x1p-49), 1.0);
  EXPECT_EQ(mpfr_ulp_error("exp2", -1075.0, 0, 0.0), 0.5);
  EXPECT_EQ(mpfr_ulp_error("exp2", -1075.0, 0, -0.0), wrong);
  EXPECT_EQ(mpfr_ulp_error("exp2", 5000.0, 0, INFINITY), 0.0);
  EXPECT_EQ(mpfr_ulp_error("round", -0.25, 0, -0.0), 0.0);
  EXPECT_EQ(mpfr_ulp_error("round", -0.25, 0, 0.0), wrong);
  EXPECT_EQ(mpfr_ulp_error("log", -1.0, 0, NAN), 0.0);
  EXPECT_EQ(mpfr_ulp_error("log", 0.0, 0, -INFINITY), 0.0);
  EXPECT_EQ(mpfr_ulp_error("atan2", 0.0, -0.0, 0x1.921fb54442d18p+1) < 0.5, true);
}

}  // namespace
}  // namespace tile::test
