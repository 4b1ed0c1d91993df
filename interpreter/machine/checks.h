#pragma once
// Checks that hardware does not make. All functions here are called only where `w.checks` is set.
#include <fmt/format.h>

#include <deque>

#include "interpreter/machine/exec.h"

namespace tile::sim {

// Which counter an outstanding operation decrements.
enum class Counter : uint8_t { vm, lgkm_lds, lgkm_smem, flat };

struct Pending {
  Counter counter;
  bool vector;          // `first`/`count` are VGPRs
  uint16_t first = 0;
  uint16_t count = 0;
  int32_t dma = -1;     // >= 0: index of LDS bytes written by DMA
  uint32_t dma_bytes = 0;
  const Inst* by = nullptr;
};

struct WaveChecks {
  uint32_t v_undef[512][lanes];       // bit set: undefined
  uint32_t s_undef[132];
  uint32_t scc_undef = 0;
  std::deque<Pending> pending;
  uint16_t v_pending[512] = {};       // outstanding operations that write the register
  uint16_t s_pending[132] = {};
  int vm = 0, lgkm = 0;
};

// One byte of LDS.
struct LdsByte {
  bool written = false;
  uint8_t undef = 0;           // undefined bits
  int16_t writer = -1;         // wave
  int16_t reader = -1;         // wave; -2: several
  bool atomic = false;         // last write was an atomic
  uint16_t dma = 0;            // outstanding DMA writes
  uint32_t write_epoch = 0, read_epoch = 0;
};

struct GroupChecks {
  uint32_t epoch = 1;          // barriers passed, plus one
  std::vector<LdsByte> lds;
  std::vector<std::pair<uint32_t, uint32_t>> dma_ranges;
};

// Before an instruction: outstanding results and undefined bits among its operands.
void check_before(Wave& w, const Inst& i);
// Undefined bits of the result: computed from the sources before, stored after the instruction.
void shadow_before(Wave& w, const Inst& i);
void shadow_after(Wave& w, const Inst& i);
// All live waves are at a barrier.
void check_barrier(Workgroup& g, std::vector<std::unique_ptr<Wave>>& waves, size_t count);
// A wave ended normally.
void finish_checks(Wave& w);
void reset_checks(WaveChecks& c);

}  // namespace tile::sim
