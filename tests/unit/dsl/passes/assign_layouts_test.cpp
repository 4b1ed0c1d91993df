#include "dsl/passes/plan_layouts.h"
#include "tests/unit/dsl/passes/kernels.h"
#include "tests/unit/dsl/passes/testing.h"

namespace tile::passes::testing {
namespace {

using ir::OpId;

unsigned count(const Kernel& k, OpKind kind) { return static_cast<unsigned>(all(k, kind).size()); }

TEST(AssignLayouts, VectorAddIsCoalesced) {
  Kernel k = parse(ir::testing::vector_add);
  run_to(k, "assign_layouts");
  EXPECT_EQ(count(k, OpKind::ConvertLayout), 0u);
  const ir::Value& v = k.value(k.op(all(k, OpKind::LoadView)[0]).results[0]);
  EXPECT_EQ(v.layout->str(), "#layout<reg=[(1),(2)], lane=[(4),(8),(16),(32),(64),(128)], wave=[(256),(512)]>");
}

TEST(AssignLayouts, MatmulConvertsOperandsOnly) {
  Kernel k = parse(matmul("f16", "f32", 128, 128, 64, "target gfx942 waves 4"));
  run_to(k, "assign_layouts");
  // Both operands go to the instruction's layout inside of the loop; f32 results of 32 columns are stored as they are.
  EXPECT_EQ(count(k, OpKind::ConvertLayout), 2u);
  const ir::Op& dot = k.op(all(k, OpKind::Dot)[0]);
  for (OpId o : all(k, OpKind::ConvertLayout)) EXPECT_EQ(k.op(o).parent, dot.parent);
  for (OpId o : all(k, OpKind::LoadView)) {
    // 16 bytes a lane along the rows.
    EXPECT_EQ(layout::contig_registers(*k.value(k.op(o).results[0]).layout, 1), 8u);
  }
}

TEST(AssignLayouts, SoftmaxNeedsNoConversion) {
  Kernel k = parse(softmax(1000, "target gfx942 waves 4"));
  run_to(k, "assign_layouts");
  EXPECT_EQ(count(k, OpKind::ConvertLayout), 0u);
  k = parse(row_softmax(8, 100, "target gfx942 waves 4"));
  run_to(k, "assign_layouts");
  // The index of the maximum is stored by rows.
  EXPECT_LE(count(k, OpKind::ConvertLayout), 1u);
}

TEST(AssignLayouts, CarriedPointersFollowTheLoad) {
  Kernel k = parse(oddities("target gfx942 waves 1"));
  run_to(k, "assign_layouts");
  const ir::Op& load = k.op(all(k, OpKind::Load)[0]);
  EXPECT_EQ(*k.value(load.operands[0]).layout, *k.value(load.results[0]).layout);
  EXPECT_EQ(k.def(load.operands[0]), nullptr);
}

TEST(AssignLayouts, EverythingIsValid) {
  for (const NamedKernel& n : all_kernels()) {
    SCOPED_TRACE(n.name);
    Kernel k = parse(n.text);
    run_to(k, "assign_layouts");
    if (HasFailure()) return;
  }
}

TEST(AssignLayouts, FaultIsNamed) {
  Kernel k = parse(matmul("f16", "f32", 128, 128, 64, "target gfx942 waves 4"));
  PassOptions options;
  options.fault = "assign_layouts";
  Status s = run_passes(k, options);
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.error().message, HasSubstr("invalid after assign_layouts"));
}

}  // namespace
}  // namespace tile::passes::testing
