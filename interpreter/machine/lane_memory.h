#pragma once
// Moving bytes between registers and memory for one lane.
#include "interpreter/machine/exec.h"

namespace tile::sim {

enum class Half : uint8_t { none, lo, hi };

// How the bytes of a load land in registers.
struct LoadShape {
  uint8_t bytes;          // 1, 2, 4, 8, 12, 16
  bool sign = false;
  Half half = Half::none;
};

inline void deliver(Wave& w, int reg, int lane, LoadShape s, const uint8_t* from) {
  if (s.bytes >= 4) {
    for (int k = 0; k < s.bytes / 4; ++k) std::memcpy(&w.v[reg + k][lane], from + 4 * k, 4);
    return;
  }
  uint32_t x = from[0];
  if (s.bytes == 2) x |= uint32_t(from[1]) << 8;
  if (s.sign) x = s.bytes == 1 ? uint32_t(int32_t(int8_t(x))) : uint32_t(int32_t(int16_t(x)));
  uint32_t& d = w.v[reg][lane];
  if (s.half == Half::none) d = x;
  else if (s.half == Half::lo) d = (d & 0xffff0000u) | (x & 0xffffu);
  else d = (d & 0xffffu) | x << 16;
}

inline void collect(const Wave& w, int reg, int lane, int bytes, bool high_half, uint8_t* to) {
  if (bytes >= 4) {
    for (int k = 0; k < bytes / 4; ++k) std::memcpy(to + 4 * k, &w.v[reg + k][lane], 4);
    return;
  }
  const uint32_t x = w.v[reg][lane] >> (high_half ? 16 : 0);
  to[0] = uint8_t(x);
  if (bytes == 2) to[1] = uint8_t(x >> 8);
}

// Registers a load of this shape writes.
inline int load_rows(int bytes) { return bytes < 4 ? 1 : bytes / 4; }

// Per-lane scratch: offset in the lane's private memory.
bool scratch_read(Wave& w, int lane, uint64_t offset, int bytes, uint8_t* to);
bool scratch_write(Wave& w, int lane, uint64_t offset, int bytes, const uint8_t* from);
// The lane that ds_swizzle_b32 reads for `lane`.
int swizzle_source(int offset, int lane);
// LDS with all checks. `atomic` accesses do not race with each other.
bool lds_read(Wave& w, int lane, uint64_t address, int bytes, uint8_t* to, bool atomic = false);
bool lds_write(Wave& w, int lane, uint64_t address, int bytes, const uint8_t* from, bool atomic = false);

// Bookkeeping of an issued vector memory or LDS operation (waits, statistics). `rows` 0: no result.
void issue_vmem(Wave& w, const Inst& i, int reg, int rows);
void issue_lds(Wave& w, const Inst& i, int reg, int rows);
void issue_flat(Wave& w, const Inst& i, int reg, int rows);
// An LDS DMA wrote these bytes; they are not to be read before its wait.
void issue_dma(Wave& w, const Inst& i, const uint32_t* address, uint64_t exec, int bytes);
// Statistics of a global access: one address a lane.
void count_global(Wave& w, const Inst& i, const uint64_t* address, uint64_t exec, int bytes);
void count_lds(Wave& w, const Inst& i, const uint32_t* address, uint64_t exec, int bytes);

}  // namespace tile::sim
