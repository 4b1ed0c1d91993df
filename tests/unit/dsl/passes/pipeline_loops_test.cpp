#include "tests/unit/dsl/passes/judge.h"
#include "tests/unit/dsl/passes/kernels.h"

namespace tile::passes::testing {
namespace {

using Scalars = std::map<std::string, int64_t>;

TEST(PipelineLoops, LoadsRunAhead) {
  Kernel k = parse(matmul("f16", "f32", 32, 32, 16, "target gfx942 waves 1", 2));
  run_to(k, "pipeline_loops");
  const ir::Op& loop = k.op(all(k, OpKind::For).at(0));
  EXPECT_EQ(loop.results.size(), 3u);
  EXPECT_FALSE(loop.has(AttrKey::Pipeline));
  // Two loads before the loop, two in it that stand before the dot.
  std::vector<ir::OpId> loads = all(k, OpKind::LoadView);
  ASSERT_EQ(loads.size(), 4u);
  EXPECT_EQ(k.op(loads[0]).parent, k.body);
  EXPECT_EQ(k.op(loads[3]).parent, loop.blocks[0]);
  EXPECT_EQ(k.def(k.op(all(k, OpKind::Dot)[0]).operands[0]), nullptr);
}

TEST(PipelineLoops, DeeperQueues) {
  for (int stages : {3, 4}) {
    Kernel k = parse(matmul("f16", "f32", 32, 32, 16, "target gfx942 waves 1", stages));
    run_to(k, "pipeline_loops");
    EXPECT_EQ(k.op(all(k, OpKind::For).at(0)).results.size(), 1u + 2u * static_cast<unsigned>(stages - 1));
  }
}

std::string copy_loop(const std::string& y, const std::string& body, const std::string& step = "0x1") {
  return "kernel @k(%x: ptr<f32>, %y: ptr<f32> {" + y + "}, %n: i32) target gfx942 waves 1 {\n" + R"(
    %0 = constant {value = 0x0} : i32
    %1 = constant {value = )" + step + R"(} : i32
    %i = arange {start = 0} : i32[64]
    %w = constant {value = 0x40} : i32
    %sum = constant {value = 0x0} : f32[64]
    %px = splat %x : ptr<f32>[64]
    %py = splat %y : ptr<f32>[64]
    %r = for %0, %n, %1, %sum {pipeline = 3} : f32[64] do (%k: i32, %a: f32[64]) {
      %k0 = mul.i %k, %w : i32
      %k1 = splat %k0 : i32[64]
      %k2 = add.i %k1, %i : i32[64]
      %p = addptr %px, %k2 : ptr<f32>[64]
      %q = addptr %py, %k2 : ptr<f32>[64]
)" + body + R"(
      %b = add.f %a, %v : f32[64]
      yield %b
    }
    %e = addptr %py, %i : ptr<f32>[64]
    store %e, %r
    return
  })";
}

TEST(PipelineLoops, RawLoadsAreMaskedBeyondTheEnd) {
  Kernel k = parse(copy_loop("noalias", "%v = load %p : f32[64]"));
  run_to(k, "pipeline_loops");
  for (ir::OpId o : all(k, OpKind::Load)) EXPECT_EQ(k.op(o).get_int(AttrKey::HasMask), 1);
  // The array ends where the loop ends: a read behind it would be an error.
  Kernel start = parse(copy_loop("noalias", "%v = load %p : f32[64]"));
  for (int64_t n : {0, 1, 2, 3, 256}) EXPECT_EQ(first_wrong_pass(start, {{"n", n}}, {1, 1, 1}), "") << n;
}

TEST(PipelineLoops, StoresThatMayMeetKeepLoadsInPlace) {
  const char* body = "%v = load %p : f32[64]\n store %q, %v";
  for (auto [attr, ahead] : {std::pair{"", false}, {"noalias", true}}) {
    Kernel k = parse(copy_loop(attr, body));
    run_to(k, "pipeline_loops");
    EXPECT_EQ(k.op(all(k, OpKind::For).at(0)).results.size(), ahead ? 3u : 1u) << attr;
  }
}

// Rows of f16 with any stride are loaded element by element: that many registers are not carried around.
TEST(PipelineLoops, LoadsOfSmallPiecesStay) {
  Kernel k = parse(matmul("f16", "f32", 32, 32, 16, "target gfx942 waves 1", 2));
  for (ir::Param& p : k.params) p.divisor = 1;
  run_to(k, "pipeline_loops");
  EXPECT_EQ(k.op(all(k, OpKind::For).at(0)).results.size(), 1u);
}

TEST(PipelineLoops, CarriedAddressesStay) {
  Kernel k = parse(oddities("target gfx942 waves 1"));
  k.op(all(k, OpKind::For).at(0)).set(AttrKey::Pipeline, int64_t{2});
  size_t results = k.op(all(k, OpKind::For).at(0)).results.size();
  run_to(k, "pipeline_loops");
  EXPECT_EQ(k.op(all(k, OpKind::For).at(0)).results.size(), results);
}

TEST(PipelineLoops, FaultIsNamed) {
  Kernel k = parse(matmul("f16", "f32", 32, 32, 16, "target gfx942 waves 1", 2));
  EXPECT_EQ(first_wrong_pass(k, {{"M", 40}, {"N", 40}, {"K", 40}}, {2, 2, 1}, "pipeline_loops"), "pipeline_loops");
}

}  // namespace
}  // namespace tile::passes::testing
