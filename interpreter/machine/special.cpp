// Vector instructions that do more than act on each lane by itself: masks and carries, lane access, division steps.
#include <cmath>

#include "interpreter/machine/checks.h"
#include "interpreter/machine/exec.h"
#include "interpreter/machine/lane_types.h"
#include "interpreter/machine/salu.h"

namespace tile::sim {
namespace {

uint64_t mask_source(const Wave& w, const Src& s) {
  if (s.kind == SrcKind::constant) return s.value;
  return s.reg < 128 ? w.s64(s.reg) : read_scalar(w, s.reg);
}

void cndmask(Wave& w, const Inst& i) {
  Rows ba, bb, out;
  const In a = fetch<B32>(w, i, 0, ba), b = fetch<B32>(w, i, 1, bb);
  const uint64_t exec = exec_of(w, i), mask = mask_source(w, i.src[2]);
  for (int l = 0; l < lanes; ++l) {
    const uint32_t m = 0u - uint32_t(mask >> l & 1);
    out.lo[l] = (b.lo[l] & m) | (a.lo[l] & ~m);
  }
  write_row(w, i, i.dst, out.lo, exec, Ty::b32);
}

// Op: 0 a + b, 1 a - b, 2 b - a; with carry in when Carry.
template <int Op, bool Carry> void add_carry(Wave& w, const Inst& i) {
  Rows ba, bb, out;
  const In a = fetch<U32>(w, i, 0, ba), b = fetch<U32>(w, i, 1, bb);
  const uint64_t exec = exec_of(w, i), in = Carry ? mask_source(w, i.src[2]) : 0;
  uint64_t carry = 0;
  for (int l = 0; l < lanes; ++l) {
    const uint64_t c = in >> l & 1;
    const uint64_t x = Op == 2 ? b.lo[l] : a.lo[l], y = Op == 2 ? a.lo[l] : b.lo[l];
    const uint64_t r = Op == 0 ? x + y + c : x - y - c;
    out.lo[l] = uint32_t(r);
    carry |= uint64_t(Op == 0 ? r >> 32 & 1 : x < y + c) << l;
  }
  if (i.clamp)
    for (int l = 0; l < lanes; ++l)
      if (carry >> l & 1) out.lo[l] = Op == 0 ? ~0u : 0u;
  write_row(w, i, i.dst, out.lo, exec, Ty::b32);
  w.set_s64(i.sdst, carry & exec);
}

template <bool Signed> void mad64(Wave& w, const Inst& i) {
  Rows ba, bb, bc, out;
  const In a = fetch<U32>(w, i, 0, ba), b = fetch<U32>(w, i, 1, bb), c = fetch<U64>(w, i, 2, bc);
  const uint64_t exec = exec_of(w, i);
  uint64_t carry = 0;
  for (int l = 0; l < lanes; ++l) {
    const uint64_t add = U64::get(c, l);
    if (Signed) {
      const __int128 r = __int128(int64_t(int32_t(a.lo[l])) * int32_t(b.lo[l])) + int64_t(add);
      U64::put({out.lo, out.hi}, l, uint64_t(r), 0);
      carry |= uint64_t(r != int64_t(r)) << l;
    } else {
      const unsigned __int128 r = static_cast<unsigned __int128>(uint64_t(a.lo[l]) * b.lo[l]) + add;
      U64::put({out.lo, out.hi}, l, uint64_t(r), 0);
      carry |= uint64_t(r >> 64 != 0) << l;
    }
  }
  finish<U64>(w, i, out, exec);
  w.set_s64(i.sdst, carry & exec);
}

// One step of a division: scales numerator or denominator out of the subnormal and overflow ranges and says in VCC
// that the final result is to be scaled back.
template <class T> typename T::V scale_division(typename T::V s0, typename T::V den, typename T::V num, bool& flag) {
  using F = typename T::V;
  constexpr bool dbl = sizeof(F) == 8;
  constexpr int shift = dbl ? 128 : 64, far = dbl ? 768 : 96, tiny = dbl ? 53 : 23;
  auto exponent = [](F x) { return int(to_bits(x) >> (dbl ? 52 : 23)) & (dbl ? 2047 : 255); };
  auto subnormal = [&](F x) { return x != 0 && exponent(x) == 0; };
  flag = false;
  if (num == 0 || den == 0) return std::numeric_limits<F>::quiet_NaN();
  const F quotient = num / den;
  // 1/den in double: for f32 it is subnormal only in the destination's range.
  const bool reciprocal_small = subnormal(F(F(1) / den));
  if (exponent(num) - exponent(den) >= far) {
    flag = true;
    return s0 == den ? F(std::ldexp(s0, shift)) : s0;
  }
  if (subnormal(den)) return F(std::ldexp(s0, shift));
  if (reciprocal_small && subnormal(quotient)) {
    // The denominator is huge: scaled down, so that the quotient is too large by 2^shift, which v_div_fmas takes back.
    flag = true;
    return s0 == den ? F(std::ldexp(s0, -shift)) : s0;
  }
  if (reciprocal_small) return F(std::ldexp(s0, -shift));
  if (subnormal(quotient)) {
    flag = true;
    return s0 == num ? F(std::ldexp(s0, shift)) : s0;
  }
  if (exponent(num) <= tiny) return F(std::ldexp(s0, shift));
  return s0;
}

template <class T> void div_scale(Wave& w, const Inst& i) {
  Rows ba, bb, bc, out;
  const In a = fetch<T>(w, i, 0, ba), b = fetch<T>(w, i, 1, bb), c = fetch<T>(w, i, 2, bc);
  const uint64_t exec = exec_of(w, i);
  uint64_t flags = 0;
  for (int l = 0; l < lanes; ++l) {
    bool flag = false;
    T::put({out.lo, out.hi}, l, scale_division<T>(T::get(a, l), T::get(b, l), T::get(c, l), flag), 0);
    flags |= uint64_t(flag) << l;
  }
  finish<T>(w, i, out, exec);
  w.set_s64(i.sdst, flags & exec);
}

// a * b + c, times 2^n with n < 0, in one rounding. Where the product is subnormal and r halfway between two numbers, what
// the fma rounded away decides.
template <class F> F scaled_down_fma(F a, F b, F c, int n) {
  const F r = std::fma(a, b, c), t = F(std::ldexp(r, n));
  const F unit = std::numeric_limits<F>::denorm_min();
  const F rest = r - F(std::ldexp(t, -n));
  if (std::abs(rest) != F(std::ldexp(unit, -n - 1))) return t;
  const F p = a * b, low = std::fma(a, b, -p), s = p + c, back = s - p;
  const F error = (s - r) + (((p - (s - back)) + (c - back)) + low);
  return error != 0 && std::signbit(error) == std::signbit(rest) ? F(t + std::copysign(unit, rest)) : t;
}

template <class T> void div_fmas(Wave& w, const Inst& i) {
  using F = typename T::V;
  Rows ba, bb, bc, out;
  const In a = fetch<T>(w, i, 0, ba), b = fetch<T>(w, i, 1, bb), c = fetch<T>(w, i, 2, bc);
  const uint64_t exec = exec_of(w, i), vcc = w.vcc();
  for (int l = 0; l < lanes; ++l) {
    const F x = T::get(a, l), y = T::get(b, l), z = T::get(c, l);
    F r = std::fma(x, y, z);
    constexpr int bias = sizeof(F) == 8 ? 1023 : 127, shift = sizeof(F) == 8 ? 128 : 64;
    const int e = int(to_bits(z) >> (sizeof(F) == 8 ? 52 : 23)) & (2 * bias + 1);
    // The result was scaled down for large quotients and up for small ones.
    if (vcc >> l & 1) r = e > bias ? F(std::ldexp(r, shift)) : scaled_down_fma(x, y, z, -shift);
    T::put({out.lo, out.hi}, l, r, 0);
  }
  finish<T>(w, i, out, exec);
}

// ---- lanes
int first_lane(uint64_t exec) { return exec ? __builtin_ctzll(exec) : 0; }

void readfirstlane(Wave& w, const Inst& i) {
  const Src& s = i.src[0];
  const int l = first_lane(w.exec());
  w.s[i.dst & 127] = s.kind == SrcKind::vgpr ? w.v[s.reg][l] : s.kind == SrcKind::sgpr ? read_scalar(w, s.reg) : uint32_t(s.value);
  if (w.checks) w.checks->s_undef[i.dst & 127] = s.kind == SrcKind::vgpr ? w.checks->v_undef[s.reg][l] : s.kind == SrcKind::sgpr && s.reg < 128 ? w.checks->s_undef[s.reg] : 0;
}
uint32_t scalar32(const Wave& w, const Src& s) {
  return s.kind == SrcKind::constant ? uint32_t(s.value) : s.kind == SrcKind::sgpr ? read_scalar(w, s.reg) : w.v[s.reg][first_lane(w.exec())];
}
void readlane(Wave& w, const Inst& i) {
  const Src& s = i.src[0];
  const uint32_t l = scalar32(w, i.src[1]) & 63;
  w.s[i.dst & 127] = s.kind == SrcKind::vgpr ? w.v[s.reg][l] : scalar32(w, s);
  if (w.checks) w.checks->s_undef[i.dst & 127] = s.kind == SrcKind::vgpr ? w.checks->v_undef[s.reg][l] : 0;
}
void writelane(Wave& w, const Inst& i) {
  const uint32_t l = scalar32(w, i.src[1]) & 63;
  w.v[i.dst][l] = scalar32(w, i.src[0]);
  if (w.checks) w.checks->v_undef[i.dst][l] = i.src[0].kind == SrcKind::sgpr && i.src[0].reg < 128 ? w.checks->s_undef[i.src[0].reg] : 0;
}

void swap_values(Wave& w, int a, int la, int b, int lb) {
  std::swap(w.v[a][la], w.v[b][lb]);
  if (w.checks) std::swap(w.checks->v_undef[a][la], w.checks->v_undef[b][lb]);
}
void swap_rows(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  for (int l = 0; l < lanes; ++l)
    if (exec >> l & 1) swap_values(w, i.dst, l, i.src[0].reg, l);
}
// The upper half of the destination's rows changes places with the lower half of the source's.
template <int Half> void permlane_swap(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  for (int base = 0; base < lanes; base += 2 * Half)
    for (int l = base; l < base + Half; ++l)
      if ((exec >> l & 1) && (exec >> (l + Half) & 1)) swap_values(w, i.src[0].reg, l, i.dst, l + Half);
}

// ---- three-input logic: a truth table in omod, abs and neg
template <bool Half> void bitop3(Wave& w, const Inst& i) {
  Inst plain = i;
  uint32_t table = 0;
  for (int k = 0; k < 3; ++k) {
    table |= uint32_t(i.src[k].mods & mod_neg ? 1 : 0) << k;
    table |= uint32_t(i.src[k].mods & mod_abs ? 1 : 0) << (3 + k);
    plain.src[k].mods &= mod_sel;
  }
  table |= uint32_t(i.omod) << 6;
  plain.omod = 0;
  Rows ba, bb, bc, out;
  using T = std::conditional_t<Half, B16, B32>;
  const In a = fetch<T>(w, plain, 0, ba), b = fetch<T>(w, plain, 1, bb), c = fetch<T>(w, plain, 2, bc);
  for (int l = 0; l < lanes; ++l) {
    const uint32_t x = a.lo[l], y = b.lo[l], z = c.lo[l];
    uint32_t r = 0;
    for (int k = 0; k < 8; ++k)
      if (table >> k & 1) r |= (k & 4 ? x : ~x) & (k & 2 ? y : ~y) & (k & 1 ? z : ~z);
    out.lo[l] = Half ? r & 0xffffu : r;
  }
  write_row(w, plain, i.dst, out.lo, exec_of(w, i), T::ty);
}

// Four masked sums of absolute differences with 32-bit accumulators.
void mqsad_u32(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  Rows ba, bb;
  const In a = fetch<U64>(w, i, 0, ba), b = fetch<U32>(w, i, 1, bb);
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    uint32_t r[4];
    for (int k = 0; k < 4; ++k) {
      const uint32_t c = i.src[2].kind == SrcKind::vgpr ? w.v[i.src[2].reg + k][l] : scalar32(w, i.src[2]);
      r[k] = msad_u8(uint32_t(U64::get(a, l) >> (8 * k)), b.lo[l]) + c;
    }
    for (int k = 0; k < 4; ++k) w.v[i.dst + k][l] = r[k];
  }
}

struct Table {
  OpTable& table;
  OpInfo& row(const char* name, Handler fn, Ty d, Ty a = Ty::none, Ty b = Ty::none, Ty c = Ty::none, uint16_t flags = 0) {
    OpInfo o;
    o.fn = fn;
    o.cls = InstClass::valu;
    o.dst = d;
    o.src[0] = a; o.src[1] = b; o.src[2] = c;
    o.flags = flags;
    table.emplace_back(name, o);
    return table.back().second;
  }
};

}  // namespace

