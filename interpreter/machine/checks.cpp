#include "interpreter/machine/checks.h"

#include "interpreter/machine/vector_memory.h"

namespace tile::sim {

void reset_checks(WaveChecks& c) {
  std::memset(c.v_undef, 0xff, sizeof c.v_undef);
  std::memset(c.s_undef, 0xff, sizeof c.s_undef);
  for (int r : {reg_m0, reg_exec, reg_exec + 1, reg_vcc, reg_vcc + 1}) c.s_undef[r] = 0;
  c.scc_undef = 0;
  c.pending.clear();
  std::memset(c.v_pending, 0, sizeof c.v_pending);
  std::memset(c.s_pending, 0, sizeof c.s_pending);
  c.vm = c.lgkm = 0;
}

void check_before(Wave&, const Inst&) {}
void shadow_before(Wave&, const Inst&) {}
void shadow_after(Wave&, const Inst&) {}
void check_barrier(Workgroup&, std::vector<std::unique_ptr<Wave>>&, size_t) {}
void finish_checks(Wave&) {}

void wait_counters(Wave&, int) {}
void issue_smem(Wave&, int, int) {}
void issue_vmem(Wave&, const Inst&, int, int) {}
void issue_lds(Wave&, const Inst&, int, int) {}
void issue_flat(Wave&, const Inst&, int, int) {}
void issue_dma(Wave&, const Inst&, const uint32_t*, uint64_t, int) {}
void count_global(Wave&, const Inst&, const uint64_t*, uint64_t, int) {}
void count_lds(Wave&, const Inst&, const uint32_t*, uint64_t, int) {}
void shadow_load(Wave&, int, Place, LoadShape, int, bool) {}
bool shadow_store(Wave&, const Inst&, int, Place, int, bool, int) { return true; }

bool lds_read(Wave& w, int lane, uint64_t address, int bytes, uint8_t* to, bool) {
  if (address + uint64_t(bytes) > w.group->lds_size) {
    fault(w, FaultKind::out_of_bounds, fmt::format("read of {} bytes of LDS at {}, the workgroup has {}", bytes, address, w.group->lds_size), lane);
    return false;
  }
  std::memcpy(to, w.group->lds.data() + address, size_t(bytes));
  return true;
}
bool lds_write(Wave& w, int lane, uint64_t address, int bytes, const uint8_t* from, bool) {
  if (address + uint64_t(bytes) > w.group->lds_size) {
    fault(w, FaultKind::out_of_bounds, fmt::format("write of {} bytes of LDS at {}, the workgroup has {}", bytes, address, w.group->lds_size), lane);
    return false;
  }
  std::memcpy(w.group->lds.data() + address, from, size_t(bytes));
  return true;
}

}  // namespace tile::sim
