// The timing model of --cycles.
#include <algorithm>

#include "interpreter/machine/checks.h"
#include "interpreter/machine/counters.h"
#include "interpreter/machine/program.h"

namespace tile::sim {
namespace {

constexpr uint64_t issue_cycles = 4, slow_cycles = 16;   // f64 and transcendental
constexpr double lds_latency = 64, global_latency = 800, scalar_latency = 200;
constexpr uint64_t global_bytes_per_cycle = 64;

void keep_outstanding(std::vector<uint64_t>& times, size_t count, uint64_t& now) {
  while (times.size() > count) {
    now = std::max(now, times.front());
    times.erase(times.begin());
  }
}

}  // namespace

Timing::Timing(size_t waves, double latency_scale) : waves_(waves), scale_(latency_scale) {
  for (auto& w : waves_) w.register_ready.assign(512, 0);
}

void Timing::issue(size_t k, const Wave& w, const Inst& i, const MemoryCost& cost) {
  WaveTime& t = waves_[k];
  Simd& simd = simds_[k % 4];
  uint64_t start = t.next;
  const bool mfma = i.op->cls == InstClass::mfma;
  // Results of matrix instructions: C of the next one is forwarded when the last pass ends, others wait for it.
  int sources = 0;
  for (const RegUse& u : i.regs) {
    if (!u.vector) continue;
    if (!u.def) ++sources;
    const bool accumulator = mfma && (u.def || sources == 3);
    for (int r = u.first; r < u.first + u.count && r < 512; ++r)
      if (t.register_ready[size_t(r)]) start = std::max(start, t.register_ready[size_t(r)] - (accumulator ? 2 * issue_cycles : 0));
  }
  switch (i.op->cls) {
    case InstClass::valu: case InstClass::trans: {
      start = std::max(start, simd.valu_free);
      const bool slow = i.op->cls == InstClass::trans || (i.op->flags & op_f64rate);
      simd.valu_free = start + (slow ? slow_cycles : issue_cycles);
      break;
    }
    case InstClass::mfma: {
      start = std::max(start, simd.mfma_free);
      const uint64_t busy = 4 * uint64_t(mfma_passes(w, i));
      simd.mfma_free = start + busy;
      simd.mfma_busy += busy;
      for (const RegUse& u : i.regs)
        if (u.def && u.vector)
          for (int r = u.first; r < u.first + u.count && r < 512; ++r) t.register_ready[size_t(r)] = start + busy + 2 * issue_cycles;
      break;
    }
    case InstClass::lds:
      lds_free_ = std::max(lds_free_, start) + std::max<uint64_t>(cost.lds_cycles, 1);
      t.lgkm.push_back(lds_free_ + uint64_t(lds_latency * scale_));
      break;
    case InstClass::smem:
      if (i.op->flags & op_load) t.lgkm.push_back(start + uint64_t(scalar_latency * scale_));
      break;
    case InstClass::vmem: case InstClass::flat:
      memory_free_ = std::max(memory_free_, start) + (cost.global_bytes + global_bytes_per_cycle - 1) / global_bytes_per_cycle;
      t.vm.push_back(memory_free_ + uint64_t(global_latency * scale_));
      if (i.op->cls == InstClass::flat && i.seg == 0) t.lgkm.push_back(t.vm.back());
      break;
    case InstClass::wait: {
      const uint64_t before = start;
      keep_outstanding(t.vm, size_t((i.imm & 15) | (i.imm >> 14 & 3) << 4), start);
      keep_outstanding(t.lgkm, size_t(i.imm >> 8 & 15), start);
      t.wait += start - before;
      break;
    }
    default: break;
  }
  t.next = start + issue_cycles * (i.name && *i.name == "S_NOP" ? uint64_t(i.imm & 15) + 1 : 1);
  note_loop(k, w, i);
}

// A branch back is a loop; its time is from the first to the last time the branch is executed.
void Timing::note_loop(size_t k, const Wave& w, const Inst& i) {
  if (k % 4 != 0 || !(i.op->flags & op_branch) || i.target < 0) return;
  const Inst* base = w.program->code.data();
  if (&base[i.target] > w.at) return;
  if (loops_.empty()) loops_.resize(w.program->code.size());
  Loop& loop = loops_[size_t(w.at - base)];
  if (!loop.seen) {
    loop.first = waves_[k].next;
    loop.busy_first = simds_[0].mfma_busy;
    loop.seen = true;
  }
  loop.last = std::max(loop.last, waves_[k].next);
  loop.busy_last = simds_[0].mfma_busy;
}

void Timing::barrier(const std::vector<size_t>& waves) {
  uint64_t latest = 0;
  for (size_t k : waves) latest = std::max(latest, waves_[k].next);
  for (size_t k : waves) {
    waves_[k].wait += latest - waves_[k].next;
    waves_[k].next = latest;
  }
}

Cycles Timing::result() const {
  Cycles c;
  for (const auto& w : waves_) {
    c.elapsed = std::max(c.elapsed, w.next);
    c.wait += w.wait;
  }
  const uint64_t used = std::min<uint64_t>(4, waves_.size());
  for (const auto& s : simds_) c.mfma_busy += s.mfma_busy;
  c.mfma_busy /= std::max<uint64_t>(used, 1);
  for (const Loop& l : loops_) {
    if (!l.seen || l.last <= l.first) continue;
    const uint64_t busy = l.busy_last - l.busy_first;
    if (busy > c.loop_mfma_busy || (busy == c.loop_mfma_busy && l.last - l.first > c.loop_elapsed)) {
      c.loop_mfma_busy = busy;
      c.loop_elapsed = l.last - l.first;
    }
  }
  return c;
}

}  // namespace tile::sim
