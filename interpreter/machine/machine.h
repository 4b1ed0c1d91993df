#pragma once
// The simulator's public face: load a code object, give it memory, launch a kernel.
//
//   auto code = sim::CodeObject::load(bytes);
//   sim::Memory memory;
//   uint64_t a = memory.map("a", host_pointer, size);
//   auto stats = sim::launch(*code, "vector_add", {.grid = {4, 1, 1}, .block = {256, 1, 1}, .kernarg = kernarg}, memory);
//
// Nothing here throws; a failure is an Error that names instruction, wave, lane and source line.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "dsl/support/result.h"

namespace tile::sim {

// One argument of a kernel, from the code object's metadata.
struct KernelArg {
  std::string name;
  std::string kind;    // "by_value", "global_buffer", "hidden_block_count_x", ...
  uint32_t offset = 0; // bytes, in the kernarg segment
  uint32_t size = 0;   // bytes
  bool hidden() const { return kind.rfind("hidden_", 0) == 0; }
};

// One kernel of a code object. Counts are in registers or bytes.
struct Kernel {
  std::string name;
  std::vector<KernelArg> args;
  uint32_t kernarg_size = 0;
  uint32_t lds_static = 0;
  uint32_t scratch_per_lane = 0;
  bool dynamic_stack = false;
  uint32_t max_block = 1024;
  uint32_t vgprs = 0, agprs = 0, sgprs = 0;   // from the metadata; 0 when it has none
  // From the kernel descriptor.
  uint64_t entry = 0;            // address of the first instruction
  uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  uint16_t properties = 0;
  uint16_t preload = 0;
};

struct Program;

// A loaded AMDGPU code object, decoded on first use. Cheap to copy (shared).
class CodeObject {
 public:
  // `bytes`: a raw ELF or a clang offload bundle (the first amdgcn entry that is not empty). They are copied.
  static Result<CodeObject> load(std::span<const uint8_t> bytes);
  // A code object of bare instructions, which run from the first one; for tests. `kernel` gives the name, the register
  // set-up (rsrc1: MODE, rsrc2, properties) and sizes; its entry is ignored.
  static Result<CodeObject> from_instructions(const std::string& target, std::span<const uint32_t> words, const Kernel& kernel);
  const std::vector<Kernel>& kernels() const;
  // Null when there is no such kernel.
  const Kernel* find(const std::string& name) const;
  const std::string& target() const;  // "gfx942"
  // "file:line" of an address, from the DWARF line table; empty when there is none.
  std::string line_of(uint64_t pc) const;
  // The disassembly of the whole .text, one instruction a line.
  std::string disassembly() const;
  const std::shared_ptr<Program>& program() const { return program_; }

 private:
  std::shared_ptr<Program> program_;
};

// A range of simulated memory backed by host memory.
struct Allocation {
  uint64_t base = 0;
  uint64_t size = 0;
  uint8_t* host = nullptr;
  bool writable = true;
  std::string name;
};

// Device memory: registered ranges; every access is checked against them. Addresses are synthetic, 4 KiB
// aligned, with a guard gap of at least 64 KiB after each range. Not to be changed while a launch runs.
class Memory {
 public:
  Memory();
  // Registers `size` bytes at `host` (owned by the caller, must outlive the launches) and returns their address.
  uint64_t map(std::string name, void* host, uint64_t size, bool writable = true);
  // Registers a range at a fixed address; false when it overlaps another one.
  bool map_at(uint64_t address, std::string name, void* host, uint64_t size, bool writable = true);
  // Removes the range that starts at `address`; false when there is none.
  bool unmap(uint64_t address);
  // The allocation that holds `address`, or null.
  const Allocation* find(uint64_t address) const;
  const std::vector<Allocation>& allocations() const { return allocations_; }

