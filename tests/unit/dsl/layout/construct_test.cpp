// Constructors of layouts; MFMA layouts against the maps of tests/data/mfma_layouts.json.
#include "dsl/layout/construct.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "dsl/layout/tile_ops.h"
#include "tests/unit/dsl/layout/random_layout.h"

namespace tile::layout {
namespace {

using nlohmann::json;
using Nums = std::vector<unsigned>;

TEST(Blocked, AgainstItsDefinition) {
  Rng rng(1);
  for (int round = 0; round < 60; round++) {
    unsigned rank = 1 + below(rng, 3);
    Shape shape;
    Nums elems, lanes(rank, 1), waves(rank, 1), order(rank);
    for (unsigned i = 0; i < rank; i++) shape.push_back(1 << below(rng, 6)), elems.push_back(1u << below(rng, 3));
    for (int i = 0; i < 6; i++) lanes[below(rng, rank)] *= 2;
    for (int i = 0; i < 2; i++) waves[below(rng, rank)] *= 2;
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), rng);
    Result<LinearLayout> r = blocked(shape, elems, lanes, waves, order);
    ASSERT_TRUE(r);
    const LinearLayout& l = *r;
    EXPECT_EQ(l.shape(), shape);
    EXPECT_TRUE(l.is_surjective());
    EXPECT_EQ(l.num_lanes(), 64u);
    EXPECT_EQ(l.num_waves(), 4u);
    // Digits of the register (within the block), lane and wave in `order`; coordinates wrap where the tile is smaller.
    unsigned block_regs = 1;
    for (unsigned a = 0; a < rank; a++) block_regs *= static_cast<unsigned>(std::min<int64_t>(elems[a], shape[a]));
    for (unsigned w = 0; w < 4; w++)
      for (unsigned lane = 0; lane < 64; lane++)
        for (unsigned reg = 0; reg < block_regs; reg++) {
          Nums expect(rank);
          unsigned rr = reg, ll = lane, ww = w;
          for (unsigned a : order) {
            unsigned extent = static_cast<unsigned>(shape[a]), e = std::min(elems[a], extent);
            expect[a] = (rr % e + e * (ll % lanes[a] + lanes[a] * (ww % waves[a]))) % extent;
            rr /= e, ll /= lanes[a], ww /= waves[a];
          }
          EXPECT_EQ(l.coords(reg, lane, w), expect);
        }
    EXPECT_EQ(l.free_mask(Dim::Register), 0u);
  }
}

TEST(Blocked, Errors) {
  EXPECT_TRUE(blocked({30, 30}, {1, 1}, {8, 8}, {1, 1}, {1, 0}));
  EXPECT_EQ(blocked({30, 30}, {1, 1}, {8, 8}, {1, 1}, {1, 0})->shape(), (Shape{32, 32}));
  EXPECT_FALSE(blocked({32, 32}, {1, 1}, {8, 4}, {1, 1}, {1, 0}));
  EXPECT_FALSE(blocked({32, 32}, {1}, {8, 8}, {1, 1}, {1, 0}));
  EXPECT_FALSE(blocked({32, 32}, {3, 1}, {8, 8}, {1, 1}, {1, 0}));
  EXPECT_FALSE(blocked({32, 32}, {1, 1}, {8, 8}, {1, 0}, {1, 0}));
  EXPECT_FALSE(blocked({32, 32}, {1, 1}, {8, 8}, {1, 1}, {1, 1}));
  EXPECT_FALSE(blocked({0, 32}, {1, 1}, {8, 8}, {1, 1}, {1, 0}));
  EXPECT_FALSE(blocked(Shape(7, 2), Nums(7, 1), Nums(7, 1), Nums(7, 1), row_major_order(7)));
  EXPECT_FALSE(blocked({int64_t{1} << 29, 64}, {1, 1}, {8, 8}, {1, 1}, {1, 0}));
}

