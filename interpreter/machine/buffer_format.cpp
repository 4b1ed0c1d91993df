// Typed buffer accesses: MUBUF load/store_format (the format is the descriptor's) and MTBUF (the instruction's).
#include <cmath>

#include "interpreter/machine/buffer_places.h"

namespace tile::sim {
namespace {

// Components by data format number: bits of each, 0 where there is none. The packed 10 and 11 bit formats are left out.
struct Layout { int bits; int count; };
Layout layout_of(int data_format) {
  switch (data_format) {
    case 1: return {8, 1};
    case 2: return {16, 1};
    case 3: return {8, 2};
    case 4: return {32, 1};
    case 5: return {16, 2};
    case 10: return {8, 4};
    case 11: return {32, 2};
    case 12: return {16, 4};
    case 13: return {32, 3};
    case 14: return {32, 4};
    default: return {0, 0};
  }
}

enum NumberFormat { unorm = 0, snorm, uscaled, sscaled, uint, sint, reserved, real };

int32_t sign_extend(uint32_t x, int bits) { return int32_t(x << (32 - bits)) >> (32 - bits); }

// From memory bits to the register's 32 bits.
uint32_t expand(uint32_t x, int bits, int format) {
  const double top = std::ldexp(1.0, bits) - 1, stop = std::ldexp(1.0, bits - 1) - 1;
  switch (format) {
    case unorm: return std::bit_cast<uint32_t>(float(x / top));
    case snorm: return std::bit_cast<uint32_t>(float(std::fmax(-1.0, sign_extend(x, bits) / stop)));
    case uscaled: return std::bit_cast<uint32_t>(float(x));
    case sscaled: return std::bit_cast<uint32_t>(float(sign_extend(x, bits)));
    case sint: return uint32_t(sign_extend(x, bits));
    case real: return bits == 16 ? std::bit_cast<uint32_t>(half_to_float(x)) : x;
    default: return x;
  }
}
uint32_t shrink(uint32_t x, int bits, int format) {
  const double f = double(std::bit_cast<float>(x)), top = std::ldexp(1.0, bits) - 1, stop = std::ldexp(1.0, bits - 1) - 1;
  const uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
  switch (format) {
    case unorm: return uint32_t(uint64_t(std::nearbyint(std::fmin(std::fmax(f, 0.0), 1.0) * top))) & mask;
    case snorm: return uint32_t(int64_t(std::nearbyint(std::fmin(std::fmax(f, -1.0), 1.0) * stop))) & mask;
    case uscaled: return to_int<uint32_t>(std::fmin(f, top)) & mask;
    case sscaled: return uint32_t(to_int<int32_t>(std::fmin(std::fmax(f, -stop - 1), stop))) & mask;
    case real: return bits == 16 ? float_to_half(float(f)) : x;
    default: return x & mask;
  }
}
bool is_real(int format) { return format != uint && format != sint; }

struct Format {
  int data, number;
  uint32_t select;   // 3 bits a component: 0 zero, 1 one, 4-7 x y z w
};
Format format_of(const Wave& w, const Inst& i) {
  const uint32_t d3 = w.s[i.sbase + 3];
  if (i.offset1) return {i.offset1 & 15, i.offset1 >> 4 & 7, 4 | 5 << 3 | 6 << 6 | 7 << 9};   // MTBUF
  return {int(d3 >> 15 & 15), int(d3 >> 12 & 7), d3 & 0xfffu};
}

// Count components; half registers with D16, the high half of one with Hi.
template <int Count, bool D16, bool Hi, bool Store> void typed(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  const Format f = format_of(w, i);
  const Layout layout = layout_of(f.data);
  const int rows = D16 ? (Count + 1) / 2 : Count;
  if (f.data == 0 && !Store) {   // no format: zeros
    for (int l = 0; l < lanes; ++l)
      for (int k = 0; k < rows; ++k)
        if (exec >> l & 1) w.v[i.dst + k][l] = 0;
    return issue_vmem(w, i, i.dst, rows);
  }
  if (f.data == 0) return issue_vmem(w, i, 0, 0);
  if (layout.count == 0) return fault(w, FaultKind::unsupported, fmt::format("buffer data format {} is not implemented", f.data));
  const int unit = layout.bits / 8, bytes = unit * (Store ? std::min(Count, layout.count) : layout.count);
  const BufferPlaces places(w, i, bytes);
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    uint8_t buf[16] = {};
    const int n = places.bytes(l, bytes);
    if (Store) {
      for (int k = 0; k < std::min(Count, layout.count); ++k) {
        uint32_t x = D16 ? w.v[i.data + k / 2][l] >> (Hi || k % 2 ? 16 : 0) & 0xffffu : w.v[i.data + k][l];
        if (D16 && is_real(f.number)) x = std::bit_cast<uint32_t>(half_to_float(x));
        const uint32_t m = shrink(x, layout.bits, f.number);
        std::memcpy(buf + k * unit, &m, size_t(unit));
      }
      if (n && !write_place(w, l, places.at(l), n, buf)) return;
      continue;
    }
    if (n && !read_place(w, l, places.at(l), n, buf)) return;
    uint32_t component[4] = {0, 0, 0, 0};
    for (int k = 0; k < layout.count; ++k) {
      uint32_t m = 0;
      std::memcpy(&m, buf + k * unit, size_t(unit));
      component[k] = expand(m, layout.bits, f.number);
    }
    const uint32_t one = is_real(f.number) ? 0x3f800000u : 1u;
    for (int k = 0; k < Count; ++k) {
      const uint32_t s = f.select >> (3 * k) & 7;
      uint32_t x = s >= 4 ? (int(s) - 4 < layout.count ? component[s - 4] : s == 7 ? one : 0) : s == 1 ? one : 0;
      if (!D16) { w.v[i.dst + k][l] = x; continue; }
      if (is_real(f.number)) x = float_to_half(std::bit_cast<float>(x));
      uint32_t& d = w.v[i.dst + k / 2][l];
      if (Hi || k % 2) d = (d & 0xffffu) | x << 16;
      else d = (d & 0xffff0000u) | (x & 0xffffu);
    }
  }
  issue_vmem(w, i, Store ? 0 : i.dst, Store ? 0 : rows);
}

}  // namespace

