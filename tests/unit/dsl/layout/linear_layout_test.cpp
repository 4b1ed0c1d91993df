// Every operation of LinearLayout on all points of random layouts.
#include "dsl/layout/linear_layout.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <unordered_set>

#include "tests/unit/dsl/layout/random_layout.h"

namespace tile::layout {
namespace {

const Space hw43 = {{Dim::Register, 3}, {Dim::Lane, 4}, {Dim::Wave, 1}};
const Space tile44 = {{Dim::Tile0, 4}, {Dim::Tile1, 4}};

Vec num_points(const Space& s) { return Vec{1} << s.total_bits(); }

TEST(LinearLayout, ExampleOfTheHeader) {
  Result<LinearLayout> l = LinearLayout::parse("#layout<reg=[(0,1),(0,2)], lane=[(0,4),(1,0),(2,0),(4,0)], wave=[]>");
  ASSERT_TRUE(l);
  EXPECT_EQ(l->shape(), (Shape{8, 8}));
  EXPECT_EQ(l->coords(3, 5, 0), (std::vector<unsigned>{2, 7}));
  EXPECT_EQ(l->coords(0, 2, 0), (std::vector<unsigned>{1, 0}));
  EXPECT_TRUE(l->is_invertible());
  Result<LinearLayout> s = LinearLayout::parse("#layout<dim0=[(9),(18),(32)], dim1=[(1),(2),(4)] -> [offset:64]>");
  ASSERT_TRUE(s);
  for (unsigned i = 0; i < 4; i++)
    for (unsigned j = 0; j < 8; j++)
      EXPECT_EQ(s->apply(s->in().put(i, Dim::Tile0) | s->in().put(j, Dim::Tile1)), (8 * i) ^ i ^ j);
}

TEST(LinearLayout, PackedTileCoordinateIsTheRowMajorIndex) {
  Space s = Space::of_shape({4, 2, 8});
  for (unsigned i = 0; i < 4; i++)
    for (unsigned j = 0; j < 2; j++)
      for (unsigned k = 0; k < 8; k++)
        EXPECT_EQ(s.put(i, Dim::Tile0) | s.put(j, Dim::Tile1) | s.put(k, Dim::Tile2), (i * 2 + j) * 8 + k);
}

TEST(LinearLayout, ApplyIsLinearAndAgreesWithBases) {
  Rng rng(1);
  for (int round = 0; round < 20; round++) {
    LinearLayout l = random_map(rng, hw43, tile44);
    for (Dim d : l.in().dims())
      for (unsigned b = 0; b < l.in().bits(d); b++) {
        EXPECT_EQ(l.apply(l.in().put(Vec{1} << b, d)), l.basis(d, b));
        EXPECT_EQ(l.basis(d, b, Dim::Tile1), l.out().get(l.basis(d, b), Dim::Tile1));
      }
    for (Vec a = 0; a < num_points(hw43); a++) {
      Vec b = rng() % num_points(hw43);
      EXPECT_EQ(l.apply(a ^ b), l.apply(a) ^ l.apply(b));
    }
    EXPECT_EQ(l.at(5, 9, 1), l.apply(5 | 9 << 3 | 1 << 7));
  }
}

TEST(LinearLayout, SurjectiveInjectiveFree) {
  Rng rng(2);
  for (int round = 0; round < 200; round++) {
    Space in = {{Dim::Register, below(rng, 4)}, {Dim::Lane, below(rng, 4)}};
    Space out = {{Dim::Tile0, below(rng, 3)}, {Dim::Tile1, below(rng, 4)}};
    LinearLayout l = random_map(rng, in, out);
    std::map<Vec, unsigned> count, representatives;
    for (Vec x = 0; x < num_points(in); x++) {
      count[l.apply(x)]++;
      if ((x & l.free_bits()) == 0) representatives[l.apply(x)]++;
    }
    EXPECT_EQ(l.is_surjective(), count.size() == num_points(out));
    EXPECT_EQ(l.is_injective(), count.size() == num_points(in));
    EXPECT_EQ(representatives.size(), count.size());
    for (auto [v, n] : representatives) EXPECT_EQ(n, 1u);
    EXPECT_EQ(in.put(l.free_mask(Dim::Register), Dim::Register) | in.put(l.free_mask(Dim::Lane), Dim::Lane),
              l.free_bits());
  }
}

TEST(LinearLayout, Inverses) {
  Rng rng(3);
  for (int round = 0; round < 50; round++) {
    LinearLayout l = random_invertible(rng, hw43, tile44);
    for (Vec x = 0; x < num_points(hw43); x++) {
      EXPECT_EQ(l.invert().apply(l.apply(x)), x);
      EXPECT_EQ(l.apply(l.invert().apply(x)), x);
    }
    EXPECT_EQ(l.then(l.invert()), LinearLayout::identity(hw43));
  }
  unsigned onto = 0, into = 0;
  for (int round = 0; round < 300; round++) {
    LinearLayout l = random_map(rng, {{Dim::Register, 3}, {Dim::Lane, 3}}, {{Dim::Tile0, 2}, {Dim::Tile1, 2}});
    if (!l.is_surjective()) continue;
    onto++;
    LinearLayout r = l.right_inverse();
    for (Vec y = 0; y < 16; y++) {
      EXPECT_EQ(l.apply(r.apply(y)), y);
      EXPECT_EQ(r.apply(y) & l.free_bits(), 0u);
    }
  }
  for (int round = 0; round < 300; round++) {
    LinearLayout l = random_map(rng, {{Dim::Register, 2}, {Dim::Lane, 2}}, {{Dim::Tile0, 3}, {Dim::Tile1, 3}});
    if (!l.is_injective()) continue;
    into++;
    for (Vec x = 0; x < 16; x++) EXPECT_EQ(l.left_inverse().apply(l.apply(x)), x);
  }
  EXPECT_GT(onto, 100u);
  EXPECT_GT(into, 100u);
}

TEST(LinearLayout, ProductAndQuotient) {
  Rng rng(4);
  for (int round = 0; round < 50; round++) {
    LinearLayout a = random_map(rng, {{Dim::Register, 2}, {Dim::Lane, 1}}, {{Dim::Tile0, 1}, {Dim::Tile1, 2}});
    LinearLayout b =
        random_map(rng, {{Dim::Register, 1}, {Dim::Lane, 2}, {Dim::Wave, 1}}, {{Dim::Tile0, 2}, {Dim::Tile1, 1}});
    LinearLayout p = a * b;
    ASSERT_EQ(p.in(), (Space{{Dim::Register, 3}, {Dim::Lane, 3}, {Dim::Wave, 1}}));
    ASSERT_EQ(p.out(), (Space{{Dim::Tile0, 3}, {Dim::Tile1, 3}}));
    for (unsigned r = 0; r < 8; r++)
      for (unsigned l = 0; l < 8; l++)
        for (unsigned w = 0; w < 2; w++) {
          Vec x = a.apply(a.in().put(r, Dim::Register) | a.in().put(l, Dim::Lane));
          Vec y = b.at(r >> 2, l >> 1, w);
          EXPECT_EQ(p.out().get(p.at(r, l, w), Dim::Tile0), a.out().get(x, Dim::Tile0) | b.out().get(y, Dim::Tile0)
                                                                                             << 1);
          EXPECT_EQ(p.out().get(p.at(r, l, w), Dim::Tile1), a.out().get(x, Dim::Tile1) | b.out().get(y, Dim::Tile1)
                                                                                             << 2);
        }
    std::optional<LinearLayout> q = p.divide_left(a);
    ASSERT_TRUE(q);
    EXPECT_EQ(a * *q, p);
    // A basis of the high part that reaches the low bits leaves no quotient.
    std::vector<Vec> bases = p.bases();
    bases[p.in().shift(Dim::Register) + 2] ^= p.out().put(1, Dim::Tile1);
    EXPECT_FALSE(LinearLayout(p.in(), p.out(), bases).divide_left(a));
    EXPECT_FALSE(a.divide_left(p));
  }
}

TEST(LinearLayout, ComposeSublayoutTrivial) {
  Rng rng(5);
  for (int round = 0; round < 50; round++) {
    LinearLayout a = random_map(rng, hw43, tile44);
    LinearLayout b = random_map(rng, {{Dim::Tile0, 5}, {Dim::Tile1, 4}}, {{Dim::Offset, 7}});
    LinearLayout c = a.then(b);
    for (Vec x = 0; x < num_points(hw43); x++) EXPECT_EQ(c.apply(x), b.apply(repack(a.apply(x), a.out(), b.in())));
    LinearLayout sub = a.sublayout({Dim::Lane}, {Dim::Tile0});
    for (unsigned l = 0; l < 16; l++) EXPECT_EQ(sub.apply(l), a.out().get(a.at(0, l, 0), Dim::Tile0));
  }
  LinearLayout id =
      LinearLayout::identity1d(3, Dim::Lane, Dim::Lane) * LinearLayout::identity1d(1, Dim::Wave, Dim::Wave);
  EXPECT_TRUE(id.is_trivial_over({Dim::Lane, Dim::Wave}));
  std::vector<Vec> bases = id.bases();
  std::swap(bases[0], bases[1]);
  LinearLayout swapped(id.in(), id.out(), bases);
  EXPECT_FALSE(swapped.is_trivial_over({Dim::Lane}));
  EXPECT_TRUE(swapped.is_trivial_over({Dim::Wave}));
  bases = id.bases();
  bases[0] |= 1u << 3;  // lane bit 0 reaches the wave
  EXPECT_FALSE(LinearLayout(id.in(), id.out(), bases).is_trivial_over({Dim::Wave}));
  EXPECT_FALSE(id.is_trivial_over({Dim::Register}));
}

TEST(LinearLayout, TextParsesBack) {
  Rng rng(6);
  const std::vector<Dim> all = {Dim::Register, Dim::Lane, Dim::Wave, Dim::Offset, Dim::Tile0, Dim::Tile1, Dim::Tile2};
  std::unordered_set<LinearLayout> seen;
  for (int round = 0; round < 500; round++) {
    Space in, out;
    for (Dim d : all) {
      if (below(rng, 2)) in.set(d, below(rng, 4));
      if (below(rng, 2)) out.set(d, below(rng, 4));
    }
    LinearLayout l = random_map(rng, in, out);
    Result<LinearLayout> back = LinearLayout::parse(l.str());
    ASSERT_TRUE(back) << l.str() << "\n" << back.error().message;
    EXPECT_EQ(*back, l) << l.str();
    EXPECT_EQ(back->hash(), l.hash());
    EXPECT_EQ(back->str(), l.str());
    seen.insert(l);
  }
  EXPECT_GT(seen.size(), 400u);
  EXPECT_EQ(LinearLayout::parse(" #layout< reg = [ 1, ( 2 ) ] , lane=[0],wave=[] > ")->str(),
            "#layout<reg=[(1),(2)], lane=[(0)], wave=[]>");
  EXPECT_EQ(LinearLayout::zeros1d(6, Dim::Lane, Dim::Tile0).shape(), (Shape{1}));
}

TEST(LinearLayout, BadTextIsAnError) {
  for (const char* text :
       {"", "#layout", "#layout<reg=[(1)]", "#layout<reg=[(1),(1,2)]>", "#layout<foo=[(1)]>",
        "#layout<reg=[(1)], reg=[(2)]>", "#layout<reg=[(1)] -> [dim0:3]>", "#layout<reg=[(4)] -> [dim0:4]>",
        "#layout<reg=[(1)] -> [dim0:2, dim1:2]>", "#layout<reg=[]>", "#layout<reg=[(99999999999999999999)]>",
        "#layout<reg=[(1)]> x", "#layout<reg=[(1,)]>",
        "#layout<reg=[1,2,4,8,16,32,64,1,2,4,8,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]>",
        "#layout<reg=[(1)] -> [dim0:0]>", "#layout<reg=[(1)] -> [dim0:2, dim0:2]>", "#layout<reg=[(-1)]>",
        "#layout<reg[(1)]>", "#layout<reg=[(1,2,3,4,5,6,7)]>"}) {
    Result<LinearLayout> l = LinearLayout::parse(text);
    EXPECT_FALSE(l) << text;
    if (!l) {
      EXPECT_NE(l.error().message.find(" at character "), std::string::npos) << l.error().message;
    }
  }
}

}  // namespace
}  // namespace tile::layout