TEST(Coalesced, UsesAllThreadsAndVectors) {
  LinearLayout l = *coalesced({128, 64}, {1, 0}, 8, 4);
  EXPECT_EQ(l.str(),
            "#layout<reg=[(0,1),(0,2),(0,4),(32,0),(64,0)], lane=[(0,8),(0,16),(0,32),(1,0),(2,0),(4,0)], "
            "wave=[(8,0),(16,0)]>");
  for (unsigned vec : {1u, 4u, 16u})
    for (unsigned waves : {1u, 4u, 16u})
      for (const Shape& shape :
           {Shape{1, 4096}, Shape{100, 60}, Shape{1, 1}, Shape{7}, Shape{4, 8, 16, 4}, Shape{1024}, Shape{}}) {
        Result<LinearLayout> r = coalesced(shape, row_major_order(static_cast<unsigned>(shape.size())), vec, waves);
        ASSERT_TRUE(r);
        EXPECT_EQ(r->shape(), padded_shape(shape));
        EXPECT_TRUE(r->is_surjective());
        EXPECT_EQ(r->num_lanes(), 64u);
        EXPECT_EQ(r->num_waves(), waves);
        // Threads replicate only when there are more of them than elements.
        int64_t elements = 1, threads = 64 * waves;
        for (int64_t n : r->shape()) elements *= n;
        EXPECT_EQ(
            int64_t{1} << (__builtin_popcount(r->free_mask(Dim::Lane)) + __builtin_popcount(r->free_mask(Dim::Wave))),
            std::max<int64_t>(threads / elements, 1));
        if (!shape.empty() && elements >= threads * vec) {
          EXPECT_EQ(contig_registers(*r, static_cast<unsigned>(shape.size()) - 1),
                    std::min<int64_t>(vec, r->shape().back()));
        }
      }
  EXPECT_FALSE(coalesced({4, 4}, {1, 0}, 3, 4));
  EXPECT_FALSE(coalesced({4, 4}, {0}, 4, 4));
  EXPECT_FALSE(coalesced({4, 4}, {1, 0}, 4, 3));
}

// Evaluates integer expressions of + * % // and parentheses over lane, e and r.
class Expr {
 public:
  Expr(std::string text, unsigned lane, unsigned element) : s_(std::move(text)), lane_(lane), element_(element) {}
  unsigned sum() {
    unsigned v = product();
    while (eat("+")) v += product();
    return v;
  }

 private:
  bool eat(std::string_view t) {
    if (s_.compare(at_, t.size(), t) != 0) return false;
    at_ += t.size();
    return true;
  }
  unsigned product() {
    unsigned v = atom();
    for (;;) {
      if (eat("*")) v *= atom();
      else if (eat("//")) v /= atom();
      else if (eat("%")) v %= atom();
      else return v;
    }
  }
  unsigned atom() {
    if (eat("(")) {
      unsigned v = sum();
      EXPECT_TRUE(eat(")"));
      return v;
    }
    if (eat("lane")) return lane_;
    if (eat("e") || eat("r")) return element_;
    size_t used = 0;
    unsigned v = static_cast<unsigned>(std::stoul(s_.substr(at_), &used));
    at_ += used;
    return v;
  }
  std::string s_;
  size_t at_ = 0;
  unsigned lane_, element_;
};

unsigned eval(const json& maps, const char* coord, unsigned lane, unsigned element, MfmaFormat format) {
  const json& m = maps[coord];
  return Expr(m.is_string() ? m : m[bit_width(dtype_of(format)) == 8 ? "fp8/bf8" : "fp6/bf6/fp4"], lane, element).sum();
}

