// LDS instructions.
#include "interpreter/machine/atomics.h"
#include "interpreter/machine/checks.h"
#include "interpreter/machine/lane_memory.h"
#include "interpreter/machine/salu.h"

namespace tile::sim {
namespace {


void gather_addresses(const Wave& w, const Inst& i, uint32_t offset, uint32_t* address) {
  for (int l = 0; l < lanes; ++l) address[l] = w.v[i.addr][l] + offset;
}

template <int Bytes, bool Sign, Half H> void read(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  uint32_t address[lanes];
  gather_addresses(w, i, uint32_t(i.imm), address);
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    uint8_t buf[16];
    if (!lds_read(w, l, address[l], Bytes, buf)) return;
    deliver(w, i.dst, l, {Bytes, Sign, H}, buf);
    if (w.checks) shadow_lds_load(w, l, address[l], Bytes, Sign, int(H), i.dst);
  }
  count_lds(w, i, address, exec, Bytes);
  issue_lds(w, i, i.dst, load_rows(Bytes));
}

template <int Bytes, int Stride> void read2(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  uint32_t a0[lanes], a1[lanes];
  gather_addresses(w, i, uint32_t(i.offset) * Bytes * Stride, a0);
  gather_addresses(w, i, uint32_t(i.offset1) * Bytes * Stride, a1);
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    uint8_t buf[16];
    if (!lds_read(w, l, a0[l], Bytes, buf) || !lds_read(w, l, a1[l], Bytes, buf + Bytes)) return;
    deliver(w, i.dst, l, {2 * Bytes}, buf);
    if (w.checks) {
      shadow_lds_load(w, l, a0[l], Bytes, false, 0, i.dst);
      shadow_lds_load(w, l, a1[l], Bytes, false, 0, i.dst + Bytes / 4);
    }
  }
  count_lds(w, i, a0, exec, Bytes);
  count_lds(w, i, a1, exec, Bytes);
  issue_lds(w, i, i.dst, 2 * Bytes / 4);
}

template <int Bytes, bool High> void write(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  uint32_t address[lanes];
  gather_addresses(w, i, uint32_t(i.imm), address);
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    uint8_t buf[16];
    collect(w, i.data, l, Bytes, High, buf);
    if (!lds_write(w, l, address[l], Bytes, buf)) return;
    if (w.checks && !shadow_lds_store(w, l, address[l], Bytes, High, i.data)) return;
  }
  count_lds(w, i, address, exec, Bytes);
  issue_lds(w, i, 0, 0);
}

template <int Bytes, int Stride> void write2(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  uint32_t a0[lanes], a1[lanes];
  gather_addresses(w, i, uint32_t(i.offset) * Bytes * Stride, a0);
  gather_addresses(w, i, uint32_t(i.offset1) * Bytes * Stride, a1);
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    uint8_t buf[8];
    collect(w, i.data, l, Bytes, false, buf);
    if (!lds_write(w, l, a0[l], Bytes, buf)) return;
    if (w.checks && !shadow_lds_store(w, l, a0[l], Bytes, false, i.data)) return;
    collect(w, i.data1, l, Bytes, false, buf);
    if (!lds_write(w, l, a1[l], Bytes, buf)) return;
    if (w.checks && !shadow_lds_store(w, l, a1[l], Bytes, false, i.data1)) return;
  }
  count_lds(w, i, a0, exec, Bytes);
  count_lds(w, i, a1, exec, Bytes);
  issue_lds(w, i, 0, 0);
}

template <class U> U register_value(const Wave& w, int reg, int lane) {
  if constexpr (sizeof(U) == 4) return w.v[reg][lane];
  else return uint64_t(w.v[reg + 1][lane]) << 32 | w.v[reg][lane];
}
template <class U> void set_register(Wave& w, int reg, int lane, U x) {
  w.v[reg][lane] = uint32_t(x);
  if constexpr (sizeof(U) == 8) w.v[reg + 1][lane] = uint32_t(x >> 32);
}

