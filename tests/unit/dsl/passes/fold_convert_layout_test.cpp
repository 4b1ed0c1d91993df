#include "dsl/ir/layout_rules.h"
#include "tests/unit/dsl/passes/kernels.h"
#include "tests/unit/dsl/passes/testing.h"

namespace tile::passes::testing {
namespace {

const char* layouts = "#A = #layout<reg=[(1)], lane=[(2),(4),(8),(16),(32),(64)], wave=[(128)]>\n"
                      "#B = #layout<reg=[(128)], lane=[(1),(2),(4),(8),(16),(32)], wave=[(64)]>\n"
                      "#C = #layout<reg=[(64)], lane=[(1),(2),(4),(8),(16),(32)], wave=[(128)]>\n";

// Runs the pass alone on operations with layouts; the body that is left.
std::string folded(const std::string& ops) {
  Kernel k = parse(std::string(layouts) + "kernel @k(%h: f16, %c: bool) target gfx942 waves 2 {\n" + ops + "\nreturn\n}\n");
  EXPECT_TRUE(verify(k, ir::Stage::Layout).empty());
  PassContext context;
  EXPECT_TRUE(fold_convert_layout(k, context).ok());
  EXPECT_EQ(verify(k, ir::Stage::Layout), std::vector<std::string>{});
  return body(k);
}

TEST(FoldConvertLayout, SameLayoutAndChains) {
  EXPECT_EQ(folded("%0 = splat %h : f16[256] #A\n%1 = convert_layout %0 : f16[256] #A\nprint %1 {text = \"\"}"),
            "  %0 = splat %h : f16[256] #L0\n  print %0 {text = \"\"}\n  return\n");
  EXPECT_EQ(folded("%0 = splat %h : f16[256] #A\n%1 = convert_layout %0 : f16[256] #B\n%2 = convert_layout %1 : f16[256] #A\nprint %2 {text = \"\"}"),
            "  %0 = splat %h : f16[256] #L0\n  print %0 {text = \"\"}\n  return\n");
  EXPECT_EQ(folded("%0 = splat %h : f16[256] #A\n%1 = convert_layout %0 : f16[256] #B\n%2 = convert_layout %1 : f16[256] #C\nprint %2 {text = \"\"}"),
            "  %0 = splat %h : f16[256] #L0\n  %1 = convert_layout %0 : f16[256] #L1\n  print %1 {text = \"\"}\n  return\n");
}

TEST(FoldConvertLayout, SharesAndSinks) {
  EXPECT_EQ(folded(R"(%0 = splat %h : f16[256] #A
    %1 = convert_layout %0 : f16[256] #B
    print %0 {text = ""}
    if %c then {
      %2 = convert_layout %0 : f16[256] #B
      print %2, %1 {text = ""}
      yield
    } else {
      yield
    })"), R"(  %0 = splat %h : f16[256] #L0
  print %0 {text = ""}
  %1 = convert_layout %0 : f16[256] #L1
  if %c then {
    print %1, %1 {text = ""}
    yield
  } else {
    yield
  }
  return
)");
}

TEST(FoldConvertLayout, ConvertsTheNarrowType) {
  EXPECT_EQ(folded("%0 = splat %h : f16[256] #A\n%1 = cast %0 : f32[256] #A\n%2 = convert_layout %1 : f32[256] #B\nprint %2 {text = \"\"}"),
            "  %0 = splat %h : f16[256] #L0\n  %1 = convert_layout %0 : f16[256] #L1\n  %2 = cast %1 : f32[256] #L1\n  print %2 {text = \"\"}\n  return\n");
  // Not when the wide tile is needed as it is, too.
  EXPECT_THAT(folded("%0 = splat %h : f16[256] #A\n%1 = cast %0 : f32[256] #A\n%2 = convert_layout %1 : f32[256] #B\nprint %1, %2 {text = \"\"}"),
              HasSubstr("%2 = convert_layout %1 : f32[256]"));
}

TEST(FoldConvertLayout, FaultIsNamed) {
  Kernel k = parse(matmul("f16", "f32", 64, 64, 32, "target gfx942 waves 4"));
  PassOptions options;
  options.fault = "fold_convert_layout";
  Status s = run_passes(k, options);
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.error().message, HasSubstr("invalid after fold_convert_layout"));
}

}  // namespace
}  // namespace tile::passes::testing
