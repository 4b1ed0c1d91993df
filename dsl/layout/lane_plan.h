#pragma once
// Conversions inside a wave: a straight-line program over registers that moves values between lanes.
#include <cstdint>
#include <optional>
#include <vector>

#include "dsl/layout/linear_layout.h"
#include "dsl/target/arch.h"

namespace tile::layout {

// One step of the program. Values are numbered: first the input words, then one for each step, two for Swap.
struct LaneStep {
  enum class Op : uint8_t {
    Select,      // the lane's own value: a where parity(lane & lane_mask) == parity(wave & wave_mask), else b
    Dpp,         // lane l gets a of lane from(l), by v_mov_b32_dpp with dpp_ctrl (all rows, banks and lanes on)
    Bpermute,    // lane l gets a of lane from(l), by ds_bpermute_b32 with byte address 4 * from(l)
    Permlane16,  // v_permlane16_swap_b32 vdst = a, src = b. Two values: the new vdst, then the new src.
    Permlane32,  // v_permlane32_swap_b32, in the same way
  };
  Op op = Op::Select;
  uint32_t a = 0, b = 0;
  uint32_t lane_mask = 0, wave_mask = 0;  // Select
  // Dpp, Bpermute: from(l) = from_constant ^ XOR of from_bits[i] over the bits i of l.
  uint32_t from_constant = 0;
  std::vector<uint32_t> from_bits;
  uint32_t dpp_ctrl = 0;

  uint32_t from(unsigned lane) const;
  bool operator==(const LaneStep&) const = default;
};
// Permlane16: lanes 16 to 31 of vdst and lanes 0 to 15 of src are exchanged, and 48 to 63 with 32 to 47 likewise:
// new vdst = (vdst 0-15, src 0-15, vdst 32-47, src 32-47), new src = (vdst 16-31, src 16-31, vdst 48-63, src 48-63).
// Permlane32: lanes 32 to 63 of vdst and 0 to 31 of src: new vdst = (vdst low, src low), new src = both highs.

struct LanePlan {
  unsigned elem_bytes = 4;
  unsigned word_elems = 1;                    // elements in a word; word_elems * elem_bytes <= 4 unless it is 1
  std::vector<std::vector<uint16_t>> inputs;  // input word i: its source registers, least significant first
  std::vector<LaneStep> steps;                // 8-byte words take every step on both halves
  struct Output {
    uint32_t value, elem;  // element `elem` of the word
  };
  std::vector<Output> outputs;  // one a destination register

  // Steps of a kind, counted once a dword.
  unsigned count(LaneStep::Op op) const;
};

// Which place of the source each place of the destination takes its value from: a linear map from the destination's
// places to the source's, both packed in their in() spaces, with src(map(x)) = dst(x). Among the copies that a
// replicating source has it prefers the same wave, then the same lane, then few registers. `src` is surjective and both
// have the same out() space.
LinearLayout source_places(const LinearLayout& src, const LinearLayout& dst);

// The program that does `places` (from source_places) when no value leaves its wave. Nothing when values do, or when
// the plan would need lanes to send more than one value at once.
std::optional<LanePlan> plan_lanes(const LinearLayout& places, unsigned elem_bytes, Arch arch);

}  // namespace tile::layout