// Compare-and-swap has the comparison in data0 and the new value in data1; mskor the mask and the bits.
template <class U, Rmw Op, bool Returns> void atomic(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  uint32_t address[lanes];
  gather_addresses(w, i, uint32_t(i.imm), address);
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    U old;
    if (!lds_read(w, l, address[l], sizeof(U), reinterpret_cast<uint8_t*>(&old), true)) return;
    const U d0 = register_value<U>(w, i.data, l), d1 = register_value<U>(w, i.data1, l);
    constexpr bool swapped = Op == Rmw::cmpswap || Op == Rmw::fcmpswap;
    const U next = swapped ? rmw<U>(Op, old, d1, d0) : rmw<U>(Op, old, d0, d1);
    if (!lds_write(w, l, address[l], sizeof(U), reinterpret_cast<const uint8_t*>(&next), true)) return;
    if (w.checks && !shadow_lds_store(w, l, address[l], sizeof(U), false, i.data)) return;
    if (Returns) set_register<U>(w, i.dst, l, old);
    if (Returns && w.checks)
      for (size_t k = 0; k < sizeof(U) / 4; ++k) w.checks->v_undef[i.dst + k][l] = 0;
  }
  count_lds(w, i, address, exec, sizeof(U));
  issue_lds(w, i, i.dst, Returns ? int(sizeof(U) / 4) : 0);
}

template <class U, int Stride> void exchange2(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    for (int k = 0; k < 2; ++k) {
      const uint32_t at = w.v[i.addr][l] + uint32_t(k ? i.offset1 : i.offset) * uint32_t(sizeof(U)) * Stride;
      U old;
      const U next = register_value<U>(w, k ? i.data1 : i.data, l);
      if (!lds_read(w, l, at, sizeof(U), reinterpret_cast<uint8_t*>(&old), true)) return;
      if (!lds_write(w, l, at, sizeof(U), reinterpret_cast<const uint8_t*>(&next), true)) return;
      set_register<U>(w, i.dst + k * int(sizeof(U) / 4), l, old);
      if (w.checks)
        for (size_t r = 0; r < sizeof(U) / 4; ++r) w.checks->v_undef[i.dst + k * int(sizeof(U) / 4) + int(r)][l] = 0;
    }
  }
  issue_lds(w, i, i.dst, int(sizeof(U) / 2));
}

// Of each dword pair, a set top bit of the data means: write the rest.
void condxchg(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    const uint32_t base = (w.v[i.addr][l] + uint32_t(i.imm)) & 0xfff8u;
    for (int k = 0; k < 2; ++k) {
      uint32_t old;
      if (!lds_read(w, l, base + 4u * uint32_t(k), 4, reinterpret_cast<uint8_t*>(&old), true)) return;
      const uint32_t d = w.v[i.data + k][l], next = d & 0x7fffffffu;
      if ((d >> 31) && !lds_write(w, l, base + 4u * uint32_t(k), 4, reinterpret_cast<const uint8_t*>(&next), true)) return;
      w.v[i.dst + k][l] = old;
      if (w.checks) w.checks->v_undef[i.dst + k][l] = 0;
    }
  }
  issue_lds(w, i, i.dst, 2);
}

template <bool Write> void addtid(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    const uint32_t at = uint32_t(i.imm) + (w.s[reg_m0] & 0xffffu) + 4u * uint32_t(l);
    if (Write ? !lds_write(w, l, at, 4, reinterpret_cast<const uint8_t*>(&w.v[i.data][l]))
              : !lds_read(w, l, at, 4, reinterpret_cast<uint8_t*>(&w.v[i.dst][l])))
      return;
    if (w.checks && Write && !shadow_lds_store(w, l, at, 4, false, i.data)) return;
    if (w.checks && !Write) shadow_lds_load(w, l, at, 4, false, 0, i.dst);
  }
  issue_lds(w, i, i.dst, Write ? 0 : 1);
}

