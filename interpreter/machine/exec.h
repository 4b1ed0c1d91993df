#pragma once
// What handlers call: memory access with checking, waits, faults, indexed execution.
#include "interpreter/machine/wave.h"

namespace tile::sim {

// Counts of one instruction (InstProfile explains them); one array a host thread.
struct InstCounter {
  uint64_t executed = 0, lanes = 0, bank_cycles = 0, bank_ideal = 0, transactions = 0, bytes = 0;
  void add(const InstCounter& o);
};

// State of one launch, shared by its workgroups.
struct Launch {
  const CodeObject* code = nullptr;
  Program* program = nullptr;
  const Kernel* kernel = nullptr;
  const LaunchConfig* config = nullptr;
  const Options* options = nullptr;
  Memory* memory = nullptr;
  std::vector<Allocation> internal;     // code image, kernarg segment, dispatch packet
  std::vector<uint8_t> kernarg, packet, image;
  uint64_t kernarg_address = 0, packet_address = 0;
  std::mutex mutex;                     // guards what follows
  std::vector<Finding> findings;
  std::vector<InstCounter> counters;
  Cycles cycles;
  bool failed = false;                  // a fault ended the launch
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> instructions{0}, waves{0};
};

// Sets the host's rounding mode to the wave's.
void apply_host_rounding(Wave& w);
// s_waitcnt.
void wait_counters(Wave& w, int imm);
// A scalar load or store of `dwords` words; faults when out of bounds.
bool load_scalar(Wave& w, uint64_t address, uint32_t* to, int dwords);
bool store_scalar(Wave& w, uint64_t address, const uint32_t* from, int dwords);
// Host pointer of `bytes` at `address`, or null after a fault. Does not handle scratch or LDS.
uint8_t* global_pointer(Wave& w, uint64_t address, uint64_t bytes, bool write, int lane);
// Outstanding results: SGPRs of a scalar load.
void issue_smem(Wave& w, int first, int count);
// Executes the instructions after s_set_gpr_idx_on until s_set_gpr_idx_off, with moved registers.
void run_indexed(Wave& w);
// Executes one instruction with everything the options ask for.
void step(Wave& w, const Inst& i);

}  // namespace tile::sim
