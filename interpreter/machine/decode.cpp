// From bytes to Inst: LLVM's disassembler says what an instruction is; its fields are read from the encoding.
#include <fmt/format.h>

#include <mutex>

#include "interpreter/machine/disassembler.h"
#include "interpreter/machine/program.h"
#include "interpreter/machine/wave.h"

namespace tile::sim {

const char* class_name(InstClass c) {
  static const char* names[] = {"salu", "smem", "valu", "trans", "mfma", "lds", "vmem", "flat", "branch", "barrier", "wait", "message", "other"};
  return names[int(c)];
}

namespace {

enum class Enc { sop2, sopk, sop1, sopc, sopp, smem, vop1, vop2, vopc, vop3, vop3p, mai, ds, flat, mubuf, mtbuf, other };

Enc encoding_of(uint32_t w) {
  if (w >> 31 == 0) {
    if (w >> 25 == 0x3e) return Enc::vopc;
    if (w >> 25 == 0x3f) return Enc::vop1;
    return Enc::vop2;
  }
  if (w >> 23 == 0x17d) return Enc::sop1;
  if (w >> 23 == 0x17e) return Enc::sopc;
  if (w >> 23 == 0x17f) return Enc::sopp;
  if (w >> 28 == 0xb) return Enc::sopk;
  if (w >> 30 == 2) return Enc::sop2;
  switch (w >> 26) {
    case 0x30: return Enc::smem;
    case 0x34: return w >> 23 == 0x1a7 ? Enc::vop3p : Enc::vop3;
    case 0x36: return Enc::ds;
    case 0x37: return Enc::flat;
    case 0x38: return Enc::mubuf;
    case 0x3a: return Enc::mtbuf;
    default: return Enc::other;
  }
}

// Inline constants by encoding: 128-192 are 0..64, 193-208 are -1..-16, 240-248 floats.
uint64_t inline_constant(unsigned code, Ty ty) {
  if (code <= 192) return code - 128;
  if (code <= 208) {
    const int64_t v = -int64_t(code - 192);
    return rows_of(ty) >= 2 ? uint64_t(v) : uint64_t(uint32_t(v));
  }
  static const double values[] = {0.5, -0.5, 1, -1, 2, -2, 4, -4, 0.15915494309189532};
  static const uint16_t halves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
  const unsigned k = code - 240;
  if (ty == Ty::f16 || ty == Ty::pkf16) return halves[k];
  uint32_t single;
  const float f = k == 8 ? 0.15915494f : float(values[k]);
  std::memcpy(&single, &f, 4);
  if (ty == Ty::f64 || ty == Ty::b64) {
    uint64_t d;
    std::memcpy(&d, &values[k], 8);
    return d;
  }
  if (ty == Ty::pkf32) return uint64_t(single) << 32 | single;
  return single;
}

struct Decoder {
  Program& p;
  const uint8_t* bytes;   // of this instruction
  uint64_t avail;
  Inst& i;
  const llvm::MCInst& mc;
  uint32_t w0 = 0, w1 = 0;

  uint32_t word(int k) const {
    uint32_t x = 0;
    if (uint64_t(k) * 4 + 4 <= avail) std::memcpy(&x, bytes + 4 * k, 4);
    return x;
  }

  // A 9-bit source: SGPR, constant, literal or VGPR.
  Src source(unsigned code, Ty ty, uint32_t literal) const {
    Src s;
    if (code >= 256) {
      s.kind = SrcKind::vgpr;
      s.reg = uint16_t(code - 256);
    } else if (code == 255) {
      s.kind = SrcKind::constant;
      s.value = ty == Ty::f64 ? uint64_t(literal) << 32 : literal;
      // Zero-extended, sign-extended by signed instructions.
      if (ty == Ty::b64 && i.name && i.name->find("_I64") != std::string::npos) s.value = uint64_t(int64_t(int32_t(literal)));
    } else if ((code >= 128 && code <= 208) || (code >= 240 && code <= 248)) {
      s.kind = SrcKind::constant;
      s.value = inline_constant(code, ty);
      if (ty == Ty::pkf32 && code <= 208) s.value = uint64_t(uint32_t(s.value)) << 32 | uint32_t(s.value);
    } else {
      s.kind = SrcKind::sgpr;
      s.reg = uint16_t(code);
    }
    return s;
  }
  Ty ty(int k) const { return i.op->src[k]; }
  bool acc_operand(unsigned k) const {
    if (k >= mc.getNumOperands() || !mc.getOperand(k).isReg() || !mc.getOperand(k).getReg()) return false;
    return p.disassembler->regs->getEncodingValue(mc.getOperand(k).getReg()) & 0x800;
  }
  bool any_acc() const {
    for (unsigned k = 0; k < mc.getNumOperands(); ++k)
      if (acc_operand(k)) return true;
    return false;
  }