// A counter in LDS at M0 + offset goes up or down by the number of active lanes; all get the old value.
template <bool Up> void append(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec(), at = (w.s[reg_m0] & 0xffffu) + uint32_t(i.imm);
  uint32_t old;
  if (!lds_read(w, -1, at, 4, reinterpret_cast<uint8_t*>(&old), true)) return;
  const uint32_t n = uint32_t(__builtin_popcountll(exec)), next = Up ? old + n : old - n;
  if (!lds_write(w, -1, at, 4, reinterpret_cast<const uint8_t*>(&next), true)) return;
  for (int l = 0; l < lanes; ++l)
    if (exec >> l & 1) {
      w.v[i.dst][l] = old;
      if (w.checks) w.checks->v_undef[i.dst][l] = 0;
    }
  issue_lds(w, i, i.dst, 1);
}

void permute(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  uint32_t out[lanes] = {};
  for (int l = 0; l < lanes; ++l)
    if (exec >> l & 1) out[(w.v[i.addr][l] + uint32_t(i.imm)) / 4 % lanes] = w.v[i.data][l];
  for (int l = 0; l < lanes; ++l)
    if (exec >> l & 1) w.v[i.dst][l] = out[l];
  issue_lds(w, i, i.dst, 1);
}

void bpermute(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  uint32_t out[lanes];
  for (int l = 0; l < lanes; ++l) {
    const uint32_t from = (w.v[i.addr][l] + uint32_t(i.imm)) / 4 % lanes;
    out[l] = exec >> from & 1 ? w.v[i.data][from] : 0;
  }
  for (int l = 0; l < lanes; ++l)
    if (exec >> l & 1) w.v[i.dst][l] = out[l];
  issue_lds(w, i, i.dst, 1);
}

}  // namespace

int swizzle_source(int offset, int lane) {
  if (offset & 0x8000) {
    if ((offset & 0xe000) == 0xe000) return lane;                                                     // FFT mode: see below
    if ((offset & 0xe000) == 0xc000) {                                                                // rotate in 32 lanes
      const int n = offset >> 5 & 31, keep = offset & 31, dir = offset >> 10 & 1;
      const int rotated = dir ? lane - n : lane + n;
      return (lane & 32) | (lane & keep) | (rotated & ~keep & 31);
    }
    return (lane & ~3) | (offset >> (2 * (lane & 3)) & 3);                                            // quad permute
  }
  const int mask_and = offset & 31, mask_or = offset >> 5 & 31, mask_xor = offset >> 10 & 31;
  return (lane & 32) | (((lane & mask_and) | mask_or) ^ mask_xor);
}

