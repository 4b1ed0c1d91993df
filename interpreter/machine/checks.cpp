// Waits, LDS races, barriers and wait states.
#include "interpreter/machine/checks.h"

#include <algorithm>
#include <bit>

#include "interpreter/machine/vector_memory.h"

namespace tile::sim {

void reset_checks(WaveChecks& c) {
  std::memset(c.v_undef, 0xff, sizeof c.v_undef);
  std::memset(c.s_undef, 0xff, sizeof c.s_undef);
  for (int r : {reg_m0, reg_exec, reg_exec + 1}) c.s_undef[r] = 0;
  c.scc_undef = false;
  c.pending.clear();
  std::memset(c.v_pending, 0, sizeof c.v_pending);
  std::memset(c.v_pending_vm, 0, sizeof c.v_pending_vm);
  std::memset(c.s_pending, 0, sizeof c.s_pending);
  c.states = 1000;
  std::memset(c.mfma_written, 0, sizeof c.mfma_written);
  std::memset(c.mfma_needs, 0, sizeof c.mfma_needs);
  std::memset(c.valu_written, 0, sizeof c.valu_written);
}

namespace {

Pending pending(Counter counter, bool vector, int first, int count) {
  Pending p;
  p.counter = counter;
  p.vector = vector;
  p.first = uint16_t(first);
  p.count = uint16_t(count);
  return p;
}

void add(WaveChecks& c, Pending p) {
  for (int k = 0; k < p.count; ++k) {
    if (p.vector && p.first + k < 512) {
      ++c.v_pending[p.first + k];
      if (p.counter == Counter::vm) ++c.v_pending_vm[p.first + k];
    }
    if (!p.vector && p.first + k < 132) ++c.s_pending[p.first + k];
  }
  c.pending.push_back(std::move(p));
}

void retire(Wave& w, Pending& p) {
  WaveChecks& c = *w.checks;
  for (int k = 0; k < p.count; ++k) {
    if (p.vector && p.first + k < 512) {
      --c.v_pending[p.first + k];
      if (p.counter == Counter::vm) --c.v_pending_vm[p.first + k];
    }
    if (!p.vector && p.first + k < 132) --c.s_pending[p.first + k];
  }
  if (GroupChecks* g = w.group->checks.get())
    for (uint32_t at : p.dma)
      for (uint32_t b = 0; b < p.dma_bytes && at + b < g->lds.size(); ++b) {
        LdsByte& x = g->lds[at + b];
        if (x.dma) --x.dma;
        x.write_epoch = g->epoch;   // the data arrives now
      }
}

}  // namespace

// Vector memory operations finish in order, and so do LDS operations among themselves; scalar loads do not, so that
// only a wait for zero covers them. FLAT operations count in both.
void wait_counters(Wave& w, int imm) {
  if (!w.checks) return;
  WaveChecks& c = *w.checks;
  const int vm = (imm & 15) | (imm >> 14 & 3) << 4, lgkm = imm >> 8 & 15;
  int vm_out = 0, lds_out = 0;
  for (const Pending& p : c.pending) {
    vm_out += p.counter == Counter::vm || (p.counter == Counter::flat && !p.vm_done);
    lds_out += p.counter == Counter::lds;
  }
  std::deque<Pending> left;
  for (Pending& p : c.pending) {
    bool done = false;
    if (p.counter == Counter::vm && vm_out > vm) { done = true; --vm_out; }
    else if (p.counter == Counter::lds && lds_out > lgkm) { done = true; --lds_out; }
    else if (p.counter == Counter::smem) done = lgkm == 0;
    else if (p.counter == Counter::flat) {
      if (!p.vm_done && vm_out > vm) { p.vm_done = true; --vm_out; }
      done = p.vm_done && lgkm == 0;
    }
    if (done) retire(w, p);
    else left.push_back(std::move(p));
  }
  c.pending.swap(left);
}

void issue_smem(Wave& w, int first, int count) {
  if (!w.checks) return;
  add(*w.checks, pending(Counter::smem, false, first, count));
}
void issue_vmem(Wave& w, const Inst&, int reg, int rows) {
  if (w.checks) add(*w.checks, pending(Counter::vm, true, reg, rows));
}
void issue_lds(Wave& w, const Inst&, int reg, int rows) {
  if (w.checks) add(*w.checks, pending(Counter::lds, true, reg, rows));
}
void issue_flat(Wave& w, const Inst&, int reg, int rows) {
  if (w.checks) add(*w.checks, pending(Counter::flat, true, reg, rows));
}
void issue_dma(Wave& w, const Inst&, const uint32_t* address, uint64_t exec, int bytes) {
  if (!w.checks) return;
  Pending p = pending(Counter::vm, true, 0, 0);
  p.dma_bytes = uint32_t(bytes);
  GroupChecks& g = *w.group->checks;
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    p.dma.push_back(address[l]);
    for (uint32_t b = 0; b < p.dma_bytes && address[l] + b < g.lds.size(); ++b) ++g.lds[address[l] + b].dma;
  }
  add(*w.checks, std::move(p));
}