void add_special(OpTable& table) {
  Table t{table};
  t.row("V_NOP", [](Wave&, const Inst&) {}, Ty::none);
  t.row("V_CLREXCP", [](Wave&, const Inst&) {}, Ty::none);
  t.row("V_CNDMASK_B32", cndmask, Ty::b32, Ty::b32, Ty::b32, Ty::mask, op_noflush).shadow = Shadow::custom;
  // aux -1: a second, scalar result.
  auto carry = [&](const char* name, Handler fn, bool in) {
    OpInfo& o = t.row(name, fn, Ty::b32, Ty::b32, Ty::b32, in ? Ty::mask : Ty::none);
    o.aux = -1;
    if (!in) o.shadow = Shadow::carry;
  };
  carry("V_ADD_CO_U32", add_carry<0, false>, false);
  carry("V_SUB_CO_U32", add_carry<1, false>, false);
  carry("V_SUBREV_CO_U32", add_carry<2, false>, false);
  carry("V_ADDC_CO_U32", add_carry<0, true>, true);
  carry("V_SUBB_CO_U32", add_carry<1, true>, true);
  carry("V_SUBBREV_CO_U32", add_carry<2, true>, true);
  t.row("V_MAD_U64_U32", mad64<false>, Ty::b64, Ty::b32, Ty::b32, Ty::b64, op_f64rate).aux = -1;
  t.row("V_MAD_I64_I32", mad64<true>, Ty::b64, Ty::b32, Ty::b32, Ty::b64, op_f64rate).aux = -1;
  t.row("V_DIV_SCALE_F32", div_scale<F32>, Ty::f32, Ty::f32, Ty::f32, Ty::f32, op_nopost).aux = -1;
  t.row("V_DIV_SCALE_F64", div_scale<F64>, Ty::f64, Ty::f64, Ty::f64, Ty::f64, op_nopost | op_f64rate).aux = -1;
  t.row("V_DIV_FMAS_F32", div_fmas<F32>, Ty::f32, Ty::f32, Ty::f32, Ty::f32);
  t.row("V_DIV_FMAS_F64", div_fmas<F64>, Ty::f64, Ty::f64, Ty::f64, Ty::f64, op_f64rate);
  auto lanes_row = [&](const char* name, Handler fn, Ty d, Ty a, Ty b = Ty::none) { t.row(name, fn, d, a, b, Ty::none, op_lanes | op_noflush).shadow = Shadow::custom; };
  lanes_row("V_READFIRSTLANE_B32", readfirstlane, Ty::b32, Ty::b32);
  lanes_row("V_READLANE_B32", readlane, Ty::b32, Ty::b32, Ty::b32);
  lanes_row("V_WRITELANE_B32", writelane, Ty::b32, Ty::b32, Ty::b32);
  lanes_row("V_SWAP_B32", swap_rows, Ty::b32, Ty::b32);
  lanes_row("V_PERMLANE16_SWAP_B32", permlane_swap<16>, Ty::b32, Ty::b32);
  lanes_row("V_PERMLANE32_SWAP_B32", permlane_swap<32>, Ty::b32, Ty::b32);
  t.row("V_BITOP3_B32", bitop3<false>, Ty::b32, Ty::b32, Ty::b32, Ty::b32, op_noflush).shadow = Shadow::bits;
  t.row("V_BITOP3_B16", bitop3<true>, Ty::b16, Ty::b16, Ty::b16, Ty::b16, op_noflush | op_opsel | op_keep16).shadow = Shadow::bits;
  t.row("V_MQSAD_U32_U8", mqsad_u32, Ty::b128, Ty::b64, Ty::b32, Ty::b128);
}

}  // namespace tile::sim