namespace {

void swizzle(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  uint32_t out[lanes];
  if ((i.imm & 0xe000) == 0xe000 && (i.imm & 0x1f) != 0x1f) return fault(w, FaultKind::unsupported, "ds_swizzle_b32 in FFT mode is not implemented");
  for (int l = 0; l < lanes; ++l) {
    const int from = swizzle_source(i.imm, l);
    out[l] = exec >> from & 1 ? w.v[i.addr][from] : 0;
  }
  for (int l = 0; l < lanes; ++l)
    if (exec >> l & 1) w.v[i.dst][l] = out[l];
  issue_lds(w, i, i.dst, 1);
}

// Transposed reads: 16 lanes each bring 64 bits (96 for 6-bit elements) and exchange elements of `Bits` bits.
template <int Bits> void read_transposed(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  constexpr int bytes = Bits == 6 ? 12 : 8;
  uint32_t address[lanes];
  gather_addresses(w, i, uint32_t(i.imm), address);
  uint8_t in[lanes][16] = {};
  for (int l = 0; l < lanes; ++l)
    if ((exec >> l & 1) && !lds_read(w, l, address[l], bytes, in[l])) return;
  auto element = [&](int lane, int k) {
    uint32_t x = 0;
    for (int b = 0; b < Bits; ++b) {
      const int at = k * Bits + b;
      x |= uint32_t(in[lane][at / 8] >> (at % 8) & 1) << b;
    }
    return x;
  };
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    const int group = l & ~15, t = l & 15;
    uint32_t out[4] = {};
    constexpr int n = bytes * 8 / Bits;   // elements a lane
    for (int k = 0; k < n; ++k) {
      int from, e;
      if (Bits == 16) { from = 4 * k + t / 4; e = t % 4; }
      else if (Bits == 8) { from = 2 * k + t / 8; e = t % 8; }
      else { from = k; e = t; }
      const uint32_t x = element(group + from, e);
      for (int b = 0; b < Bits; ++b) out[(k * Bits + b) / 32] |= (x >> b & 1) << ((k * Bits + b) % 32);
    }
    for (int k = 0; k < bytes / 4; ++k) w.v[i.dst + k][l] = out[k];
    if (w.checks)   // of its own lane's address; the exchange is not followed element by element
      shadow_lds_load(w, l, address[l], bytes, false, 0, i.dst);
  }
  count_lds(w, i, address, exec, bytes);
  issue_lds(w, i, i.dst, bytes / 4);
}

struct Rows {
  OpTable& table;
  void row(const std::string& name, Handler fn, int bytes, uint16_t flags, Shadow shadow = Shadow::custom) {
    OpInfo o;
    o.fn = fn;
    o.cls = InstClass::lds;
    o.aux = bytes;
    o.flags = flags;
    o.shadow = shadow;
    table.emplace_back(name, o);
  }
  template <class U, Rmw Op> void rmw_rows(const char* plain, const char* rtn) {
    if (plain) row(plain, atomic<U, Op, false>, sizeof(U), op_atomic | op_store);
    if (rtn) row(rtn, atomic<U, Op, true>, sizeof(U), op_atomic | op_store | op_load);
  }
};

}  // namespace

