#pragma once
// State of a wave, of its workgroup and of a launch while it runs.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "interpreter/machine/inst.h"
#include "interpreter/machine/machine.h"

namespace tile::sim {

constexpr int lanes = 64;
constexpr int reg_vcc = 106, reg_m0 = 124, reg_exec = 126;
constexpr uint64_t full_exec = ~uint64_t{0};
// Apertures and special address ranges of the simulated machine.
constexpr uint64_t shared_aperture = uint64_t{0x10000} << 32;
constexpr uint64_t private_aperture = uint64_t{0x20000} << 32;
constexpr uint64_t scratch_base = uint64_t{0x7e00} << 32;   // what buffer and flat scratch instructions address

struct Program;
struct Launch;
struct WaveChecks;
struct GroupChecks;
struct InstCounter;
struct MemoryCost;

enum class WaveState : uint8_t { running, barrier, sleeping, ended, fault };

struct Workgroup {
  std::vector<uint8_t> lds;
  uint32_t lds_size = 0;
  uint32_t id[3] = {0, 0, 0};
  std::unique_ptr<GroupChecks> checks;
};

struct alignas(64) Wave {
  uint32_t v[512][lanes];       // VGPRs 0-255, AGPRs 256-511
  uint32_t s[132];              // SGPRs by encoding; VCC 106, M0 124, EXEC 126
  uint32_t lane_mask[lanes];    // EXEC widened to one word a lane; valid for mask_exec
  uint64_t mask_exec;
  uint32_t scc;
  uint32_t mode;                // MODE register
  WaveState state;
  uint8_t round32, round64;     // 0 nearest even, 1 +inf, 2 -inf, 3 zero
  uint8_t round16;              // round64 and, as bit 4, FP16_OVFL
  uint8_t flush_in32, flush_out32, flush_in16, flush_out16;  // 16: f16 and f64
  bool ieee, dx10_clamp, ovfl16;
  bool fast_float;              // all modes are the defaults: nearest even, no flushing
  const Inst* ip;               // next instruction
  const Inst* at;               // instruction being executed
  uint64_t executed;
  Workgroup* group;
  Launch* launch;
  const Program* program;
  int index;                    // in the workgroup
  int host_round;               // rounding mode set on the host while this wave runs
  std::vector<uint8_t> scratch; // swizzled: dword k of lane l at 256*k + 4*l
  std::vector<uint8_t> scratch_shadow;
  uint32_t scratch_lane;        // bytes per lane
  WaveChecks* checks;           // null: checks are off
  InstCounter* counters;        // null: no counts
  MemoryCost* cost;             // null: no timing
  bool traced;
  const Allocation* last_alloc; // cache of the last allocation touched

  uint64_t exec() const { uint64_t e; std::memcpy(&e, &s[reg_exec], 8); return e; }
  uint64_t vcc() const { uint64_t e; std::memcpy(&e, &s[reg_vcc], 8); return e; }
  uint64_t s64(int r) const { uint64_t e; std::memcpy(&e, &s[r], 8); return e; }
  void set_s64(int r, uint64_t x) { std::memcpy(&s[r], &x, 8); }
};

// Recomputes rounding and denormal flags after MODE changed.
void apply_mode(Wave& w);

// Stops the wave with a fault; the launch ends with this message. `lane` -1: the whole wave.
void fault(Wave& w, FaultKind kind, std::string what, int lane = -1);

// Value of a scalar source encoding (SGPR, VCCZ, EXECZ, SCC, apertures).
uint32_t read_scalar(const Wave& w, unsigned reg);

}  // namespace tile::sim
