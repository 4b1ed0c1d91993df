// The faithful interpreter on kernels with layouts written by hand: right ones pass, each kind of mistake is found at its
// operation.
#include "interpreter/tile/faithful.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/interpreter/tile/maker.h"

namespace tile::interp::test {
namespace {

struct Layouts {
  SourceManager sources;
  std::optional<ir::Kernel> kernel;
  explicit Layouts(const std::string& text, bool valid = true) {
    FileId f = sources.add("test.ir", text);
    Diagnostics diags;
    kernel = ir::parse_ir(f, sources, diags);
    EXPECT_TRUE(kernel) << render(diags, sources);
    if (kernel && valid) {
      EXPECT_THAT(ir::verify(*kernel, ir::Stage::Layout), testing::IsEmpty());
    }
  }
  FaithfulResult run(const std::vector<Argument>& args, Grid grid = {1, 1, 1}) {
    Result<FaithfulResult> r = run_faithful(*kernel, args, grid);
    EXPECT_TRUE(r) << (r ? "" : r.error().message);
    return r ? *r : FaithfulResult{};
  }
  std::string blamed(const FaithfulResult& r) const {
    if (!r.divergence) return r.failure ? "failure: " + r.failure->message : "nothing";
    return std::string(mnemonic(kernel->op(r.divergence->op).kind)) + ": " + r.divergence->message;
  }
};

const char* const names = R"(
#L0 = #layout<reg=[1,2], lane=[4,8,16,32,64,128], wave=[256,512]>
#L1 = #layout<reg=[256,512], lane=[1,2,4,8,16,32], wave=[64,128]>
#L2 = #layout<reg=[512,256], lane=[1,2,4,8,16,32], wave=[64,128]>
#L3 = #layout<reg=[1,2], lane=[4,8,16,32,128,64], wave=[256,512]>
)";

// Copies x to y by way of conversions to the layouts given, with `between` after each.
std::string chain(const std::vector<std::string>& layouts, const std::string& between, int64_t lds, const std::string& last_attrs = "") {
  std::string text = names;
  text += fmt::format(R"(
kernel @k(%x: ptr<f32> {{view}}, %y: ptr<f32> {{view}}, %n: i32) target gfx942 waves 4 lds {} {{
  %one = constant {{value = 0x1}} : i32
  %vx = make_view %x, %n, %one : view<f32, 1>
  %vy = make_view %y, %n, %one : view<f32, 1>
  %i0 = arange {{start = 0}} : i32[1024] #L0
  %v0 = load_view %vx, %i0 {{vector = 4, granule = 4}} : f32[1024] #L0
)", lds);
  size_t n = 0;
  for (const std::string& l : layouts) {
    text += fmt::format("  %v{} = convert_layout %v{} {{lds_offset = 0}} : f32[1024] #{}\n{}", n + 1, n, l, between);
    ++n;
  }
  text += fmt::format("  %i1 = arange {{start = 0}} : i32[1024] #{0}\n  store_view %vy, %v{1}, %i1 {{vector = 1{2}}}\n  return\n}}\n", layouts.back(), n, last_attrs);
  return text;
}

struct Arrays {
  std::vector<float> x = std::vector<float>(1024), y = std::vector<float>(1024);
  Arrays() {
    for (int i = 0; i < 1024; ++i) x[i] = static_cast<float>(i);
  }
  std::vector<Argument> args(int64_t n = 1024) { return {array(x), array(y), number(n)}; }
};

TEST(Faithful, ConversionsThroughRegistersLanesAndSharedMemory) {
  for (const std::vector<std::string>& layouts : {std::vector<std::string>{"L1"}, {"L3"}, {"L1", "L2", "L0"}, {"L3", "L1"}}) {
    Layouts k(chain(layouts, "  barrier\n", 4096));
    Arrays a;
    for (int64_t n : {1024, 1000, 0}) {
      FaithfulResult r = k.run(a.args(n));
      EXPECT_EQ(k.blamed(r), "nothing") << n;
      EXPECT_EQ(r.programs, 1);
      EXPECT_GT(r.operations, 5u);
    }
    EXPECT_EQ(a.y, std::vector<float>(1024, 0.0f));  // arguments are not written
  }
}

TEST(Faithful, MissingBarrierIsARace) {
  Layouts good(chain({"L1", "L0"}, "  barrier\n", 4096)), bad(chain({"L1", "L0"}, "", 4096));
  Arrays a;
  EXPECT_EQ(good.blamed(good.run(a.args())), "nothing");
  FaithfulResult r = bad.run(a.args());
  EXPECT_THAT(bad.blamed(r), testing::AllOf(testing::HasSubstr("convert_layout"), testing::HasSubstr("without a barrier")));
  // The second one is to blame.
  EXPECT_EQ(bad.kernel->def(bad.kernel->op(r.divergence->op).operands[0])->kind, OpKind::ConvertLayout);
  EXPECT_THAT(bad.sources.where(r.divergence->range), testing::HasSubstr("test.ir:"));
}

TEST(Faithful, SharedMemoryThatIsTooSmall) {
  Layouts k(chain({"L1"}, "", 2048));
  Arrays a;
  EXPECT_THAT(k.blamed(k.run(a.args())), testing::AllOf(testing::HasSubstr("convert_layout"), testing::HasSubstr("LDS access")));
}

TEST(Faithful, TooWideAccess) {
  // Groups of 4 that are not inside together: the bounds are not a multiple of 4.
  Layouts wide(chain({"L0"}, "", 4096, ""));
  Arrays a;
  FaithfulResult r = wide.run(a.args(1022));
  EXPECT_THAT(wide.blamed(r), testing::HasSubstr("load_view: "));
  EXPECT_EQ(r.divergence->element, 1022);
  // Registers that are no neighbours in memory.
  Layouts strided(chain({"L1"}, "", 4096, ", granule = 1"));
  ir::Kernel& k = *strided.kernel;
  k.walk([&](ir::OpId o) {
    if (k.op(o).kind == OpKind::StoreView) k.op(o).set(AttrKey::Vector, int64_t{2});
  });
  EXPECT_THAT(strided.blamed(strided.run(a.args())), testing::HasSubstr("store_view: "));
  // Wider than any access.
  k.walk([&](ir::OpId o) {
    if (k.op(o).kind == OpKind::StoreView) k.op(o).set(AttrKey::Vector, int64_t{8});
  });
  EXPECT_THAT(strided.blamed(strided.run(a.args())), testing::HasSubstr("wider than 16 bytes"));
}

TEST(Faithful, MisalignedAccess) {
  Layouts k(std::string(names) + R"(
kernel @k(%x: ptr<f16> {view}, %y: ptr<f16> {view}, %at: i32) target gfx942 waves 4 lds 0 {
  %one = constant {value = 0x1} : i32
  %n = constant {value = 0x500} : i32
  %vx = make_view %x, %n, %one : view<f16, 1>
  %vy = make_view %y, %n, %one : view<f16, 1>
  %i0 = arange {start = 0} : i32[1024] #L0
  %s = splat %at : i32[1024] #L0
  %i1 = add.i %i0, %s : i32[1024] #L0
  %v = load_view %vx, %i1 {vector = 2, granule = 1} : f16[1024] #L0
  store_view %vy, %v, %i0 {vector = 4, granule = 4}
  return
}
)");
  std::vector<uint16_t> x(1280, 7), y(1280);
  EXPECT_EQ(k.blamed(k.run({array(x), array(y), number(2)})), "nothing");
  EXPECT_THAT(k.blamed(k.run({array(x), array(y), number(1)})), testing::HasSubstr("load_view: an access of 2 elements is not aligned"));
}

TEST(Faithful, WrongLayoutOfAnOperand) {
  std::string text = std::string(names) + R"(
kernel @k(%x: ptr<f32> {view}, %y: ptr<f32> {view}, %n: i32) target gfx942 waves 4 lds 0 {
  %one = constant {value = 0x1} : i32
  %vx = make_view %x, %n, %one : view<f32, 1>
  %vy = make_view %y, %n, %one : view<f32, 1>
  %i0 = arange {start = 0} : i32[1024] #L0
  %v = load_view %vx, %i0 : f32[1024] #L0
  %w = add.f %v, %v : f32[1024] #L3
  store_view %vy, %w, %i0
  return
}
)";
  Layouts k(text, false);
  Arrays a;
  FaithfulResult r = k.run(a.args());
  EXPECT_THAT(k.blamed(r), testing::HasSubstr("add.f: "));
  EXPECT_EQ(r.divergence->element, 64);
}

const char* const reduction = R"(
kernel @k(%x: ptr<f32> {{view}}, %y: ptr<f32> {{view}}, %n: i32) target gfx942 waves 4 lds {lds} {{
  %one = constant {{value = 0x1}} : i32
  %vx = make_view %x, %n, %one : view<f32, 1>
  %i0 = arange {{start = 0}} : i32[{n}] #{layout}
  %v = load_view %vx, %i0 : f32[{n}] #{layout}
  %s = reduce %v {{axis = 0, combine = "sum", order = [{order}], lds_offset = 0}} : f32
{between}  %m, %at = arg_reduce %v {{axis = 0, combine = "max", order = [{order}], lds_offset = {second}}} : f32, i32
  store %y, %s
  %f = cast %at : f32
  %p = addptr %y, %one : ptr<f32>
  store %p, %f
  return
}}
)";

TEST(Faithful, ReductionsOverRegistersLanesAndWaves) {
  Arrays a;
  for (int i = 0; i < 1024; ++i) a.x[i] = static_cast<float>(i * 37 % 1024) * 0.37f;
  auto text = [&](const char* layout, const char* order, int n, const char* between, int second) {
    return names + fmt::format(fmt::runtime(reduction), fmt::arg("lds", 4096), fmt::arg("n", n), fmt::arg("layout", layout), fmt::arg("order", order),
                               fmt::arg("between", between), fmt::arg("second", second));
  };
  const char* orders[][2] = {{"L0", "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"}, {"L0", "1, 0, 7, 6, 5, 4, 3, 2, 9, 8"}, {"L1", "8, 9, 0, 1, 2, 3, 4, 5, 6, 7"}};
  for (auto [layout, order] : orders)
    for (int n : {1024, 1000, 513}) {
      Layouts k(text(layout, order, n, "  barrier\n", 0));
      EXPECT_EQ(k.blamed(k.run(a.args())), "nothing") << layout << " " << order << " " << n;
    }
  // The second one overwrites what waves still read; elsewhere it doesn't.
  Layouts race(text("L0", orders[0][1], 1024, "", 0)), apart(text("L0", orders[0][1], 1024, "", 2048));
  EXPECT_THAT(race.blamed(race.run(a.args())), testing::AllOf(testing::HasSubstr("arg_reduce"), testing::HasSubstr("without a barrier")));
  EXPECT_EQ(apart.blamed(apart.run(a.args())), "nothing");
  // Lanes before registers: the layout can't do this order.
  Layouts order(text("L0", "2, 0, 1, 3, 4, 5, 6, 7, 8, 9", 1024, "  barrier\n", 0), false);
  EXPECT_THAT(order.blamed(order.run(a.args())), testing::HasSubstr("can't combine in this order"));
}

TEST(Faithful, KernelThatFailsByItself) {
  Layouts k(chain({"L0"}, "", 4096));
  Arrays a;
  FaithfulResult r = k.run(a.args(2000));
  EXPECT_EQ(k.blamed(r), "nothing");  // the tile ends before
  a.x.resize(512);
  EXPECT_THAT(k.blamed(k.run(a.args())), testing::HasSubstr("failure: load of element 512 is outside"));
}

TEST(Faithful, SomeProgramsOfALargeGrid) {
  Layouts k(chain({"L1"}, "", 4096));
  Arrays a;
  Result<FaithfulResult> r = run_faithful(*k.kernel, a.args(), {1000, 1, 1}, {3});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->programs, 3);
  EXPECT_FALSE(r->divergence);
}

}  // namespace
}  // namespace tile::interp::test