// ---- LDS
namespace {

bool lds_bounds(Wave& w, int lane, uint64_t address, int bytes, const char* what) {
  if (address + uint64_t(bytes) > w.group->lds_size) {
    fault(w, FaultKind::out_of_bounds, fmt::format("{} of {} bytes of LDS at {}, the workgroup has {}", what, bytes, address, w.group->lds_size), lane);
    return false;
  }
  const uint64_t unit = uint64_t(std::min(bytes, 4));
  if (w.checks && w.launch->options->misaligned_lds && address % unit) {
    fault(w, FaultKind::misaligned, fmt::format("{} of {} bytes of LDS at {}", what, bytes, address), lane);
    return w.state != WaveState::fault;
  }
  return true;
}

}  // namespace

bool lds_read(Wave& w, int lane, uint64_t address, int bytes, uint8_t* to, bool atomic) {
  if (!lds_bounds(w, lane, address, bytes, "read")) return false;
  std::memcpy(to, w.group->lds.data() + address, size_t(bytes));
  if (!w.checks) return true;
  GroupChecks& g = *w.group->checks;
  for (int b = 0; b < bytes; ++b) {
    LdsByte& x = g.lds[address + uint64_t(b)];
    if (x.dma) {
      fault(w, FaultKind::missing_wait, fmt::format("read of LDS at {}, which a load to LDS is still writing", address + uint64_t(b)), lane);
      break;
    }
    if (!x.written) {
      fault(w, FaultKind::lds_uninitialised, fmt::format("read of LDS at {}, which nothing has written", address + uint64_t(b)), lane);
      break;
    }
    if (x.write_epoch == g.epoch && !(x.writers >> w.index & 1) && !(atomic && x.atomic)) {
      fault(w, FaultKind::lds_race, fmt::format("read of LDS at {}, which wave {} wrote since the last barrier", address + uint64_t(b), std::countr_zero(x.writers)), lane);
      break;
    }
    if (atomic) continue;
    if (x.read_epoch != g.epoch) { x.read_epoch = g.epoch; x.reader = int16_t(w.index); }
    else if (x.reader != w.index) x.reader = -2;
  }
  return w.state != WaveState::fault;
}

