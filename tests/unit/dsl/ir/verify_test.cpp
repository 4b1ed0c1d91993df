#include <gmock/gmock.h>

#include "tests/unit/dsl/ir/kernels.h"

namespace tile::ir::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> check(const std::string& body, Stage stage = Stage::Sema, const std::string& header = "target gfx942 waves 4") {
  return verify(parse("kernel @k(%p: ptr<f32>, %n: i32, %c: bool) " + header + " {\n" + body + "\n return\n}\n"), stage);
}

TEST(Verify, SoundKernels) {
  for (const char* text : {vector_add, loops}) EXPECT_THAT(verify(parse(text), Stage::Sema), IsEmpty());
}

struct Case {
  const char* body;
  const char* message;
};

TEST(Verify, EachRuleIsNamed) {
  const Case cases[] = {
      {"%0 = add.i %n, %c : i32", "operand 0 is i32, not bool"},
      {"%0 = add.f %n, %n : i32", "it is not defined on i32"},
      {"%0 = add.i %n, %n : i64", "the result is i64, not i32"},
      {"%0 = add.i %n : i32", "1 operands, not 2"},
      {"%0 = constant {value = 0x100} : i8", "the value has more than 8 bits"},
      {"%0 = constant : i8", "attribute `value` is missing"},
      {"%0 = arange {start = 0} : f32[4]", "the result is i32[n]"},
      {"%0 = program_id {axis = 3} : i32", "the axis is 0, 1 or 2"},
      {"%0 = bitcast %n : i64", "the widths of i32 and i64 differ"},
      {"%0 = splat %n : f32[4]", "i32 does not splat to f32[4]"},
      {"%0 = splat %n : i32[4, 1]\n %1 = broadcast %0 : i32[8, 4]", "i32[4, 1] does not broadcast to i32[8, 4]"},
      {"%0 = splat %n : i32[4]\n %1 = expand_dims %0 {axis = 2} : i32[4, 1]", "axis 2 of 2 dimensions"},
      {"%0 = splat %n : i32[4]\n %1 = expand_dims %0 {axis = 0} : i32[4, 1]", "i32[4] does not expand to i32[4, 1] at axis 0"},
      {"%0 = splat %n : i32[4]\n %1 = reshape %0 : i32[3]", "i32[4] does not reshape to i32[3]"},
      {"%0 = splat %n : i32[4, 2]\n %1 = trans %0 {perm = [0, 0]} : i32[2, 4]", "perm is no permutation of the dimensions"},
      {"%0 = splat %n : i32[4, 2]\n %1 = trans %0 {perm = [1, 0]} : i32[4, 2]", "the result is i32[4, 2], not [2, 4]"},
      {"%0 = splat %n : i32[4]\n %1 = reduce %0 {axis = 0, combine = \"mean\"} : i32", "combine `mean`"},
      {"%0 = splat %n : i32[4]\n %1 = reduce %0 {axis = 1, combine = \"sum\"} : i32", "axis 1 of 1 dimensions"},
      {"%0 = splat %n : i32[4]\n %1 = reduce %0 {axis = 0, combine = \"sum\"} : i64", "the result is i64, not i32"},
      {"%0 = splat %n : i32[4]\n %1 = reduce %0 {axis = 0, combine = \"max_nan\"} : i32", "`max_nan` is for floats"},
      {"%0 = splat %c : bool[4]\n %1 = reduce %0 {axis = 0, combine = \"sum\"} : bool", "`sum` is not defined on bool"},
      {"%0 = splat %n : i32[4]\n %1, %2 = arg_reduce %0 {axis = 0, combine = \"max\"} : i32, i64", "the index is i64, not i32"},
      {"%0 = constant {value = 0x0} : f16[4, 8]\n %1 = constant {value = 0x0} : f32[4, 4]\n %2 = dot %0, %0, %1 : f32[4, 4]",
       "f16[4, 8] @ f16[4, 8] + f32[4, 4]"},
      {"%0 = make_view %p, %n : view<f32, 1>", "2 operands, not 3"},
      {"%0 = make_view %p, %n, %n : view<f16, 1>", "ptr<f32> makes view<f16, 1>"},
      {"%0 = make_view %p, %n, %n : view<f32, 1>\n %1 = load_view %0, %n, %n : f32", "2 indices for view<f32, 1>"},
      {"%0 = make_view %p, %n, %n : view<f32, 1>\n %1 = splat %n : i32[4]\n %2 = load_view %0, %1 : f32[8]", "index 0 is i32[4], the tile [8]"},
      {"%0 = make_view %p, %n, %n : view<f32, 1>\n store_view %0, %n, %n", "i32 is stored to view<f32, 1>"},
      {"%0 = addptr %p, %c : ptr<f32>", "operands ptr<f32> and bool do not give ptr<f32>"},
      {"%0 = load %p {has_mask = 1} : f32", "1 operands, not 2"},
      {"%0 = load %p : f16", "ptr<f32> loads f16"},
      {"store %p, %n", "i32 is stored to ptr<f32>"},
      {"for %n, %n, %c do (%i: i32) {\n yield\n }", "the bounds are one integer type"},
      {"%0 = for %n, %n, %n, %n : i32 do (%i: i32, %a: i32) {\n yield\n }", "the number of yielded values does not fit"},
      {"%0 = for %n, %n, %n, %n : i32 do (%i: i32, %a: bool) {\n yield %n\n }", "block arguments 0 is bool, not i32"},
      {"%0 = if %c : i32 then {\n yield %n\n } else {\n yield %c\n }", "yielded values 0 is bool, not i32"},
      {"if %n then {\n yield\n } else {\n yield\n }", "the condition is a bool"},
      {"if %c then {\n return\n } else {\n yield\n }", "the block must end in yield"},
      {"if %c then {\n } else {\n yield\n }", "a block is empty"},
      {"yield", "it is not the last of its block"},
      {"device_assert %n {text = \"\"}", "the condition is bool"},
      {"%0 = splat %n : i32[64]\n %1 = convert_layout %0 : i32[64]", "there are no layouts yet"},
  };
  for (const Case& c : cases) EXPECT_THAT(check(c.body), Contains(HasSubstr(c.message))) << c.body;
}

