// Every pair of types, as scalars and tiles, against a table written by hand from the rules.
#include "dsl/sema/promote.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "dsl/sema/sema.h"

namespace tile::sema {
namespace {

// Rows and columns: i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64; the joint type of two operands that are both
// scalars or both tiles.
const char* const names[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"};
const char* const joint[12][12] = {
    {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f32", "f64"},
    {"i16", "i16", "i32", "i64", "i16", "u16", "u32", "u64", "f16", "f32", "f32", "f64"},
    {"i32", "i32", "i32", "i64", "i32", "i32", "u32", "u64", "f16", "f32", "f32", "f64"},
    {"i64", "i64", "i64", "i64", "i64", "i64", "i64", "u64", "f16", "f32", "f32", "f64"},
    {"u8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f32", "f64"},
    {"u16", "u16", "i32", "i64", "u16", "u16", "u32", "u64", "f16", "f32", "f32", "f64"},
    {"u32", "u32", "u32", "i64", "u32", "u32", "u32", "u64", "f16", "f32", "f32", "f64"},
    {"u64", "u64", "u64", "u64", "u64", "u64", "u64", "u64", "f16", "f32", "f32", "f64"},
    {"f16", "f16", "f16", "f16", "f16", "f16", "f16", "f16", "f16", "f16", "f32", "f64"},
    {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f16", "bf16", "f32", "f64"},
    {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f64"},
    {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"},
};

DType type(const char* name) { return *parse_dtype(name); }

TEST(Promote, EqualRanksJoin) {
  for (int a = 0; a < 12; ++a)
    for (int b = 0; b < 12; ++b)
      for (bool tile : {false, true}) {
        auto r = promote({type(names[a]), tile}, {type(names[b]), tile});
        ASSERT_TRUE(r) << names[a] << " " << names[b];
        EXPECT_EQ(name(*r), joint[a][b]) << names[a] << " " << names[b];
      }
}

TEST(Promote, AScalarOfNoHigherKindDoesNotWidenATile) {
  for (int t = 0; t < 12; ++t)
    for (int s = 0; s < 12; ++s) {
      bool higher = s >= 8 && t < 8;  // a float scalar, an integer tile
      std::string expected = higher ? joint[t][s] : names[t];
      auto left = promote({type(names[t]), true}, {type(names[s]), false});
      auto right = promote({type(names[s]), false}, {type(names[t]), true});
      ASSERT_TRUE(left && right);
      EXPECT_EQ(name(*left), expected) << names[t] << " tile, " << names[s] << " scalar";
      EXPECT_EQ(name(*right), expected);
    }
}

TEST(Promote, BoolAndNarrowFloatsJoinOnlyThemselves) {
  for (const DTypeInfo& a : dtype_table)
    for (const DTypeInfo& b : dtype_table) {
      auto special = [](DType t) { return is_bool(t) || (is_float(t) && !is_arith_float(t)); };
      if (!special(a.dtype) && !special(b.dtype)) continue;
      for (bool ta : {false, true})
        for (bool tb : {false, true}) {
          auto r = promote({a.dtype, ta}, {b.dtype, tb});
          EXPECT_EQ(r.has_value(), a.dtype == b.dtype) << a.name << " " << b.name;
        }
    }
}

// The same through the language: the type of `a + b` for every pair of view element types.
TEST(Promote, InKernels) {
  for (int a = 0; a < 12; ++a)
    for (int b = 0; b < 12; ++b) {
      std::string text = "kernel k(x: " + std::string(names[a]) + "[n], y: " + names[b] + "[n], n: i32) grid (1) {\n" +
                         "  let i = arange(4);\n  static_assert((x[i] + y[i]).dtype == " + joint[a][b] + ");\n" +
                         "  static_assert((x[0] * y[1]).dtype == " + joint[a][b] + ");\n" +
                         "  static_assert((x[i] - y[0]).dtype == " + (b >= 8 && a < 8 ? joint[a][b] : names[a]) +
                         ");\n" + "  static_assert((x[i] < y[i]).dtype == bool);\n}\n";
      SourceManager sources;
      Diagnostics diags;
      Program p = Program::from_text("pair.tile", text, sources, diags);
      EXPECT_TRUE(specialize(p, {}, diags)) << render(diags, sources);
    }
}

}  // namespace
}  // namespace tile::sema
