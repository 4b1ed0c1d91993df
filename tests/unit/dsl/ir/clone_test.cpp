#include "dsl/ir/clone.h"

#include "dsl/ir/layout_rules.h"
#include "tests/unit/dsl/ir/kernels.h"

namespace tile::ir::testing {
namespace {

TEST(Clone, LoopsAreCopiedWhole) {
  Kernel k = parse(loops);
  OpId loop;
  k.walk([&](OpId o) { if (k.op(o).kind == OpKind::For) loop = o; });
  Builder at = Builder::after(k, loop);
  ValueMap map;
  OpId copy = clone_op(loop, at, map);
  EXPECT_TRUE(verify(k, Stage::Sema).empty());
  EXPECT_EQ(mapped(map, k.op(loop).results[0]), k.op(copy).results[0]);
  EXPECT_EQ(k.block(k.op(copy).blocks[0]).ops.size(), k.block(k.op(loop).blocks[0]).ops.size());
  EXPECT_EQ(print(parse(print(k))), print(k));
}

TEST(Clone, RemoveDeadKeepsEffects) {
  Kernel k = parse(loops);
  remove_dead(k);
  std::string text = print(k);
  EXPECT_EQ(text.find("arg_reduce"), std::string::npos);
  EXPECT_NE(text.find("print"), std::string::npos);
  EXPECT_NE(text.find("store"), std::string::npos);
  EXPECT_TRUE(verify(k, Stage::Sema).empty());
  EXPECT_EQ(remove_dead(k), 0u);
}

TEST(Clone, AncestorsAndScopes) {
  Kernel k = parse(loops);
  OpId loop, add;
  k.walk([&](OpId o) {
    if (k.op(o).kind == OpKind::For) loop = o;
    if (k.op(o).kind == OpKind::AddF) add = o;
  });
  EXPECT_EQ(ancestor_in(k, add, k.body), loop);
  EXPECT_FALSE(defined_outside(k, k.op(add).results[0], loop));
  EXPECT_TRUE(defined_outside(k, k.params[0].value, loop));
  EXPECT_TRUE(defined_outside(k, k.op(loop).results[0], loop));
}

// A reshape is free exactly if every element keeps its place in the padded order.
TEST(LayoutRules, FreeReshapes) {
  const std::vector<Shape> shapes = {{12}, {3, 4}, {4, 3}, {6, 2}, {2, 6}, {1, 12}, {12, 1}, {2, 3, 2}, {3, 2, 2}, {16}, {4, 4}, {2, 8}, {8, 2}, {1, 16}, {2, 2, 4}};
  auto place = [](const Shape& s, int64_t i) {
    int64_t out = 0, scale = 1;
    for (unsigned d = s.rank(); d-- > 0;) {
      out += i % s[d] * scale;
      i /= s[d];
      scale *= int64_t{1} << axis_bits(s[d]);
    }
    return out;
  };
  for (const Shape& from : shapes)
    for (const Shape& to : shapes) {
      if (from.elements() != to.elements()) continue;
      bool same = true;
      for (int64_t i = 0; i < from.elements(); ++i) same &= place(from, i) == place(to, i);
      auto l = layout::coalesced(extents(from), layout::row_major_order(from.rank()), 1, 1);
      ASSERT_TRUE(l.ok());
      EXPECT_EQ(reshape_is_free(*l, from, to), same) << to_string(from) << to_string(to);
    }
}

TEST(LayoutRules, WaveNumbersRoundDown) {
  Kernel k;
  for (auto [waves, want] : {std::pair{1u, 1u}, {2u, 2u}, {3u, 2u}, {7u, 4u}, {16u, 16u}}) {
    k.waves = waves;
    EXPECT_EQ(layout_waves(k), want);
  }
  k.is_wave = true;
  EXPECT_EQ(layout_waves(k), 1u);
}

}  // namespace
}  // namespace tile::ir::testing
