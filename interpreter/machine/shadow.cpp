// Undefined bits: a mask beside every register, scratch byte and LDS byte. Correct code moves undefined bits around
// (lanes that do not matter, halves that are overwritten later), so that only their use counts: in an address, a branch,
// EXEC, a store or an LDS write.
#include <bit>

#include "interpreter/machine/checks.h"
#include "interpreter/machine/lane_types.h"
#include "interpreter/machine/vector_memory.h"

namespace tile::sim {
namespace {

// One operand as the shadow rules see it: undefined bits and values, after selection of halves, bytes and lanes.
struct Operand {
  uint32_t undef[2][lanes] = {};
  uint32_t value[2][lanes] = {};
  bool any = false;
};

void load_operand(const Wave& w, const Inst& i, int k, Operand& o) {
  const WaveChecks& c = *w.checks;
  const Src& s = i.src[k];
  const int rows = std::min(2, std::max(1, rows_of(i.op->src[k])));
  o.any = false;
  for (int r = 0; r < rows; ++r) {
    if (s.kind == SrcKind::vgpr) {
      const int reg = std::min(s.reg + r, 511);
      uint32_t any = 0;
      for (int l = 0; l < lanes; ++l) { o.undef[r][l] = c.v_undef[reg][l]; any |= o.undef[r][l]; }
      std::memcpy(o.value[r], w.v[reg], sizeof o.value[r]);
      o.any |= any != 0;
    } else {
      const uint32_t u = s.kind == SrcKind::sgpr && s.reg + r < 128 ? c.s_undef[s.reg + r] : 0;
      const uint32_t x = s.kind == SrcKind::sgpr ? read_scalar(w, s.reg + unsigned(r)) : uint32_t(s.value >> (32 * r));
      for (int l = 0; l < lanes; ++l) { o.undef[r][l] = u; o.value[r][l] = x; }
      o.any |= u != 0;
    }
  }
  if (!o.any) return;
  if (i.form == Form::dpp && k == 0) {
    const uint64_t exec = w.exec();
    for (int r = 0; r < rows; ++r) {
      uint32_t old[lanes];
      std::memcpy(old, o.undef[r], sizeof old);
      for (int l = 0; l < lanes; ++l) {
        const int from = dpp_source(i.dpp_ctrl, l);
        o.undef[r][l] = from >= 0 && (exec >> from & 1) ? old[from] : 0;
      }
    }
  }
  int shift = 0;
  uint32_t keep = ~0u;
  if (i.form == Form::sdwa && k < 2 && s.sdwa_sel < 6) {
    shift = s.sdwa_sel < 4 ? 8 * s.sdwa_sel : 16 * (s.sdwa_sel - 4);
    keep = s.sdwa_sel < 4 ? 0xffu : 0xffffu;
  }
  const Ty t = i.op->src[k];
  const bool narrow = t == Ty::f16 || t == Ty::b16;
  if ((s.mods & mod_sel) && narrow) shift += 16;
  if (narrow) keep &= 0xffffu;
  if (shift == 0 && keep == ~0u) return;
  for (int l = 0; l < lanes; ++l) {
    o.undef[0][l] = o.undef[0][l] >> shift & keep;
    o.value[0][l] = o.value[0][l] >> shift & keep;
    if ((s.mods & mod_sext) && o.undef[0][l] > keep / 2) o.undef[0][l] |= ~keep;
  }
}

uint32_t all_if(uint32_t x) { return x ? ~0u : 0u; }
uint32_t from_lowest(uint32_t x) { return x | (0u - x); }

// Shifts of 16 or 32 bits by a known amount move the mask; by an unknown one everything is unknown.
uint32_t shift_mask(uint32_t ua, uint32_t a, uint32_t ub, int kind, int width) {
  if (ua & uint32_t(width - 1)) return ~0u;
  const uint32_t n = a & uint32_t(width - 1);
  if (kind == 0) return ub << n;
  if (kind == 1) return (width == 16 ? ub & 0xffffu : ub) >> n;
  return width == 16 ? uint32_t(int32_t(int16_t(ub)) >> n) : uint32_t(int32_t(ub) >> n);
}

uint32_t perm_mask(uint32_t ua, uint32_t ub, uint32_t uc, uint32_t sel) {
  if (uc) return ~0u;
  const uint64_t data = uint64_t(ua) << 32 | ub;
  uint32_t r = 0;
  for (int k = 0; k < 4; ++k) {
    const uint32_t s = sel >> (8 * k) & 255u;
    uint32_t byte = 0;
    if (s < 8) byte = uint32_t(data >> (8 * s)) & 255u;
    else if (s < 12) byte = data >> (16 * (s - 8) + 15) & 1 ? 255u : 0u;
    r |= byte << (8 * k);
  }
  return r;
}

struct Rule {
  const Wave& w;
  const Inst& i;
  Operand o[3];
  WaveChecks& c;

