#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/interpreter/tile/maker.h"

namespace tile::interp::test {
namespace {

struct VectorAdd {
  Maker m;
  VectorAdd(int64_t block) {
    ValueId x = m.pointer("x", DType::F32), y = m.pointer("y", DType::F32), out = m.pointer("out", DType::F32);
    ValueId n = m.scalar("n", DType::I32);
    ValueId one = m.i32(1);
    ValueId vx = m.make_view({x, n, one}, 1), vy = m.make_view({y, n, one}, 1), vo = m.make_view({out, n, one}, 1);
    ValueId base = m.ew(OpKind::MulI, {m.pid(), m.i32(block)});
    ValueId i = m.ew(OpKind::AddI, {m.b.splat(base, {block}), m.arange(block)});
    m.store(vo, m.ew(OpKind::AddF, {m.load(vx, {i}, {block}), m.load(vy, {i}, {block})}), {i});
    m.finish();
  }
};

TEST(Smoke, VectorAddOfAnyLength) {
  VectorAdd k(64);
  Result<Executable> e = compile_kernel(k.m.kernel);
  ASSERT_TRUE(e) << e.error().message;
  for (int64_t n : {1, 63, 64, 65, 1000}) {
    std::vector<float> x(n), y(n), out(n + 8, -1.0f);
    for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i) * 0.5f, y[i] = 1.0f / static_cast<float>(i + 1);
    Argument o = Argument::array(out.data(), n * 4);
    RunResult r = e->run({array(x), array(y), o, number(n)}, {(n + 63) / 64, 1, 1});
    ASSERT_TRUE(r.ok()) << r.failure->text(nullptr);
    EXPECT_EQ(r.report.programs, (n + 63) / 64);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out[i], x[i] + y[i]) << i;
    for (int64_t i = n; i < n + 8; ++i) ASSERT_EQ(out[i], -1.0f);
  }
}

TEST(Smoke, AnExtentBeyondTheArrayIsAnError) {
  VectorAdd k(64);
  std::vector<float> x(100), y(100), out(100);
  Result<RunResult> r = run_kernel(k.m.kernel, {array(x), array(y), array(out), number(101)}, {2, 1, 1});
  ASSERT_TRUE(r);
  ASSERT_FALSE(r->ok());
  EXPECT_EQ(r->failure->program, 1);
  EXPECT_THAT(r->failure->message, testing::HasSubstr("outside of every argument"));
}

}  // namespace
}  // namespace tile::interp::test
