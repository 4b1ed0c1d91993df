#pragma once
// Checks that hardware does not make. All functions here are called only where `w.checks` is set, unless said otherwise.
#include <fmt/format.h>

#include <deque>

#include "interpreter/machine/exec.h"

namespace tile::sim {

// Which counter an outstanding operation decrements.
enum class Counter : uint8_t { vm, lds, smem, flat };

// An issued memory operation whose result is not guaranteed to be there.
struct Pending {
  Counter counter = Counter::vm;
  bool vector = true;               // `first` and `count` are VGPRs, else SGPRs
  uint16_t first = 0, count = 0;
  bool vm_done = false;             // flat operations: what has been waited for
  std::vector<uint32_t> dma;        // LDS addresses being written, dma_bytes each
  uint32_t dma_bytes = 0;
};

struct WaveChecks {
  uint32_t v_undef[512][lanes];     // bit set: undefined
  uint32_t s_undef[132];
  bool scc_undef = false;
  std::deque<Pending> pending;
  uint16_t v_pending[512];          // outstanding operations that write the register
  uint8_t v_pending_vm[512];        // of these, vector memory loads (they return in order)
  uint16_t s_pending[132];
  // Wait states since the wave began, and when a register was last written by an MFMA (and how many states its
  // result needs) or by the vector ALU.
  uint64_t states = 0;
  uint64_t mfma_written[512];
  uint8_t mfma_needs[512];
  uint64_t valu_written[512];
  // Result of the current instruction's shadow.
  uint32_t result[32][lanes];
  int result_rows = 0;
  uint64_t result_exec = 0;
  uint64_t mask_undef = 0;          // of the scalar result (compares, carries)
};

// One byte of LDS.
struct LdsByte {
  bool written = false;
  bool atomic = false;              // last written by an atomic
  uint8_t undef = 0;                // undefined bits
  uint8_t dma = 0;                  // outstanding DMA writes
  uint16_t writers = 0;             // waves that wrote (the same value) in write_epoch, as bits
  int16_t reader = -1;              // wave; -2: several
  uint32_t write_epoch = 0, read_epoch = 0;
};

struct GroupChecks {
  uint32_t epoch = 1;               // barriers passed, plus one
  std::vector<LdsByte> lds;
};

void reset_checks(WaveChecks& c);
// Before an instruction: outstanding results, hazards, undefined addresses and branch conditions.
void check_before(Wave& w, const Inst& i);
// Undefined bits of the result: computed from the sources before, stored after the instruction.
void shadow_before(Wave& w, const Inst& i);
void shadow_after(Wave& w, const Inst& i);
// All live waves are at a barrier (called with or without checks of single waves).
void check_barrier(Workgroup& g, std::vector<std::unique_ptr<Wave>>& waves, size_t count);
// Undefined bits of a store's data to LDS; false after a fault.
bool shadow_lds_store(Wave& w, int lane, uint64_t address, int bytes, bool high, int reg);
// Undefined bits of LDS bytes into a register.
void shadow_lds_load(Wave& w, int lane, uint64_t address, int bytes, bool sign, int half, int reg);
// Matrix instruction: undefined rows of A, columns of B and elements of C make results undefined.
void shadow_mfma(Wave& w, const Inst& i);
// Passes of a matrix instruction (4 cycles each).
int mfma_passes(const Wave& w, const Inst& i);
bool mfma_is_f64(const Inst& i);

}  // namespace tile::sim
