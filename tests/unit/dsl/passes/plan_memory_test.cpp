#include "tests/unit/dsl/passes/kernels.h"
#include "tests/unit/dsl/passes/testing.h"

namespace tile::passes::testing {
namespace {

TEST(PlanMemory, SixteenBytesWhereTheyMayBe) {
  Kernel k = parse(matmul("f16", "f32", 128, 128, 64, "target gfx942 waves 4"));
  run_to(k, "plan_memory");
  for (ir::OpId o : all(k, OpKind::LoadView)) {
    EXPECT_EQ(k.op(o).get_int(AttrKey::Vector), 8);
    EXPECT_EQ(k.op(o).get_int(AttrKey::Granule), 8);  // N and K are multiples of 8
  }
  // The result is stored from the instruction's layout: lanes are neighbours, registers are not.
  EXPECT_EQ(k.op(all(k, OpKind::StoreView)[0]).get_int(AttrKey::Vector), 1);
}

TEST(PlanMemory, UnknownExtentsLimitTheGranuleOnly) {
  Kernel k = parse(ir::testing::vector_add);
  k.params[2].divisor = 1;
  run_to(k, "plan_memory");
  EXPECT_EQ(k.op(all(k, OpKind::LoadView)[0]).get_int(AttrKey::Vector), 4);
  EXPECT_EQ(k.op(all(k, OpKind::LoadView)[0]).get_int(AttrKey::Granule), 1);
}

TEST(PlanMemory, RawMasksLimitTheVector) {
  for (auto [divisor, vector] : {std::pair{1, 1}, {2, 2}, {8, 4}}) {
    Kernel k = kernel(R"(%0 = arange {start = 0} : i32[4096]
      %1 = splat %p : ptr<f32>[4096]
      %2 = addptr %1, %0 : ptr<f32>[4096]
      %3 = splat %n : i32[4096]
      %4 = lt.s %0, %3 : bool[4096]
      %5 = load %2, %4 {has_mask = 1} : f32[4096]
      store %2, %5)", "%p: ptr<f32> {align = 16}, %n: i32 {divisor = " + std::to_string(divisor) + "}");
    run_to(k, "plan_memory");
    EXPECT_EQ(k.op(all(k, OpKind::Load)[0]).get_int(AttrKey::Vector), vector);
    EXPECT_EQ(k.op(all(k, OpKind::Store)[0]).get_int(AttrKey::Vector), 4);
  }
}

TEST(PlanMemory, UnalignedBasesGoByElement) {
  Kernel k = kernel(R"(%0 = arange {start = 0} : i32[4096]
    %1 = splat %p : ptr<f16>[4096]
    %2 = addptr %1, %0 : ptr<f16>[4096]
    %3 = load %2 : f16[4096]
    store %2, %3)", "%p: ptr<f16>");
  run_to(k, "plan_memory");
  EXPECT_EQ(k.op(all(k, OpKind::Load)[0]).get_int(AttrKey::Vector), 1);
}

TEST(PlanMemory, FaultIsNamed) {
  for (const std::string& text : {matmul("f16", "f32", 128, 128, 64, "target gfx942 waves 4"), softmax(1000, "target gfx942 waves 4"), std::string(ir::testing::vector_add)}) {
    Kernel k = parse(text);
    PassOptions options;
    options.fault = "plan_memory";
    Status s = run_passes(k, options);
    ASSERT_FALSE(s.ok());
    EXPECT_THAT(s.error().message, HasSubstr("invalid after plan_memory"));
  }
}

}  // namespace
}  // namespace tile::passes::testing