// Waves may write one place at the same time when they write the same value there.
bool lds_write(Wave& w, int lane, uint64_t address, int bytes, const uint8_t* from, bool atomic) {
  if (!lds_bounds(w, lane, address, bytes, "write")) return false;
  uint8_t* to = w.group->lds.data() + address;
  if (!w.checks) {
    std::memcpy(to, from, size_t(bytes));
    return true;
  }
  GroupChecks& g = *w.group->checks;
  const uint16_t self = uint16_t(1u << w.index);
  for (int b = 0; b < bytes; ++b) {
    LdsByte& x = g.lds[address + uint64_t(b)];
    const bool this_epoch = x.write_epoch == g.epoch;
    const uint16_t others = this_epoch && !(atomic && x.atomic) ? uint16_t(x.writers & ~self) : 0;
    const bool read_by_other = x.read_epoch == g.epoch && x.reader != w.index && x.reader != -1;
    if ((others && to[b] != from[b]) || read_by_other) {
      const std::string who = others ? fmt::format("wave {} wrote", std::countr_zero(others)) : x.reader == -2 ? std::string("several waves read") : fmt::format("wave {} read", x.reader);
      fault(w, FaultKind::lds_race, fmt::format("write of LDS at {}, which {} since the last barrier", address + uint64_t(b), who), lane);
      break;
    }
    x.written = true;
    x.atomic = atomic;
    x.writers = uint16_t(this_epoch ? x.writers | self : self);
    x.write_epoch = g.epoch;
    x.undef = 0;
  }
  std::memcpy(to, from, size_t(bytes));
  return w.state != WaveState::fault;
}

void check_barrier(Workgroup& g, std::vector<std::unique_ptr<Wave>>& waves, size_t count) {
  ++g.checks->epoch;
  Wave* first = nullptr;
  for (size_t k = 0; k < count; ++k) {
    Wave& w = *waves[k];
    if (w.state == WaveState::barrier && !first) first = &w;
  }
  for (size_t k = 0; k < count && first; ++k) {
    Wave& w = *waves[k];
    if (w.state == WaveState::ended && w.launch->options->all_waves_at_barriers) {
      return fault(*first, FaultKind::barrier_divergence, fmt::format("wave {} has ended and will not reach this barrier", k));
    }
    if (w.state == WaveState::barrier && w.at->pc != first->at->pc)
      return fault(w, FaultKind::barrier_divergence, fmt::format("wave {} waits at another barrier, at {:#x}", first->index, first->at->pc));
  }
}

