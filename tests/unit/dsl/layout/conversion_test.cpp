// Plans of conversions, each executed on a tile whose elements name themselves and compared with the definition.
#include "dsl/layout/conversion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "dsl/layout/construct.h"
#include "dsl/layout/execute.h"
#include "dsl/layout/tile_ops.h"
#include "tests/unit/dsl/layout/random_layout.h"

namespace tile::layout {
namespace {

using Kind = ConversionPlan::Kind;

// Element number i of a tile as bytes; for one byte, tiles of more than 256 elements repeat values (by a hash, so that
// neighbours differ).
uint64_t value_of(Vec element, unsigned bytes) {
  uint64_t v = element * 0x9e3779b97f4a7c15u + 0x1234567;
  v ^= v >> 31;
  return bytes == 8 ? v : v & ((uint64_t{1} << 8 * bytes) - 1);
}

RegisterFile fill(const LinearLayout& l, unsigned bytes) {
  RegisterFile f(l.num_waves(), l.num_lanes(), l.num_registers(), bytes);
  for (unsigned w = 0; w < f.waves; w++)
    for (unsigned lane = 0; lane < f.lanes; lane++)
      for (unsigned r = 0; r < f.registers; r++) {
        uint64_t v = value_of(l.at(r, lane, w), bytes);
        std::memcpy(f.at(w, lane, r), &v, bytes);
      }
  return f;
}

// The definition: a place of the destination holds the element at its coordinates, modulo the source's extents.
testing::AssertionResult is_converted(const LinearLayout& src, const LinearLayout& dst, const RegisterFile& f) {
  for (unsigned w = 0; w < f.waves; w++)
    for (unsigned lane = 0; lane < f.lanes; lane++)
      for (unsigned r = 0; r < f.registers; r++) {
        uint64_t want = value_of(repack(dst.at(r, lane, w), dst.out(), src.out()), f.elem_bytes), got = 0;
        std::memcpy(&got, f.at(w, lane, r), f.elem_bytes);
        if (got != want) return testing::AssertionFailure() << "wave " << w << " lane " << lane << " register " << r;
      }
  return testing::AssertionSuccess();
}

// The lane that v_mov_b32_dpp reads under a control, from the ISA's definition of each.
unsigned dpp_source(uint32_t ctrl, unsigned lane) {
  if (ctrl < 0x100) return (lane & ~3u) + (ctrl >> 2 * (lane % 4) & 3);                        // quad_perm
  if (ctrl > 0x120 && ctrl < 0x130) return (lane & ~15u) + (lane % 16 + 16 - ctrl % 16) % 16;  // row_ror
  if (ctrl == 0x140) return (lane & ~15u) + 15 - lane % 16;                                    // row_mirror
  if (ctrl == 0x141) return (lane & ~7u) + 7 - lane % 8;                                       // row_half_mirror
  return ~0u;
}

ConversionPlan check_plan(const LinearLayout& src, const LinearLayout& dst, unsigned elem_bits, Arch arch,
                          const ConversionOptions& options = {}) {
  Result<ConversionPlan> plan = plan_conversion(src, dst, elem_bits, arch, options);
  EXPECT_TRUE(plan) << plan.error().message;
  if (!plan) return {};
  Result<RegisterFile> out = execute(*plan, fill(src, plan->elem_bytes));
  EXPECT_TRUE(out) << out.error().message << "\n" << src.str() << "\n" << dst.str() << "\n" << plan->str(arch);
  if (out) {
    EXPECT_TRUE(is_converted(src, dst, *out)) << src.str() << "\n" << dst.str() << "\n" << plan->str(arch);
  }
  if (plan->lanes)
    for (const LaneStep& step : plan->lanes->steps)
      for (unsigned l = 0; l < 64; l++) {
        if (step.op == LaneStep::Op::Dpp) {
          EXPECT_EQ(dpp_source(step.dpp_ctrl, l), step.from(l)) << step.dpp_ctrl;
        }
        if (step.op == LaneStep::Op::Bpermute) {
          EXPECT_LT(step.from(l), 64u);
        }
        EXPECT_TRUE(info(arch).has_permlane_swap ||
                    (step.op != LaneStep::Op::Permlane16 && step.op != LaneStep::Op::Permlane32));
      }
  if (plan->shared) {
    EXPECT_LE(plan->scratch_bytes(), std::max<size_t>(options.max_scratch_bytes, 4));
  }
  return *plan;
}

constexpr Arch archs[] = {Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950};
unsigned random_bits(Rng& rng) { return 8u << below(rng, 4); }

// The layout with a few of its bases exchanged.
LinearLayout with_swaps(Rng& rng, const LinearLayout& l, unsigned swaps) {
  std::vector<Vec> bases = l.bases();
  for (unsigned i = 0; i < swaps; i++)
    std::swap(bases[below(rng, static_cast<unsigned>(bases.size()))],
              bases[below(rng, static_cast<unsigned>(bases.size()))]);
  return LinearLayout(l.in(), l.out(), std::move(bases));
}

TEST(Conversion, RandomLayoutsByEveryMeans) {
  Rng rng(11);
  std::map<std::string, unsigned> seen;
  for (int round = 0; round < 1500; round++) {
    Shape shape = random_shape(rng, 2, 12);
    unsigned waves = below(rng, 3);
    Bases kind = below(rng, 3) ? Bases::Unit : Bases::Any;
    LinearLayout src = random_tile_layout(rng, shape, 6, waves, kind),
                 dst = random_tile_layout(rng, shape, 6, waves, kind);
    if (below(rng, 2)) dst = with_swaps(rng, src, 1 + below(rng, 4));
    Arch arch = archs[below(rng, 3)];
    unsigned bits = random_bits(rng);
    ConversionOptions options;
    if (below(rng, 3) == 0) options.max_scratch_bytes = 16u << below(rng, 8);
    seen[std::to_string(static_cast<int>(check_plan(src, dst, bits, arch, options).kind))]++;
    options.allow_lanes = false;
    ConversionPlan shared = check_plan(src, dst, bits, arch, options);
    if (shared.shared) seen[shared.shared->wave_local ? "local" : "barriers"]++;
    if (shared.shared && shared.shared->rounds > 1)
      seen[shared.shared->store.rounds_by_thread() ? "rounds by thread" : "rounds"]++;
  }
  for (const char* what : {"2", "3", "barriers", "local", "rounds by thread"}) EXPECT_GT(seen[what], 50u) << what;
}

// Large tiles in little scratch: rounds over registers that both sides have.
TEST(Conversion, RoundsOverCommonRegisters) {
  Rng rng(14);
  unsigned over_registers = 0;
  for (int round = 0; round < 60; round++) {
    Shape shape = random_shape(rng, 12, 15);
    LinearLayout src = random_tile_layout(rng, shape, 6, 2, Bases::Unit), dst = with_swaps(rng, src, 1 + below(rng, 4));
    unsigned bits = 8u << below(rng, 3), log_elements = src.out().total_bits();
    ConversionPlan p =
        check_plan(src, dst, bits, archs[below(rng, 3)],
                   {.max_scratch_bytes = (bits / 8u << log_elements) / (2u << below(rng, 2)), .allow_lanes = false});
    if (!p.shared) continue;
    EXPECT_GT(p.shared->rounds, 1u);
    over_registers += !p.shared->store.rounds_by_thread() && !p.shared->load.rounds_by_thread();
  }
  EXPECT_GT(over_registers, 40u);
}

// Within a wave: the same wave bits on both sides, registers and lanes mixed.
TEST(Conversion, RandomLayoutsInsideAWave) {
  Rng rng(12);
  unsigned lanes = 0, local = 0, impossible = 0;
  for (int round = 0; round < 1500; round++) {
    Shape shape = random_shape(rng, 4, 10);
    Bases kind = below(rng, 3) ? Bases::Unit : Bases::Any;
    LinearLayout src = random_tile_layout(rng, shape, 6, 0, kind), dst = random_tile_layout(rng, shape, 6, 0, kind);
    LinearLayout waves = LinearLayout::identity1d(2, Dim::Wave, Dim::Tile0);
    src = src * waves, dst = dst * waves;
    src = LinearLayout({{Dim::Register, src.in().bits(Dim::Register)}, {Dim::Lane, 6}, {Dim::Wave, 2}}, src.out(),
                       src.bases());
    dst = LinearLayout({{Dim::Register, dst.in().bits(Dim::Register)}, {Dim::Lane, 6}, {Dim::Wave, 2}}, dst.out(),
                       dst.bases());
    Arch arch = archs[below(rng, 3)];
    unsigned bits = random_bits(rng);
    ConversionOptions only_lanes, only_shared;
    only_lanes.allow_shared = false, only_shared.allow_lanes = false;
    if (below(rng, 2)) only_shared.max_scratch_bytes = 64u << below(rng, 8);
    if (plan_conversion(src, dst, bits, arch, only_lanes)) {
      if (check_plan(src, dst, bits, arch, only_lanes).kind == Kind::Lanes) lanes++;
    } else {
      impossible++;
    }
    ConversionPlan shared = check_plan(src, dst, bits, arch, only_shared);
    local += shared.shared && shared.shared->wave_local;
  }
  EXPECT_GT(lanes, 1000u);
  EXPECT_LT(impossible, 300u);
  EXPECT_GT(local, 1000u);
}

TEST(Conversion, PaddedExtentsMayDiffer) {
  Rng rng(13);
  for (int round = 0; round < 300; round++) {
    Shape a = random_shape(rng, 4, 9), b = a;
    for (int64_t& n : b) n = below(rng, 2) ? n : std::max<int64_t>(1, below(rng, 2) ? n * 2 : n / 2);
    check_plan(random_tile_layout(rng, a, 6, 1, Bases::Unit), random_tile_layout(rng, b, 6, 1, Bases::Unit),
               random_bits(rng), archs[below(rng, 3)]);
  }
}

TEST(Conversion, NothingAndRegistersAreFree) {
  LinearLayout l = *coalesced({128, 64}, {1, 0}, 8, 4);
  EXPECT_EQ(check_plan(l, l, 16, Arch::Gfx942).kind, Kind::None);
  EXPECT_TRUE(is_free_conversion(l, l));
  std::vector<Vec> bases = l.bases();
  std::swap(bases[0], bases[4]);
  LinearLayout other(l.in(), l.out(), bases);
  ConversionPlan p = check_plan(l, other, 16, Arch::Gfx942);
  EXPECT_EQ(p.kind, Kind::Registers);
  EXPECT_EQ(p.cost, 0);
  EXPECT_TRUE(is_free_conversion(l, other));
  // More and fewer registers: copies are made and dropped by name.
  LinearLayout doubled = broadcast_to(expand_dims(l, 0), {2, 128, 64});
  LinearLayout copies(doubled.in(), l.out(), [&] {
    std::vector<Vec> b;
    for (Vec v : doubled.bases()) b.push_back(v & ((Vec{1} << l.out().total_bits()) - 1));
    return b;
  }());
  EXPECT_EQ(check_plan(l, copies, 32, Arch::Gfx90a).kind, Kind::Registers);
  EXPECT_EQ(check_plan(copies, l, 32, Arch::Gfx90a).kind, Kind::Registers);
  EXPECT_FALSE(is_free_conversion(l, *coalesced({128, 64}, {0, 1}, 8, 4)));
}

struct Mfma {
  Arch arch;
  MfmaId id;
};

// The move of every GEMM: rows from memory, 16 bytes a lane, to the operands of the matrix instruction.
TEST(Conversion, CoalescedToMfmaOperandWithoutConflicts) {
  for (Mfma m : {Mfma{Arch::Gfx90a, MfmaId::F32_32x32x8_F16}, Mfma{Arch::Gfx90a, MfmaId::F32_16x16x16_F16},
                 Mfma{Arch::Gfx942, MfmaId::F32_32x32x8_F16}, Mfma{Arch::Gfx942, MfmaId::F32_16x16x16_F16},
                 Mfma{Arch::Gfx950, MfmaId::F32_32x32x16_F16}, Mfma{Arch::Gfx950, MfmaId::F32_16x16x32_F16}})
    for (Shape shape : {Shape{128, 64}, Shape{64, 64}, Shape{128, 32}, Shape{256, 64}})
      for (unsigned run : {1u, 8u}) {
        LinearLayout src = *coalesced(shape, {1, 0}, 8, 4);
        LinearLayout dst =
            *mfma_operand(m.id, MfmaOperand::A, shape, kpack_bits(m.id, MfmaOperand::A, shape[1], run), {2, 2});
        ConversionOptions options;
        options.allow_lanes = false;
        ConversionPlan p = check_plan(src, dst, 16, m.arch, options);
        ASSERT_EQ(p.kind, Kind::Shared);
        EXPECT_EQ(bank_conflicts(p.shared->store, m.arch).extra(), 0u) << p.str(m.arch);
        EXPECT_EQ(bank_conflicts(p.shared->load, m.arch).extra(), 0u) << p.str(m.arch);
        // Without runs of 8 along K one side may have to do with less, never with less than the other's run.
        EXPECT_GE(std::max(p.shared->store.bytes(), p.shared->load.bytes()), 16u) << p.str(m.arch);
        EXPECT_GE(std::min(p.shared->store.bytes(), p.shared->load.bytes()), run == 8 ? 16u : 8u) << p.str(m.arch);
        EXPECT_EQ(p.shared->barriers(), 1u);
        // The transposed operand, B read from rows of N.
        LinearLayout b = *mfma_operand(m.id, MfmaOperand::B, {shape[1], shape[0]},
                                       kpack_bits(m.id, MfmaOperand::B, shape[1], run), {2, 2});
        check_plan(permute(src, {1, 0}), b, 16, m.arch, options);
        check_plan(*coalesced({shape[1], shape[0]}, {1, 0}, 8, 4), b, 16, m.arch, options);
      }
}

TEST(Conversion, ResultsToMemoryAndToOperands) {
  for (Mfma m : {Mfma{Arch::Gfx90a, MfmaId::F32_32x32x8_F16}, Mfma{Arch::Gfx942, MfmaId::F32_16x16x16_F16},
                 Mfma{Arch::Gfx950, MfmaId::F32_32x32x16_F16}}) {
    LinearLayout result = *mfma_result(m.id, {128, 128}, {2, 2});
    ConversionPlan p = check_plan(result, *coalesced({128, 128}, {1, 0}, 4, 4), 32, m.arch,
                                  {.max_scratch_bytes = 32768, .allow_lanes = false});
    EXPECT_EQ(bank_conflicts(p.shared->store, m.arch).extra() + bank_conflicts(p.shared->load, m.arch).extra(), 0u)
        << p.str(m.arch);
    EXPECT_EQ(p.shared->load.bytes(), 16u);
    EXPECT_FALSE(p.shared->store.rounds_by_thread());
    // Waves along M only: the result's rows stay in the wave when it becomes the next dot's operand.
    LinearLayout rows = *mfma_result(m.id, {128, 64}, {4, 1});
    LinearLayout operand = *mfma_operand(m.id, MfmaOperand::A, {128, 64}, {}, {4, 1});
    for (unsigned bits : {16u, 32u}) {
      ConversionPlan inside = check_plan(rows, operand, bits, m.arch);
      EXPECT_TRUE(inside.kind == Kind::Lanes || inside.shared->wave_local) << inside.str(m.arch);
      check_plan(rows, operand, bits, m.arch, {.max_scratch_bytes = 32768, .allow_lanes = true, .allow_shared = false});
    }
    // Row statistics, back to the form that broadcasts against the tile.
    check_plan(slice(result, 1), slice(*coalesced({128, 128}, {1, 0}, 4, 4), 1), 32, m.arch);
    check_plan(slice(*coalesced({128, 128}, {1, 0}, 4, 4), 1), slice(result, 1), 32, m.arch);
  }
}

// Attention: the transposed scores are the second operand of the next dot, without leaving the lane where the
// instruction's K is the result's run of rows, and with an exchange of half waves where it is longer.
TEST(Conversion, ScoresToTheNextDot) {
  auto plan = [](MfmaId id, Arch arch) {
    return check_plan(*mfma_result(id, {64, 128}, {1, 4}), *mfma_operand(id, MfmaOperand::B, {64, 128}, {}, {1, 4}), 16,
                      arch);
  };
  for (Arch arch : archs) {
    EXPECT_EQ(plan(MfmaId::F32_32x32x8_F16, arch).cost, 0);
    EXPECT_EQ(plan(MfmaId::F32_16x16x16_F16, arch).cost, 0);
  }
  for (MfmaId id : {MfmaId::F32_32x32x16_F16, MfmaId::F32_16x16x32_F16}) {
    ConversionPlan p = plan(id, Arch::Gfx950);
    ASSERT_EQ(p.kind, Kind::Lanes) << p.str(Arch::Gfx950);
    EXPECT_EQ(p.lanes->count(LaneStep::Op::Bpermute), 0u) << p.str(Arch::Gfx950);
    EXPECT_EQ(p.lanes->word_elems, 2u);
  }
  ConversionPlan p = plan(MfmaId::F32_32x32x16_F16, Arch::Gfx950);
  EXPECT_EQ(p.lanes->steps.size(), p.lanes->inputs.size() / 2) << p.str(Arch::Gfx950);
}

// An exchange of a register bit and a lane bit, by lane bit.
TEST(Conversion, LaneExchangesUseTheCheapInstruction) {
  using Op = LaneStep::Op;
  for (Arch arch : archs)
    for (unsigned lane = 0; lane < 6; lane++) {
      LinearLayout src =
          *LinearLayout::parse("#layout<reg=[(64),(128)], lane=[(1),(2),(4),(8),(16),(32)], wave=[(256),(512)]>");
      std::vector<Vec> bases = src.bases();
      std::swap(bases[0], bases[2 + lane]);
      LinearLayout dst(src.in(), src.out(), bases);
      ConversionPlan p =
          check_plan(src, dst, 32, arch, {.max_scratch_bytes = 32768, .allow_lanes = true, .allow_shared = false});
      ASSERT_EQ(p.kind, Kind::Lanes);
      if (arch == Arch::Gfx950 && lane >= 4) {
        EXPECT_EQ(p.lanes->steps.size(), 2u) << p.str(arch);
        EXPECT_EQ(p.lanes->count(lane == 5 ? Op::Permlane32 : Op::Permlane16), 2u);
      } else {
        // For each of the two pairs of registers one value is sent; three selects choose it and place it.
        EXPECT_EQ(p.lanes->count(Op::Select), 6u) << p.str(arch);
        EXPECT_EQ(p.lanes->count(Op::Bpermute), lane >= 4 ? 2u : 0u);
        EXPECT_EQ(p.lanes->count(Op::Dpp), lane >= 4 ? 0u : lane == 2 ? 4u : 2u);
      }
      // Two f16 in a dword move together when the exchanged bit is not theirs.
      std::vector<Vec> other = src.bases();
      std::swap(other[1], other[2 + lane]);
      ConversionPlan half = check_plan(src, LinearLayout(src.in(), src.out(), other), 16, arch,
                                       {.max_scratch_bytes = 32768, .allow_lanes = true, .allow_shared = false});
      EXPECT_EQ(half.lanes->word_elems, 2u);
      EXPECT_EQ(half.lanes->inputs.size(), 2u);
    }
}

TEST(Conversion, ReplicatedSourceNeedsOnlySelects) {
  // All lanes hold all 64 elements; afterwards each has one.
  LinearLayout src =
      *LinearLayout::parse("#layout<reg=[(1),(2),(4),(8),(16),(32)], lane=[(0),(0),(0),(0),(0),(0)], wave=[(0)]>");
  LinearLayout dst = *LinearLayout::parse("#layout<reg=[], lane=[(1),(2),(4),(8),(16),(32)], wave=[(0)]>");
  ConversionPlan p = check_plan(src, dst, 32, Arch::Gfx942);
  ASSERT_EQ(p.kind, Kind::Lanes);
  EXPECT_EQ(p.lanes->count(LaneStep::Op::Select), p.lanes->steps.size());
  // And by wave: each wave takes its half.
  LinearLayout by_wave =
      *LinearLayout::parse("#layout<reg=[(1),(2),(4),(8),(16)], lane=[(0),(0),(0),(0),(0),(0)], wave=[(32)]>");
  ConversionPlan q = check_plan(src, by_wave, 32, Arch::Gfx942);
  ASSERT_EQ(q.kind, Kind::Lanes);
  EXPECT_EQ(q.lanes->steps.size(), 32u);
  EXPECT_EQ(q.lanes->steps[0].wave_mask, 1u);
}

TEST(Conversion, Errors) {
  LinearLayout l = *coalesced({128, 64}, {1, 0}, 8, 4);
  EXPECT_FALSE(plan_conversion(l, *coalesced({128, 64}, {1, 0}, 8, 2), 16, Arch::Gfx942));
  EXPECT_FALSE(plan_conversion(l, *coalesced({8192}, {0}, 8, 4), 16, Arch::Gfx942));
  EXPECT_FALSE(plan_conversion(l, l, 24, Arch::Gfx942));
  EXPECT_FALSE(plan_conversion(l, l, 0, Arch::Gfx942));
  EXPECT_TRUE(plan_conversion(l, l, 1, Arch::Gfx942));
  LinearLayout holes = *LinearLayout::parse("#layout<reg=[], lane=[(1),(2),(4),(8),(16),(0)], wave=[] -> [dim0:64]>");
  EXPECT_FALSE(plan_conversion(holes, holes, 32, Arch::Gfx942));
  LinearLayout t = *coalesced({128, 64}, {0, 1}, 8, 4);
  EXPECT_FALSE(plan_conversion(l, t, 16, Arch::Gfx942, {.max_scratch_bytes = 1}));
  EXPECT_FALSE(plan_conversion(l, t, 16, Arch::Gfx942, {.allow_lanes = false, .allow_shared = false}));
  EXPECT_TRUE(std::isinf(conversion_cost(l, t, 16, Arch::Gfx942, {.allow_lanes = false, .allow_shared = false})));
  EXPECT_EQ(conversion_cost(l, l, 16, Arch::Gfx942), 0);
  EXPECT_GT(conversion_cost(l, t, 16, Arch::Gfx942), 100);
}

// The executor finds what a wrong plan does.
TEST(Execute, FindsPlantedFaults) {
  LinearLayout src = *coalesced({64, 64}, {1, 0}, 4, 4), dst = *coalesced({64, 64}, {0, 1}, 4, 4);
  ConversionPlan good = *plan_conversion(src, dst, 32, Arch::Gfx942, {.max_scratch_bytes = 4096, .allow_lanes = false});
  RegisterFile in = fill(src, 4);
  ASSERT_TRUE(execute(good, in));
  ASSERT_GT(good.shared->rounds, 1u);
  auto broken = [&](auto change) {
    ConversionPlan p = good;
    change(*p.shared);
    Result<RegisterFile> out = execute(p, in);
    return !out || !is_converted(src, dst, *out);
  };
  EXPECT_TRUE(broken([](SharedPlan& p) { p.wave_local = true; }));
  EXPECT_TRUE(broken([](SharedPlan& p) { p.store.ops.pop_back(); }));
  EXPECT_TRUE(broken([](SharedPlan& p) { p.store.ops[0].offset ^= 4; }));
  EXPECT_TRUE(broken([](SharedPlan& p) { p.store.ops[0].offset += 4096; }));
  EXPECT_TRUE(broken([](SharedPlan& p) { p.load.lane_offset[3] ^= 16; }));
  EXPECT_TRUE(broken([](SharedPlan& p) { std::swap(p.loaded[0], p.loaded[1]); }));
  EXPECT_TRUE(broken([](SharedPlan& p) { p.store.ops[0].round ^= 1; }));
  EXPECT_FALSE(execute(good, fill(src, 2)));

  LdsModel lds(64);
  uint8_t word[4] = {};
  EXPECT_FALSE(lds.load(0, 1, 0, word, 4));  // never written
  EXPECT_TRUE(lds.store(0, 2, 0, word, 4));
  EXPECT_TRUE(lds.store(0, 3, 0, word, 4));   // the same wave, later
  EXPECT_FALSE(lds.store(0, 3, 0, word, 4));  // two lanes of one op
  EXPECT_FALSE(lds.load(1, 4, 0, word, 4));   // no barrier
  EXPECT_FALSE(lds.load(0, 5, 2, word, 4));   // not aligned
  EXPECT_FALSE(lds.load(0, 6, 64, word, 4));
  lds.barrier();
  EXPECT_TRUE(lds.load(1, 7, 0, word, 4));
  EXPECT_FALSE(lds.store(0, 8, 0, word, 4));  // wave 1 may still read
  lds.barrier();
  EXPECT_TRUE(lds.store(0, 9, 0, word, 4));
}

}  // namespace
}  // namespace tile::layout