  uint32_t u(int k, int l) const { return o[k].undef[0][l]; }
  uint32_t v(int k, int l) const { return o[k].value[0][l]; }
  uint32_t u_any(int k, int l) const { return rows_of(i.op->src[k]) >= 2 ? o[k].undef[0][l] | o[k].undef[1][l] : o[k].undef[0][l]; }

  // 64-bit shifts with a known amount.
  void shift64(int kind) {
    for (int l = 0; l < lanes; ++l) {
      const uint64_t m = uint64_t(o[1].undef[1][l]) << 32 | o[1].undef[0][l];
      uint64_t r;
      if (u(0, l) & 63) r = ~uint64_t{0};
      else if (kind == 0) r = m << (v(0, l) & 63);
      else if (kind == 1) r = m >> (v(0, l) & 63);
      else r = uint64_t(int64_t(m) >> (v(0, l) & 63));
      c.result[0][l] = uint32_t(r);
      c.result[1][l] = uint32_t(r >> 32);
    }
  }

  uint32_t custom(const std::string& n, int l) const {
    const uint32_t ua = u(0, l), ub = u(1, l), uc = u(2, l), a = v(0, l), b = v(1, l), x = v(2, l);
    if (n == "V_LSHLREV_B32") return shift_mask(ua, a, ub, 0, 32);
    if (n == "V_LSHRREV_B32") return shift_mask(ua, a, ub, 1, 32);
    if (n == "V_ASHRREV_I32") return shift_mask(ua, a, ub, 2, 32);
    if (n == "V_LSHLREV_B16") return shift_mask(ua, a, ub, 0, 16);
    if (n == "V_LSHRREV_B16") return shift_mask(ua, a, ub, 1, 16);
    if (n == "V_ASHRREV_I16") return shift_mask(ua, a, ub, 2, 16);
    if (n == "V_AND_OR_B32") return (((ua & (ub | b)) | (ub & (ua | a))) | uc) & ~(~uc & x);
    if (n == "V_BFI_B32") return ua | (a & ub) | (~a & uc);
    if (n == "V_LSHL_OR_B32") return (shift_mask(ub, b, ua, 0, 32) | uc) & ~(~uc & x);
    if (n == "V_LSHL_ADD_U32") return from_lowest(shift_mask(ub, b, ua, 0, 32) | uc);
    if (n == "V_ADD_LSHL_U32") return shift_mask(uc, x, from_lowest(ua | ub), 0, 32);
    if (n == "V_PERM_B32") return perm_mask(ua, ub, uc, x);
    if (n == "V_ALIGNBIT_B32") return uc & 31 ? ~0u : uint32_t((uint64_t(ua) << 32 | ub) >> (x & 31));
    if (n == "V_ALIGNBYTE_B32") return uc & 3 ? ~0u : uint32_t((uint64_t(ua) << 32 | ub) >> (8 * (x & 3)));
    if (n == "V_PACK_B32_F16") return (ua & 0xffffu) | ub << 16;
    if (n == "V_BFE_U32" || n == "V_BFE_I32") {
      if ((ub & 31) || (uc & 31)) return ~0u;
      const uint32_t width = x & 31, m = (ua >> (b & 31)) & ((1u << width) - 1);
      return n == "V_BFE_I32" && width && (m >> (width - 1)) ? m | ~((1u << width) - 1) : m;
    }
    if (n == "V_CNDMASK_B32") {
      const uint64_t mask = i.src[2].kind == SrcKind::constant ? i.src[2].value : i.src[2].reg < 128 ? w.s64(i.src[2].reg) : 0;
      const uint64_t mu = i.src[2].kind == SrcKind::sgpr && i.src[2].reg < 127 ? uint64_t(c.s_undef[i.src[2].reg + 1]) << 32 | c.s_undef[i.src[2].reg] : 0;
      if (mu >> l & 1) return ua | ub | (a ^ b);
      return mask >> l & 1 ? ub : ua;
    }
    if (n == "V_FMA_MIXLO_F16" || n == "V_FMA_MIXHI_F16") {
      const uint32_t any = all_if(ua | ub | uc), old = c.v_undef[i.dst][l];
      return n == "V_FMA_MIXLO_F16" ? (any & 0xffffu) | (old & 0xffff0000u) : (any & 0xffff0000u) | (old & 0xffffu);
    }
    return all_if(ua | ub | uc);
  }

