#pragma once
// Counts of executed instructions, trace lines, and the timing model.
#include <memory>

#include "interpreter/machine/exec.h"

namespace tile::sim {

// What the last memory instruction cost, for the timing model.
struct MemoryCost {
  uint64_t lds_cycles = 0;
  uint64_t global_bytes = 0;   // of the 64-byte blocks touched
};

InstCounter* counter_of(Wave& w, const Inst& i);
// Fills profile and by_class from the sums over all threads.
void fill_profile(Launch& l, const std::vector<InstCounter>& sums, LaunchStats& stats);
// One line: "g0 w1 0x1234: v_add_f32 ... | exec 0xff | v3 = ...". Format in docs/simulator.md.
std::string trace_text(Wave& w, const Inst& i);

// Cycles of one compute unit while the waves of its resident workgroups run. Parameters in docs/simulator.md.
class Timing {
 public:
  Timing(size_t waves, double latency_scale);
  // When wave `k` can issue its next instruction.
  uint64_t ready(size_t k) const { return waves_[k].next; }
  // Accounts for an instruction that wave `k` has just executed.
  void issue(size_t k, const Wave& w, const Inst& i, const MemoryCost& cost);
  // All the given waves leave a barrier together.
  void barrier(const std::vector<size_t>& waves);
  Cycles result() const;

 private:
  struct WaveTime {
    uint64_t next = 0, wait = 0;
    std::vector<uint64_t> vm, lgkm;           // completion times of outstanding operations, oldest first
    std::vector<uint64_t> register_ready;     // of matrix results
  };
  struct Simd { uint64_t valu_free = 0, mfma_free = 0, mfma_busy = 0; };
  struct Loop { uint64_t first = 0, last = 0, busy_first = 0, busy_last = 0; bool seen = false; };
  void note_loop(size_t k, const Wave& w, const Inst& i);

  std::vector<WaveTime> waves_;
  Simd simds_[4];
  uint64_t lds_free_ = 0, memory_free_ = 0;
  double scale_;
  std::vector<Loop> loops_;                   // by index of the branch; of the waves of SIMD 0
};

}  // namespace tile::sim
