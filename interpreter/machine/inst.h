#pragma once
// The compact decoded form of one instruction. Everything a handler needs is resolved here, once per
// kernel, so that executing an instruction is one indirect call and a loop over 64 lanes.
#include <cstdint>
#include <string>
#include <vector>

namespace tile::sim {

struct Wave;
struct Inst;
using Handler = void (*)(Wave&, const Inst&);

// How an operand's bits are read: decides inline constants, negation, denormal flushing and the number of rows.
enum class Ty : uint8_t { none, b16, f16, b32, f32, b64, f64, pk16, pkf16, pkf32, b96, b128, b256, mask };

// Number of 32-bit registers an operand of this type takes.
constexpr int rows_of(Ty t) {
  switch (t) {
    case Ty::none: return 0;
    case Ty::b64: case Ty::f64: case Ty::pkf32: case Ty::mask: return 2;
    case Ty::b96: return 3;
    case Ty::b128: return 4;
    case Ty::b256: return 8;
    default: return 1;
  }
}

enum class SrcKind : uint8_t { none, vgpr, sgpr, constant };

// Source modifiers. On packed instructions `neg` is neg_lo and `abs` is neg_hi.
constexpr uint8_t mod_neg = 1, mod_abs = 2, mod_sel = 4, mod_sel_hi = 8, mod_sext = 16;

struct Src {
  SrcKind kind = SrcKind::none;
  uint8_t mods = 0;
  uint8_t sdwa_sel = 6;  // 0-3 byte, 4-5 word, 6 dword
  uint16_t reg = 0;      // VGPR 0-255, AGPR 256-511, or SGPR 0-127
  uint64_t value = 0;    // constants, already widened for the operand's type
};

enum class Form : uint8_t { plain, sdwa, dpp };

// How undefined bits of the sources reach the destination (checks only).
enum class Shadow : uint8_t {
  all,      // any undefined bit of any source makes the whole result undefined
  bits,     // bit i of the result depends on bit i of the sources only
  bit_and,  // as `bits`, a defined 0 of one source defines the result
  bit_or,   // as `bits`, a defined 1 of one source defines the result
  carry,    // undefined from the lowest undefined bit upwards
  custom    // the handler keeps the shadow itself
};

enum class InstClass : uint8_t { salu, smem, valu, trans, mfma, lds, vmem, flat, branch, barrier, wait, message, other };
const char* class_name(InstClass c);
constexpr int n_classes = 13;

// Operation attributes of the tables (bits of OpInfo::flags).
constexpr uint16_t op_keep16 = 1;       // a 16-bit result keeps the other half of its register
constexpr uint16_t op_flush = 2;        // flushes f32 denormals whatever MODE says
constexpr uint16_t op_noflush = 4;      // never flushes
constexpr uint16_t op_branch = 8;
constexpr uint16_t op_accumulate = 16;  // the destination is the last source (fmac)
constexpr uint16_t op_opsel = 32;       // VOP3 op_sel picks 16-bit halves
constexpr uint16_t op_f64rate = 64;     // quarter rate in the timing model
constexpr uint16_t op_atomic = 128;
constexpr uint16_t op_load = 256;
constexpr uint16_t op_store = 512;
constexpr uint16_t op_lds_dma = 1024;
constexpr uint16_t op_lanes = 2048;     // reads other lanes' registers, or registers of inactive lanes
constexpr uint16_t op_nopost = 4096;    // clamp and omod are not a post-processing of the float result

// One row of the instruction tables: what a mnemonic means, whatever its encoding.
struct OpInfo {
  Handler fn = nullptr;
  InstClass cls = InstClass::other;
  Shadow shadow = Shadow::all;
  uint16_t flags = 0;
  Ty dst = Ty::none;
  Ty src[3] = {Ty::none, Ty::none, Ty::none};
  int32_t aux = 0;  // meaning belongs to the handler (bytes of a memory operation, condition, ...)
};

// Registers an instruction names, for the checks.
struct RegUse {
  uint16_t first = 0;  // VGPR/AGPR index as in Src::reg, or SGPR index
  uint8_t count = 0;
  bool vector = false;
  bool def = false;
};

struct Inst {
  Handler fn = nullptr;
  Src src[3];
  uint16_t dst = 0;        // VGPR/AGPR row, or SGPR
  uint16_t sdst = 106;     // scalar result of VOPC and of carries (106 is VCC)
  bool dst_scalar = false;
  Form form = Form::plain;
  uint8_t clamp = 0;
  uint8_t omod = 0;
  uint8_t op_sel = 0;      // raw op_sel bits (bit 3: high half of the destination)
  uint8_t dst_sel = 6, dst_unused = 0;              // SDWA
  uint16_t dpp_ctrl = 0;
  uint8_t row_mask = 15, bank_mask = 15, bound_ctrl = 0;  // DPP
  // Memory and scalar instructions.
  uint16_t addr = 0;       // VGPR of the address
  uint16_t data = 0;       // VGPR (or SGPR for SMEM) of the data
  uint16_t data1 = 0;
  uint16_t sbase = 0x7f;   // SGPR base; 0x7f: none
  int32_t offset = 0;
  int32_t offset1 = 0;
  uint8_t cpol = 0;        // bit 0 sc0/glc, 1 nt/slc, 2 sc1/scc
  uint8_t seg = 0;         // FLAT: 0 flat, 1 scratch, 2 global
  bool offen = false, idxen = false, lds = false, has_vaddr = true;
  int32_t imm = 0;         // SOPP/SOPK immediate, hwreg, ...
  int32_t target = -1;     // index of the branch target
  uint16_t cbsz = 0, abid = 0, blgp = 0;            // MFMA
  uint32_t size = 4;       // bytes
  uint64_t pc = 0;         // address in the code object
  const OpInfo* op = nullptr;
  const std::string* name = nullptr;  // mnemonic key, e.g. V_ADD_F32
  std::vector<RegUse> regs;
};

// Looks a mnemonic up ("V_ADD_F32", or "V_ADD_U32:clamp" where clamping is not a post-processing).
const OpInfo* find_op(const std::string& key);

}  // namespace tile::sim
