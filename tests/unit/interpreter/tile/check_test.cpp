// --check: what it reports and what it doesn't.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/interpreter/tile/maker.h"

namespace tile::interp::test {
namespace {

std::vector<Check> check(const Maker& m, const std::vector<Argument>& args, Grid grid = {1, 1, 1}) {
  CompileOptions c;
  c.check = true;
  Result<RunResult> r = run_kernel(m.kernel, args, grid, c);
  EXPECT_TRUE(r) << (r ? "" : r.error().message);
  if (!r) return {};
  EXPECT_TRUE(r->ok()) << (r->failure ? r->failure->message : "");
  return r->report.checks;
}

TEST(Check, IntegerOperations) {
  for (OpKind op : {OpKind::DivS, OpKind::RemS, OpKind::Shl, OpKind::ShrS}) {
    Maker m;
    ValueId x = m.pointer("x", DType::I32), y = m.pointer("y", DType::I32), out = m.pointer("out", DType::I32);
    m.store_all(out, m.ew(op, {m.load_all(x, {4}), m.load_all(y, {4})}));
    m.finish();
    std::vector<int32_t> a{1, 2, INT32_MIN, 4}, good{3, 4, 5, 31}, zero{1, 0, 1, 0}, minus{1, -1, -1, 1}, wide{1, 32, -1, 2}, got(4);
    EXPECT_TRUE(check(m, {array(a), array(good), array(got)}).empty());
    bool shift = op == OpKind::Shl || op == OpKind::ShrS;
    std::vector<Check> c = check(m, {array(a), array(zero), array(got)});
    if (shift) {
      EXPECT_TRUE(c.empty());
      c = check(m, {array(a), array(wide), array(got)});
      ASSERT_EQ(c.size(), 1u);
      EXPECT_EQ(c[0].kind, CheckKind::WideShift);
      EXPECT_EQ(c[0].element, 1);
      EXPECT_EQ(c[0].count, 2u);
      continue;
    }
    ASSERT_EQ(c.size(), 1u);
    EXPECT_EQ(c[0].kind, CheckKind::DivisionByZero);
    EXPECT_EQ(c[0].element, 1);
    EXPECT_EQ(c[0].count, 2u);
    EXPECT_EQ(m.kernel.op(c[0].op).kind, op);
    c = check(m, {array(a), array(minus), array(got)});
    ASSERT_EQ(c.size(), 1u);
    EXPECT_EQ(c[0].kind, CheckKind::DivisionOverflow);
    EXPECT_EQ(c[0].element, 2);
  }
}

// A masked load, then `use` on its value.
struct Masked {
  Maker m;
  ValueId x, out, value, mask;
  Shape s{8};
  explicit Masked(bool other) {
    x = m.pointer("x", DType::I32);
    out = m.pointer("out", DType::I32);
    ValueId i = m.arange(8);
    mask = m.ew(OpKind::LtS, {i, m.b.splat(m.i32(5), s)});
    std::vector<ValueId> operands{m.b.make(OpKind::AddPtr, {m.b.splat(x, s), i}, Type::ptr(DType::I32, s)), mask};
    std::vector<ir::Attr> attrs{{AttrKey::HasMask, int64_t{1}}};
    if (other) {
      operands.push_back(m.b.splat(m.i32(1), s));
      attrs.push_back({AttrKey::HasOther, int64_t{1}});
    }
    value = m.b.make(OpKind::Load, operands, Type::tile(DType::I32, s), attrs);
  }
  std::vector<Check> run() {
    m.finish();
    std::vector<int32_t> in(8, 2), got(8);
    return check(m, {array(in), array(got)});
  }
};

TEST(Check, PoisonOfMaskedLanes) {
  {
    Masked k(false);
    k.m.store_all(k.out, k.m.ew(OpKind::AddI, {k.value, k.value}));
    std::vector<Check> c = k.run();
    ASSERT_EQ(c.size(), 1u);
    EXPECT_EQ(c[0].kind, CheckKind::PoisonUsed);
    EXPECT_EQ(c[0].element, 5);
    EXPECT_EQ(c[0].count, 3u);
    EXPECT_EQ(k.m.kernel.op(c[0].op).kind, OpKind::StoreView);
  }
  {  // `other` makes it a value
    Masked k(true);
    k.m.store_all(k.out, k.value);
    EXPECT_TRUE(k.run().empty());
  }
  {  // not stored where it was masked off
    Masked k(false);
    ValueId p = k.m.b.make(OpKind::AddPtr, {k.m.b.splat(k.out, k.s), k.m.arange(8)}, Type::ptr(DType::I32, k.s));
    k.m.b.op(OpKind::Store, {p, k.value, k.mask}, {}, {{AttrKey::HasMask, int64_t{1}}});
    EXPECT_TRUE(k.run().empty());
  }
  {  // where() takes the other operand there
    Masked k(false);
    k.m.store_all(k.out, k.m.ew(OpKind::Where, {k.mask, k.value, k.m.b.splat(k.m.i32(0), k.s)}));
    EXPECT_TRUE(k.run().empty());
  }
  {  // a sum takes them all
    Masked k(false);
    ValueId sum = k.m.b.make(OpKind::Reduce, {k.value}, Type::scalar(DType::I32), {{AttrKey::Axis, int64_t{0}}, {AttrKey::Combine, std::string("sum")}});
    k.m.store_all(k.out, sum);
    EXPECT_EQ(k.run().size(), 1u);
  }
  {  // as an index of a store, after a transpose and a broadcast
    Masked k(false);
    ValueId t = k.m.b.make(OpKind::Trans, {k.m.columns(k.value)}, Type::tile(DType::I32, {8, 1}), {{AttrKey::Perm, std::vector<int64_t>{1, 0}}});
    ValueId b = k.m.b.broadcast(t, {8, 2});
    ValueId v = k.m.view(k.out, {8}, {1});
    k.m.store(v, k.m.b.splat(k.m.i32(1), {8, 2}), {b});
    std::vector<Check> c = k.run();
    ASSERT_EQ(c.size(), 1u);
    EXPECT_THAT(c[0].message, testing::HasSubstr("an index"));
  }
}

TEST(Check, ReadingPastAViewIsNoPoison) {
  Maker m;
  ValueId x = m.pointer("x", DType::I32), out = m.pointer("out", DType::I32);
  m.store_all(out, m.load(m.view(x, {3}, {1}), {m.arange(8)}, {8}));
  m.finish();
  std::vector<int32_t> in(3, 2), got(8);
  EXPECT_TRUE(check(m, {array(in), array(got)}).empty());
  EXPECT_EQ(got, (std::vector<int32_t>{2, 2, 2, 0, 0, 0, 0, 0}));
}

TEST(Check, UninitialisedMemory) {
  Maker m;
  ValueId x = m.pointer("x", DType::F32), out = m.pointer("out", DType::F32);
  m.store(m.view(x, {2}, {1}), m.b.splat(m.f32(1.0f), {4}), {m.arange(4)});
  m.store_all(out, m.load_all(x, {4}));
  m.finish();
  std::vector<float> in(4), got(4);
  Argument a = array(in);
  EXPECT_TRUE(check(m, {a, array(got)}).empty());
  a.uninitialised = true;
  std::vector<Check> c = check(m, {a, array(got)});
  ASSERT_EQ(c.size(), 1u);
  EXPECT_EQ(c[0].kind, CheckKind::UninitialisedRead);
  EXPECT_EQ(c[0].element, 2);
  EXPECT_EQ(c[0].count, 2u);
}

TEST(Check, ProgramsThatStoreToOnePlace) {
  for (bool same : {true, false}) {
    Maker m;
    ValueId out = m.pointer("out", DType::I32);
    ValueId value = same ? m.i32(7) : m.pid();
    m.store(m.view(out, {4}, {1}), m.b.splat(value, {4}), {m.arange(4)});
    m.finish();
    std::vector<int32_t> got(4);
    std::vector<Check> c = check(m, {array(got)}, {3, 1, 1});
    if (same) {
      EXPECT_TRUE(c.empty());
      continue;
    }
    ASSERT_EQ(c.size(), 1u);
    EXPECT_EQ(c[0].kind, CheckKind::ConflictingStores);
    EXPECT_EQ(c[0].program, 1);
    EXPECT_THAT(c[0].message, testing::HasSubstr("programs 0 and 1"));
  }
}

TEST(Check, ProgramThatReadsAnothersStore) {
  Maker m;
  ValueId x = m.pointer("x", DType::I32);
  ValueId v = m.view(x, {8}, {1});
  ValueId pid = m.b.splat(m.pid(), {1});
  ValueId next = m.ew(OpKind::AddI, {pid, m.b.splat(m.i32(1), {1})});
  m.store(v, m.load(v, {pid}, {1}), {next});
  m.finish();
  std::vector<int32_t> data(8, 1);
  std::vector<Check> c = check(m, {array(data)}, {4, 1, 1});
  ASSERT_EQ(c.size(), 1u);
  EXPECT_EQ(c[0].kind, CheckKind::ReadOfOtherProgram);
  EXPECT_EQ(c[0].count, 3u);
}

TEST(Check, PoisonedCondition) {
  Maker m;
  ValueId x = m.pointer("x", DType::Bool), out = m.pointer("out", DType::I32);
  ValueId no = m.b.constant(Type::scalar(DType::Bool), 0);
  ValueId c = m.b.make(OpKind::Load, {x, no}, Type::scalar(DType::Bool), {{AttrKey::HasMask, int64_t{1}}});
  ir::OpId branch = m.b.op(OpKind::If, {c}, {});
  for (int i = 0; i < 2; ++i) {
    ir::BlockId b = m.kernel.add_block(branch);
    ir::Builder in(m.kernel, b);
    in.op(OpKind::Yield, {}, {});
  }
  m.b.op(OpKind::Store, {out, m.i32(1)}, {});
  m.finish();
  std::vector<uint8_t> data(1);
  std::vector<int32_t> got(1);
  std::vector<Check> found = check(m, {array(data), array(got)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].message, testing::HasSubstr("a condition"));
  EXPECT_EQ(m.kernel.op(found[0].op).kind, OpKind::If);
}

}  // namespace
}  // namespace tile::interp::test
