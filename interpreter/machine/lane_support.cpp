// The slow paths of operand fetch and write-back: modifiers, SDWA, DPP, MODE.
#include <cfenv>

#include "interpreter/machine/lane_types.h"

namespace tile::sim {

void apply_mode(Wave& w) {
  const uint32_t m = w.mode;
  w.round32 = m & 3;
  w.round64 = m >> 2 & 3;
  w.flush_in32 = !(m >> 4 & 1);
  w.flush_out32 = !(m >> 5 & 1);
  w.flush_in16 = !(m >> 6 & 1);
  w.flush_out16 = !(m >> 7 & 1);
  w.dx10_clamp = m >> 8 & 1;
  w.ieee = m >> 9 & 1;
  w.ovfl16 = m >> 23 & 1;
  w.round16 = uint8_t(w.round64 | (w.ovfl16 ? 16 : 0));   // scalar_math.h: no_overflow
  w.fast_float = (m & 0xff) == 0xf0 && !w.ovfl16;
}

uint32_t read_scalar(const Wave& w, unsigned reg) {
  if (reg < 128) return w.s[reg];
  switch (reg) {
    case 235: return 0;
    case 236: return uint32_t(shared_aperture >> 32);
    case 237: return 0xffffffffu;
    case 238: return uint32_t(private_aperture >> 32);
    case 251: return w.vcc() == 0;
    case 252: return w.exec() == 0;
    case 253: return w.scc;
    default: return 0;
  }
}

void widen_exec(Wave& w, uint64_t exec) {
  if (w.mask_exec == exec) return;
  w.mask_exec = exec;
  for (int l = 0; l < lanes; ++l) w.lane_mask[l] = 0u - uint32_t(exec >> l & 1);
}

int dpp_source(int ctrl, int l) {
  const int row = l & ~15, in_row = l & 15;
  if (ctrl < 0x100) return (l & ~3) | (ctrl >> (2 * (l & 3)) & 3);                       // quad_perm
  if (ctrl >= 0x101 && ctrl <= 0x10f) return in_row + (ctrl & 15) < 16 ? l + (ctrl & 15) : -1;   // row_shl
  if (ctrl >= 0x111 && ctrl <= 0x11f) return in_row - (ctrl & 15) >= 0 ? l - (ctrl & 15) : -1;   // row_shr
  if (ctrl >= 0x121 && ctrl <= 0x12f) return row | ((in_row - (ctrl & 15)) & 15);         // row_ror
  switch (ctrl) {
    case 0x130: return l < 63 ? l + 1 : -1;          // wave_shl
    case 0x134: return (l + 1) & 63;                 // wave_rol
    case 0x138: return l > 0 ? l - 1 : -1;           // wave_shr
    case 0x13c: return (l - 1) & 63;                 // wave_ror
    case 0x140: return row | (15 - in_row);          // row_mirror
    case 0x141: return (l & ~7) | (7 - (l & 7));     // row_half_mirror
    case 0x142: return row >= 16 ? row - 1 : -1;     // row_bcast:15
    case 0x143: return l >= 32 ? 31 : -1;            // row_bcast:31
    default: break;
  }
  if (ctrl >= 0x150 && ctrl <= 0x15f) return row | (ctrl & 15);   // row_newbcast
  return -1;
}

uint64_t dpp_exec(const Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  uint64_t r = 0;
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1) || !(i.row_mask >> (l / 16) & 1) || !(i.bank_mask >> (l / 4 % 4) & 1)) continue;
    const int from = dpp_source(i.dpp_ctrl, l);
    const bool valid = from >= 0 && (exec >> from & 1);
    if (valid || i.bound_ctrl) r |= uint64_t{1} << l;
  }
  return r;
}

namespace {

void permute_dpp(const Wave& w, const Inst& i, uint32_t* row) {
  const uint64_t exec = w.exec();
  uint32_t old[lanes];
  std::memcpy(old, row, sizeof old);
  for (int l = 0; l < lanes; ++l) {
    const int from = dpp_source(i.dpp_ctrl, l);
    row[l] = from >= 0 && (exec >> from & 1) ? old[from] : 0;
  }
}

void select_sdwa(const Src& s, uint32_t* row) {
  if (s.sdwa_sel > 5) return;
  const int shift = s.sdwa_sel < 4 ? 8 * s.sdwa_sel : 16 * (s.sdwa_sel - 4);
  const int bits = s.sdwa_sel < 4 ? 8 : 16;
  const bool sext = s.mods & mod_sext;
  for (int l = 0; l < lanes; ++l) {
    const uint32_t x = row[l] >> shift & ((1u << bits) - 1);
    row[l] = sext ? uint32_t(int32_t(x << (32 - bits)) >> (32 - bits)) : x;
  }
}

void flush_rows(Ty ty, Rows& r) {
  for (int l = 0; l < lanes; ++l) {
    if (ty == Ty::f32) {
      if ((r.lo[l] & 0x7f800000u) == 0) r.lo[l] &= 0x80000000u;
    } else if (ty == Ty::f16) {
      if ((r.lo[l] & 0x7c00u) == 0) r.lo[l] &= 0x8000u;
    } else if (ty == Ty::f64 && (r.hi[l] & 0x7ff00000u) == 0) {
      r.hi[l] &= 0x80000000u;
      r.lo[l] = 0;
    }
  }
}

}  // namespace