// One instruction on a tile of exactly its shape: the layout is the JSON's map.
TEST(Mfma, LayoutsAreTheMapsOfEveryInstruction) {
  const json data = json::parse(std::ifstream(TILE_TEST_DATA "/mfma_layouts.json"));
  ASSERT_EQ(data.size(), num_mfmas);
  for (const json& row : data) {
    MfmaId id = *mfma_from_intrinsic(row["intrinsic"].get<std::string>());
    const MfmaInfo& i = info(id);
    const int64_t m = i.m, n = i.n, k = i.k, b = i.blocks;
    bool scaled = i.maps == MfmaMaps::Scaled;
    for (MfmaFormat f : {MfmaFormat::F8E4M3, MfmaFormat::F6E2M3, MfmaFormat::F4E2M1}) {
      if (!scaled && f != MfmaFormat::F8E4M3) continue;
      LinearLayout a3 = *mfma_operand(id, MfmaOperand::A, {b, m, k}, {}, {1, 1, 1}, f);
      LinearLayout b3 = *mfma_operand(id, MfmaOperand::B, {b, k, n}, {}, {1, 1, 1}, f);
      ASSERT_EQ(a3.num_registers(), a_elements(id));
      ASSERT_EQ(b3.num_registers(), b_elements(id));
      for (unsigned lane = 0; lane < 64; lane++) {
        for (unsigned e = 0; e < a_elements(id); e++)
          EXPECT_EQ(a3.coords(e, lane, 0),
                    (Nums{eval(row["maps"]["a"], "block", lane, e, f), eval(row["maps"]["a"], "i", lane, e, f),
                          eval(row["maps"]["a"], "k", lane, e, f)}))
              << i.kind;
        for (unsigned e = 0; e < b_elements(id); e++)
          EXPECT_EQ(b3.coords(e, lane, 0),
                    (Nums{eval(row["maps"]["b"], "block", lane, e, f), eval(row["maps"]["b"], "k", lane, e, f),
                          eval(row["maps"]["b"], "j", lane, e, f)}))
              << i.kind;
      }
    }
    LinearLayout d3 = *mfma_result(id, {b, m, n}, {1, 1, 1});
    ASSERT_EQ(d3.num_registers(), d_elements(id));
    EXPECT_TRUE(d3.is_invertible());
    for (unsigned lane = 0; lane < 64; lane++)
      for (unsigned r = 0; r < d_elements(id); r++)
        EXPECT_EQ(d3.coords(r, lane, 0), (Nums{eval(row["maps"]["d"], "block", lane, r, MfmaFormat::F8E4M3),
                                               eval(row["maps"]["d"], "i", lane, r, MfmaFormat::F8E4M3),
                                               eval(row["maps"]["d"], "j", lane, r, MfmaFormat::F8E4M3)}))
            << i.kind;
  }
}

// Large tiles, waves and K permutations: what each instruction of the dot reads and writes, worked out from the maps.
TEST(Mfma, RepetitionsWavesAndPermutationsOfK) {
  Rng rng(7);
  const unsigned wm = 2, wn = 4;
  for (const MfmaInfo& i : mfma_table) {
    if (i.blocks != 1) continue;
    const unsigned reps_m = 2, reps_n = 1, steps = 4;
    const int64_t m = i.m * wm * reps_m, n = i.n * wn * reps_n, k = i.k * steps;
    Nums k_bits(static_cast<size_t>(std::countr_zero(static_cast<uint64_t>(k))));
    std::iota(k_bits.begin(), k_bits.end(), 0u);
    std::shuffle(k_bits.begin(), k_bits.end(), rng);
    LinearLayout a = *mfma_operand(i.id, MfmaOperand::A, {m, k}, k_bits, {wm, wn});
    LinearLayout b = *mfma_operand(i.id, MfmaOperand::B, {k, n}, k_bits, {wm, wn});
    LinearLayout d = *mfma_result(i.id, {m, n}, {wm, wn});
    auto tile_k = [&](unsigned s) {
      unsigned out = 0;
      for (size_t bit = 0; bit < k_bits.size(); bit++) out |= (s >> bit & 1) << k_bits[bit];
      return out;
    };
    for (unsigned w = 0; w < wm * wn; w++)
      for (unsigned lane = 0; lane < 64; lane++) {
        for (unsigned rep = 0; rep < reps_m; rep++)
          for (unsigned step = 0; step < steps; step++)
            for (unsigned e = 0; e < a_elements(i.id); e++) {
              MfmaCoord c = a_coord(i.id, lane, e);
              EXPECT_EQ(a.coords(e + a_elements(i.id) * (step + steps * rep), lane, w),
                        (Nums{c.row + i.m * (w / wn + wm * rep), tile_k(c.col + i.k * step)}));
            }
        for (unsigned step = 0; step < steps; step++)
          for (unsigned e = 0; e < b_elements(i.id); e++) {
            MfmaCoord c = b_coord(i.id, lane, e);
            EXPECT_EQ(b.coords(e + b_elements(i.id) * step, lane, w),
                      (Nums{tile_k(c.row + i.k * step), c.col + i.n * (w % wn)}));
          }
        for (unsigned rep = 0; rep < reps_m; rep++)
          for (unsigned r = 0; r < d_elements(i.id); r++) {
            MfmaCoord c = d_coord(i.id, lane, r);
            EXPECT_EQ(d.coords(r + d_elements(i.id) * rep, lane, w),
                      (Nums{c.row + i.m * (w / wn + wm * rep), c.col + i.n * (w % wn)}));
          }
      }
    EXPECT_EQ(a.free_mask(Dim::Wave), 3u);  // waves along N hold the same of A
    EXPECT_EQ(b.free_mask(Dim::Wave), 4u);
  }
}

