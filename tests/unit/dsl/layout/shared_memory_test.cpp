// Accesses to LDS: addresses, vector widths, bank conflicts counted lane by lane, swizzles.
#include "dsl/layout/shared_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "dsl/layout/construct.h"
#include "tests/unit/dsl/layout/random_layout.h"

namespace tile::layout {
namespace {

constexpr Arch archs[] = {Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950};

LinearLayout random_memory(Rng& rng, const Space& tile) {
  Space offset = {{Dim::Offset, tile.total_bits()}};
  return below(rng, 2) ? random_invertible(rng, tile, offset)
                       : LinearLayout(tile, offset, f2::identity(tile.total_bits()));
}

TEST(SharedAccess, AddressesAreThoseOfTheMemoryLayout) {
  Rng rng(1);
  unsigned wide = 0;
  for (int round = 0; round < 400; round++) {
    LinearLayout l =
        random_tile_layout(rng, random_shape(rng, 4, 11), 6, below(rng, 3), below(rng, 2) ? Bases::Unit : Bases::Any);
    unsigned elem_bytes = 1u << below(rng, 4);
    LinearLayout memory =
        below(rng, 2) ? random_memory(rng, l.out()) : swizzled_memory(l, l, elem_bytes, Arch::Gfx942, 65536)->layout;
    unsigned shift = below(rng, 2) ? 32 : l.out().total_bits() - below(rng, 3);
    AccessKind kind = below(rng, 2) ? AccessKind::Store : AccessKind::Load;
    SharedAccess a = plan_access(l, memory, elem_bytes, kind, shift);
    ASSERT_LE(a.bytes(), std::max(16u, elem_bytes));
    wide += a.vec > 1;
    std::set<std::pair<unsigned, Vec>> stored;  // round and element
    for (unsigned w = 0; w < l.num_waves(); w++)
      for (unsigned lane = 0; lane < 64; lane++) {
        std::set<unsigned> registers;
        for (const SharedAccess::Op& op : a.ops) {
          unsigned at = op.offset ^ a.thread_offset(lane, w);
          EXPECT_EQ(at % a.bytes(), 0u);
          for (unsigned e = 0; e < a.vec; e++) {
            EXPECT_TRUE(registers.insert(op.registers[e]).second);
            Vec element = l.at(op.registers[e], lane, w), offset = memory.apply(element);
            Vec mask = shift == 32 ? ~Vec{0} : (Vec{1} << shift) - 1;
            EXPECT_EQ(at + e * elem_bytes, (offset & mask) * elem_bytes);
            EXPECT_EQ(op.round ^ a.thread_round(lane, w), shift == 32 ? 0 : offset >> shift);
            if (kind == AccessKind::Store && (lane & a.free_lanes) == 0 && (w & a.free_waves) == 0) {
              EXPECT_TRUE(stored.insert({0, element}).second);
            }
          }
        }
        // All registers but the copies.
        EXPECT_EQ(registers.size(), l.num_registers() >> __builtin_popcount(l.free_mask(Dim::Register)));
      }
    if (kind == AccessKind::Store) {
      EXPECT_EQ(stored.size(), Vec{1} << l.out().total_bits());
    }
  }
  EXPECT_GT(wide, 40u);
}

// The definition of conflicts, for one op of one wave.
unsigned count_cycles(const SharedAccess& a, Arch arch, const std::vector<std::vector<unsigned>>& phases) {
  unsigned cycles = 0;
  for (const SharedAccess::Op& op : a.ops)
    for (const std::vector<unsigned>& phase : phases) {
      std::map<unsigned, std::set<unsigned>> dwords_of_bank;
      for (unsigned lane : phase) {
        if ((lane & a.free_lanes) != 0) continue;
        unsigned first = op.offset ^ a.thread_offset(lane, 0);
        for (unsigned byte = first; byte < first + a.bytes(); byte++)
          dwords_of_bank[byte / 4 % info(arch).lds_banks].insert(byte / 4);
      }
      size_t worst = 1;
      for (const auto& [bank, dwords] : dwords_of_bank) worst = std::max(worst, dwords.size());
      cycles += static_cast<unsigned>(worst);
    }
  return cycles;
}

std::vector<std::vector<unsigned>> neighbours(unsigned count) {
  std::vector<std::vector<unsigned>> out(64 / count);
  for (unsigned l = 0; l < 64; l++) out[l / count].push_back(l);
  return out;
}

std::vector<std::vector<unsigned>> phases_of(Arch arch, AccessKind kind, unsigned bytes) {
  bool wide = info(arch).lds_banks == 64;
  if (bytes == 16 && kind == AccessKind::Load) {
    // Groups of four lanes, by their first lane.
    std::vector<std::vector<unsigned>> fours =
        wide ? std::vector<std::vector<unsigned>>{{0, 12, 20, 24}, {4, 8, 16, 28}}
             : std::vector<std::vector<unsigned>>{{0, 20}, {4, 16}, {8, 28}, {12, 24}};
    std::vector<std::vector<unsigned>> out;
    for (unsigned half : {0u, 32u})
      for (const auto& group : fours) {
        out.emplace_back();
        for (unsigned first : group)
          for (unsigned i = 0; i < 4; i++) out.back().push_back(half + first + i);
      }
    return out;
  }
  unsigned lanes = bytes <= 4 ? 32 : 128 / bytes;
  return neighbours(wide ? 2 * lanes : lanes);
}

TEST(BankConflicts, EqualTheCountByLanes) {
  Rng rng(2);
  std::set<unsigned> degrees;
  for (int round = 0; round < 600; round++) {
    LinearLayout l = random_tile_layout(rng, random_shape(rng, 6, 12), 6, 0, below(rng, 2) ? Bases::Unit : Bases::Any);
    Arch arch = archs[below(rng, 3)];
    SharedAccess a = plan_access(l, random_memory(rng, l.out()), 1u << below(rng, 4),
                                 below(rng, 2) ? AccessKind::Store : AccessKind::Load);
    auto phases = phases_of(arch, a.kind, a.bytes());
    BankConflicts c = bank_conflicts(a, arch);
    EXPECT_EQ(c.ideal, phases.size() * a.ops.size());
    // A phase in which no lane takes part is counted as one cycle, and so are those of fewer lanes.
    unsigned expected = count_cycles(a, arch, phases);
    if (a.free_lanes == 0) {
      EXPECT_EQ(c.cycles, expected) << l.str();
    } else {
      EXPECT_GE(c.cycles, expected);
      EXPECT_EQ(c.extra() == 0, expected == c.ideal);
    }
    degrees.insert(c.cycles / c.ideal);
  }
  EXPECT_GE(degrees.size(), 5u);
}

TEST(BankConflicts, KnownCases) {
  // A column of a 32 x 32 tile of f32 without a swizzle: all lanes in one bank; along a row: none.
  LinearLayout memory(Space::of_shape({32, 32}), {{Dim::Offset, 10}}, f2::identity(10));
  LinearLayout down = *LinearLayout::parse(
      "#layout<reg=[(0,2),(0,4),(0,8),(0,16)], lane=[(1,0),(2,0),(4,0),(8,0),(16,0),(0,1)], wave=[]>");
  LinearLayout across = *LinearLayout::parse(
      "#layout<reg=[(2,0),(4,0),(8,0),(16,0)], lane=[(0,1),(0,2),(0,4),(0,8),(0,16),(1,0)], wave=[]>");
  EXPECT_EQ(bank_conflicts(plan_access(down, memory, 4, AccessKind::Load), Arch::Gfx942).cycles, 16 * 2 * 32u);
  EXPECT_EQ(bank_conflicts(plan_access(across, memory, 4, AccessKind::Load), Arch::Gfx942).extra(), 0u);
  // Both at once without conflicts: the swizzle of a transposition.
  for (Arch arch : archs) {
    LinearLayout swizzled = swizzled_memory(across, down, 4, arch, 65536)->layout;
    EXPECT_TRUE(swizzled.is_invertible());
    EXPECT_EQ(bank_conflicts(plan_access(across, swizzled, 4, AccessKind::Store), arch).extra(), 0u);
    EXPECT_EQ(bank_conflicts(plan_access(down, swizzled, 4, AccessKind::Load), arch).extra(), 0u);
  }
}

TEST(SwizzledMemory, SingleElementsNeverConflict) {
  // With accesses of one element a common complement exists for any two layouts, so that no conflict is left unless a
  // wider access was worth it.
  Rng rng(3);
  unsigned free_of_conflicts = 0, rounds = 300;
  for (unsigned round = 0; round < rounds; round++) {
    Shape shape = random_shape(rng, 8, 12);
    LinearLayout a = random_tile_layout(rng, shape, 6, 2, Bases::Unit),
                 b = random_tile_layout(rng, shape, 6, 2, Bases::Unit);
    Arch arch = archs[below(rng, 3)];
    LinearLayout memory = swizzled_memory(a, b, 4, arch, 65536)->layout;
    SharedAccess store = plan_access(a, memory, 4, AccessKind::Store),
                 load = plan_access(b, memory, 4, AccessKind::Load);
    unsigned extra = bank_conflicts(store, arch).extra() + bank_conflicts(load, arch).extra();
    free_of_conflicts += extra == 0;
    if (store.vec == 1 && load.vec == 1) {
      EXPECT_EQ(extra, 0u) << a.str() << "\n" << b.str();
    }
  }
  EXPECT_GT(free_of_conflicts, rounds * 9 / 10);
}

TEST(SharedAccess, PackingCountsBrokenDwords) {
  LinearLayout memory(Space::of_shape({64, 8}), {{Dim::Offset, 9}}, f2::identity(9));
  auto packing = [&](const char* text, unsigned bytes) {
    return plan_access(*LinearLayout::parse(text), memory, bytes, AccessKind::Load).packing();
  };
  const std::string lanes = "lane=[(1,0),(2,0),(4,0),(8,0),(16,0),(32,0)], wave=[]>";
  EXPECT_EQ(packing(("#layout<reg=[(0,1),(0,2),(0,4)], " + lanes).c_str(), 2), 0u);
  EXPECT_EQ(packing(("#layout<reg=[(0,2),(0,1),(0,4)], " + lanes).c_str(), 2), 4u);
  EXPECT_EQ(packing(("#layout<reg=[(0,2),(0,1),(0,4)], " + lanes).c_str(), 1), 6u);
  EXPECT_EQ(packing(("#layout<reg=[(0,2),(0,1),(0,4)], " + lanes).c_str(), 4), 0u);
}

}  // namespace
}  // namespace tile::layout
