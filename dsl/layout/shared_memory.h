#pragma once
// Tiles in LDS: which byte an element has, which accesses a lane makes, and what bank conflicts they have.
//
// A memory layout is a LinearLayout from tile coordinates to `offset`, counted in elements. With a distributed layout
// L: (reg, lane, wave) -> tile, the byte address of register r of lane l of wave w is
//     memory(L(r, l, w)) * elem_bytes = op_part(r) ^ thread_part(l, w),
// linear again: one XOR (often an add) separates the registers of a thread. A run of 2^v offsets that are registers of
// one thread is one access of v bits more.
//
// Banks. LDS has 32 or 64 banks of 4 bytes. An access of a wave is served in phases; lanes of one phase that touch
// different rows of one bank wait for each other. Lanes of a phase, by width of the access (32 banks; with 64 banks
// twice as many lanes):
//     1, 2, 4 bytes  32 neighbours    8 bytes  16 neighbours    16 bytes, write  8 neighbours
//     16 bytes, read: 0-3 with 20-23, 4-7 with 16-19, 8-11 with 28-31, 12-15 with 24-27, and 32 above each (AMD's
//     ROCm blog on LDS bank conflicts with CK-Tile); with 64 banks 0-3, 12-15, 20-27 and so on (measured by the
//     authors of HipKittens).
// All of these are cosets of a subspace of lane bits, spanned by lanes 1, 2, 4, ... or by 1, 2, 20 (and 12). Narrow
// accesses to one dword do not conflict. The orders for 8 bytes and for writes with 64 banks are assumed.
//
// Swizzles. Let S be the tile directions that the lanes of a phase span and V those inside one access. Then two lanes
// conflict when S + V meets H, the directions that go from row to row of the banks, outside of V. There is one S + V
// for the store and one for the load, and swizzled_memory() takes for H a common complement of both: it exists over
// F2 whenever both have at most the dimension of a row, so accesses without conflicts exist. Vectors x, y with x
// outside of the one space and y outside of the other give x, y or x + y outside of both; the sums are the swizzle.
#include <cstdint>
#include <vector>

#include "dsl/layout/linear_layout.h"
#include "dsl/target/arch.h"

namespace tile::layout {

enum class AccessKind : uint8_t { Store, Load };

// What every thread does to move a tile between its registers and LDS. For each op, a thread with lane l and wave w
// accesses `vec` elements at ascending addresses from byte
//     op.offset ^ XOR of lane_offset[i] over the bits i of l ^ XOR of wave_offset[i] over the bits i of w,
// a multiple of vec * elem_bytes; element i is register op.registers[i].
// Rounds: the memory may be smaller than the tile and hold it in several rounds. The op takes place in round
//     op.round ^ XOR of lane_round[i] over the bits of l ^ XOR of wave_round[i] over the bits of w.
// Stores: only threads with (l & free_lanes) == 0 and (w & free_waves) == 0 take part; the others hold copies.
struct SharedAccess {
  struct Op {
    std::vector<uint16_t> registers;
    uint32_t offset;
    uint32_t round;
  };
  AccessKind kind = AccessKind::Load;
  unsigned elem_bytes = 1;
  unsigned vec = 1;
  std::vector<uint32_t> lane_offset, wave_offset;
  std::vector<uint32_t> lane_round, wave_round;
  uint32_t free_lanes = 0, free_waves = 0;
  std::vector<Op> ops;

  unsigned bytes() const { return vec * elem_bytes; }
  // Some thread takes part in an op in another round than its neighbours: ops need a predicate in each round.
  bool rounds_by_thread() const;
  uint32_t thread_offset(unsigned lane, unsigned wave) const;
  uint32_t thread_round(unsigned lane, unsigned wave) const;
  // Bits that the thread's part of an address can set. Where op.offset has none of them, XOR is addition and the
  // offset fits the instruction's offset field.
  uint32_t thread_mask() const;
  // Instructions per thread that put elements narrower than a dword together or take them apart: for each dword of
  // an access one less than its elements, unless they are neighbouring registers from an aligned one on (then they are
  // in a dword already).
  unsigned packing() const;
};

// The accesses of a distributed layout to memory, as wide as both allow (at most 16 bytes). `memory` maps the layout's
// tile to {offset} injectively; offset bits from `round_shift` on count rounds. Registers that hold what another one of
// the thread holds are left out: a load gives the registers whose free bits are 0.
// `elem_bytes` is 1, 2, 4 or 8. The layouts' lanes are at most 64.
SharedAccess plan_access(const LinearLayout& layout, const LinearLayout& memory, unsigned elem_bytes, AccessKind kind,
                         unsigned round_shift = 32);

struct BankConflicts {
  unsigned cycles = 0;  // LDS cycles of all ops of one wave
  unsigned ideal = 0;   // the same if no lanes conflicted
  unsigned extra() const { return cycles - ideal; }
};
BankConflicts bank_conflicts(const SharedAccess& access, Arch arch);

// The lanes of one phase, as a basis of their bits.
std::vector<unsigned> phase_lanes(Arch arch, AccessKind kind, unsigned bytes);

struct SwizzledMemory {
  LinearLayout layout;      // tile -> offset, invertible
  unsigned round_bits = 0;  // the highest offset bits, which count rounds
};
// A memory layout in which `store` writes and `load` reads at the least cost: wide accesses without bank conflicts
// where there are such. Both are layouts of one tile (the same output space), surjective. Rounds are used when the tile
// takes more than `max_bytes`: they run over register bits that both sides have while there are any, then over
// waves and lanes. Error: not even one element a round fits.
Result<SwizzledMemory> swizzled_memory(const LinearLayout& store, const LinearLayout& load, unsigned elem_bytes,
                                       Arch arch, size_t max_bytes);

}  // namespace tile::layout
