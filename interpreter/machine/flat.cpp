// FLAT, GLOBAL and SCRATCH instructions, and what all vector memory instructions share.
#include "interpreter/machine/vector_memory.h"

namespace tile::sim {

bool scratch_read(Wave& w, int lane, uint64_t offset, int bytes, uint8_t* to) {
  if (offset + uint64_t(bytes) > w.scratch_lane) {
    fault(w, FaultKind::out_of_bounds, fmt::format("{} bytes at offset {} of scratch, which has {} bytes a lane", bytes, offset, w.scratch_lane), lane);
    return false;
  }
  for (int b = 0; b < bytes; ++b) to[b] = w.scratch[scratch_byte(lane, offset + uint64_t(b))];
  return true;
}

bool scratch_write(Wave& w, int lane, uint64_t offset, int bytes, const uint8_t* from) {
  if (offset + uint64_t(bytes) > w.scratch_lane) {
    fault(w, FaultKind::out_of_bounds, fmt::format("{} bytes at offset {} of scratch, which has {} bytes a lane", bytes, offset, w.scratch_lane), lane);
    return false;
  }
  for (int b = 0; b < bytes; ++b) w.scratch[scratch_byte(lane, offset + uint64_t(b))] = from[b];
  return true;
}

bool read_place(Wave& w, int lane, Place p, int bytes, uint8_t* to, bool atomic) {
  if (p.space == Space::lds) return lds_read(w, lane, p.address, bytes, to, atomic);
  if (p.space == Space::scratch) return scratch_read(w, lane, p.address, bytes, to);
  const uint8_t* from = global_pointer(w, p.address, uint64_t(bytes), false, lane);
  if (!from) return false;
  std::memcpy(to, from, size_t(bytes));
  return true;
}

bool write_place(Wave& w, int lane, Place p, int bytes, const uint8_t* from, bool atomic) {
  if (p.space == Space::lds) return lds_write(w, lane, p.address, bytes, from, atomic);
  if (p.space == Space::scratch) return scratch_write(w, lane, p.address, bytes, from);
  uint8_t* to = global_pointer(w, p.address, uint64_t(bytes), true, lane);
  if (!to) return false;
  std::memcpy(to, from, size_t(bytes));
  return true;
}

Place flat_place(const Wave& w, const Inst& i, int lane) {
  if (i.seg == 1) {   // scratch: 32-bit offsets
    uint32_t at = uint32_t(i.offset);
    if (i.has_vaddr) at += w.v[i.addr][lane];
    if (i.sbase != 0x7f) at += w.s[i.sbase];
    return {Space::scratch, at};
  }
  uint64_t address;
  if (i.sbase != 0x7f && i.seg == 2) address = w.s64(i.sbase) + w.v[i.addr][lane];
  else address = uint64_t(w.v[i.addr + 1][lane]) << 32 | w.v[i.addr][lane];
  address += uint64_t(int64_t(i.offset));
  if (i.seg == 0) {
    if (address >> 32 == shared_aperture >> 32) return {Space::lds, address & 0xffffffffu};
    if (address >> 32 == private_aperture >> 32) return {Space::scratch, address & 0xffffffffu};
  }
  return {Space::global, address};
}

namespace {

void issue(Wave& w, const Inst& i, int reg, int rows) {
  if (i.seg == 0) issue_flat(w, i, reg, rows);
  else issue_vmem(w, i, reg, rows);
}

struct FlatPlaces {
  uint64_t address[lanes];
  Space space[lanes];
  FlatPlaces(Wave& w, const Inst& i, int) {
    for (int l = 0; l < lanes; ++l) {
      const Place p = flat_place(w, i, l);
      address[l] = p.address;
      space[l] = p.space;
    }
  }
  Place at(int l) const { return {space[l], address[l]}; }
  int bytes(int, int all) const { return all; }
  void count(Wave& w, const Inst& i, uint64_t exec, int bytes) const {
    uint64_t global = 0;
    for (int l = 0; l < lanes; ++l)
      if (space[l] == Space::global) global |= uint64_t{1} << l;
    if (exec & global) count_global(w, i, address, exec & global, bytes);
  }
  static void issued(Wave& w, const Inst& i, int reg, int rows) { issue(w, i, reg, rows); }
};

// LDS DMA: lanes land one behind the other from M0; sub-dword sizes fill a dword each.
template <int Bytes, bool Sign> void load_to_lds(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  FlatPlaces places(w, i, Bytes);
  dma_to_lds<Bytes, Sign>(w, i, places, exec, w.s[reg_m0] + uint32_t(i.offset));
}

}  // namespace

void add_flat(OpTable& table) {
  for (const char* prefix : {"FLAT_", "GLOBAL_", "SCRATCH_"}) {
    MemoryRows<FlatPlaces> r{table, prefix, InstClass::flat};
    r.loads_and_stores();
    r.atomics();
    const std::string p(prefix);
    r.row("LOAD_LDS_DWORD", load_to_lds<4, false>, 4, op_load | op_lds_dma);
    r.row("LOAD_LDS_DWORDX3", load_to_lds<12, false>, 12, op_load | op_lds_dma);
    r.row("LOAD_LDS_DWORDX4", load_to_lds<16, false>, 16, op_load | op_lds_dma);
    r.row("LOAD_LDS_UBYTE", load_to_lds<1, false>, 1, op_load | op_lds_dma);
    r.row("LOAD_LDS_SBYTE", load_to_lds<1, true>, 1, op_load | op_lds_dma);
    r.row("LOAD_LDS_USHORT", load_to_lds<2, false>, 2, op_load | op_lds_dma);
    r.row("LOAD_LDS_SSHORT", load_to_lds<2, true>, 2, op_load | op_lds_dma);
  }
}

}  // namespace tile::sim