void add_lds(OpTable& table) {
  Rows r{table};
  r.row("DS_READ_B32", read<4, false, Half::none>, 4, op_load);
  r.row("DS_READ_B64", read<8, false, Half::none>, 8, op_load);
  r.row("DS_READ_B96", read<12, false, Half::none>, 12, op_load);
  r.row("DS_READ_B128", read<16, false, Half::none>, 16, op_load);
  r.row("DS_READ_I8", read<1, true, Half::none>, 1, op_load);
  r.row("DS_READ_U8", read<1, false, Half::none>, 1, op_load);
  r.row("DS_READ_I16", read<2, true, Half::none>, 2, op_load);
  r.row("DS_READ_U16", read<2, false, Half::none>, 2, op_load);
  r.row("DS_READ_U8_D16", read<1, false, Half::lo>, 1, op_load);
  r.row("DS_READ_U8_D16_HI", read<1, false, Half::hi>, 1, op_load);
  r.row("DS_READ_I8_D16", read<1, true, Half::lo>, 1, op_load);
  r.row("DS_READ_I8_D16_HI", read<1, true, Half::hi>, 1, op_load);
  r.row("DS_READ_U16_D16", read<2, false, Half::lo>, 2, op_load);
  r.row("DS_READ_U16_D16_HI", read<2, false, Half::hi>, 2, op_load);
  r.row("DS_READ2_B32", read2<4, 1>, 4, op_load);
  r.row("DS_READ2_B64", read2<8, 1>, 8, op_load);
  r.row("DS_READ2ST64_B32", read2<4, 64>, 4, op_load);
  r.row("DS_READ2ST64_B64", read2<8, 64>, 8, op_load);
  r.row("DS_WRITE_B8", write<1, false>, 1, op_store);
  r.row("DS_WRITE_B8_D16_HI", write<1, true>, 1, op_store);
  r.row("DS_WRITE_B16", write<2, false>, 2, op_store);
  r.row("DS_WRITE_B16_D16_HI", write<2, true>, 2, op_store);
  r.row("DS_WRITE_B32", write<4, false>, 4, op_store);
  r.row("DS_WRITE_B64", write<8, false>, 8, op_store);
  r.row("DS_WRITE_B96", write<12, false>, 12, op_store);
  r.row("DS_WRITE_B128", write<16, false>, 16, op_store);
  r.row("DS_WRITE2_B32", write2<4, 1>, 4, op_store);
  r.row("DS_WRITE2_B64", write2<8, 1>, 8, op_store);
  r.row("DS_WRITE2ST64_B32", write2<4, 64>, 4, op_store);
  r.row("DS_WRITE2ST64_B64", write2<8, 64>, 8, op_store);
  r.row("DS_READ_B64_TR_B16", read_transposed<16>, 8, op_load | op_lanes);
  r.row("DS_READ_B64_TR_B8", read_transposed<8>, 8, op_load | op_lanes);
  r.row("DS_READ_B64_TR_B4", read_transposed<4>, 8, op_load | op_lanes);
  r.row("DS_READ_B96_TR_B6", read_transposed<6>, 12, op_load | op_lanes);
  r.row("DS_PERMUTE_B32", permute, 4, op_lanes);
  r.row("DS_BPERMUTE_B32", bpermute, 4, op_lanes);
  r.row("DS_SWIZZLE_B32", swizzle, 4, op_lanes);
  r.row("DS_READ_ADDTID_B32", addtid<false>, 4, op_load);
  r.row("DS_WRITE_ADDTID_B32", addtid<true>, 4, op_store);
  r.row("DS_WRXCHG2_RTN_B32", exchange2<uint32_t, 1>, 4, op_atomic | op_load | op_store);
  r.row("DS_WRXCHG2ST64_RTN_B32", exchange2<uint32_t, 64>, 4, op_atomic | op_load | op_store);
  r.row("DS_WRXCHG2_RTN_B64", exchange2<uint64_t, 1>, 8, op_atomic | op_load | op_store);
  r.row("DS_WRXCHG2ST64_RTN_B64", exchange2<uint64_t, 64>, 8, op_atomic | op_load | op_store);
  r.row("DS_CONDXCHG32_RTN_B64", condxchg, 8, op_atomic | op_load | op_store);
  r.row("DS_APPEND", append<true>, 4, op_atomic | op_load | op_store);
  r.row("DS_CONSUME", append<false>, 4, op_atomic | op_load | op_store);
  r.row("DS_NOP", [](Wave&, const Inst&) {}, 0, 0);
  using A = uint32_t;
  using B = uint64_t;
  r.rmw_rows<A, Rmw::add>("DS_ADD_U32", "DS_ADD_RTN_U32");
  r.rmw_rows<A, Rmw::sub>("DS_SUB_U32", "DS_SUB_RTN_U32");
  r.rmw_rows<A, Rmw::rsub>("DS_RSUB_U32", "DS_RSUB_RTN_U32");
  r.rmw_rows<A, Rmw::inc>("DS_INC_U32", "DS_INC_RTN_U32");
  r.rmw_rows<A, Rmw::dec>("DS_DEC_U32", "DS_DEC_RTN_U32");
  r.rmw_rows<A, Rmw::smin>("DS_MIN_I32", "DS_MIN_RTN_I32");
  r.rmw_rows<A, Rmw::smax>("DS_MAX_I32", "DS_MAX_RTN_I32");
  r.rmw_rows<A, Rmw::umin>("DS_MIN_U32", "DS_MIN_RTN_U32");
  r.rmw_rows<A, Rmw::umax>("DS_MAX_U32", "DS_MAX_RTN_U32");
  r.rmw_rows<A, Rmw::band>("DS_AND_B32", "DS_AND_RTN_B32");
  r.rmw_rows<A, Rmw::bor>("DS_OR_B32", "DS_OR_RTN_B32");
  r.rmw_rows<A, Rmw::bxor>("DS_XOR_B32", "DS_XOR_RTN_B32");
  r.rmw_rows<A, Rmw::mskor>("DS_MSKOR_B32", "DS_MSKOR_RTN_B32");
  r.rmw_rows<A, Rmw::swap>(nullptr, "DS_WRXCHG_RTN_B32");
  r.rmw_rows<A, Rmw::cmpswap>("DS_CMPST_B32", "DS_CMPST_RTN_B32");
  r.rmw_rows<A, Rmw::fcmpswap>("DS_CMPST_F32", "DS_CMPST_RTN_F32");
  r.rmw_rows<A, Rmw::fmin>("DS_MIN_F32", "DS_MIN_RTN_F32");
  r.rmw_rows<A, Rmw::fmax>("DS_MAX_F32", "DS_MAX_RTN_F32");
  r.rmw_rows<A, Rmw::fadd>("DS_ADD_F32", "DS_ADD_RTN_F32");
  r.rmw_rows<A, Rmw::pk_f16>("DS_PK_ADD_F16", "DS_PK_ADD_RTN_F16");
  r.rmw_rows<A, Rmw::pk_bf16>("DS_PK_ADD_BF16", "DS_PK_ADD_RTN_BF16");
  r.rmw_rows<A, Rmw::wrap>(nullptr, "DS_WRAP_RTN_B32");
  r.rmw_rows<B, Rmw::add>("DS_ADD_U64", "DS_ADD_RTN_U64");
  r.rmw_rows<B, Rmw::sub>("DS_SUB_U64", "DS_SUB_RTN_U64");
  r.rmw_rows<B, Rmw::rsub>("DS_RSUB_U64", "DS_RSUB_RTN_U64");
  r.rmw_rows<B, Rmw::inc>("DS_INC_U64", "DS_INC_RTN_U64");
  r.rmw_rows<B, Rmw::dec>("DS_DEC_U64", "DS_DEC_RTN_U64");
  r.rmw_rows<B, Rmw::smin>("DS_MIN_I64", "DS_MIN_RTN_I64");
  r.rmw_rows<B, Rmw::smax>("DS_MAX_I64", "DS_MAX_RTN_I64");
  r.rmw_rows<B, Rmw::umin>("DS_MIN_U64", "DS_MIN_RTN_U64");
  r.rmw_rows<B, Rmw::umax>("DS_MAX_U64", "DS_MAX_RTN_U64");
  r.rmw_rows<B, Rmw::band>("DS_AND_B64", "DS_AND_RTN_B64");
  r.rmw_rows<B, Rmw::bor>("DS_OR_B64", "DS_OR_RTN_B64");
  r.rmw_rows<B, Rmw::bxor>("DS_XOR_B64", "DS_XOR_RTN_B64");
  r.rmw_rows<B, Rmw::mskor>("DS_MSKOR_B64", "DS_MSKOR_RTN_B64");
  r.rmw_rows<B, Rmw::swap>(nullptr, "DS_WRXCHG_RTN_B64");
  r.rmw_rows<B, Rmw::cmpswap>("DS_CMPST_B64", "DS_CMPST_RTN_B64");
  r.rmw_rows<B, Rmw::fcmpswap>("DS_CMPST_F64", "DS_CMPST_RTN_F64");
  r.rmw_rows<B, Rmw::fmin>("DS_MIN_F64", "DS_MIN_RTN_F64");
  r.rmw_rows<B, Rmw::fmax>("DS_MAX_F64", "DS_MAX_RTN_F64");
  r.rmw_rows<B, Rmw::fadd>("DS_ADD_F64", "DS_ADD_RTN_F64");
}

}  // namespace tile::sim
