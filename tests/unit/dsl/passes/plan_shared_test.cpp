#include "dsl/passes/hazards.h"
#include "tests/unit/dsl/passes/kernels.h"
#include "tests/unit/dsl/passes/testing.h"

namespace tile::passes::testing {
namespace {

using ir::OpId;

TEST(PlanShared, MatmulOperandsStandBesideEachOther) {
  Kernel k = parse(matmul("f16", "f32", 128, 128, 64, "target gfx942 waves 4"));
  run_to(k, "plan_shared");
  std::vector<OpId> converts = all(k, OpKind::ConvertLayout);
  ASSERT_EQ(converts.size(), 2u);
  EXPECT_EQ(k.op(converts[0]).get_int(AttrKey::LdsOffset), 0);
  EXPECT_EQ(k.op(converts[1]).get_int(AttrKey::LdsOffset), 16384);
  EXPECT_EQ(k.lds_bytes, 32768);
}

TEST(PlanShared, PartialsOfASoftmax) {
  Kernel k = parse(softmax(1000, "target gfx942 waves 4"));
  run_to(k, "plan_shared");
  // Two reductions to a scalar: four partial values each, beside each other.
  EXPECT_EQ(k.lds_bytes, 32);
  k = parse(softmax(1000, "target gfx942 waves 1"));
  run_to(k, "plan_shared");
  EXPECT_EQ(k.lds_bytes, 0);
}

TEST(PlanShared, WavesOfAWaveKernelHaveTheirOwn) {
  Kernel k = parse(matmul("f16", "f32", 32, 32, 32, "target gfx942 waves 4 wave"));
  run_to(k, "plan_shared");
  EXPECT_EQ(k.lds_bytes % 64, 0);
  EXPECT_GT(k.lds_bytes, 0);
}

TEST(PlanShared, TooLargeIsAnError) {
  Kernel k = kernel("%0 = constant {value = 0x1} : i32\n%1 = make_view %p, %n, %0 {align = 16} : view<f32, 1>\n%2 = arange {start = 0} : i32[30000]\n"
                    "%3 = load_view %1, %2 : f32[30000]\n%4 = reshape %3 : f32[150, 200]\nprint %4 {text = \"\"}", "%n: i32, %p: ptr<f32>");
  Status s = run_passes(k);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().message, "reshape needs 120000 bytes of shared memory, gfx942 has 65536");
}

TEST(PlanShared, FaultIsNamed) {
  Kernel k = parse(softmax(1000, "target gfx942 waves 4"));
  PassOptions options;
  options.fault = "plan_shared";
  Status s = run_passes(k, options);
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.error().message, HasSubstr("invalid after plan_shared"));
}

}  // namespace
}  // namespace tile::passes::testing