In fetch_slow(const Wave& w, const Inst& i, int k, Ty ty, LaneRows& buf) {
  const Src& s = i.src[k];
  const bool wide = rows_of(ty) == 2;
  if (s.kind == SrcKind::vgpr) {
    std::memcpy(buf.lo, w.v[s.reg], sizeof buf.lo);
    if (wide) std::memcpy(buf.hi, w.v[s.reg + 1], sizeof buf.hi);
  } else {
    const uint32_t lo = s.kind == SrcKind::sgpr ? read_scalar(w, s.reg) : uint32_t(s.value);
    const uint32_t hi = s.kind == SrcKind::sgpr ? (wide ? read_scalar(w, s.reg + 1u) : 0) : uint32_t(s.value >> 32);
    for (int l = 0; l < lanes; ++l) { buf.lo[l] = lo; buf.hi[l] = hi; }
  }
  if (i.form == Form::dpp && k == 0) {
    permute_dpp(w, i, buf.lo);
    if (wide) permute_dpp(w, i, buf.hi);
  }
  if (i.form == Form::sdwa && k < 2) select_sdwa(s, buf.lo);
  if ((s.mods & mod_sel) && (ty == Ty::f16 || ty == Ty::b16))
    for (auto& x : buf.lo) x >>= 16;
  const uint32_t sign = ty == Ty::f16 || ty == Ty::b16 ? 0x8000u : 0x80000000u;
  uint32_t* top = wide ? buf.hi : buf.lo;
  if (s.mods & mod_abs)
    for (int l = 0; l < lanes; ++l) top[l] &= ~sign;
  if (s.mods & mod_neg)
    for (int l = 0; l < lanes; ++l) top[l] ^= sign;
  const uint16_t flags = i.op->flags;
  const bool flush = ty == Ty::f32 ? (w.flush_in32 || (flags & op_flush)) : (ty == Ty::f16 || ty == Ty::f64) && w.flush_in16;
  if (flush && !(flags & op_noflush)) flush_rows(ty, buf);
  return {buf.lo, buf.hi};
}

namespace {

template <class T> void omod_clamp(const Wave& w, const Inst& i, Rows& r) {
  for (int l = 0; l < lanes; ++l) {
    auto x = T::get({r.lo, r.hi}, l);
    using V = typename T::V;
    if (i.omod == 1) x = x * V(2);
    if (i.omod == 2) x = x * V(4);
    if (i.omod == 3) x = x * V(0.5);
    if (i.clamp) x = is_nan(x) ? (w.dx10_clamp ? V(0) : x) : x < V(0) ? V(0) : x > V(1) ? V(1) : x == V(0) ? V(0) : x;
    T::put({r.lo, r.hi}, l, x, w.round16);
  }
}

}  // namespace

void post_float(const Wave& w, const Inst& i, Ty ty, LaneRows& r) {
  const bool flush = ty == Ty::f32 ? w.flush_out32 || (i.op->flags & op_flush) : w.flush_out16;
  if (flush && !(i.op->flags & op_noflush)) flush_rows(ty, r);
  if (i.omod || i.clamp) {
    if (ty == Ty::f32) omod_clamp<F32>(w, i, r);
    if (ty == Ty::f64) omod_clamp<F64>(w, i, r);
    if (ty == Ty::f16) omod_clamp<F16>(w, i, r);
  }
}

void write_row(Wave& w, const Inst& i, int row, const uint32_t* value, uint64_t exec, Ty ty) {
  uint32_t* d = w.v[row];
  uint32_t tmp[lanes];
  const bool narrow = ty == Ty::f16 || ty == Ty::b16;
  if (i.form == Form::sdwa && i.dst_sel < 6) {
    const int shift = i.dst_sel < 4 ? 8 * i.dst_sel : 16 * (i.dst_sel - 4);
    const uint32_t field = i.dst_sel < 4 ? 0xffu : 0xffffu;
    for (int l = 0; l < lanes; ++l) {
      const uint32_t x = (value[l] & field) << shift;
      if (i.dst_unused == 2) {
        tmp[l] = x | (d[l] & ~(field << shift));
      } else if (i.dst_unused == 1) {   // sign extend upwards, zero below
        const int top = shift + (i.dst_sel < 4 ? 8 : 16);
        const bool negative = x >> (top - 1) & 1;
        tmp[l] = x | (negative && top < 32 ? ~0u << top : 0u);
      } else {
        tmp[l] = x;
      }
    }
    value = tmp;
  } else if (narrow && (i.op_sel & 8)) {
    for (int l = 0; l < lanes; ++l) tmp[l] = value[l] << 16 | (d[l] & 0xffffu);
    value = tmp;
  } else if (narrow && (i.op->flags & op_keep16)) {
    for (int l = 0; l < lanes; ++l) tmp[l] = (value[l] & 0xffffu) | (d[l] & 0xffff0000u);
    value = tmp;
  }
  if (exec == full_exec) {
    std::memcpy(d, value, sizeof tmp);
    return;
  }
  widen_exec(w, exec);
  for (int l = 0; l < lanes; ++l) d[l] = (value[l] & w.lane_mask[l]) | (d[l] & ~w.lane_mask[l]);
}

}  // namespace tile::sim