  void sop() {
    const Enc e = encoding_of(w0);
    const uint32_t literal = word(1);
    i.dst_scalar = true;
    if (e == Enc::sop2) {
      i.dst = w0 >> 16 & 127;
      i.src[0] = source(w0 & 255, ty(0), literal);
      i.src[1] = source(w0 >> 8 & 255, ty(1), literal);
    } else if (e == Enc::sop1) {
      i.dst = w0 >> 16 & 127;
      i.src[0] = source(w0 & 255, ty(0), literal);
    } else if (e == Enc::sopc) {
      i.src[0] = source(w0 & 255, ty(0), literal);
      i.src[1] = source(w0 >> 8 & 255, ty(1), literal);
      i.imm = int32_t(w0 >> 8 & 255);
    } else if (e == Enc::sopk) {
      i.dst = w0 >> 16 & 127;
      i.imm = int32_t(w0 & 0xffff);
      i.offset = int32_t(literal);
    } else {
      i.imm = int32_t(w0 & 0xffff);
    }
  }

  void smem() {
    i.sbase = uint16_t((w0 & 63) * 2);
    i.data = w0 >> 6 & 127;
    i.cpol = w0 >> 16 & 1;
    const bool imm = w0 >> 17 & 1, soffset = w0 >> 14 & 1;
    i.src[0].kind = SrcKind::none;
    if (imm) i.offset = int32_t(w1 << 11) >> 11;
    if (soffset) i.src[0] = source(w1 >> 25 & 127, Ty::b32, 0);
    else if (!imm) i.src[0] = source(w1 & 127, Ty::b32, 0);
  }

  // VOP1, VOP2, VOPC with their SDWA and DPP forms.
  void vop(Enc e) {
    const unsigned src0 = w0 & 511;
    const uint32_t extra = word(1);
    if (e == Enc::vop1) i.dst = w0 >> 17 & 255;
    if (e == Enc::vop2) i.dst = w0 >> 17 & 255;
    const unsigned vsrc1 = w0 >> 9 & 255;
    if (src0 == 249) {
      i.form = Form::sdwa;
      const bool s0 = extra >> 23 & 1, s1 = extra >> 31 & 1;
      i.src[0] = source((extra & 255) + (s0 ? 0 : 256), ty(0), 0);
      i.src[0].sdwa_sel = extra >> 16 & 7;
      i.src[0].mods = uint8_t((extra >> 19 & 1) * mod_sext | (extra >> 20 & 1) * mod_neg | (extra >> 21 & 1) * mod_abs);
      if (e != Enc::vop1) {
        i.src[1] = source(vsrc1 + (s1 ? 0 : 256), ty(1), 0);
        i.src[1].sdwa_sel = extra >> 24 & 7;
        i.src[1].mods = uint8_t((extra >> 27 & 1) * mod_sext | (extra >> 28 & 1) * mod_neg | (extra >> 29 & 1) * mod_abs);
      }
      if (e == Enc::vopc) {
        if (extra >> 15 & 1) i.sdst = extra >> 8 & 127;
      } else {
        i.dst_sel = extra >> 8 & 7;
        i.dst_unused = extra >> 11 & 3;
        i.clamp = extra >> 13 & 1;
        i.omod = extra >> 14 & 3;
      }
    } else if (src0 == 250) {
      i.form = Form::dpp;
      i.src[0] = source((extra & 255) + 256, ty(0), 0);
      i.src[0].mods = uint8_t((extra >> 20 & 1) * mod_neg | (extra >> 21 & 1) * mod_abs);
      if (e != Enc::vop1) {
        i.src[1] = source(vsrc1 + 256, ty(1), 0);
        i.src[1].mods = uint8_t((extra >> 22 & 1) * mod_neg | (extra >> 23 & 1) * mod_abs);
      }
      i.dpp_ctrl = extra >> 8 & 511;
      i.bound_ctrl = extra >> 19 & 1;
      i.bank_mask = extra >> 24 & 15;
      i.row_mask = extra >> 28;
    } else {
      i.src[0] = source(src0, ty(0), extra);
      if (e != Enc::vop1) i.src[1] = source(vsrc1 + 256, ty(1), extra);
      if (e == Enc::vop2) {
        const std::string& n = *i.name;
        if (n.find("MAMK") != n.npos || n.find("MADMK") != n.npos) {
          i.src[2] = i.src[1];
          i.src[1] = source(255, ty(1), extra);
        } else if (n.find("MAAK") != n.npos || n.find("MADAK") != n.npos) {
          i.src[2] = source(255, ty(2), extra);
        }
      }
    }
    accumulate();
    // The mask and the carry of VOP2 forms are VCC.
    if (e == Enc::vop2 && i.op->src[2] == Ty::mask) {
      i.src[2].kind = SrcKind::sgpr;
      i.src[2].reg = reg_vcc;
    }
  }