 private:
  std::vector<Allocation> allocations_;  // sorted by base
  uint64_t next_;
};

enum class FaultKind : uint8_t {
  unknown_instruction, out_of_bounds, misaligned, read_only, missing_wait, undefined_use, lds_uninitialised, barrier_divergence,
  lds_race, hazard, budget, bad_jump, trap, unsupported, ambiguous_bounds, invalid
};
const char* fault_name(FaultKind k);

// One finding of the checks, or the fault that ended a launch.
struct Finding {
  FaultKind kind{};
  std::string what;
  std::string instruction;   // text
  uint64_t pc = 0;
  std::string line;          // "file:line" or empty
  uint32_t group[3] = {0, 0, 0};
  int wave = 0;
  int lane = -1;
  std::string text() const;  // one line for a person
};

struct Options {
  bool checks = true;                         // undefined bits, waits, races, ...; bounds are always checked
  bool stop_at_first = true;                  // a finding ends the launch; otherwise up to max_findings are collected
  uint32_t max_findings = 20;
  bool all_waves_at_barriers = true;          // an ended wave is a finding when others wait at a barrier
  bool undefined_lds_writes = true;           // a write of undefined bits to LDS is a finding; else they are followed
  bool misaligned_lds = false;                // LDS accesses not aligned to min(size, 4) are findings; hardware allows them
  uint64_t instruction_budget = 2'000'000'000; // per wave
  unsigned threads = 0;                       // 0: all cores
  bool counters = false;                      // fill LaunchStats::profile
  bool cycles = false;                        // run the timing model (one thread, in launch order)
  double latency_scale = 1.0;                 // multiplies the timing model's latencies
  // Trace: called for every instruction of the waves that `trace_wave` (group, wave) accepts; one line of text each.
  std::function<bool(uint64_t group, int wave)> trace_wave;
  std::function<void(const std::string&)> trace_line;
  int trace_lane = -1;                        // -1: all lanes' values in hash form
};

struct LaunchConfig {
  std::array<uint32_t, 3> grid{1, 1, 1};      // workgroups
  std::array<uint32_t, 3> block{1, 1, 1};     // work-items
  uint32_t lds_dynamic = 0;                   // bytes after the static part
  std::span<const uint8_t> kernarg;           // explicit arguments, and hidden ones unless fill_hidden
  bool fill_hidden = true;                    // write the hidden arguments that the metadata names
};

// Counts of one instruction, summed over all waves.
struct InstProfile {
  uint64_t pc = 0;
  std::string text;
  std::string line;
  std::string cls;
  uint64_t executed = 0;        // wave-instructions
  uint64_t lanes = 0;           // active lanes, summed
  uint64_t bank_cycles = 0;     // LDS cycles
  uint64_t bank_ideal = 0;      // LDS cycles without conflicts
  uint64_t transactions = 0;    // 64-byte blocks touched in global memory
  uint64_t bytes = 0;           // bytes asked for
};

// Busy and elapsed cycles of the timing model, see docs/simulator.md.
struct Cycles {
  uint64_t elapsed = 0;         // the longest compute unit
  uint64_t mfma_busy = 0;       // MFMA-pipe cycles, per SIMD average, of that unit
  uint64_t loop_elapsed = 0;    // the hottest loop, first arrival to last leave, of one wave's SIMD
  uint64_t loop_mfma_busy = 0;
  uint64_t wait = 0;            // wave-cycles spent in s_waitcnt and s_barrier
};

struct LaunchStats {
  uint64_t instructions = 0;    // wave-instructions
  uint64_t waves = 0;
  double seconds = 0;
  std::vector<Finding> findings;   // only with stop_at_first == false
  std::vector<InstProfile> profile;
  std::array<uint64_t, 16> by_class{};
  Cycles cycles;
};

// Runs one kernel. Workgroups run in parallel on the host's cores, each from start to end, in the order of their id.
Result<LaunchStats> launch(const CodeObject& code, const std::string& kernel, const LaunchConfig& config, Memory& memory,
                           const Options& options = {});

// The kernarg segment for a launch: explicit bytes first, then the hidden arguments the metadata names.
std::vector<uint8_t> make_kernarg(const Kernel& kernel, const LaunchConfig& config);

}  // namespace tile::sim
