#include "runtime/expr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace tile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Expr::Values values = {{"M", 300},
                             {"N", 200},
                             {"lda", 104},
                             {"big", std::numeric_limits<std::int64_t>::max()},
                             {"low", std::numeric_limits<std::int64_t>::min()},
                             {"zero", 0}};

std::int64_t eval(std::string_view text) {
  auto expr = Expr::parse(text);
  EXPECT_TRUE(expr) << expr.error().message;
  if (!expr) return -999;
  auto value = expr->eval(values);
  EXPECT_TRUE(value) << value.error().message;
  return value ? *value : -999;
}

std::string failure(std::string_view text) {
  auto expr = Expr::parse(text);
  if (!expr) return expr.error().message;
  auto value = expr->eval(values);
  return value ? "value " + std::to_string(*value) : value.error().message;
}

TEST(Expr, Values) {
  EXPECT_EQ(eval("cdiv(M, 128) * cdiv(N, 64)"), 12);
  EXPECT_EQ(eval("1 + 2 * 3 - 4"), 3);
  EXPECT_EQ(eval("10 - 4 - 3"), 3);
  EXPECT_EQ(eval("(1 + 2) * 3"), 9);
  EXPECT_EQ(eval("-7 / 2"), -3);
  EXPECT_EQ(eval("-7 % 2"), -1);
  EXPECT_EQ(eval("cdiv(7, 2)"), 4);
  EXPECT_EQ(eval("cdiv(-7, 2)"), -3);
  EXPECT_EQ(eval("cdiv(-7, -2)"), 4);
  EXPECT_EQ(eval("cdiv(6, -2)"), -3);
  EXPECT_EQ(eval("min(M, N, 7)"), 7);
  EXPECT_EQ(eval("max(M)"), 300);
  EXPECT_EQ(eval("abs(-5) + abs(5)"), 10);
  EXPECT_EQ(eval("0x10"), 16);
  EXPECT_EQ(eval("lda % 8 == 0"), 1);
  EXPECT_EQ(eval("lda & 7 == 7"), 0);  // & binds tighter than ==
  EXPECT_EQ(eval("1 << 4 | 1"), 17);
  EXPECT_EQ(eval("6 ^ 3 & 2"), 4);
  EXPECT_EQ(eval("-16 >> 2"), -4);
  EXPECT_EQ(eval("~0"), -1);
  EXPECT_EQ(eval("!M + !zero"), 1);
  EXPECT_EQ(eval("M > N && N >= 200 || zero != 0"), 1);
  EXPECT_EQ(eval("low % -1"), 0);
  EXPECT_EQ(eval("  M  "), 300);
}

TEST(Expr, LogicSkipsItsRightSide) {
  EXPECT_EQ(eval("zero != 0 && M / zero > 1"), 0);
  EXPECT_EQ(eval("zero == 0 || M / zero > 1"), 1);
  EXPECT_EQ(eval("5 && 7"), 1);
}

TEST(Expr, OverflowIsAnError) {
  for (const char* text :
       {"big + 1", "low - 1", "big * 2", "-low", "abs(low)", "low / -1", "cdiv(low, -1)", "1 << 63", "big << 1"})
    EXPECT_THAT(failure(text), HasSubstr("overflow")) << text;
  EXPECT_THAT(failure("M / zero"), HasSubstr("division by zero in 'M / zero'"));
  EXPECT_THAT(failure("M % zero"), HasSubstr("division by zero"));
  EXPECT_THAT(failure("1 << 64"), HasSubstr("shift count"));
  EXPECT_THAT(failure("1 >> -1"), HasSubstr("shift count"));
  EXPECT_THAT(failure("9223372036854775808"), HasSubstr("does not fit"));
}

TEST(Expr, SyntaxErrorsNameTheColumn) {
  EXPECT_THAT(failure(""), HasSubstr("expected a number, a name or '(' at column 1"));
  EXPECT_THAT(failure("M +"), HasSubstr("at column 4"));
  EXPECT_THAT(failure("(M"), HasSubstr("expected ')' at column 3"));
  EXPECT_THAT(failure("M N"), HasSubstr("expected an operator or the end at column 3"));
  EXPECT_THAT(failure("1 < 2 < 3"), HasSubstr("comparisons don't chain"));
  EXPECT_THAT(failure("sqrt(M)"), HasSubstr("unknown function 'sqrt'"));
  EXPECT_THAT(failure("cdiv(M)"), HasSubstr("takes 2 arguments, not 1"));
  EXPECT_THAT(failure("12abc"), HasSubstr("runs into a name"));
  EXPECT_THAT(failure("0x"), HasSubstr("hexadecimal"));
  EXPECT_THAT(failure("K"), HasSubstr("'K' has no value in 'K'"));
  EXPECT_THAT(failure(std::string(100000, '(')), HasSubstr("nested too deeply"));
  EXPECT_THAT(failure(std::string(100000, '-') + "1"), HasSubstr("nested too deeply"));
}

TEST(Expr, NamesOnceInOrder) { EXPECT_THAT(Expr::parse("cdiv(N, B) * M + N")->names(), ElementsAre("N", "B", "M")); }

// Random text never crashes, and what parses evaluates to a value or an error.
TEST(Expr, RandomText) {
  std::mt19937 random(11);
  const std::string alphabet = "MN019 ()+-*/%<>=!&|^~,xcdivmn";
  unsigned parsed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (unsigned n = random() % 12; n > 0; --n) text += alphabet[random() % alphabet.size()];
    auto expr = Expr::parse(text);
    if (!expr) continue;
    ++parsed;
    auto value = expr->eval(values);
    EXPECT_TRUE(value || !value.error().message.empty());
  }
  EXPECT_GT(parsed, 300u);
}

}  // namespace
}  // namespace tile