  void accumulate() {
    if (!(i.op->flags & op_accumulate)) return;
    const int last = i.op->src[2] != Ty::none ? 2 : 1;
    i.src[last] = Src{};
    i.src[last].kind = SrcKind::vgpr;
    i.src[last].reg = i.dst;
  }

  void vop3() {
    const bool cmp = i.op->dst == Ty::mask;
    const bool has_sdst = !cmp && i.op->aux == -1;
    i.dst = w0 & 255;
    if (cmp) i.sdst = w0 & 127;
    if (has_sdst) i.sdst = w0 >> 8 & 127;
    i.clamp = w0 >> 15 & 1;
    i.omod = w1 >> 27 & 3;
    i.op_sel = has_sdst ? 0 : uint8_t(w0 >> 11 & 15);
    for (int k = 0; k < 3; ++k) {
      if (ty(k) == Ty::none) continue;
      i.src[k] = source(w1 >> (9 * k) & 511, ty(k), 0);
      uint8_t mods = uint8_t((w1 >> (29 + k) & 1) * mod_neg);
      if (!has_sdst) mods |= uint8_t((w0 >> (8 + k) & 1) * mod_abs);
      if ((i.op->flags & op_opsel) && (i.op_sel >> k & 1)) mods |= mod_sel;
      i.src[k].mods = mods;
    }
    accumulate();
  }

  void vop3p() {
    i.dst = w0 & 255;
    const bool mai = i.op->cls == InstClass::mfma;
    if (mai) {
      i.cbsz = w0 >> 8 & 7;
      i.abid = w0 >> 11 & 15;
      i.blgp = w1 >> 29;
      for (int k = 0; k < 3; ++k) i.src[k] = source(w1 >> (9 * k) & 511, k < 2 ? Ty::b32 : ty(2), 0);
      if (w0 >> 15 & 1) {
        i.dst = uint16_t(i.dst + 256);
        if (i.src[2].kind == SrcKind::vgpr) i.src[2].reg = uint16_t(i.src[2].reg + 256);
      }
      for (int k = 0; k < 2; ++k)
        if ((w1 >> (27 + k) & 1) && i.src[k].kind == SrcKind::vgpr) i.src[k].reg = uint16_t(i.src[k].reg + 256);
      return;
    }
    i.clamp = w0 >> 15 & 1;
    const unsigned sel = w0 >> 11 & 7, sel_hi = (w1 >> 27 & 3) | (w0 >> 14 & 1) << 2, neg = w1 >> 29, neg_hi = w0 >> 8 & 7;
    i.op_sel = uint8_t(sel);
    for (int k = 0; k < 3; ++k) {
      if (ty(k) == Ty::none) continue;
      i.src[k] = source(w1 >> (9 * k) & 511, ty(k), 0);
      i.src[k].mods = uint8_t((neg >> k & 1) * mod_neg | (neg_hi >> k & 1) * mod_abs | (sel >> k & 1) * mod_sel | (sel_hi >> k & 1) * mod_sel_hi);
    }
  }

  // A scaled MFMA is a pair: the scales first, then the MFMA itself.
  void mfma_scaled() {
    const uint32_t s0 = w0, s1 = w1;
    w0 = word(2);
    w1 = word(3);
    vop3p();
    i.data = 1;   // scaled
    const Src a = source(s1 & 511, Ty::b32, 0), b = source(s1 >> 9 & 511, Ty::b32, 0);
    i.addr = a.kind == SrcKind::vgpr ? a.reg : a.kind == SrcKind::sgpr ? uint16_t(0x1000 | a.reg) : 0x2000;
    i.data1 = b.kind == SrcKind::vgpr ? b.reg : b.kind == SrcKind::sgpr ? uint16_t(0x1000 | b.reg) : 0x2000;
    i.offset = int32_t(a.value);
    i.offset1 = int32_t(b.value);
    const unsigned sel = s0 >> 11 & 3, sel_hi = s1 >> 27 & 3;
    i.op_sel = uint8_t((sel & 1) | (sel_hi & 1) << 1 | (sel >> 1 & 1) << 2 | (sel_hi >> 1 & 1) << 3);
  }