// ---- before each instruction
namespace {

void check_pending(Wave& w, const Inst& i) {
  WaveChecks& c = *w.checks;
  if (c.pending.empty()) return;
  const bool vm_load = (i.op->cls == InstClass::vmem || (i.op->cls == InstClass::flat && i.seg != 0)) && (i.op->flags & op_load);
  for (const RegUse& u : i.regs)
    for (int k = 0; k < u.count; ++k) {
      const int r = u.first + k;
      if (u.vector) {
        if (r >= 512 || !c.v_pending[r]) continue;
        // A later vector memory load may overwrite an earlier one's register: they return in order.
        if (u.def && vm_load && c.v_pending[r] == c.v_pending_vm[r]) continue;
        return fault(w, FaultKind::missing_wait, fmt::format("{} {}{} before the s_waitcnt for its load", u.def ? "write of" : "use of", r < 256 ? "v" : "a", r & 255));
      }
      if (r < 132 && c.s_pending[r]) return fault(w, FaultKind::missing_wait, fmt::format("{} s{} before the s_waitcnt for its load", u.def ? "write of" : "use of", r));
    }
}

// Wait states between a matrix instruction and the use of its result by others, and between the vector ALU and a
// matrix instruction that reads its result. The bounds are the least of those that LLVM's hazard recogniser keeps.
void check_hazards(Wave& w, const Inst& i) {
  WaveChecks& c = *w.checks;
  const bool mfma = i.op->cls == InstClass::mfma;
  int sources = 0;
  for (const RegUse& u : i.regs) {
    if (!u.vector) continue;
    if (mfma) {
      if (u.def || ++sources > 2) continue;   // C may be the result of the instruction before
    }
    for (int k = 0; k < u.count && u.first + k < 512; ++k) {
      const int r = u.first + k;
      if (c.mfma_needs[r] && c.states - c.mfma_written[r] < c.mfma_needs[r])
        return fault(w, FaultKind::hazard, fmt::format("{}{} needs {} wait states after the matrix instruction that writes it, there are {}", r < 256 ? "v" : "a", r & 255,
                                                       c.mfma_needs[r], c.states - c.mfma_written[r]));
      if (mfma && c.valu_written[r] && c.states - c.valu_written[r] < 2)
        return fault(w, FaultKind::hazard, fmt::format("{}{} needs 2 wait states between its write and a matrix instruction, there are {}", r < 256 ? "v" : "a", r & 255,
                                                       c.states - c.valu_written[r]));
    }
  }
}

void note_writes(Wave& w, const Inst& i) {
  WaveChecks& c = *w.checks;
  const bool mfma = i.op->cls == InstClass::mfma, valu = i.op->cls == InstClass::valu || i.op->cls == InstClass::trans;
  c.states += i.name && *i.name == "S_NOP" ? uint64_t(i.imm & 15) + 1 : 1;
  if (!mfma && !valu) return;
  for (const RegUse& u : i.regs) {
    if (!u.vector || !u.def) continue;
    for (int k = 0; k < u.count && u.first + k < 512; ++k) {
      const int r = u.first + k;
      c.mfma_needs[r] = mfma ? uint8_t(mfma_passes(w, i) + 2) : 0;
      c.mfma_written[r] = mfma ? c.states : 0;
      c.valu_written[r] = valu ? c.states : 0;
    }
  }
}

bool undefined_lane(const WaveChecks& c, int reg, uint64_t exec, int& lane) {
  for (int l = 0; l < lanes; ++l)
    if ((exec >> l & 1) && c.v_undef[reg][l]) {
      lane = l;
      return true;
    }
  return false;
}

void check_address(Wave& w, const Inst& i) {
  const WaveChecks& c = *w.checks;
  const uint64_t exec = w.exec();
  int lane = -1;
  int rows = 0;
  bool scalar = false;
  switch (i.op->cls) {
    case InstClass::lds: rows = i.op->flags & (op_load | op_store) ? 1 : 0; break;
    case InstClass::flat:
      rows = i.seg == 1 ? (i.has_vaddr ? 1 : 0) : i.seg == 2 && i.sbase != 0x7f ? 1 : 2;
      scalar = i.sbase != 0x7f && (c.s_undef[i.sbase] || (i.seg == 2 && c.s_undef[i.sbase + 1]));
      break;
    case InstClass::vmem:
      rows = (i.offen ? 1 : 0) + (i.idxen ? 1 : 0);
      scalar = i.op->aux && (c.s_undef[i.sbase] || c.s_undef[i.sbase + 1] || c.s_undef[i.sbase + 2] || c.s_undef[i.sbase + 3]);
      if (i.src[0].kind == SrcKind::sgpr && i.src[0].reg < 128) scalar = scalar || c.s_undef[i.src[0].reg];
      break;
    case InstClass::smem:
      scalar = i.op->aux && (i.op->flags & (op_load | op_store)) && i.name->find("TIME") == std::string::npos && (c.s_undef[i.sbase] || c.s_undef[i.sbase + 1]);
      break;
    default: return;
  }
  if (scalar) return fault(w, FaultKind::undefined_use, "the address has undefined bits (scalar part)");
  for (int k = 0; k < rows; ++k)
    if (undefined_lane(c, i.addr + k, exec, lane)) return fault(w, FaultKind::undefined_use, fmt::format("the address has undefined bits (v{})", i.addr + k), lane);
}

void check_branch(Wave& w, const Inst& i) {
  if (!(i.op->flags & op_branch)) return;
  const WaveChecks& c = *w.checks;
  const std::string& n = *i.name;
  if (n.find("_SCC") != n.npos && c.scc_undef) return fault(w, FaultKind::undefined_use, "the branch depends on undefined bits (scc)");
  if (n.find("_VCC") == n.npos) return;
  const uint64_t undef = uint64_t(c.s_undef[reg_vcc + 1]) << 32 | c.s_undef[reg_vcc];
  if (undef && (w.vcc() & ~undef) == 0) fault(w, FaultKind::undefined_use, "the branch depends on undefined bits (vcc)");
}

}  // namespace

void check_before(Wave& w, const Inst& i) {
  check_pending(w, i);
  check_hazards(w, i);
  check_address(w, i);
  check_branch(w, i);
  note_writes(w, i);
}

}  // namespace tile::sim