void add_typed_buffer(OpTable& table) {
  auto row = [&](const std::string& name, Handler fn, uint16_t flags) {
    OpInfo o;
    o.fn = fn;
    o.cls = InstClass::vmem;
    o.flags = flags;
    o.aux = 4;
    table.emplace_back(name, o);
  };
  for (const std::string p : {"BUFFER_", "TBUFFER_"}) {
    row(p + "LOAD_FORMAT_X", typed<1, false, false, false>, op_load);
    row(p + "LOAD_FORMAT_XY", typed<2, false, false, false>, op_load);
    row(p + "LOAD_FORMAT_XYZ", typed<3, false, false, false>, op_load);
    row(p + "LOAD_FORMAT_XYZW", typed<4, false, false, false>, op_load);
    row(p + "STORE_FORMAT_X", typed<1, false, false, true>, op_store);
    row(p + "STORE_FORMAT_XY", typed<2, false, false, true>, op_store);
    row(p + "STORE_FORMAT_XYZ", typed<3, false, false, true>, op_store);
    row(p + "STORE_FORMAT_XYZW", typed<4, false, false, true>, op_store);
    row(p + "LOAD_FORMAT_D16_X", typed<1, true, false, false>, op_load);
    row(p + "LOAD_FORMAT_D16_XY", typed<2, true, false, false>, op_load);
    row(p + "LOAD_FORMAT_D16_XYZ", typed<3, true, false, false>, op_load);
    row(p + "LOAD_FORMAT_D16_XYZW", typed<4, true, false, false>, op_load);
    row(p + "STORE_FORMAT_D16_X", typed<1, true, false, true>, op_store);
    row(p + "STORE_FORMAT_D16_XY", typed<2, true, false, true>, op_store);
    row(p + "STORE_FORMAT_D16_XYZ", typed<3, true, false, true>, op_store);
    row(p + "STORE_FORMAT_D16_XYZW", typed<4, true, false, true>, op_store);
  }
  row("BUFFER_LOAD_FORMAT_D16_HI_X", typed<1, true, true, false>, op_load);
  row("BUFFER_STORE_FORMAT_D16_HI_X", typed<1, true, true, true>, op_store);
}

}  // namespace tile::sim