TEST(Mfma, KpackGivesLongRuns) {
  auto run = [](MfmaId id, int64_t k, unsigned want, MfmaFormat f = MfmaFormat::F8E4M3) {
    Nums bits = kpack_bits(id, MfmaOperand::A, k, want, f);
    LinearLayout a = *mfma_operand(id, MfmaOperand::A, {64, k}, bits, {2, 2}, f);
    LinearLayout b = *mfma_operand(id, MfmaOperand::B, {k, 64}, kpack_bits(id, MfmaOperand::B, k, want, f), {2, 2}, f);
    EXPECT_EQ(contig_registers(a, 1), contig_registers(b, 0));
    EXPECT_TRUE(a.is_surjective());
    return contig_registers(a, 1);
  };
  EXPECT_EQ(run(MfmaId::F32_16x16x16_F16, 64, 8), 8u);
  EXPECT_EQ(run(MfmaId::F32_32x32x8_F16, 64, 8), 8u);
  EXPECT_EQ(run(MfmaId::F32_32x32x8_F16, 8, 8), 4u);  // K has one step only
  EXPECT_EQ(run(MfmaId::F32_16x16x4_F32, 32, 4), 4u);
  EXPECT_EQ(run(MfmaId::F64_16x16x4_F64, 16, 2), 2u);
  EXPECT_EQ(run(MfmaId::F32_16x16x16_F16, 64, 1), 4u);  // the instruction's own
}

TEST(Mfma, SmallTilesArePaddedAndErrorsSaid) {
  EXPECT_EQ(mfma_result(MfmaId::F32_16x16x16_F16, {5, 100}, {1, 4})->shape(), (Shape{16, 128}));
  EXPECT_EQ(mfma_result(MfmaId::F32_16x16x16_F16, {16, 16}, {4, 1})->free_mask(Dim::Wave), 3u);
  EXPECT_EQ(mfma_operand(MfmaId::F32_16x16x16_F16, MfmaOperand::B, {3, 7}, {}, {1, 1})->shape(), (Shape{16, 16}));
  EXPECT_FALSE(mfma_result(MfmaId::F32_4x4x4_16b_F16, {64, 64}, {1, 1}));
  EXPECT_FALSE(mfma_result(MfmaId::F32_16x16x16_F16, {64}, {1}));
  EXPECT_FALSE(mfma_result(MfmaId::F32_16x16x16_F16, {64, 64}, {3, 1}));
  EXPECT_FALSE(mfma_result(MfmaId::F32_16x16x16_F16, {64, 64}, {1}));
  EXPECT_FALSE(mfma_operand(MfmaId::F32_16x16x16_F16, MfmaOperand::A, {64, 64}, {0, 1, 2}, {1, 1}));
  EXPECT_FALSE(mfma_operand(MfmaId::F32_16x16x16_F16, MfmaOperand::A, {64, 64}, {0, 1, 2, 3, 4, 4}, {1, 1}));
  LinearLayout batch = *mfma_result(MfmaId::F32_16x16x16_F16, {8, 16, 32}, {2, 1, 2});
  EXPECT_TRUE(batch.is_invertible());
  EXPECT_EQ(batch.shape(), (Shape{8, 16, 32}));
}

}  // namespace
}  // namespace tile::layout