  void ds() {
    i.offset = int32_t(w0 & 255);
    i.offset1 = int32_t(w0 >> 8 & 255);
    i.imm = int32_t(w0 & 0xffff);
    i.addr = w1 & 255;
    const uint16_t acc = any_acc() ? 256 : 0;
    i.data = uint16_t((w1 >> 8 & 255) + acc);
    i.data1 = uint16_t((w1 >> 16 & 255) + acc);
    i.dst = uint16_t((w1 >> 24) + acc);
    i.cpol = w0 >> 16 & 1;  // gds
  }

  void flat(const std::string& full) {
    i.seg = w0 >> 14 & 3;
    i.offset = i.seg == 0 ? int32_t(w0 & 0xfff) : int32_t(w0 << 19) >> 19;
    i.cpol = uint8_t((w0 >> 16 & 1) | (w0 >> 17 & 1) << 1 | (w0 >> 25 & 1) << 2);
    i.addr = w1 & 255;
    const uint16_t acc = any_acc() ? 256 : 0;
    i.data = uint16_t((w1 >> 8 & 255) + acc);
    i.dst = uint16_t((w1 >> 24) + acc);
    i.sbase = w1 >> 16 & 127;
    if (i.seg == 0) i.sbase = 0x7f;
    if (i.seg == 1) {
      const bool st = full.find("_ST") != full.npos && full.find("_STORE") == full.npos;
      const bool st_store = full.find("_ST_") != full.npos || full.ends_with("_ST");
      const bool svs = full.find("_SVS") != full.npos, saddr = full.find("_SADDR") != full.npos;
      if (!svs && !saddr) i.sbase = 0x7f;
      i.has_vaddr = svs || !(saddr || st_store || st);
    }
    i.lds = full.find("_LDS_") != full.npos;
    i.imm = w0 >> 16 & 1;   // returns
  }

  void mubuf() {
    i.offset = int32_t(w0 & 0xfff);
    i.offen = w0 >> 12 & 1;
    i.idxen = w0 >> 13 & 1;
    i.cpol = uint8_t((w0 >> 14 & 1) | (w0 >> 17 & 1) << 1 | (w0 >> 15 & 1) << 2);
    i.lds = w0 >> 16 & 1;
    i.imm = w0 >> 14 & 1;
    i.addr = w1 & 255;
    i.data = uint16_t((w1 >> 8 & 255) + (any_acc() ? 256 : 0));
    i.dst = i.data;
    i.sbase = uint16_t((w1 >> 16 & 31) * 4);
    i.src[0] = source(w1 >> 24 & 255, Ty::b32, 0);
    if (encoding_of(w0) == Enc::mtbuf) {   // data and number format, marked as present
      i.offset1 = int32_t((w0 >> 19 & 15) | (w0 >> 23 & 7) << 4 | 1u << 8);
      i.cpol = uint8_t((w0 >> 14 & 1) | (w1 >> 22 & 1) << 1 | (w1 >> 21 & 1) << 2);
      i.lds = false;
    }
  }

