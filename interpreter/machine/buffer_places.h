#pragma once
// Buffer descriptors and where each lane's bytes are.
#include "interpreter/machine/vector_memory.h"

namespace tile::sim {

struct Descriptor {
  uint64_t base;
  uint32_t stride, records;
  bool swizzle, add_tid;
  uint32_t element, index_stride;

  Descriptor(const Wave& w, int s) {
    const uint32_t* d = &w.s[s];
    base = d[0] | uint64_t(d[1] & 0xffffu) << 32;
    stride = d[1] >> 16 & 0x3fff;
    swizzle = d[1] >> 31;
    records = d[2];
    element = 2u << (d[3] >> 19 & 3);
    index_stride = 8u << (d[3] >> 21 & 3);
    add_tid = d[3] >> 23 & 1;
  }
};

struct BufferPlaces {
  uint64_t address[lanes];
  uint8_t valid_bytes[lanes];   // bytes inside num_records, from the start of the access
  Space space = Space::global;

  BufferPlaces(Wave& w, const Inst& i, int bytes) {
    const Descriptor d(w, i.sbase);
    const uint32_t soffset = i.src[0].kind == SrcKind::constant ? uint32_t(i.src[0].value) : read_scalar(w, i.src[0].reg);
    const bool structured = d.stride != 0 && d.swizzle;
    const int offset_reg = i.addr + (i.idxen ? 1 : 0);
    if (d.base >= scratch_base && d.base < scratch_base + (uint64_t{1} << 32)) space = Space::scratch;
    for (int l = 0; l < lanes; ++l) {
      const uint32_t index = (i.idxen ? w.v[i.addr][l] : 0) + (d.add_tid ? uint32_t(l) : 0);
      const uint64_t offset = uint64_t(i.offen ? w.v[offset_reg][l] : 0) + uint32_t(i.offset);
      if (space == Space::scratch) {
        // The swizzle interleaves the lanes' dwords; SP and frame offsets are in bytes of the whole wave.
        address[l] = soffset / lanes + offset;
        valid_bytes[l] = uint8_t(bytes);
        continue;
      }
      if (structured) {
        const uint64_t msb = index / d.index_stride, lsb = index % d.index_stride;
        const uint64_t off_msb = offset / d.element, off_lsb = offset % d.element;
        address[l] = d.base + soffset + (msb * d.stride + off_msb * d.element) * d.index_stride + lsb * d.element + off_lsb;
        valid_bytes[l] = index < d.records ? uint8_t(bytes) : 0;
        continue;
      }
      const uint64_t at = offset + uint64_t(d.stride) * index;
      address[l] = d.base + soffset + at;
      valid_bytes[l] = inside(w, i, l, at, soffset, d.records, bytes);
    }
  }

  // Dwords at or behind num_records - soffset are outside. Documents and compilers disagree on whether soffset takes
  // part and on whether a wide access counts as one: where that matters the result is not portable.
  static uint8_t inside(Wave& w, const Inst& i, int lane, uint64_t at, uint32_t soffset, uint32_t records, int bytes) {
    const uint64_t limit = records > soffset ? records - soffset : 0;
    auto count = [&](uint64_t from, uint64_t end) {
      int n = 0;
      const int unit = bytes < 4 ? bytes : 4;
      for (int b = 0; b < bytes; b += unit)
        if (from + uint64_t(b) + uint64_t(unit) <= end) n = b + unit;
      return n;
    };
    const int n = count(at, limit);
    if (w.checks && (w.exec() >> lane & 1)) {
      const int without = count(at, records), wrapped = count(uint32_t(at + soffset), records);
      const bool partial = n != 0 && n != bytes;
      if (without != n || wrapped != n || partial)
        fault(w, FaultKind::ambiguous_bounds,
              fmt::format("buffer access of {} bytes at offset {} + soffset {} with {} records: whether it is inside depends on the reading of the manual",
                          bytes, at, soffset, records), lane);
    }
    (void)i;
    return uint8_t(n);
  }

  Place at(int l) const { return {space, address[l]}; }
  int bytes(int l, int) const { return valid_bytes[l]; }
  void count(Wave& w, const Inst& i, uint64_t exec, int bytes) const {
    if (space != Space::global) return;
    uint64_t in = 0;
    for (int l = 0; l < lanes; ++l)
      if (valid_bytes[l]) in |= uint64_t{1} << l;
    count_global(w, i, address, exec & in, bytes);
  }
  static void issued(Wave& w, const Inst& i, int reg, int rows) { issue_vmem(w, i, reg, rows); }
};

// Typed accesses (buffer_format.cpp).
void add_typed_buffer(OpTable& table);

}  // namespace tile::sim
