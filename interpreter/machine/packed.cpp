// VOP3P: two halves at a time, mixed-precision fma, packed f32, dot products.
#include "interpreter/machine/lane_types.h"
#include "interpreter/machine/valu_tables.h"

namespace tile::sim::TILE_SIM_ISA {
namespace {

// Rows of the two halves of a packed operand: lo[l] and hi[l] in the low 16 bits.
void fetch_halves(const Wave& w, const Inst& i, int k, bool is_float, Rows& r) {
  const Src& s = i.src[k];
  const int sh_lo = s.mods & mod_sel ? 16 : 0, sh_hi = s.mods & mod_sel_hi ? 16 : 0;
  const uint32_t neg_lo = is_float && (s.mods & mod_neg) ? 0x8000u : 0, neg_hi = is_float && (s.mods & mod_abs) ? 0x8000u : 0;
  if (s.kind == SrcKind::vgpr) {
    const uint32_t* v = w.v[s.reg];
    for (int l = 0; l < lanes; ++l) {
      r.lo[l] = (v[l] >> sh_lo & 0xffffu) ^ neg_lo;
      r.hi[l] = (v[l] >> sh_hi & 0xffffu) ^ neg_hi;
    }
  } else {
    const uint32_t x = s.kind == SrcKind::sgpr ? read_scalar(w, s.reg) : uint32_t(s.value);
    for (int l = 0; l < lanes; ++l) {
      r.lo[l] = (x >> sh_lo & 0xffffu) ^ neg_lo;
      r.hi[l] = (x >> sh_hi & 0xffffu) ^ neg_hi;
    }
  }
  if (is_float && w.flush_in16)
    for (int l = 0; l < lanes; ++l) {
      if ((r.lo[l] & 0x7c00u) == 0) r.lo[l] &= 0x8000u;
      if ((r.hi[l] & 0x7c00u) == 0) r.hi[l] &= 0x8000u;
    }
}

template <class T, int N, class F> void packed(Wave& w, const Inst& i) {
  Rows a, b, c;
  fetch_halves(w, i, 0, T::is_float, a);
  fetch_halves(w, i, 1, T::is_float, b);
  if (N == 3) fetch_halves(w, i, 2, T::is_float, c);
  Rows out;
  const int round = T::is_float ? w.round16 : 0;
  auto half = [&](const uint32_t* x, const uint32_t* y, const uint32_t* z, uint32_t* d) {
#pragma GCC ivdep
    for (int l = 0; l < lanes; ++l) {
      if constexpr (N == 2) T::put({d, d}, l, F{}(T::get({x, x}, l), T::get({y, y}, l)), round);
      else T::put({d, d}, l, F{}(T::get({x, x}, l), T::get({y, y}, l), T::get({z, z}, l)), round);
    }
  };
  half(a.lo, b.lo, c.lo, out.lo);
  half(a.hi, b.hi, c.hi, out.hi);
  if constexpr (T::is_float) {
    if (i.clamp || !w.fast_float) {
      Rows hi;
      std::memcpy(hi.lo, out.hi, sizeof hi.lo);
      post_float(w, i, Ty::f16, out);
      post_float(w, i, Ty::f16, hi);
      std::memcpy(out.hi, hi.lo, sizeof hi.lo);
    }
  }
  for (int l = 0; l < lanes; ++l) out.lo[l] = (out.lo[l] & 0xffffu) | out.hi[l] << 16;
  write_row(w, i, i.dst, out.lo, exec_of(w, i), Ty::b32);
}

template <bool Signed> inline int32_t sat16(int32_t x) { return Signed ? imed(x, -0x8000, 0x7fff) : imed(x, 0, 0xffff); }

// Packed f32: op_sel picks the register of the low half, op_sel_hi that of the high half.
template <int N, class F> void packed_f32(Wave& w, const Inst& i) {
  Rows raw[3], half[3][2], out;
  In in[3][2];
  for (int k = 0; k < N; ++k) {
    const Src& s = i.src[k];
    const uint32_t* rows[2];
    if (s.kind == SrcKind::vgpr) {
      rows[0] = w.v[s.reg];
      rows[1] = w.v[s.reg + 1];
    } else {
      const uint32_t lo = s.kind == SrcKind::sgpr ? read_scalar(w, s.reg) : uint32_t(s.value);
      const uint32_t hi = s.kind == SrcKind::sgpr ? read_scalar(w, s.reg + 1u) : uint32_t(s.value >> 32);
      for (int l = 0; l < lanes; ++l) { raw[k].lo[l] = lo; raw[k].hi[l] = hi; }
      rows[0] = raw[k].lo;
      rows[1] = raw[k].hi;
    }
    for (int h = 0; h < 2; ++h) {
      const uint32_t* from = rows[s.mods & (h ? mod_sel_hi : mod_sel) ? 1 : 0];
      const bool neg = s.mods & (h ? mod_abs : mod_neg);
      if (!neg && !w.flush_in32) { in[k][h] = {from, from}; continue; }
      for (int l = 0; l < lanes; ++l) {
        uint32_t x = from[l] ^ (neg ? 0x80000000u : 0);
        if (w.flush_in32 && (x & 0x7f800000u) == 0) x &= 0x80000000u;
        half[k][h].lo[l] = x;
      }
      in[k][h] = {half[k][h].lo, half[k][h].lo};
    }
  }
  for (int h = 0; h < 2; ++h) {
    uint32_t* d = h ? out.hi : out.lo;
#pragma GCC ivdep
    for (int l = 0; l < lanes; ++l) {
      if constexpr (N == 2) d[l] = std::bit_cast<uint32_t>(F{}(F32::get(in[0][h], l), F32::get(in[1][h], l)));
      else d[l] = std::bit_cast<uint32_t>(F{}(F32::get(in[0][h], l), F32::get(in[1][h], l), F32::get(in[2][h], l)));
    }
  }
  if (i.clamp || !w.fast_float) {
    Rows hi;
    std::memcpy(hi.lo, out.hi, sizeof hi.lo);
    post_float(w, i, Ty::f32, out);
    post_float(w, i, Ty::f32, hi);
    std::memcpy(out.hi, hi.lo, sizeof hi.lo);
  }
  const uint64_t exec = exec_of(w, i);
  write_row(w, i, i.dst, out.lo, exec, Ty::b32);
  write_row(w, i, i.dst + 1, out.hi, exec, Ty::b32);
}

template <class T, int N, class F> Handler halves(F) { return packed<T, N, F>; }
template <int N, class F> Handler singles(F) { return packed_f32<N, F>; }

void packed_mov(Wave& w, const Inst& i) {
  Rows out;
  for (int h = 0; h < 2; ++h) {
    const Src& s = i.src[h];
    const int pick = s.mods & mod_sel ? 1 : 0;
    uint32_t* d = h ? out.hi : out.lo;
    if (s.kind == SrcKind::vgpr) {
      std::memcpy(d, w.v[s.reg + pick], sizeof out.lo);
    } else {
      const uint32_t x = s.kind == SrcKind::sgpr ? read_scalar(w, s.reg + unsigned(pick)) : uint32_t(s.value >> (32 * pick));
      for (int l = 0; l < lanes; ++l) d[l] = x;
    }
  }
  const uint64_t exec = exec_of(w, i);
  write_row(w, i, i.dst, out.lo, exec, Ty::b32);
  write_row(w, i, i.dst + 1, out.hi, exec, Ty::b32);
}

// fma_mix: op_sel_hi makes a source an f16 half, op_sel says which; neg_hi is abs.
In fetch_mix(const Wave& w, const Inst& i, int k, Rows& r) {
  const Src& s = i.src[k];
  const bool half = s.mods & mod_sel_hi;
  for (int l = 0; l < lanes; ++l) {
    uint32_t x = s.kind == SrcKind::vgpr ? w.v[s.reg][l] : s.kind == SrcKind::sgpr ? read_scalar(w, s.reg) : uint32_t(s.value);
    if (half) x = std::bit_cast<uint32_t>(half_to_float(x >> (s.mods & mod_sel ? 16 : 0) & 0xffffu));
    else if (w.flush_in32 && (x & 0x7f800000u) == 0) x &= 0x80000000u;
    if (s.mods & mod_abs) x &= 0x7fffffffu;
    if (s.mods & mod_neg) x ^= 0x80000000u;
    r.lo[l] = x;
  }
  return {r.lo, r.lo};
}

// Which: 0 f32 result, 1 low half, 2 high half.
template <int Which> void fma_mix(Wave& w, const Inst& i) {
  Rows ra, rb, rc, out;
  const In a = fetch_mix(w, i, 0, ra), b = fetch_mix(w, i, 1, rb), c = fetch_mix(w, i, 2, rc);
  for (int l = 0; l < lanes; ++l) out.lo[l] = std::bit_cast<uint32_t>(fma32(F32::get(a, l), F32::get(b, l), F32::get(c, l)));
  if (i.clamp || w.flush_out32) post_float(w, i, Ty::f32, out);
  if (Which)
    for (int l = 0; l < lanes; ++l) {
      const float x = std::bit_cast<float>(out.lo[l]);
      const uint32_t h = w.round16 == 0 ? float_to_half(x) : double_to_half(double(x), w.round16), old = w.v[i.dst][l];
      out.lo[l] = Which == 1 ? (old & 0xffff0000u) | h : (old & 0xffffu) | h << 16;
    }
  write_row(w, i, i.dst, out.lo, exec_of(w, i), Ty::b32);
}

template <bool Bf16> void dot2(Wave& w, const Inst& i) {
  Rows a, b, rc, out;
  fetch_halves(w, i, 0, true, a);
  fetch_halves(w, i, 1, true, b);
  Inst plain = i;
  plain.src[2].mods = uint8_t(i.src[2].mods & mod_neg);
  const In c = fetch_slow(w, plain, 2, Ty::f32, rc);
  for (int l = 0; l < lanes; ++l) {
    const uint32_t x = a.lo[l] | a.hi[l] << 16, y = b.lo[l] | b.hi[l] << 16;
    const float z = std::bit_cast<float>(c.lo[l]);
    out.lo[l] = std::bit_cast<uint32_t>(flush_(Bf16 ? dot2_bf16(x, y, flush_(z)) : dot2_f16(x, y, flush_(z))));
  }
  if (i.clamp) post_float(w, plain, Ty::f32, out);
  write_row(w, i, i.dst, out.lo, exec_of(w, i), Ty::b32);
}

// VOP2 packed fma into the destination.
void packed_fmac(Wave& w, const Inst& i) {
  Inst full = i;
  for (auto& s : full.src) s.mods |= mod_sel_hi;
  halves<F16D, 3>([](double a, double b, double c) { return a * b + c; })(w, full);
}

}  // namespace

void add_packed(std::vector<std::pair<std::string, OpInfo>>& table) {
  auto row = [&](const std::string& name, Handler fn, Ty t, int n, Shadow shadow = Shadow::all, Ty d = Ty::none, uint16_t flags = 0) {
    OpInfo o;
    o.fn = fn;
    o.cls = InstClass::valu;
    o.shadow = shadow;
    o.flags = flags;
    o.dst = d == Ty::none ? t : d;
    for (int k = 0; k < n; ++k) o.src[k] = t;
    table.emplace_back(name, o);
  };
  auto ints = [&](const std::string& name, Handler plain, Handler sat, int n) {
    row(name, plain, Ty::pk16, n);
    if (sat) row(name + ":clamp", sat, Ty::pk16, n);
  };
  ints("V_PK_MAD_I16", halves<I16, 3>([](int a, int b, int c) { return a * b + c; }), halves<I16, 3>([](int a, int b, int c) { return sat16<true>(a * b + c); }), 3);
  ints("V_PK_MAD_U16", halves<U16, 3>([](uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }),
       halves<U16, 3>([](uint32_t a, uint32_t b, uint32_t c) { return imin(uint32_t(imin(uint64_t(a) * b + c, uint64_t(0xffff))), 0xffffu); }), 3);
  ints("V_PK_MUL_LO_U16", halves<U16, 2>([](uint32_t a, uint32_t b) { return a * b; }), nullptr, 2);
  ints("V_PK_ADD_I16", halves<I16, 2>([](int a, int b) { return a + b; }), halves<I16, 2>([](int a, int b) { return sat16<true>(a + b); }), 2);
  ints("V_PK_SUB_I16", halves<I16, 2>([](int a, int b) { return a - b; }), halves<I16, 2>([](int a, int b) { return sat16<true>(a - b); }), 2);
  ints("V_PK_ADD_U16", halves<U16, 2>([](uint32_t a, uint32_t b) { return a + b; }), halves<U16, 2>([](uint32_t a, uint32_t b) { return imin(a + b, 0xffffu); }), 2);
  ints("V_PK_SUB_U16", halves<U16, 2>([](uint32_t a, uint32_t b) { return a - b; }), halves<U16, 2>([](uint32_t a, uint32_t b) { return a < b ? 0u : a - b; }), 2);
  ints("V_PK_LSHLREV_B16", halves<U16, 2>([](uint32_t a, uint32_t b) { return b << (a & 15); }), nullptr, 2);
  ints("V_PK_LSHRREV_B16", halves<U16, 2>([](uint32_t a, uint32_t b) { return b >> (a & 15); }), nullptr, 2);
  ints("V_PK_ASHRREV_I16", halves<I16, 2>([](int a, int b) { return b >> (a & 15); }), nullptr, 2);
  ints("V_PK_MAX_I16", halves<I16, 2>([](int a, int b) { return imax(a, b); }), nullptr, 2);
  ints("V_PK_MIN_I16", halves<I16, 2>([](int a, int b) { return imin(a, b); }), nullptr, 2);
  ints("V_PK_MAX_U16", halves<U16, 2>([](uint32_t a, uint32_t b) { return imax(a, b); }), nullptr, 2);
  ints("V_PK_MIN_U16", halves<U16, 2>([](uint32_t a, uint32_t b) { return imin(a, b); }), nullptr, 2);
  row("V_PK_FMA_F16", halves<F16D, 3>([](double a, double b, double c) { return a * b + c; }), Ty::pkf16, 3);
  row("V_PK_ADD_F16", halves<F16, 2>([](float a, float b) { return a + b; }), Ty::pkf16, 2);
  row("V_PK_MUL_F16", halves<F16, 2>([](float a, float b) { return a * b; }), Ty::pkf16, 2);
  row("V_PK_MIN_F16", halves<F16, 2>([](float a, float b) { return fmin_(a, b); }), Ty::pkf16, 2);
  row("V_PK_MAX_F16", halves<F16, 2>([](float a, float b) { return fmax_(a, b); }), Ty::pkf16, 2);
  row("V_PK_MINIMUM3_F16", halves<F16, 3>([](float a, float b, float c) { return fminimum_(fminimum_(a, b), c); }), Ty::pkf16, 3);
  row("V_PK_MAXIMUM3_F16", halves<F16, 3>([](float a, float b, float c) { return fmaximum_(fmaximum_(a, b), c); }), Ty::pkf16, 3);
  row("V_PK_FMAC_F16", packed_fmac, Ty::pkf16, 3, Shadow::all, Ty::none, op_accumulate);
  row("V_PK_FMA_F32", singles<3>([](float a, float b, float c) { return fma32(a, b, c); }), Ty::pkf32, 3);
  row("V_PK_MUL_F32", singles<2>([](float a, float b) { return a * b; }), Ty::pkf32, 2);
  row("V_PK_ADD_F32", singles<2>([](float a, float b) { return a + b; }), Ty::pkf32, 2);
  row("V_PK_MOV_B32", packed_mov, Ty::pkf32, 2, Shadow::custom);
  // f32 sources, unless a modifier makes them halves.
  row("V_FMA_MIX_F32", fma_mix<0>, Ty::f32, 3);
  row("V_FMA_MIXLO_F16", fma_mix<1>, Ty::f32, 3, Shadow::custom);
  row("V_FMA_MIXHI_F16", fma_mix<2>, Ty::f32, 3, Shadow::custom);
  row("V_DOT2_F32_F16", dot2<false>, Ty::pkf16, 3, Shadow::all, Ty::f32);
  row("V_DOT2_F32_BF16", dot2<true>, Ty::pkf16, 3, Shadow::all, Ty::f32);
  table[table.size() - 1].second.src[2] = table[table.size() - 2].second.src[2] = Ty::f32;
}

}  // namespace tile::sim::TILE_SIM_ISA
