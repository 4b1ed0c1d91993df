#include "dsl/passes/hazards.h"
#include "tests/unit/dsl/passes/kernels.h"
#include "tests/unit/dsl/passes/testing.h"

namespace tile::passes::testing {
namespace {

// The order of memory operations, conversions, reductions and barriers, one letter each: l load, s store, c conversion, r
// reduction, b barrier of LDS, B barrier of global memory too; loops in parentheses.
std::string sequence(const Kernel& k, ir::BlockId b) {
  std::string out;
  for (ir::OpId o : k.block(b).ops) {
    const ir::Op& op = k.op(o);
    switch (op.kind) {
      case OpKind::Load: case OpKind::LoadView: out += 'l'; break;
      case OpKind::Store: case OpKind::StoreView: out += 's'; break;
      case OpKind::ConvertLayout: out += 'c'; break;
      case OpKind::Reduce: case OpKind::ArgReduce: out += 'r'; break;
      case OpKind::Barrier: out += op.get_int(AttrKey::Global) ? 'B' : 'b'; break;
      default: break;
    }
    for (ir::BlockId n : op.blocks) out += "(" + sequence(k, n) + ")";
  }
  return out;
}

std::string barriers(Kernel k) {
  run_to(k, "insert_barriers");
  return sequence(k, k.body);
}

std::string views(const std::string& x, const std::string& y, const std::string& ops) {
  return "kernel @k(%x: ptr<f32> {view, align = 16" + x + "}, %y: ptr<f32> {view, align = 16" + y + R"(}, %n: i32) target gfx942 waves 4 {
    %0 = constant {value = 0x0} : i32
    %1 = constant {value = 0x1} : i32
    %vx = make_view %x, %n, %1 {align = 16} : view<f32, 1>
    %vy = make_view %y, %n, %1 {align = 16} : view<f32, 1>
    %i = arange {start = 0} : i32[1024]
    %d = constant {value = 0x1} : i32[1024]
    %j = add.i %i, %d : i32[1024]
)" + ops + "\nreturn\n}\n";
}

TEST(InsertBarriers, ParametersMayOverlap) {
  const char* ops = "%a = load_view %vx, %i : f32[1024]\nstore_view %vy, %a, %i";
  EXPECT_EQ(barriers(parse(views("", "", ops))), "lBs");
  EXPECT_EQ(barriers(parse(views(", noalias", "", ops))), "ls");
  EXPECT_EQ(barriers(parse(views("", ", noalias", ops))), "ls");
}

TEST(InsertBarriers, InPlaceNeedsNone) {
  EXPECT_EQ(barriers(parse(views("", "", "%a = load_view %vx, %i : f32[1024]\nstore_view %vx, %a, %i"))), "ls");
  EXPECT_EQ(barriers(parse(views("", "", "%a = load_view %vx, %i : f32[1024]\nstore_view %vx, %a, %j"))), "lBs");
  EXPECT_EQ(barriers(parse(views("", "", "%a = load_view %vx, %i : f32[1024]\n%b = load_view %vx, %j : f32[1024]\n%c = add.f %a, %b : f32[1024]\nstore_view %vx, %c, %i"))), "llBs");
}

TEST(InsertBarriers, StoreThenLoad) {
  const char* ops = "%a = load_view %vy, %i : f32[1024]\nstore_view %vx, %a, %i\n%b = load_view %vx, %j : f32[1024]\nstore_view %vx, %b, %j";
  EXPECT_EQ(barriers(parse(views(", noalias", "", ops))), "lsBls");
}

TEST(InsertBarriers, AroundALoop) {
  // Round i + 1 reads what another thread stored in round i.
  const char* ops = R"(for %0, %n, %1 do (%k: i32) {
      %ks = splat %k : i32[1024]
      %m = add.i %i, %ks : i32[1024]
      %a = load_view %vx, %m : f32[1024]
      store_view %vx, %a, %m
      yield
    })";
  EXPECT_EQ(barriers(parse(views("", "", ops))), "(Bls)");
  // The same addresses in every round.
  const char* same = R"(for %0, %n, %1 do (%k: i32) {
      %a = load_view %vx, %i : f32[1024]
      store_view %vx, %a, %i
      yield
    })";
  EXPECT_EQ(barriers(parse(views("", "", same))), "(ls)");
}

TEST(InsertBarriers, MatmulOrdersItsOwnScratch) {
  // Each conversion's own barrier separates the other one's loads from its next stores.
  EXPECT_EQ(barriers(parse(matmul("f16", "f32", 128, 128, 64, "target gfx942 waves 4"))), "(llcc)s");
}

TEST(InsertBarriers, OneScratchReusedInALoop) {
  // A single conversion in a loop must wait until all waves have read its last round.
  Kernel k = parse(views(", noalias", ", noalias", R"(for %0, %n, %1 do (%k: i32) {
      %a = load_view %vx, %i : f32[1024]
      %b = reduce %a {axis = 0, combine = "sum"} : f32
      store_view %vy, %b, %k
      yield
    })"));
  EXPECT_EQ(barriers(std::move(k)), "(lbrBs)");
}

TEST(InsertBarriers, NoneIsMissingAndNoneIsIdle) {
  for (const NamedKernel& n : all_kernels()) {
    SCOPED_TRACE(n.name);
    Kernel k = parse(n.text);
    run_to(k, "insert_barriers");
    if (HasFailure()) return;
    EXPECT_LE(k.lds_bytes, static_cast<int64_t>(info(k.arch).lds_bytes));
    // Without any one of them a hazard is there.
    for (ir::OpId o : all(k, OpKind::Barrier)) {
      Kernel less = k;
      less.erase(o);
      EXPECT_FALSE(verify_final(less, true).empty());
    }
  }
}

TEST(InsertBarriers, FaultIsNamed) {
  Kernel k = parse(views("", "", "%a = load_view %vx, %i : f32[1024]\nstore_view %vy, %a, %i"));
  PassOptions options;
  options.fault = "insert_barriers";
  Status s = run_passes(k, options);
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.error().message, HasSubstr("invalid after insert_barriers: store_view"));
}

}  // namespace
}  // namespace tile::passes::testing
