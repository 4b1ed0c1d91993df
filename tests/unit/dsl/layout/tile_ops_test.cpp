// What tile operations do to layouts, on all places of random layouts.
#include "dsl/layout/tile_ops.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/unit/dsl/layout/random_layout.h"

namespace tile::layout {
namespace {

// Calls f(reg, lane, wave) for all places.
template <class F>
void for_places(const LinearLayout& l, F f) {
  for (unsigned w = 0; w < l.num_waves(); w++)
    for (unsigned lane = 0; lane < l.num_lanes(); lane++)
      for (unsigned r = 0; r < l.num_registers(); r++) f(r, lane, w);
}

LinearLayout random_layout(Rng& rng) {
  return random_tile_layout(rng, random_shape(rng, 3, 8), 3, 1, below(rng, 2) ? Bases::Unit : Bases::Any);
}

TEST(TileOps, SliceDropsTheAxis) {
  Rng rng(1);
  for (int round = 0; round < 200; round++) {
    LinearLayout l = random_layout(rng);
    unsigned axis = below(rng, l.rank());
    LinearLayout s = slice(l, axis);
    std::vector<unsigned> kept = kept_registers(l, axis);
    ASSERT_EQ(s.num_registers(), 1u << kept.size());
    EXPECT_TRUE(s.is_surjective());
    for_places(s, [&](unsigned r, unsigned lane, unsigned w) {
      unsigned from = 0;
      for (size_t i = 0; i < kept.size(); i++) from |= (r >> i & 1) << kept[i];
      std::vector<unsigned> c = l.coords(from, lane, w);
      c.erase(c.begin() + axis);
      EXPECT_EQ(s.coords(r, lane, w), c);
    });
    for (Vec v : s.bases(Dim::Register)) EXPECT_NE(v, 0u);
  }
}

TEST(TileOps, ExpandPermuteReshapeBroadcast) {
  Rng rng(2);
  for (int round = 0; round < 200; round++) {
    LinearLayout l = random_layout(rng);
    unsigned rank = l.rank(), axis = below(rng, rank + 1);
    LinearLayout e = expand_dims(l, axis);
    std::vector<unsigned> order(rank);
    for (unsigned i = 0; i < rank; i++) order[i] = i;
    std::shuffle(order.begin(), order.end(), rng);
    LinearLayout p = permute(l, order);
    Shape flat = {1};
    for (int64_t n : l.shape()) flat[0] *= n;
    LinearLayout f = reshape(l, flat);
    EXPECT_EQ(reshape(f, l.shape()), l);
    Shape wide = e.shape();
    wide[axis] = 4;
    LinearLayout b = broadcast_to(e, wide);
    EXPECT_EQ(b.shape(), wide);
    EXPECT_TRUE(b.is_surjective());
    for_places(l, [&](unsigned r, unsigned lane, unsigned w) {
      std::vector<unsigned> c = l.coords(r, lane, w), ec = c, pc;
      ec.insert(ec.begin() + axis, 0);
      EXPECT_EQ(e.coords(r, lane, w), ec);
      unsigned index = 0;
      for (unsigned i = 0; i < rank; i++)
        pc.push_back(c[order[i]]), index = index * static_cast<unsigned>(l.shape()[i]) + c[i];
      EXPECT_EQ(p.coords(r, lane, w), pc);
      EXPECT_EQ(f.coords(r, lane, w), std::vector<unsigned>{index});
    });
    for_places(b, [&](unsigned r, unsigned lane, unsigned w) {
      std::vector<unsigned> c = b.coords(r, lane, w);
      EXPECT_EQ(c[axis], r / l.num_registers());
      c[axis] = 0;
      EXPECT_EQ(c, e.coords(r % l.num_registers(), lane, w));
    });
  }
}

TEST(TileOps, ContigRegisters) {
  auto contig = [](const char* text, unsigned axis) { return contig_registers(*LinearLayout::parse(text), axis); };
  EXPECT_EQ(contig("#layout<reg=[(0,1),(0,2),(1,0)], lane=[(0,4)], wave=[]>", 1), 4u);
  EXPECT_EQ(contig("#layout<reg=[(0,1),(0,2),(1,0)], lane=[(0,4)], wave=[]>", 0), 1u);
  EXPECT_EQ(contig("#layout<reg=[(0,1),(0,2),(1,0)], lane=[(0,6)], wave=[]>", 1), 2u);  // lanes disturb bit 1
  EXPECT_EQ(contig("#layout<reg=[(0),(1)], lane=[(2)], wave=[]>", 0), 1u);
  Rng rng(3);
  for (int round = 0; round < 300; round++) {
    LinearLayout l = random_layout(rng);
    for (unsigned axis = 0; axis < l.rank(); axis++) {
      // The definition: groups of n registers hold n ascending, aligned neighbours.
      unsigned best = 1;
      for (unsigned n = 2; n <= l.num_registers() && n <= l.shape()[axis]; n *= 2) {
        bool ok = true;
        for_places(l, [&](unsigned r, unsigned lane, unsigned w) {
          std::vector<unsigned> c = l.coords(r / n * n, lane, w);
          ok &= c[axis] % n == 0;
          c[axis] += r % n;
          ok &= c == l.coords(r, lane, w);
        });
        if (ok) best = n;
      }
      EXPECT_EQ(contig_registers(l, axis), best) << l.str() << " axis " << axis;
    }
  }
}

TEST(TileOps, AxisCarriers) {
  Rng rng(4);
  unsigned found = 0;
  for (int round = 0; round < 200; round++) {
    LinearLayout l = random_layout(rng);
    for (unsigned axis = 0; axis < l.rank(); axis++) {
      std::vector<std::optional<Carrier>> carriers = axis_carriers(l, axis);
      ASSERT_EQ(1u << carriers.size(), l.shape()[axis]);
      for (unsigned i = 0; i < carriers.size(); i++) {
        if (!carriers[i]) continue;
        found++;
        Vec flip = l.in().put(Vec{1} << carriers[i]->bit, carriers[i]->dim);
        for (Vec x = 0; x < Vec{1} << l.in().total_bits(); x++) {
          EXPECT_EQ(l.apply(x ^ flip) ^ l.apply(x), l.out().put(Vec{1} << i, tile_dim(axis)));
          // Bit i of the coordinate is that bit of the place.
          EXPECT_EQ(l.out().get(l.apply(x), tile_dim(axis)) >> i & 1, (x & flip) != 0);
        }
      }
    }
  }
  EXPECT_GT(found, 300u);
  // All bits of a layout with unit bases and without replicas that matter have carriers.
  LinearLayout l = *LinearLayout::parse("#layout<reg=[(1,0),(0,0)], lane=[(0,1),(0,4)], wave=[(0,2)]>");
  EXPECT_EQ(axis_carriers(l, 0), (std::vector<std::optional<Carrier>>{Carrier{Dim::Register, 0}}));
  EXPECT_EQ(axis_carriers(l, 1),
            (std::vector<std::optional<Carrier>>{Carrier{Dim::Lane, 0}, Carrier{Dim::Wave, 0}, Carrier{Dim::Lane, 1}}));
}

TEST(TileOps, Shapes) {
  EXPECT_EQ(padded_shape({1, 3, 64, 100}), (Shape{1, 4, 64, 128}));
  EXPECT_EQ(*join_shapes({4, 1}, {3}), (Shape{4, 3}));
  EXPECT_EQ(*join_shapes({}, {5, 2}), (Shape{5, 2}));
  EXPECT_EQ(*join_shapes({7, 1, 3}, {1, 2, 1}), (Shape{7, 2, 3}));
  EXPECT_FALSE(join_shapes({4, 2}, {3}));
  EXPECT_EQ(drop_free_registers(*LinearLayout::parse("#layout<reg=[(0),(1)], lane=[(2)], wave=[]>")).str(),
            "#layout<reg=[(1)], lane=[(2)], wave=[]>");
}

}  // namespace
}  // namespace tile::layout
