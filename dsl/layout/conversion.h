#pragma once
// Moving a tile from one layout to another: what a plan is, and exactly what doing it means.
//
// plan_conversion() decides; an interpreter and a code generator follow the plan step by step, without looking at
// the layouts. A tile's registers are elements of elem_bytes bytes, numbered per thread; thread = lane l of wave w.
// Let S be the source registers and D the destination registers of a thread.
//
//   Kind None       D[r] = S[r] for all r; both have the same number of registers.
//   Kind Registers  D[r] = S[register_map[r]].
//   Kind Lanes      `lanes` (lane_plan.h), for each wave by itself:
//       1. word i is formed of the elements S[inputs[i][0]], S[inputs[i][1]], ..., first in the lowest bits, the rest
//          of the dword 0 (8-byte elements are a word of two dwords);
//       2. the steps are done in order, each on all 64 lanes; they make words from words;
//       3. D[r] is element outputs[r].elem of word outputs[r].value.
//   Kind Shared     `shared`: a scratch area of scratch_bytes bytes of LDS, aligned to 16, and accesses as
//                   shared_memory.h defines them, with addresses from the start of the area:
//       for round = 0 .. rounds - 1
//         if round > 0 and not wave_local: barrier
//         each thread does those ops of `store` that take place in this round; S[registers] go to memory
//         if not wave_local: barrier
//         each thread does those ops of `load` that take place in this round, into values V[registers]
//       and then D[r] = V[loaded[r]].
//     A barrier orders all LDS accesses of the workgroup before it and after it (the emitter puts the wait for
//     outstanding LDS accesses before it). Inside a wave LDS accesses act in program order. With wave_local no
//     wave reads or overwrites what another one wrote, so program order suffices.
//     The plan does not order itself against other users of the area: whoever places the plan needs a barrier before
//     the first store if another wave may still read or write the area, and one behind it before the area is reused.
//
// Layouts that differ in their padded extents: an axis has what the source has; a destination place beyond that gets
// the element at its coordinate modulo the source's extent (padding, which nobody may rely on). Replicas: when the
// source replicates, one copy is read or stored; all replicas of the destination are filled.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/layout/lane_plan.h"
#include "dsl/layout/linear_layout.h"
#include "dsl/layout/shared_memory.h"
#include "dsl/support/result.h"
#include "dsl/target/arch.h"

namespace tile::layout {

struct SharedPlan {
  LinearLayout
      memory;  // tile (of the source's padded shape) -> offset in elements; for reading, the accesses say it all
  unsigned rounds = 1;
  size_t scratch_bytes = 0;
  bool wave_local = false;
  SharedAccess store, load;
  std::vector<uint16_t> loaded;
  // Barriers inside the plan.
  unsigned barriers() const { return wave_local ? 0 : 2 * rounds - 1; }
};

struct ConversionPlan {
  enum class Kind : uint8_t { None, Registers, Lanes, Shared };
  Kind kind = Kind::None;
  unsigned elem_bytes = 4;
  unsigned num_waves = 1, num_lanes = 64;
  unsigned src_registers = 1, dst_registers = 1;
  std::vector<uint16_t> register_map;
  std::optional<LanePlan> lanes;
  std::optional<SharedPlan> shared;
  // Estimated time in cycles of one wave when all waves of the workgroup do the plan (see cost_of).
  double cost = 0;

  size_t scratch_bytes() const { return shared ? shared->scratch_bytes : 0; }
  // One line for `--emit=layouts`, as "shared 16384 B, 16 x store 16 B, 8 x load 16 B, 1 barrier, 0 conflicts".
  std::string str(Arch arch) const;
};

struct ConversionOptions {
  size_t max_scratch_bytes = 32 * 1024;  // the conversion is split in rounds to stay within
  bool allow_lanes = true;
  bool allow_shared = true;
};

// The cheapest plan. Both are layouts of tiles of one rank with the same numbers of lanes and waves; `src` is
// surjective. elem_bits is 1 (held in a byte) or 4, 6 (likewise), 8, 16, 32, 64. Errors: the conditions do not hold,
// too many registers (over 1024 a thread), the options leave no way.
Result<ConversionPlan> plan_conversion(const LinearLayout& src, const LinearLayout& dst, unsigned elem_bits, Arch arch,
                                       const ConversionOptions& options = {});

// The cost of the plan, for choosing layouts; infinite when there is none. The unit is a cycle of a SIMD. A VALU
// instruction takes 4, an LDS access 4 to issue and the cycles that LDS needs for the accesses of all waves of the
// workgroup, a way through LDS 120 of latency, a barrier 40. Registers that only change their names cost nothing.
double conversion_cost(const LinearLayout& src, const LinearLayout& dst, unsigned elem_bits, Arch arch,
                       const ConversionOptions& options = {});
double cost_of(const LanePlan& plan, unsigned num_waves);
double cost_of(const SharedPlan& plan, unsigned num_waves, Arch arch);

// No instruction: only registers change their names, or nothing at all.
bool is_free_conversion(const LinearLayout& src, const LinearLayout& dst);

}  // namespace tile::layout