  // Sums and products of 64 bits: undefined from the lowest undefined bit upwards.
  void carry64(bool shifted) {
    for (int l = 0; l < lanes; ++l) {
      uint64_t m = uint64_t(o[2].undef[1][l]) << 32 | o[2].undef[0][l];
      if (shifted) m |= u(1, l) & 7 ? ~uint64_t{0} : (uint64_t(o[0].undef[1][l]) << 32 | o[0].undef[0][l]) << (v(1, l) & 7);
      else m |= u(0, l) | u(1, l);
      m |= 0 - m;
      c.result[0][l] = uint32_t(m);
      c.result[1][l] = uint32_t(m >> 32);
    }
  }

  // Two halves that do not depend on each other.
  void halves(int n) {
    for (int l = 0; l < lanes; ++l) {
      uint32_t lo = 0, hi = 0;
      for (int k = 0; k < n; ++k) {
        const uint8_t m = i.src[k].mods;
        lo |= u(k, l) >> (m & mod_sel ? 16 : 0) & 0xffffu;
        hi |= u(k, l) >> (m & mod_sel_hi ? 16 : 0) & 0xffffu;
      }
      c.result[0][l] = (lo ? 0xffffu : 0) | (hi ? 0xffff0000u : 0);
    }
  }
  void pairs(int n) {
    const bool mov = *i.name == "V_PK_MOV_B32";
    for (int l = 0; l < lanes; ++l)
      for (int h = 0; h < 2; ++h) {
        uint32_t x = 0;
        for (int k = 0; k < n; ++k) {
          if (mov && k != h) continue;
          const bool second = i.src[k].mods & (h && !mov ? mod_sel_hi : mod_sel);
          x |= o[k].undef[second ? 1 : 0][l];
        }
        c.result[h][l] = mov ? x : all_if(x);
      }
  }
};

int source_count(const OpInfo& op) { return op.src[2] != Ty::none && op.src[2] != Ty::mask ? 3 : op.src[1] != Ty::none ? 2 : op.src[0] != Ty::none ? 1 : 0; }

bool clean_sources(const Wave& w, const Inst& i) {
  const WaveChecks& c = *w.checks;
  for (int k = 0; k < 3; ++k) {
    const Src& s = i.src[k];
    const int rows = std::max(1, rows_of(i.op->src[k]));
    if (s.kind == SrcKind::vgpr) {
      uint32_t any = 0;
      for (int r = 0; r < rows && s.reg + r < 512; ++r)
        for (int l = 0; l < lanes; ++l) any |= c.v_undef[s.reg + r][l];
      if (any) return false;
    } else if (s.kind == SrcKind::sgpr) {
      for (int r = 0; r < rows && s.reg + r < 128; ++r)
        if (c.s_undef[s.reg + r]) return false;
    }
  }
  return true;
}

void vector_shadow(Wave& w, const Inst& i) {
  WaveChecks& c = *w.checks;
  const int n = source_count(*i.op);
  c.result_rows = std::max(1, std::min(rows_of(i.op->dst), 32));
  for (const RegUse& u : i.regs)
    if (u.def && u.vector && u.count > c.result_rows && i.op->shadow == Shadow::all) c.result_rows = std::min<int>(u.count, 32);
  if (i.op->dst == Ty::mask) c.result_rows = 0;
  c.result_exec = exec_of(w, i);
  c.mask_undef = 0;
  if (clean_sources(w, i)) {
    std::memset(c.result, 0, size_t(c.result_rows) * sizeof c.result[0]);
    return;
  }
  Rule r{w, i, {}, c};
  for (int k = 0; k < 3; ++k) {
    if (k < n) load_operand(w, i, k, r.o[k]);
    else r.o[k] = Operand{};
  }
  const bool scalar_result = i.op->dst == Ty::mask || i.op->aux == -1;
  if (scalar_result)
    for (int l = 0; l < lanes; ++l) {
      uint32_t any = 0;
      for (int k = 0; k < n; ++k) any |= r.u_any(k, l);
      if (any && (c.result_exec >> l & 1)) c.mask_undef |= uint64_t{1} << l;
    }
  if (c.result_rows == 0) return;
  const Ty t0 = i.op->src[0];
  const std::string& name = *i.name;
  if (t0 == Ty::pk16 || (t0 == Ty::pkf16 && i.op->dst == Ty::pkf16)) return r.halves(n);
  if (t0 == Ty::pkf32) return r.pairs(n);
  if (name == "V_MAD_U64_U32" || name == "V_MAD_I64_I32") return r.carry64(false);
  if (name == "V_LSHL_ADD_U64") return r.carry64(true);
  if (i.op->shadow == Shadow::custom && i.op->dst == Ty::b64) {
    if (name == "V_LSHLREV_B64") return r.shift64(0);
    if (name == "V_LSHRREV_B64") return r.shift64(1);
    if (name == "V_ASHRREV_I64") return r.shift64(2);
  }
  for (int l = 0; l < lanes; ++l) {
    uint32_t any = 0;
    for (int k = 0; k < n; ++k) any |= r.u_any(k, l);
    uint32_t x = all_if(any);
    switch (i.op->shadow) {
      case Shadow::bits: x = r.u(0, l) | r.u(1, l) | r.u(2, l); break;
      case Shadow::bit_and: {
        const uint32_t ua = r.u(0, l), ub = r.u(1, l);
        x = (ua & (ub | r.v(1, l))) | (ub & (ua | r.v(0, l)));
        break;
      }
      case Shadow::bit_or: {
        uint32_t ones = 0, undef = 0;
        for (int k = 0; k < n; ++k) { undef |= r.u(k, l); ones |= r.v(k, l) & ~r.u(k, l); }
        x = undef & ~ones;
        break;
      }
      case Shadow::carry: x = from_lowest(r.u(0, l) | r.u(1, l) | r.u(2, l)); break;
      case Shadow::custom: x = r.custom(name, l); break;
      case Shadow::all: break;
    }
    for (int row = 0; row < c.result_rows; ++row) c.result[row][l] = row && i.op->shadow == Shadow::bits ? r.o[0].undef[1][l] : row ? all_if(any) : x;
  }
}

void store_vector(Wave& w, const Inst& i) {
  WaveChecks& c = *w.checks;
  const bool narrow = i.op->dst == Ty::f16 || i.op->dst == Ty::b16;
  for (int row = 0; row < c.result_rows && i.dst + row < 512; ++row) {
    uint32_t* d = c.v_undef[i.dst + row];
    for (int l = 0; l < lanes; ++l) {
      if (!(c.result_exec >> l & 1)) continue;
      uint32_t x = c.result[row][l];
      if (i.form == Form::sdwa && i.dst_sel < 6) {
        const int shift = i.dst_sel < 4 ? 8 * i.dst_sel : 16 * (i.dst_sel - 4);
        const uint32_t field = i.dst_sel < 4 ? 0xffu : 0xffffu;
        x = (x & field) << shift;
        if (i.dst_unused == 2) x |= d[l] & ~(field << shift);
      } else if (narrow) {
        x &= 0xffffu;
        if (i.op_sel & 8) x = x << 16 | (d[l] & 0xffffu);
        else if (i.op->flags & op_keep16) x |= d[l] & 0xffff0000u;
      }
      d[l] = x;
    }
  }
  if (i.op->dst == Ty::mask || i.op->aux == -1) {
    if (i.op->dst == Ty::mask && i.op->aux == 1 && c.mask_undef) return fault(w, FaultKind::undefined_use, "EXEC depends on undefined bits");
    if (i.sdst < 127) {
      c.s_undef[i.sdst] = uint32_t(c.mask_undef);
      c.s_undef[i.sdst + 1] = uint32_t(c.mask_undef >> 32);
    }
  }
}

// ---- scalar
uint64_t scalar_undef(const Wave& w, const Src& s, bool wide) {
  if (s.kind != SrcKind::sgpr || s.reg >= 127) return s.kind == SrcKind::sgpr && s.reg == 253 && w.checks->scc_undef ? ~uint64_t{0} : 0;
  return w.checks->s_undef[s.reg] | (wide ? uint64_t(w.checks->s_undef[s.reg + 1]) << 32 : 0);
}
uint64_t scalar_value(const Wave& w, const Src& s, bool wide) {
  if (s.kind == SrcKind::constant) return wide ? s.value : uint32_t(s.value);
  return read_scalar(w, s.reg) | (wide && s.reg < 127 ? uint64_t(read_scalar(w, s.reg + 1u)) << 32 : 0);
}
bool starts(const std::string& s, const char* p) { return s.rfind(p, 0) == 0; }

void scalar_shadow(Wave& w, const Inst& i) {
  WaveChecks& c = *w.checks;
  c.result_rows = rows_of(i.op->dst);
  const bool w0 = rows_of(i.op->src[0]) == 2, w1 = rows_of(i.op->src[1]) == 2;
  const uint64_t ua = scalar_undef(w, i.src[0], w0), ub = i.op->src[1] == Ty::none ? 0 : scalar_undef(w, i.src[1], w1);
  const std::string& n = *i.name;
  uint64_t r = ua | ub ? ~uint64_t{0} : 0;
  c.mask_undef = ua | ub;   // of SCC
  if (ua | ub || c.scc_undef) {
    const uint64_t a = scalar_value(w, i.src[0], w0), b = i.op->src[1] == Ty::none ? 0 : scalar_value(w, i.src[1], w1);
    const uint64_t e = w.exec();
    if (starts(n, "S_MOV_") || starts(n, "S_NOT_")) r = ua;
    else if (starts(n, "S_AND_SAVEEXEC")) r = ua & e;
    else if (starts(n, "S_OR_SAVEEXEC")) r = ua & ~e;
    else if (starts(n, "S_AND_B") || starts(n, "S_NAND_B")) r = (ua & (ub | b)) | (ub & (ua | a));
    else if (starts(n, "S_OR_B") || starts(n, "S_NOR_B")) r = (ua & (ub | ~b)) | (ub & (ua | ~a));
    else if (starts(n, "S_XOR_B") || starts(n, "S_XNOR_B")) r = ua | ub;
    else if (starts(n, "S_ANDN2_B")) r = (ua & (ub | ~b)) | (ub & (ua | a));
    else if (starts(n, "S_ORN2_B")) r = (ua & (ub | b)) | (ub & (ua | ~a));
    else if (starts(n, "S_LSHL_B") && !ub) r = ua << (b & (w0 ? 63 : 31));
    else if (starts(n, "S_LSHR_B") && !ub) r = ua >> (b & (w0 ? 63 : 31));
    else if (starts(n, "S_PACK_LL")) r = (ua & 0xffff) | ub << 16;
    else if (starts(n, "S_PACK_LH")) r = (ua & 0xffff) | (ub & 0xffff0000u);
    else if (starts(n, "S_CSELECT")) r = c.scc_undef ? ua | ub | (a ^ b) : w.scc ? ua : ub;
    else if (starts(n, "S_ADDC") || starts(n, "S_SUBB")) r = ua | ub || c.scc_undef ? ~uint64_t{0} : 0;
    if (n.find("SAVEEXEC") == n.npos && i.op->dst != Ty::none && !starts(n, "S_CSELECT") && !starts(n, "S_MOV")) c.mask_undef = r;
  }
  if (!w0 && c.result_rows == 1) r &= 0xffffffffu;
  c.result[0][0] = uint32_t(r);
  c.result[1][0] = uint32_t(r >> 32);
}

bool writes_scc(const std::string& n) {
  for (const char* p : {"S_MOV", "S_CSELECT", "S_BREV", "S_FF", "S_FLBIT", "S_SEXT", "S_MUL_", "S_BFM", "S_PACK", "S_CMOV", "S_GETPC", "S_BITSET", "S_BITREPL", "S_SWAPPC"})
    if (starts(n, p)) return false;
  return true;
}

void store_scalar_shadow(Wave& w, const Inst& i) {
  WaveChecks& c = *w.checks;
  const std::string& n = *i.name;
  if (starts(n, "S_SET") || i.op->cls != InstClass::salu) return;
  if (n.find("SAVEEXEC") != n.npos || n.find("WREXEC") != n.npos) {
    const uint64_t u = c.result[0][0] | uint64_t(c.result[1][0]) << 32;
    if (u) return fault(w, FaultKind::undefined_use, "EXEC depends on undefined bits");
    c.s_undef[i.dst] = c.s_undef[i.dst + 1] = 0;
    c.scc_undef = false;
    return;
  }
  if (i.op->dst == Ty::none) {   // compares, SOPK
    const bool sopk = i.op->src[0] == Ty::none;
    if (!sopk) c.scc_undef = c.mask_undef != 0;
    else if (starts(n, "S_MOVK")) c.s_undef[i.dst] = 0;
    else if (starts(n, "S_CMPK")) c.scc_undef = c.s_undef[i.dst] != 0;
    else if (starts(n, "S_ADDK") || starts(n, "S_MULK")) c.s_undef[i.dst] = all_if(c.s_undef[i.dst]);
    else if (starts(n, "S_GETREG")) c.s_undef[i.dst] = 0;
    return;
  }
  if (starts(n, "S_CMOV") && !w.scc) return;
  if (i.dst < 128) {
    c.s_undef[i.dst] = c.result[0][0];
    if (c.result_rows == 2 && i.dst < 127) c.s_undef[i.dst + 1] = c.result[1][0];
    if (i.dst >= reg_exec && (c.result[0][0] || (c.result_rows == 2 && c.result[1][0]))) return fault(w, FaultKind::undefined_use, "EXEC depends on undefined bits");
  }
  if (writes_scc(n)) c.scc_undef = c.mask_undef != 0;
}

// ---- moves between lanes through the LDS unit
void permute_shadow(Wave& w, const Inst& i) {
  WaveChecks& c = *w.checks;
  const uint64_t exec = w.exec();
  const std::string& n = *i.name;
  c.result_rows = 1;
  c.result_exec = exec;
  std::memset(c.result[0], 0, sizeof c.result[0]);
  if (n == "DS_PERMUTE_B32") {
    for (int l = 0; l < lanes; ++l)
      if (exec >> l & 1) c.result[0][(w.v[i.addr][l] + uint32_t(i.imm)) / 4 % lanes] = c.v_undef[i.data][l];
    return;
  }
  const bool swizzle = n == "DS_SWIZZLE_B32";
  for (int l = 0; l < lanes; ++l) {
    const int from = swizzle ? swizzle_source(i.imm, l) : int((w.v[i.addr][l] + uint32_t(i.imm)) / 4 % lanes);
    if (!(exec >> from & 1)) continue;
    c.result[0][l] = c.v_undef[swizzle ? i.addr : i.data][from];
    if (!swizzle && c.v_undef[i.addr][l]) c.result[0][l] = ~0u;
  }
}

}  // namespace

void shadow_before(Wave& w, const Inst& i) {
  WaveChecks& c = *w.checks;
  c.result_rows = 0;
  switch (i.op->cls) {
    case InstClass::valu: case InstClass::trans:
      if (!(i.op->flags & op_lanes) && i.name) vector_shadow(w, i);
      break;
    case InstClass::salu: scalar_shadow(w, i); break;
    case InstClass::mfma: shadow_mfma(w, i); break;
    case InstClass::lds:
      if ((i.op->flags & op_lanes) && !(i.op->flags & op_load)) permute_shadow(w, i);
      break;
    default: break;
  }
}

void shadow_after(Wave& w, const Inst& i) {
  WaveChecks& c = *w.checks;
  if (w.state == WaveState::fault) return;
  switch (i.op->cls) {
    case InstClass::valu: case InstClass::trans:
      if (!(i.op->flags & op_lanes) && i.name) store_vector(w, i);
      break;
    case InstClass::salu: store_scalar_shadow(w, i); break;
    case InstClass::branch:
      if (i.op->dst == Ty::b64) c.s_undef[i.dst] = c.s_undef[i.dst + 1] = 0;
      if (*i.name == "S_CALL_B64") c.s_undef[i.dst] = c.s_undef[i.dst + 1] = 0;
      break;
    case InstClass::smem:
      if (i.op->flags & op_load)
        for (int k = 0; k < std::max(1, i.op->aux / 4) && i.data + k < 132; ++k) c.s_undef[i.data + k] = 0;
      break;
    case InstClass::mfma: case InstClass::lds:
      for (int row = 0; row < c.result_rows && i.dst + row < 512; ++row)
        for (int l = 0; l < lanes; ++l)
          if (c.result_exec >> l & 1) c.v_undef[i.dst + row][l] = c.result[row][l];
      break;
    default: break;
  }
}

// ---- memory
namespace {

void put_undef(WaveChecks& c, int lane, LoadShape s, int reg, const uint8_t* undef) {
  if (s.bytes >= 4) {
    for (int k = 0; k < s.bytes / 4 && reg + k < 512; ++k) std::memcpy(&c.v_undef[reg + k][lane], undef + 4 * k, 4);
    return;
  }
  uint32_t x = undef[0];
  if (s.bytes == 2) x |= uint32_t(undef[1]) << 8;
  const uint32_t top = s.bytes == 2 ? 0x8000u : 0x80u;
  if (s.sign && (x & top)) x |= ~(2 * top - 1);
  uint32_t& d = c.v_undef[reg][lane];
  if (s.half == Half::none) d = x;
  else if (s.half == Half::lo) d = (d & 0xffff0000u) | (x & 0xffffu);
  else d = (d & 0xffffu) | x << 16;
}

void get_undef(const WaveChecks& c, int lane, int bytes, bool high, int reg, uint8_t* undef) {
  if (bytes >= 4) {
    for (int k = 0; k < bytes / 4 && reg + k < 512; ++k) std::memcpy(undef + 4 * k, &c.v_undef[reg + k][lane], 4);
    return;
  }
  const uint32_t x = c.v_undef[reg][lane] >> (high ? 16 : 0);
  undef[0] = uint8_t(x);
  if (bytes == 2) undef[1] = uint8_t(x >> 8);
}

}  // namespace

void shadow_load(Wave& w, int lane, Place p, LoadShape shape, int reg, bool skipped) {
  uint8_t undef[16] = {};
  if (!skipped && p.space == Space::scratch)
    for (int b = 0; b < shape.bytes; ++b)
      if (const size_t at = scratch_byte(lane, p.address + uint64_t(b)); at < w.scratch_shadow.size()) undef[b] = w.scratch_shadow[at];
  if (!skipped && p.space == Space::lds)
    for (int b = 0; b < shape.bytes; ++b)
      if (p.address + uint64_t(b) < w.group->checks->lds.size()) undef[b] = w.group->checks->lds[p.address + uint64_t(b)].undef;
  put_undef(*w.checks, lane, shape, reg, undef);
}

bool shadow_store(Wave& w, const Inst&, int lane, Place p, int bytes, bool high, int reg) {
  uint8_t undef[16] = {};
  get_undef(*w.checks, lane, bytes, high, reg, undef);
  if (p.space == Space::scratch) {
    for (int b = 0; b < bytes; ++b)
      if (const size_t at = scratch_byte(lane, p.address + uint64_t(b)); at < w.scratch_shadow.size()) w.scratch_shadow[at] = undef[b];
    return true;
  }
  for (int b = 0; b < bytes; ++b)
    if (undef[b]) {
      fault(w, FaultKind::undefined_use, fmt::format("the stored value has undefined bits (byte {})", b), lane);
      return w.state != WaveState::fault;
    }
  return true;
}

bool shadow_lds_store(Wave& w, int lane, uint64_t address, int bytes, bool high, int reg) {
  uint8_t undef[16] = {};
  get_undef(*w.checks, lane, bytes, high, reg, undef);
  bool any = false;
  for (int b = 0; b < bytes; ++b) {
    any = any || undef[b];
    if (address + uint64_t(b) < w.group->checks->lds.size()) w.group->checks->lds[address + uint64_t(b)].undef = undef[b];
  }
  if (any && w.launch->options->undefined_lds_writes) {
    fault(w, FaultKind::undefined_use, "the value written to LDS has undefined bits", lane);
    return w.state != WaveState::fault;
  }
  return true;
}

void shadow_lds_load(Wave& w, int lane, uint64_t address, int bytes, bool sign, int half, int reg) {
  uint8_t undef[16] = {};
  for (int b = 0; b < bytes; ++b)
    if (address + uint64_t(b) < w.group->checks->lds.size()) undef[b] = w.group->checks->lds[address + uint64_t(b)].undef;
  put_undef(*w.checks, lane, {uint8_t(bytes), sign, Half(half)}, reg, undef);
}

}  // namespace tile::sim
