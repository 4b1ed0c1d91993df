#pragma once
// Lane types (how one lane's operand is read from and written to register rows), operand fetch with modifiers, and
// result write-back. Internal linkage: compiled once per host instruction set.
#include "interpreter/machine/scalar_math.h"
#include "interpreter/machine/wave.h"

namespace tile::sim {

// Register rows of an operand: 64 words each. `hi` only for 64-bit types.
struct In { const uint32_t* lo; const uint32_t* hi; };
struct Out { uint32_t* lo; uint32_t* hi; };
struct alignas(64) LaneRows { uint32_t lo[lanes]; uint32_t hi[lanes]; };

namespace {

using Rows = LaneRows;

template <class Value, Ty Type> struct Word {
  using V = Value;
  static constexpr Ty ty = Type;
  static constexpr bool wide = false, is_float = Type == Ty::f32;
  static V get(In r, int l) { return std::bit_cast<V>(r.lo[l]); }
  static void put(Out r, int l, V v, int) { r.lo[l] = std::bit_cast<uint32_t>(v); }
};
struct U32 : Word<uint32_t, Ty::b32> {};
struct I32 : Word<int32_t, Ty::b32> {};
struct B32 : Word<uint32_t, Ty::b32> {};
struct F32 : Word<float, Ty::f32> {};
struct U16 {
  using V = uint32_t;
  static constexpr Ty ty = Ty::b16;
  static constexpr bool wide = false, is_float = false;
  static V get(In r, int l) { return r.lo[l] & 0xffffu; }
  static void put(Out r, int l, V v, int) { r.lo[l] = v & 0xffffu; }
};
struct B16 : U16 {};
struct I16 {
  using V = int32_t;
  static constexpr Ty ty = Ty::b16;
  static constexpr bool wide = false, is_float = false;
  static V get(In r, int l) { return int32_t(r.lo[l] << 16) >> 16; }
  static void put(Out r, int l, V v, int) { r.lo[l] = uint32_t(v) & 0xffffu; }
};
struct F16 {
  using V = float;
  static constexpr Ty ty = Ty::f16;
  static constexpr bool wide = false, is_float = true;
  static V get(In r, int l) { return half_to_float(r.lo[l] & 0xffffu); }
  static void put(Out r, int l, V v, int round) { r.lo[l] = round == 0 ? float_to_half(v) : double_to_half(double(v), round); }
};
struct F16D {
  using V = double;
  static constexpr Ty ty = Ty::f16;
  static constexpr bool wide = false, is_float = true;
  static V get(In r, int l) { return double(half_to_float(r.lo[l] & 0xffffu)); }
  static void put(Out r, int l, V v, int round) { r.lo[l] = double_to_half(v, round); }
};
template <class Value, Ty Type> struct Pair {
  using V = Value;
  static constexpr Ty ty = Type;
  static constexpr bool wide = true, is_float = Type == Ty::f64;
  static V get(In r, int l) { return std::bit_cast<V>(uint64_t(r.hi[l]) << 32 | r.lo[l]); }
  static void put(Out r, int l, V v, int) {
    const uint64_t b = std::bit_cast<uint64_t>(v);
    r.lo[l] = uint32_t(b);
    r.hi[l] = uint32_t(b >> 32);
  }
};
struct U64 : Pair<uint64_t, Ty::b64> {};
struct I64 : Pair<int64_t, Ty::b64> {};
struct B64 : Pair<uint64_t, Ty::b64> {};
struct F64 : Pair<double, Ty::f64> {};

[[maybe_unused]] inline bool is_float_ty(Ty t) { return t == Ty::f16 || t == Ty::f32 || t == Ty::f64; }

}  // namespace

// Fetches an operand with everything that can modify it (SDWA, DPP, op_sel, neg, abs, denormal flushing).
In fetch_slow(const Wave& w, const Inst& i, int k, Ty ty, LaneRows& buf);
// The lanes a DPP instruction writes: EXEC without masked rows, banks and lanes with an invalid source.
uint64_t dpp_exec(const Wave& w, const Inst& i);
// Applies omod, clamp and flushing to a float result in place.
void post_float(const Wave& w, const Inst& i, Ty ty, LaneRows& r);
// Writes a 32-bit row of results under `exec`, with SDWA destination select, op_sel and half-register rules.
void write_row(Wave& w, const Inst& i, int row, const uint32_t* value, uint64_t exec, Ty ty);
// Makes w.lane_mask valid for `exec`.
void widen_exec(Wave& w, uint64_t exec);
// The source lane of DPP lane `l`, or -1 when it is out of range.
int dpp_source(int ctrl, int l);

namespace {

template <class T> inline In fetch(const Wave& w, const Inst& i, int k, Rows& buf) {
  const Src& s = i.src[k];
  const bool flushes = T::is_float && (!w.fast_float || (i.op->flags & op_flush));
  if (s.mods == 0 && !flushes && (i.form == Form::plain || (k != 0 && s.sdwa_sel == 6))) [[likely]] {
    if (s.kind == SrcKind::vgpr) return {w.v[s.reg], w.v[s.reg + (T::wide ? 1 : 0)]};
    uint32_t lo, hi = 0;
    if (s.kind == SrcKind::sgpr) {
      lo = read_scalar(w, s.reg);
      if constexpr (T::wide) hi = read_scalar(w, s.reg + 1u);
    } else {
      lo = uint32_t(s.value);
      hi = uint32_t(s.value >> 32);
    }
    for (int l = 0; l < lanes; ++l) buf.lo[l] = lo;
    if constexpr (T::wide)
      for (int l = 0; l < lanes; ++l) buf.hi[l] = hi;
    return {buf.lo, buf.hi};
  }
  return fetch_slow(w, i, k, T::ty, buf);
}

[[maybe_unused]] inline uint64_t exec_of(const Wave& w, const Inst& i) {
  return i.form == Form::dpp ? dpp_exec(w, i) : w.exec();
}

// Where results go: straight to the destination rows when nothing stands between, else to a buffer first.
template <class D> inline bool direct(const Wave& w, const Inst& i, uint64_t exec) {
  const bool plain = exec == full_exec && i.form != Form::sdwa && !(i.op->flags & op_keep16) && !(i.op_sel & 8);
  if constexpr (D::is_float) {
    if (i.op->flags & op_nopost) return plain;
    return plain && !i.clamp && !i.omod && w.fast_float && !(i.op->flags & op_flush);
  }
  return plain;
}

template <class D> inline void finish(Wave& w, const Inst& i, Rows& r, uint64_t exec) {
  if constexpr (D::is_float) {
    if (!(i.op->flags & op_nopost) && (i.clamp || i.omod || !w.fast_float || (i.op->flags & op_flush))) post_float(w, i, D::ty, r);
  }
  write_row(w, i, i.dst, r.lo, exec, D::ty);
  if constexpr (D::wide) write_row(w, i, i.dst + 1, r.hi, exec, D::ty);
}

}  // namespace
}  // namespace tile::sim
