// MUBUF: accesses through a buffer descriptor, with its bounds, swizzle, and LDS DMA.
#include "interpreter/machine/buffer_places.h"

namespace tile::sim {
namespace {

template <int Bytes, bool Sign> void buffer_load(Wave& w, const Inst& i) {
  if (!i.lds) return vector_load<BufferPlaces, Bytes, Sign, Half::none>(w, i);
  const uint64_t exec = w.exec();
  const BufferPlaces places(w, i, Bytes);
  dma_to_lds<Bytes, Sign>(w, i, places, exec, w.s[reg_m0] + uint32_t(i.offset));
}

}  // namespace

void add_buffer(OpTable& table) {
  MemoryRows<BufferPlaces> r{table, "BUFFER_", InstClass::vmem};
  r.loads_and_stores();
  r.atomics();
  r.row("LOAD_DWORD_LDS", buffer_load<4, false>, 4, op_load | op_lds_dma);
  r.row("LOAD_DWORDX3_LDS", buffer_load<12, false>, 12, op_load | op_lds_dma);
  r.row("LOAD_DWORDX4_LDS", buffer_load<16, false>, 16, op_load | op_lds_dma);
  r.row("LOAD_UBYTE_LDS", buffer_load<1, false>, 1, op_load | op_lds_dma);
  r.row("LOAD_SBYTE_LDS", buffer_load<1, true>, 1, op_load | op_lds_dma);
  r.row("LOAD_USHORT_LDS", buffer_load<2, false>, 2, op_load | op_lds_dma);
  r.row("LOAD_SSHORT_LDS", buffer_load<2, true>, 2, op_load | op_lds_dma);
  add_typed_buffer(table);
  for (const char* name : {"INV", "INVL2", "WBINVL1", "WBINVL1_VOL", "WBL2"}) r.row(name, [](Wave& w, const Inst& i) { issue_vmem(w, i, 0, 0); }, 0, 0);
}

}  // namespace tile::sim