  void collect_regs() {
    const auto& desc = p.disassembler->info->get(mc.getOpcode());
    auto add = [&](llvm::MCRegister reg, unsigned bits, bool def) {
      const unsigned enc = p.disassembler->regs->getEncodingValue(reg);
      RegUse u;
      u.vector = enc & 0xc00;
      u.first = uint16_t((enc & 0x3ff & (u.vector ? 0xff : 0x3ff)) + (enc & 0x800 ? 256 : 0));
      u.count = uint8_t((bits + 31) / 32);
      u.def = def;
      if (!u.vector && u.first >= 128) return;
      i.regs.push_back(u);
    };
    for (unsigned k = 0; k < mc.getNumOperands(); ++k) {
      const auto& o = mc.getOperand(k);
      if (!o.isReg() || !o.getReg()) continue;
      unsigned bits = 32;
      if (k < desc.getNumOperands()) {
        const auto& oi = desc.operands()[k];
        if (oi.RegClass >= 0) bits = p.disassembler->regs->getRegClass(p.disassembler->info->getOpRegClassID(oi, 0)).getSizeInBits();
      }
      add(o.getReg(), bits, k < desc.getNumDefs());
    }
    for (auto reg : desc.implicit_uses())
      if (p.disassembler->regs->getEncodingValue(reg) == reg_vcc) add(reg, 64, false);
    for (auto reg : desc.implicit_defs())
      if (p.disassembler->regs->getEncodingValue(reg) == reg_vcc) add(reg, 64, true);
  }
};

void decode_fields(Decoder& d, const std::string& full) {
  d.w0 = d.word(0);
  d.w1 = d.word(1);
  const Enc e = encoding_of(d.w0);
  switch (e) {
    case Enc::sop2: case Enc::sop1: case Enc::sopc: case Enc::sopk: case Enc::sopp: d.sop(); break;
    case Enc::smem: d.smem(); break;
    case Enc::vop1: case Enc::vop2: case Enc::vopc: d.vop(e); break;
    case Enc::vop3: d.vop3(); break;
    case Enc::vop3p: case Enc::mai:
      if (d.i.name->rfind("V_MFMA_SCALE", 0) == 0) d.mfma_scaled();
      else d.vop3p();
      break;
    case Enc::ds: d.ds(); break;
    case Enc::flat: d.flat(full); break;
    case Enc::mubuf: case Enc::mtbuf: d.mubuf(); break;
    case Enc::other: break;
  }
  // Register-file details that only the operand knows.
  if (d.i.name->rfind("V_ACCVGPR", 0) == 0) {
    if (d.acc_operand(0)) d.i.dst = uint16_t(d.i.dst + 256);
    if (d.acc_operand(1) && d.i.src[0].kind == SrcKind::vgpr) d.i.src[0].reg = uint16_t(d.i.src[0].reg + 256);
  }
}

void decode_one(Program& p, uint64_t pc, Inst& i) {
  const uint8_t* bytes = p.image.data() + pc;
  const uint64_t avail = std::min<uint64_t>(p.text_end - pc, 32);
  i.pc = pc;
  i.fn = exec_unknown;
  static const OpInfo unknown{};
  i.op = &unknown;
  llvm::MCInst mc;
  uint64_t size = 0;
  if (!p.disassembler->decode(llvm::ArrayRef<uint8_t>(bytes, avail), pc, mc, size)) {
    i.size = 4;
    return;
  }
  i.size = uint32_t(size);
  const std::string full = p.disassembler->opcode_name(mc);
  std::string base = base_mnemonic(full);
  auto& name = p.names[base];
  if (!name) name = std::make_unique<std::string>(base);
  i.name = name.get();
  const OpInfo* op = find_op(base);
  if (!op) return;
  i.op = op;
  i.fn = op->fn;
  Decoder d{p, bytes, avail, i, mc};
  decode_fields(d, full);
  if (i.clamp) {
    if (const OpInfo* clamped = find_op(base + ":clamp")) {
      i.op = clamped;
      i.fn = clamped->fn;
      decode_fields(d, full);
    }
  }
  d.collect_regs();
}

}  // namespace

Status decode_program(Program& p) {
  const size_t words = (p.text_end - p.text_begin) / 4;
  p.index.assign(words, -1);
  p.code.clear();
  p.code.reserve(words + 1);
  for (uint64_t pc = p.text_begin; pc + 4 <= p.text_end;) {
    Inst i;
    decode_one(p, pc, i);
    if (i.size > p.text_end - pc) i.size = 4;
    p.index[(pc - p.text_begin) / 4] = int32_t(p.code.size());
    pc += i.size;
    p.code.push_back(std::move(i));
  }
  // Running off the end must be an error, not a read past the vector.
  Inst end;
  end.pc = p.text_end;
  end.fn = exec_unknown;
  static const OpInfo unknown{};
  end.op = &unknown;
  p.code.push_back(std::move(end));
  for (Inst& i : p.code) {
    if (!(i.op->flags & op_branch)) continue;
    const int64_t to = int64_t(i.pc) + 4 + 4 * int64_t(int16_t(i.imm));
    if (to >= int64_t(p.text_begin) && to < int64_t(p.text_end)) i.target = p.index[size_t(to - int64_t(p.text_begin)) / 4];
  }
  return Unit{};
}

}  // namespace tile::sim