TEST(Verify, FixedNeedsOrders) {
  std::string sum = "%0 = constant {value = 0x0} : f32[6]\n %1 = reduce %0 {axis = 0, combine = \"sum\"";
  EXPECT_THAT(check(sum + "} : f32", Stage::Fixed), Contains(HasSubstr("attribute `order` is missing")));
  EXPECT_THAT(check(sum + ", order = [0, 1]} : f32", Stage::Fixed), Contains(HasSubstr("order is no permutation of the 3 bits")));
  EXPECT_THAT(check(sum + ", order = [2, 0, 1]} : f32", Stage::Fixed), IsEmpty());
  std::string dot = "%0 = constant {value = 0x0} : f16[16, 16]\n %1 = constant {value = 0x0} : f32[16, 16]\n %2 = dot %0, %0, %1 {mfma = ";
  std::string tail = ", k_bits = [0, 1, 2, 3], wave_grid = [2, 2]} : f32[16, 16]";
  EXPECT_THAT(check(dot + "\"F32_16x16x16_F16\"" + tail, Stage::Fixed), IsEmpty());
  EXPECT_THAT(check(dot + "\"F32_16x16x16_F17\"" + tail, Stage::Fixed), Contains(HasSubstr("is no matrix instruction")));
  EXPECT_THAT(check(dot + "\"F32_16x16x32_F16\"" + tail, Stage::Fixed), Contains(HasSubstr("does not exist on gfx942")));
  EXPECT_THAT(check(dot + "\"F32_16x16x4_F32\"" + tail, Stage::Fixed), Contains(HasSubstr("does not take f16, f16 and f32")));
  EXPECT_THAT(check(dot + "\"F32_16x16x16_F16\", k_bits = [0, 1, 2], wave_grid = [2, 2]} : f32[16, 16]", Stage::Fixed),
              Contains(HasSubstr("k_bits is no permutation of the 4 bits")));
  EXPECT_THAT(check(dot + "\"F32_16x16x16_F16\", k_bits = [0, 1, 2, 3], wave_grid = [2, 1]} : f32[16, 16]", Stage::Fixed),
              Contains(HasSubstr("the wave grid does not make 4 waves")));
}

TEST(Verify, Dominance) {
  EXPECT_THAT(check("if %c then {\n %0 = add.i %n, %n : i32\n yield\n } else {\n yield\n }"), IsEmpty());
  Kernel k = parse("kernel @k(%n: i32) target gfx942 waves 1 {\n %0 = add.i %n, %n : i32\n %1 = add.i %0, %n : i32\n return\n}\n");
  std::vector<OpId>& ops = k.block(k.body).ops;
  std::swap(ops[0], ops[1]);
  EXPECT_THAT(verify(k, Stage::Sema), Contains(HasSubstr("operand 0 is not defined before it")));
  ops.pop_back();
  EXPECT_THAT(verify(k, Stage::Sema), Contains(HasSubstr("the block must end in return")));
}

std::vector<std::string> layouts(const std::string& result_of_reduce, const std::string& of_broadcast) {
  return verify(parse("#A = #layout<reg=[(0,1),(0,2)], lane=[(0,4),(0,8),(0,16),(1,0),(2,0),(4,0)], wave=[(8,0)]>\n"
                      "#B = #layout<reg=[(0,1),(1,0)], lane=[(0,2),(0,4),(0,8),(0,16),(2,0),(4,0)], wave=[(8,0)]>\n"
                      "#R = #layout<reg=[], lane=[0,0,0,1,2,4], wave=[8]>\n"
                      "#S = #layout<reg=[1], lane=[0,0,0,0,2,4], wave=[8]>\n"
                      "#E = #layout<reg=[], lane=[(0,0),(0,0),(0,0),(1,0),(2,0),(4,0)], wave=[(8,0)]>\n"
                      "kernel @k(%x: f32) target gfx942 waves 2 {\n"
                      "%0 = splat %x : f32[16, 32] #A\n"
                      "%1 = reduce %0 {axis = 1, combine = \"sum\", order = [0, 1, 2, 3, 4]} : f32[16] " + result_of_reduce + "\n"
                      "%2 = expand_dims %1 {axis = 1} : f32[16, 1] #E\n"
                      "%3 = broadcast %2 : f32[16, 32] " + of_broadcast + "\n"
                      "%4 = add.f %0, %3 : f32[16, 32] #A\n return\n}\n"),
                Stage::Layout);
}

TEST(Verify, Layouts) {
  EXPECT_THAT(layouts("#R", "#A"), IsEmpty());
  EXPECT_THAT(layouts("#S", "#A"), Contains(HasSubstr("the result's layout is")));
  EXPECT_THAT(layouts("#R", "#B"), Contains(HasSubstr("broadcast")));
  EXPECT_THAT(layouts("#R", "#B"), Contains(HasSubstr("its tiles have different layouts")));
  EXPECT_THAT(layouts("", "#A"), Contains(HasSubstr("has no layout")));
}

}  // namespace
}  // namespace tile::ir::testing
