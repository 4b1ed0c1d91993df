#include "dsl/passes/choose_mfma.h"
#include "dsl/passes/plan_layouts.h"
#include "tests/unit/dsl/passes/testing.h"

namespace tile::passes::testing {
namespace {

TEST(FixValues, ContractsOnlyWhenAllowed) {
  const char* text = R"(%0 = mul.f %a, %b : f32
    %1 = add.f %0, %c : f32
    print %1 {text = "{}"}
    %2 = mul.f %a, %c : f32
    %3 = sub.f %b, %2 : f32
    print %3 {text = "{}"}
    %4 = mul.f %a, %a : f32
    %5 = sub.f %4, %b : f32
    print %5, %4 {text = "{} {}"})";
  Kernel off = kernel(text, "%a: f32, %b: f32, %c: f32");
  std::string before = body(off);
  run_to(off, "fix_values");
  EXPECT_EQ(body(off), before);
  Kernel on = kernel(text, "%a: f32, %b: f32, %c: f32", "target gfx942 waves 4 contract");
  run_to(on, "fix_values");
  EXPECT_EQ(body(on), R"(  %0 = fma %a, %b, %c : f32
  print %0 {text = "{}"}
  %1 = neg.f %a : f32
  %2 = fma %1, %c, %b : f32
  print %2 {text = "{}"}
  %3 = mul.f %a, %a : f32
  %4 = sub.f %3, %b : f32
  print %4, %3 {text = "{} {}"}
  return
)");
}

std::string dot_text(const std::string& a, const std::string& b, const std::string& c, int m, int n, int k) {
  auto tile = [](const std::string& t, int x, int y) { return t + "[" + std::to_string(x) + ", " + std::to_string(y) + "]"; };
  return "%0 = constant {value = 0x0} : " + tile(a, m, k) + "\n%1 = constant {value = 0x0} : " + tile(b, k, n) +
         "\n%2 = constant {value = 0x0} : " + tile(c, m, n) + "\n%3 = dot %0, %1, %2 : " + tile(c, m, n) +
         "\nprint %3 {text = \"{}\"}";
}

struct Case {
  const char *arch, *a, *b, *c;
  int m, n, k, waves;
  const char* mfma;
  std::vector<int64_t> grid;
};

TEST(FixValues, ChoosesInstructions) {
  const Case cases[] = {
      {"gfx942", "f16", "f16", "f32", 128, 128, 64, 4, "F32_32x32x8_F16", {2, 2}},
      {"gfx950", "f16", "f16", "f32", 128, 128, 64, 4, "F32_32x32x16_F16", {2, 2}},
      {"gfx950", "f16", "f16", "f32", 128, 128, 8, 4, "F32_32x32x8_F16", {2, 2}},
      {"gfx90a", "bf16", "bf16", "f32", 128, 128, 64, 4, "F32_32x32x8_BF16_1k", {2, 2}},
      {"gfx942", "f16", "f16", "f32", 32, 64, 32, 4, "F32_16x16x16_F16", {2, 2}},
      {"gfx942", "f16", "f16", "f32", 64, 64, 32, 8, "F32_16x16x16_F16", {4, 2}},
      {"gfx942", "f16", "f16", "f32", 3, 5, 7, 4, "F32_16x16x16_F16", {4, 1}},
      {"gfx942", "f16", "f16", "f32", 16, 256, 64, 4, "F32_16x16x16_F16", {1, 4}},
      {"gfx942", "f32", "f32", "f32", 128, 64, 32, 4, "F32_32x32x2_F32", {4, 1}},
      {"gfx942", "f64", "f64", "f64", 64, 64, 16, 4, "F64_16x16x4_F64", {2, 2}},
      {"gfx90a", "i8", "i8", "i32", 64, 64, 64, 1, "I32_32x32x8_I8", {1, 1}},
      {"gfx942", "i8", "i8", "i32", 64, 64, 64, 1, "I32_32x32x16_I8", {1, 1}},
      {"gfx950", "i8", "i8", "i32", 64, 64, 64, 1, "I32_32x32x32_I8", {1, 1}},
      {"gfx942", "f8e4m3fnuz", "f8e5m2fnuz", "f32", 64, 64, 64, 1, "F32_32x32x16_Fp8_Bf8", {1, 1}},
      {"gfx950", "f8e4m3", "f8e4m3", "f32", 16, 16, 64, 3, "F32_16x16x32_Fp8_Fp8", {2, 1}},
  };
  for (const Case& c : cases) {
    Kernel k = kernel(dot_text(c.a, c.b, c.c, c.m, c.n, c.k), "%n: i32", std::string("target ") + c.arch + " waves " + std::to_string(c.waves));
    run_to(k, "fix_values");
    const ir::Op& dot = k.op(all(k, OpKind::Dot).at(0));
    EXPECT_EQ(dot.get_text(AttrKey::Mfma), c.mfma) << c.arch << c.a;
    EXPECT_EQ(dot.get_ints(AttrKey::WaveGrid), c.grid) << c.mfma << c.m << "x" << c.n;
  }
}

TEST(FixValues, PacksK) {
  Kernel k = kernel(dot_text("f16", "f16", "f32", 64, 64, 64));
  run_to(k, "fix_values");
  // A lane of 16x16x16 or 32x32x8 has 4 neighbours; two steps make 16 bytes.
  EXPECT_EQ(k.op(all(k, OpKind::Dot)[0]).get_ints(AttrKey::KBits), (std::vector<int64_t>{0, 1, 3, 2, 4, 5}));
}

// Every float type on every target finds an instruction, by exact casts where need be, with a remark.
TEST(FixValues, MissingTypesAreCastExactly) {
  const std::vector<std::string> types = {"f16", "bf16", "f32", "f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "f6e2m3", "f6e3m2", "f4e2m1"};
  for (const char* arch : {"gfx90a", "gfx942", "gfx950"})
    for (const std::string& a : types)
      for (const std::string& b : types) {
        Kernel k = kernel(dot_text(a, b, "f32", 16, 16, 32), "%n: i32", std::string("target ") + arch + " waves 1");
        Diagnostics diags;
        PassOptions options;
        options.diags = &diags;
        run_to(k, "fix_values", options);
        const ir::Op& dot = k.op(all(k, OpKind::Dot)[0]);
        DType ta = k.type(dot.operands[0]).dtype, tb = k.type(dot.operands[1]).dtype;
        EXPECT_EQ(diags.all().empty(), name(ta) == a && name(tb) == b);
        for (auto [from, to] : {std::pair{*parse_dtype(a), ta}, {*parse_dtype(b), tb}})
          if (from != to) {
            EXPECT_GE(info(to).man_bits, info(from).man_bits);
            EXPECT_GE(info(to).exp_bits, std::min(info(from).exp_bits, 5u));
          }
      }
  Kernel k = kernel(dot_text("f8e4m3", "f8e4m3", "f32", 16, 16, 32));
  Diagnostics diags;
  PassOptions options;
  options.diags = &diags;
  run_to(k, "fix_values", options);
  ASSERT_FALSE(diags.all().empty());
  EXPECT_EQ(diags.all()[0].message, "gfx942 has no matrix instruction for f8e4m3 and f8e4m3, operand a is converted to f16");
  EXPECT_EQ(body(k).find("cast") == std::string::npos, false);
}

TEST(FixValues, IntegersWithoutInstructionAreAnError) {
  Kernel k = kernel(dot_text("i32", "i32", "i32", 16, 16, 32));
  Status s = run_passes(k);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().message, "gfx942 has no matrix instruction for i32 and i32 into i32");
}

TEST(FixValues, ReductionsFollowTheLayout) {
  // 16 bytes a lane, then the lanes, then the waves.
  Kernel k = kernel(R"(%0 = constant {value = 0x1} : i32
    %1 = make_view %p, %n, %0 {align = 16} : view<f32, 1>
    %2 = arange {start = 0} : i32[2048]
    %3 = load_view %1, %2 : f32[2048]
    %4 = reduce %3 {axis = 0, combine = "sum"} : f32
    store_view %1, %4, %0)", "%p: ptr<f32> {view, align = 16}, %n: i32");
  run_to(k, "fix_values");
  EXPECT_EQ(k.op(all(k, OpKind::Reduce)[0]).get_ints(AttrKey::Order), (std::vector<int64_t>{0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(FixValues, RowsOfADotAreReducedInItsLayout) {
  Kernel k = kernel(dot_text("f16", "f16", "f32", 64, 64, 32) + "\n%4 = reduce %3 {axis = 1, combine = \"sum\"} : f32[64]\nprint %4 {text = \"{}\"}");
  run_to(k, "fix_values");
  // Waves stay apart, so that they need not talk.
  EXPECT_EQ(k.op(all(k, OpKind::Dot)[0]).get_ints(AttrKey::WaveGrid), (std::vector<int64_t>{4, 1}));
  EXPECT_EQ(k.op(all(k, OpKind::Reduce)[0]).get_ints(AttrKey::Order), (std::vector<int64_t>{4, 5, 0, 1, 2, 3}));
}

TEST(FixValues, OddExtents) {
  for (int extent : {1, 2, 3, 5, 100, 129}) {
    std::string n = std::to_string(extent);
    Kernel k = kernel("%0 = constant {value = 0x0} : f32[3, " + n + "]\n%1 = reduce %0 {axis = 1, combine = \"sum\"} : f32[3]\n"
                      "%2, %3 = arg_reduce %0 {axis = 0, combine = \"min\"} : f32[" + n + "], i32[" + n + "]\nprint %1, %2, %3 {text = \"\"}");
    run_to(k, "fix_values");
  }
}

TEST(FixValues, FaultIsNamed) {
  Kernel k = kernel(dot_text("f16", "f16", "f32", 64, 64, 32));
  PassOptions options;
  options.fault = "fix_values";
  Status s = run_passes(k, options);
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.error().message, HasSubstr("invalid after fix_values"));
}

TEST(LayoutForOrder, AnyOrderRuns) {
  Kernel k;
  for (unsigned waves : {1u, 2u, 4u, 16u}) {
    k.waves = waves;
    for (ir::Shape s : {ir::Shape{8, 512}, ir::Shape{1, 4}, ir::Shape{64, 64}, ir::Shape{4, 4, 4}, ir::Shape{2048}})
      for (unsigned axis = 0; axis < s.rank(); ++axis) {
        std::vector<int64_t> order(ir::axis_bits(s[axis]));
        for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(order.size() - 1 - i);
        LayoutPtr l = layout_for_order(k, s, axis, order);
        EXPECT_TRUE(l->is_surjective()) << l->str();
        EXPECT_EQ(l->shape(), layout::padded_shape(ir::extents(s)));
        EXPECT_TRUE(ir::reduce_steps(*l, axis, order).has_value()) << l->str();
        EXPECT_EQ(natural_order(*l, axis, s[axis]), order);
      }
  }
}

}  // namespace
}  // namespace tile::passes::testing
