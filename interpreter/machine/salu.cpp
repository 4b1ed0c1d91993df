// Scalar instructions: SOP1, SOP2, SOPC, SOPK, SOPP and scalar memory.
#include "interpreter/machine/salu.h"

#include <bit>

#include "interpreter/machine/exec.h"
#include "interpreter/machine/program.h"

namespace tile::sim {
namespace {

template <class T> T scalar_source(const Wave& w, const Src& s) {
  if (s.kind == SrcKind::constant) return T(s.value);
  const uint32_t lo = read_scalar(w, s.reg);
  if constexpr (sizeof(T) == 4) return T(lo);
  else {
    // Special sources are 32 bits wide, but the apertures are read as pairs.
    const bool pair = s.reg < 128 || s.reg == 235 || s.reg == 237;
    return T(uint64_t(pair ? read_scalar(w, s.reg + 1u) : 0) << 32 | lo);
  }
}
template <class T> void scalar_result(Wave& w, unsigned reg, T x) {
  if constexpr (sizeof(T) == 4) w.s[reg] = uint32_t(x);
  else w.set_s64(int(reg), uint64_t(x));
}

template <class T> constexpr Ty ty_of = sizeof(T) == 8 ? Ty::b64 : Ty::b32;

struct Rows {
  std::vector<std::pair<std::string, OpInfo>>& table;
  void add(const char* name, OpInfo o) { table.emplace_back(name, o); }

  static OpInfo info(Handler fn, InstClass cls = InstClass::salu, uint16_t flags = 0) {
    OpInfo o;
    o.fn = fn;
    o.cls = cls;
    o.flags = flags;
    return o;
  }
  // Two sources; F(wave, a, b) -> result.
  template <class D, class A, class B, class F> void sop2(const char* name, F) {
    OpInfo o = info([](Wave& w, const Inst& i) {
      scalar_result<D>(w, i.dst, D(F{}(w, scalar_source<A>(w, i.src[0]), scalar_source<B>(w, i.src[1]))));
    });
    o.dst = ty_of<D>; o.src[0] = ty_of<A>; o.src[1] = ty_of<B>;
    add(name, o);
  }
  template <class D, class A, class F> void sop1(const char* name, F) {
    OpInfo o = info([](Wave& w, const Inst& i) { scalar_result<D>(w, i.dst, D(F{}(w, scalar_source<A>(w, i.src[0])))); });
    o.dst = ty_of<D>; o.src[0] = ty_of<A>;
    add(name, o);
  }
  template <class A, class B, class F> void sopc(const char* name, F) {
    OpInfo o = info([](Wave& w, const Inst& i) { w.scc = F{}(scalar_source<A>(w, i.src[0]), scalar_source<B>(w, i.src[1])); });
    o.src[0] = ty_of<A>; o.src[1] = ty_of<B>;
    add(name, o);
  }
  // The sign-extended immediate and the destination register's value.
  template <class F> void sopk(const char* name, F) {
    add(name, info([](Wave& w, const Inst& i) { F{}(w, w.s[i.dst], int32_t(int16_t(i.imm))); }));
  }
  template <class F> void branch(const char* name, F) {
    add(name, info([](Wave& w, const Inst& i) {
      if (!F{}(w)) return;
      if (i.target < 0) return fault(w, FaultKind::bad_jump, "branch to an address that is not an instruction");
      w.ip = &w.program->code[size_t(i.target)];
    }, InstClass::branch, op_branch));
  }
  template <class F> void saveexec(const char* name, F) {
    OpInfo o = info([](Wave& w, const Inst& i) {
      const uint64_t a = scalar_source<uint64_t>(w, i.src[0]), e = w.exec();
      const uint64_t r = F{}(a, e);
      w.set_s64(i.dst, e);
      w.set_s64(reg_exec, r);
      w.scc = r != 0;
    });
    o.dst = Ty::b64; o.src[0] = Ty::b64;
    add(name, o);
  }
  template <class F> void wrexec(const char* name, F) {
    OpInfo o = info([](Wave& w, const Inst& i) {
      const uint64_t r = F{}(scalar_source<uint64_t>(w, i.src[0]), w.exec());
      w.set_s64(i.dst, r);
      w.set_s64(reg_exec, r);
      w.scc = r != 0;
    });
    o.dst = Ty::b64; o.src[0] = Ty::b64;
    add(name, o);
  }
};

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

template <class T> T flag(Wave& w, T x) { w.scc = x != 0; return x; }

void add_arithmetic(Rows& r) {
  r.sop2<u32, u32, u32>("S_ADD_U32", [](Wave& w, u32 a, u32 b) { w.scc = u32(a + b) < a; return a + b; });
  r.sop2<u32, u32, u32>("S_SUB_U32", [](Wave& w, u32 a, u32 b) { w.scc = a < b; return a - b; });
  r.sop2<u32, u32, u32>("S_ADD_I32", [](Wave& w, u32 a, u32 b) { i32 x; w.scc = __builtin_add_overflow(i32(a), i32(b), &x); return a + b; });
  r.sop2<u32, u32, u32>("S_SUB_I32", [](Wave& w, u32 a, u32 b) { i32 x; w.scc = __builtin_sub_overflow(i32(a), i32(b), &x); return a - b; });
  r.sop2<u32, u32, u32>("S_ADDC_U32", [](Wave& w, u32 a, u32 b) { const u64 s = u64(a) + b + w.scc; w.scc = s >> 32; return u32(s); });
  r.sop2<u32, u32, u32>("S_SUBB_U32", [](Wave& w, u32 a, u32 b) { const u32 c = w.scc; w.scc = u64(a) < u64(b) + c; return a - b - c; });
  r.sop2<i32, i32, i32>("S_MIN_I32", [](Wave& w, i32 a, i32 b) { w.scc = a < b; return a < b ? a : b; });
  r.sop2<u32, u32, u32>("S_MIN_U32", [](Wave& w, u32 a, u32 b) { w.scc = a < b; return a < b ? a : b; });
  r.sop2<i32, i32, i32>("S_MAX_I32", [](Wave& w, i32 a, i32 b) { w.scc = a > b; return a > b ? a : b; });
  r.sop2<u32, u32, u32>("S_MAX_U32", [](Wave& w, u32 a, u32 b) { w.scc = a > b; return a > b ? a : b; });
  r.sop2<u32, u32, u32>("S_CSELECT_B32", [](Wave& w, u32 a, u32 b) { return w.scc ? a : b; });
  r.sop2<u64, u64, u64>("S_CSELECT_B64", [](Wave& w, u64 a, u64 b) { return w.scc ? a : b; });
  r.sop2<u32, u32, u32>("S_MUL_I32", [](Wave&, u32 a, u32 b) { return a * b; });
  r.sop2<u32, u32, u32>("S_MUL_HI_U32", [](Wave&, u32 a, u32 b) { return u32(u64(a) * b >> 32); });
  r.sop2<i32, i32, i32>("S_MUL_HI_I32", [](Wave&, i32 a, i32 b) { return i32(i64(a) * b >> 32); });
  r.sop2<u32, i32, i32>("S_ABSDIFF_I32", [](Wave& w, i32 a, i32 b) { const i64 d = i64(a) - b; return flag(w, u32(d < 0 ? -d : d)); });
  r.sop2<u32, u32, u32>("S_LSHL1_ADD_U32", [](Wave& w, u32 a, u32 b) { const u64 x = (u64(a) << 1) + b; w.scc = x >> 32 != 0; return u32(x); });
  r.sop2<u32, u32, u32>("S_LSHL2_ADD_U32", [](Wave& w, u32 a, u32 b) { const u64 x = (u64(a) << 2) + b; w.scc = x >> 32 != 0; return u32(x); });
  r.sop2<u32, u32, u32>("S_LSHL3_ADD_U32", [](Wave& w, u32 a, u32 b) { const u64 x = (u64(a) << 3) + b; w.scc = x >> 32 != 0; return u32(x); });
  r.sop2<u32, u32, u32>("S_LSHL4_ADD_U32", [](Wave& w, u32 a, u32 b) { const u64 x = (u64(a) << 4) + b; w.scc = x >> 32 != 0; return u32(x); });
  r.sop2<u32, u32, u32>("S_PACK_LL_B32_B16", [](Wave&, u32 a, u32 b) { return (a & 0xffffu) | b << 16; });
  r.sop2<u32, u32, u32>("S_PACK_LH_B32_B16", [](Wave&, u32 a, u32 b) { return (a & 0xffffu) | (b & 0xffff0000u); });
  r.sop2<u32, u32, u32>("S_PACK_HH_B32_B16", [](Wave&, u32 a, u32 b) { return a >> 16 | (b & 0xffff0000u); });
}

template <class T> void add_logic(Rows& r, const char* suffix) {
  static std::vector<std::unique_ptr<std::string>> keep;
  auto name = [&](const char* n) {
    keep.push_back(std::make_unique<std::string>(std::string(n) + suffix));
    return keep.back()->c_str();
  };
  r.sop2<T, T, T>(name("S_AND_"), [](Wave& w, T a, T b) { return flag<T>(w, a & b); });
  r.sop2<T, T, T>(name("S_OR_"), [](Wave& w, T a, T b) { return flag<T>(w, a | b); });
  r.sop2<T, T, T>(name("S_XOR_"), [](Wave& w, T a, T b) { return flag<T>(w, a ^ b); });
  r.sop2<T, T, T>(name("S_ANDN2_"), [](Wave& w, T a, T b) { return flag<T>(w, a & ~b); });
  r.sop2<T, T, T>(name("S_ORN2_"), [](Wave& w, T a, T b) { return flag<T>(w, a | ~b); });
  r.sop2<T, T, T>(name("S_NAND_"), [](Wave& w, T a, T b) { return flag<T>(w, ~(a & b)); });
  r.sop2<T, T, T>(name("S_NOR_"), [](Wave& w, T a, T b) { return flag<T>(w, ~(a | b)); });
  r.sop2<T, T, T>(name("S_XNOR_"), [](Wave& w, T a, T b) { return flag<T>(w, ~(a ^ b)); });
  constexpr u32 mask = 8 * sizeof(T) - 1;
  r.sop2<T, T, u32>(name("S_LSHL_"), [](Wave& w, T a, u32 b) { return flag<T>(w, a << (b & mask)); });
  r.sop2<T, T, u32>(name("S_LSHR_"), [](Wave& w, T a, u32 b) { return flag<T>(w, a >> (b & mask)); });
  r.sop2<T, u32, u32>(name("S_BFM_"), [](Wave&, u32 a, u32 b) { return ((T(1) << (a & mask)) - 1) << (b & mask); });
  r.sop1<T, T>(name("S_MOV_"), [](Wave&, T a) { return a; });
  r.sop1<T, T>(name("S_NOT_"), [](Wave& w, T a) { return flag<T>(w, ~a); });
  r.sop1<T, T>(name("S_BREV_"), [](Wave&, T a) { T x = 0; for (u32 k = 0; k <= mask; ++k) x |= (a >> k & 1) << (mask - k); return x; });
  r.sop1<T, T>(name("S_WQM_"), [](Wave& w, T a) { T x = 0; for (u32 k = 0; k <= mask; k += 4) x |= (a >> k & 15) ? T(15) << k : 0; return flag<T>(w, x); });
  r.sop1<T, T>(name("S_QUADMASK_"), [](Wave& w, T a) { T x = 0; for (u32 k = 0; k <= mask; k += 4) x |= T((a >> k & 15) != 0) << (k / 4); return flag<T>(w, x); });
  r.sop1<u32, T>(name("S_BCNT0_I32_"), [](Wave& w, T a) { return flag<u32>(w, u32(std::popcount(T(~a)))); });
  r.sop1<u32, T>(name("S_BCNT1_I32_"), [](Wave& w, T a) { return flag<u32>(w, u32(std::popcount(a))); });
  r.sop1<u32, T>(name("S_FF0_I32_"), [](Wave&, T a) { return T(~a) ? u32(std::countr_zero(T(~a))) : ~0u; });
  r.sop1<u32, T>(name("S_FF1_I32_"), [](Wave&, T a) { return a ? u32(std::countr_zero(a)) : ~0u; });
  r.sop1<u32, T>(name("S_FLBIT_I32_"), [](Wave&, T a) { return a ? u32(std::countl_zero(a)) : ~0u; });
  OpInfo cmov = Rows::info([](Wave& w, const Inst& i) { if (w.scc) scalar_result<T>(w, i.dst, scalar_source<T>(w, i.src[0])); });
  cmov.dst = cmov.src[0] = ty_of<T>;
  r.add(name("S_CMOV_"), cmov);
  auto bitset = [&](const char* n, Handler fn) { OpInfo o = Rows::info(fn); o.dst = ty_of<T>; o.src[0] = Ty::b32; r.add(name(n), o); };
  bitset("S_BITSET0_", [](Wave& w, const Inst& i) {
    Src d; d.kind = SrcKind::sgpr; d.reg = i.dst;
    scalar_result<T>(w, i.dst, scalar_source<T>(w, d) & ~(T(1) << (scalar_source<u32>(w, i.src[0]) & mask)));
  });
  bitset("S_BITSET1_", [](Wave& w, const Inst& i) {
    Src d; d.kind = SrcKind::sgpr; d.reg = i.dst;
    scalar_result<T>(w, i.dst, scalar_source<T>(w, d) | (T(1) << (scalar_source<u32>(w, i.src[0]) & mask)));
  });
  r.sopc<T, u32>(name("S_BITCMP0_"), [](T a, u32 b) { return !(a >> (b & mask) & 1); });
  r.sopc<T, u32>(name("S_BITCMP1_"), [](T a, u32 b) { return bool(a >> (b & mask) & 1); });
}

void add_bits(Rows& r) {
  add_logic<u32>(r, "B32");
  add_logic<u64>(r, "B64");
  r.sop2<i32, i32, u32>("S_ASHR_I32", [](Wave& w, i32 a, u32 b) { return flag(w, a >> (b & 31)); });
  r.sop2<i64, i64, u32>("S_ASHR_I64", [](Wave& w, i64 a, u32 b) { return flag(w, a >> (b & 63)); });
  r.sop2<u32, u32, u32>("S_BFE_U32", [](Wave& w, u32 a, u32 b) {
    const u32 n = b >> 16 & 127, x = a >> (b & 31);
    return flag(w, n >= 32 ? x : x & ((1u << n) - 1));
  });
  r.sop2<i32, u32, u32>("S_BFE_I32", [](Wave& w, u32 a, u32 b) {
    const u32 n = b >> 16 & 127, off = b & 31;
    if (n == 0) return flag(w, 0);
    const i32 x = i32(a) >> off;
    return flag(w, n >= 32 ? x : i32(u32(x) << (32 - n)) >> (32 - n));
  });
  r.sop2<u64, u64, u32>("S_BFE_U64", [](Wave& w, u64 a, u32 b) {
    const u32 n = b >> 16 & 127;
    const u64 x = a >> (b & 63);
    return flag(w, n >= 64 ? x : x & ((u64(1) << n) - 1));
  });
  r.sop2<i64, u64, u32>("S_BFE_I64", [](Wave& w, u64 a, u32 b) {
    const u32 n = b >> 16 & 127;
    if (n == 0) return flag(w, i64(0));
    const i64 x = i64(a) >> (b & 63);
    return flag(w, n >= 64 ? x : i64(u64(x) << (64 - n)) >> (64 - n));
  });
  r.sop1<u32, i32>("S_FLBIT_I32", [](Wave&, i32 a) { const u32 y = u32(a ^ (a >> 31)); return y ? u32(std::countl_zero(y)) : ~0u; });
  r.sop1<u32, i64>("S_FLBIT_I32_I64", [](Wave&, i64 a) { const u64 y = u64(a ^ (a >> 63)); return y ? u32(std::countl_zero(y)) : ~0u; });
  r.sop1<i32, u32>("S_SEXT_I32_I8", [](Wave&, u32 a) { return i32(int8_t(a)); });
  r.sop1<i32, u32>("S_SEXT_I32_I16", [](Wave&, u32 a) { return i32(int16_t(a)); });
  r.sop1<u32, i32>("S_ABS_I32", [](Wave& w, i32 a) { return flag(w, a < 0 ? 0u - u32(a) : u32(a)); });
  r.sop1<u64, u32>("S_BITREPLICATE_B64_B32", [](Wave&, u32 a) { u64 x = 0; for (int k = 0; k < 32; ++k) x |= (a >> k & 1) ? u64(3) << (2 * k) : 0; return x; });
  r.saveexec("S_AND_SAVEEXEC_B64", [](u64 a, u64 e) { return a & e; });
  r.saveexec("S_OR_SAVEEXEC_B64", [](u64 a, u64 e) { return a | e; });
  r.saveexec("S_XOR_SAVEEXEC_B64", [](u64 a, u64 e) { return a ^ e; });
  r.saveexec("S_ANDN2_SAVEEXEC_B64", [](u64 a, u64 e) { return a & ~e; });
  r.saveexec("S_ORN2_SAVEEXEC_B64", [](u64 a, u64 e) { return a | ~e; });
  r.saveexec("S_NAND_SAVEEXEC_B64", [](u64 a, u64 e) { return ~(a & e); });
  r.saveexec("S_NOR_SAVEEXEC_B64", [](u64 a, u64 e) { return ~(a | e); });
  r.saveexec("S_XNOR_SAVEEXEC_B64", [](u64 a, u64 e) { return ~(a ^ e); });
  r.saveexec("S_ANDN1_SAVEEXEC_B64", [](u64 a, u64 e) { return ~a & e; });
  r.saveexec("S_ORN1_SAVEEXEC_B64", [](u64 a, u64 e) { return ~a | e; });
  r.wrexec("S_ANDN1_WREXEC_B64", [](u64 a, u64 e) { return ~a & e; });
  r.wrexec("S_ANDN2_WREXEC_B64", [](u64 a, u64 e) { return a & ~e; });
}

void add_compares(Rows& r) {
  r.sopc<u32, u32>("S_CMP_EQ_I32", [](u32 a, u32 b) { return a == b; });
  r.sopc<u32, u32>("S_CMP_LG_I32", [](u32 a, u32 b) { return a != b; });
  r.sopc<i32, i32>("S_CMP_GT_I32", [](i32 a, i32 b) { return a > b; });
  r.sopc<i32, i32>("S_CMP_GE_I32", [](i32 a, i32 b) { return a >= b; });
  r.sopc<i32, i32>("S_CMP_LT_I32", [](i32 a, i32 b) { return a < b; });
  r.sopc<i32, i32>("S_CMP_LE_I32", [](i32 a, i32 b) { return a <= b; });
  r.sopc<u32, u32>("S_CMP_EQ_U32", [](u32 a, u32 b) { return a == b; });
  r.sopc<u32, u32>("S_CMP_LG_U32", [](u32 a, u32 b) { return a != b; });
  r.sopc<u32, u32>("S_CMP_GT_U32", [](u32 a, u32 b) { return a > b; });
  r.sopc<u32, u32>("S_CMP_GE_U32", [](u32 a, u32 b) { return a >= b; });
  r.sopc<u32, u32>("S_CMP_LT_U32", [](u32 a, u32 b) { return a < b; });
  r.sopc<u32, u32>("S_CMP_LE_U32", [](u32 a, u32 b) { return a <= b; });
  r.sopc<u64, u64>("S_CMP_EQ_U64", [](u64 a, u64 b) { return a == b; });
  r.sopc<u64, u64>("S_CMP_LG_U64", [](u64 a, u64 b) { return a != b; });
  r.sopk("S_MOVK_I32", [](Wave&, u32& d, i32 k) { d = u32(k); });
  r.sopk("S_CMOVK_I32", [](Wave& w, u32& d, i32 k) { if (w.scc) d = u32(k); });
  r.sopk("S_ADDK_I32", [](Wave& w, u32& d, i32 k) { i32 x; w.scc = __builtin_add_overflow(i32(d), k, &x); d += u32(k); });
  r.sopk("S_MULK_I32", [](Wave&, u32& d, i32 k) { d *= u32(k); });
  r.sopk("S_CMPK_EQ_I32", [](Wave& w, u32& d, i32 k) { w.scc = i32(d) == k; });
  r.sopk("S_CMPK_LG_I32", [](Wave& w, u32& d, i32 k) { w.scc = i32(d) != k; });
  r.sopk("S_CMPK_GT_I32", [](Wave& w, u32& d, i32 k) { w.scc = i32(d) > k; });
  r.sopk("S_CMPK_GE_I32", [](Wave& w, u32& d, i32 k) { w.scc = i32(d) >= k; });
  r.sopk("S_CMPK_LT_I32", [](Wave& w, u32& d, i32 k) { w.scc = i32(d) < k; });
  r.sopk("S_CMPK_LE_I32", [](Wave& w, u32& d, i32 k) { w.scc = i32(d) <= k; });
  r.sopk("S_CMPK_EQ_U32", [](Wave& w, u32& d, i32 k) { w.scc = d == (u32(k) & 0xffffu); });
  r.sopk("S_CMPK_LG_U32", [](Wave& w, u32& d, i32 k) { w.scc = d != (u32(k) & 0xffffu); });
  r.sopk("S_CMPK_GT_U32", [](Wave& w, u32& d, i32 k) { w.scc = d > (u32(k) & 0xffffu); });
  r.sopk("S_CMPK_GE_U32", [](Wave& w, u32& d, i32 k) { w.scc = d >= (u32(k) & 0xffffu); });
  r.sopk("S_CMPK_LT_U32", [](Wave& w, u32& d, i32 k) { w.scc = d < (u32(k) & 0xffffu); });
  r.sopk("S_CMPK_LE_U32", [](Wave& w, u32& d, i32 k) { w.scc = d <= (u32(k) & 0xffffu); });
}

// ---- control
void jump(Wave& w, u64 address) {
  const Inst* to = w.program->at(address - image_address);
  if (!to) return fault(w, FaultKind::bad_jump, "jump to an address that is not an instruction");
  w.ip = to;
}
u64 address_after(const Inst& i) { return image_address + i.pc + i.size; }

u32 read_hwreg(const Wave& w, int id) {
  switch (id) {
    case 1: return w.mode;
    case 2: return u32(w.scc) | u32(w.exec() == 0) << 9 | u32(w.vcc() == 0) << 10 | 1u << 16;   // STATUS
    case 4: return u32(w.index & 15);                                                         // HW_ID: wave slot
    default: return 0;
  }
}
void write_hwreg(Wave& w, int imm, u32 value) {
  const int id = imm & 63, offset = imm >> 6 & 31, size = (imm >> 11 & 31) + 1;
  if (id != 1) return;
  const u32 mask = (size == 32 ? ~0u : (1u << size) - 1) << offset;
  w.mode = (w.mode & ~mask) | (value << offset & mask);
  apply_mode(w);
  apply_host_rounding(w);
}

void add_control(Rows& r) {
  using C = InstClass;
  auto nop = [&](const char* n, C cls = C::other) { r.add(n, Rows::info([](Wave&, const Inst&) {}, cls)); };
  for (const char* n : {"S_NOP", "S_SLEEP", "S_SETPRIO", "S_WAKEUP", "S_ICACHE_INV", "S_INCPERFLEVEL", "S_DECPERFLEVEL", "S_TTRACEDATA",
                        "S_SETKILL", "S_DCACHE_INV", "S_DCACHE_WB", "S_DCACHE_INV_VOL", "S_DCACHE_WB_VOL"})
    nop(n);
  nop("S_SENDMSG", C::message);
  r.add("S_WAITCNT", Rows::info([](Wave& w, const Inst& i) { wait_counters(w, i.imm & 0xffff); }, C::wait));
  r.add("S_BARRIER", Rows::info([](Wave& w, const Inst&) { w.state = WaveState::barrier; }, C::barrier));
  auto end = [](Wave& w, const Inst&) { w.state = WaveState::ended; };
  r.add("S_ENDPGM", Rows::info(end, C::branch));
  r.add("S_ENDPGM_SAVED", Rows::info(end, C::branch));
  r.add("S_TRAP", Rows::info([](Wave& w, const Inst& i) {
    if ((i.imm & 255) != 3) fault(w, FaultKind::trap, "s_trap: the kernel stopped itself (an assertion, or code that must not be reached)");
  }));
  auto halt = [](Wave& w, const Inst&) { fault(w, FaultKind::trap, "the kernel halted its wave"); };
  r.add("S_SETHALT", Rows::info([](Wave& w, const Inst& i) { if (i.imm & 1) fault(w, FaultKind::trap, "the kernel halted its wave"); }));
  r.add("S_SENDMSGHALT", Rows::info(halt));
  r.branch("S_BRANCH", [](Wave&) { return true; });
  r.branch("S_CBRANCH_SCC0", [](Wave& w) { return !w.scc; });
  r.branch("S_CBRANCH_SCC1", [](Wave& w) { return w.scc != 0; });
  r.branch("S_CBRANCH_VCCZ", [](Wave& w) { return w.vcc() == 0; });
  r.branch("S_CBRANCH_VCCNZ", [](Wave& w) { return w.vcc() != 0; });
  r.branch("S_CBRANCH_EXECZ", [](Wave& w) { return w.exec() == 0; });
  r.branch("S_CBRANCH_EXECNZ", [](Wave& w) { return w.exec() != 0; });
  for (const char* n : {"S_CBRANCH_CDBGSYS", "S_CBRANCH_CDBGUSER", "S_CBRANCH_CDBGSYS_OR_USER", "S_CBRANCH_CDBGSYS_AND_USER"})
    r.branch(n, [](Wave&) { return false; });
  auto pc = [&](const char* n, Handler fn, Ty d, Ty s) { OpInfo o = Rows::info(fn, C::branch); o.dst = d; o.src[0] = s; r.add(n, o); };
  pc("S_GETPC_B64", [](Wave& w, const Inst& i) { w.set_s64(i.dst, address_after(i)); }, Ty::b64, Ty::none);
  pc("S_SETPC_B64", [](Wave& w, const Inst& i) { jump(w, scalar_source<u64>(w, i.src[0])); }, Ty::none, Ty::b64);
  pc("S_SWAPPC_B64", [](Wave& w, const Inst& i) {
    const u64 to = scalar_source<u64>(w, i.src[0]);
    w.set_s64(i.dst, address_after(i));
    jump(w, to);
  }, Ty::b64, Ty::b64);
  r.add("S_CALL_B64", Rows::info([](Wave& w, const Inst& i) {
    w.set_s64(i.dst, address_after(i));
    jump(w, address_after(i) + u64(i64(int16_t(i.imm)) * 4));
  }, C::branch));
  r.add("S_GETREG_B32", Rows::info([](Wave& w, const Inst& i) {
    const int size = (i.imm >> 11 & 31) + 1;
    const u32 x = read_hwreg(w, i.imm & 63) >> (i.imm >> 6 & 31);
    w.s[i.dst] = size == 32 ? x : x & ((1u << size) - 1);
  }));
  r.add("S_SETREG_B32", Rows::info([](Wave& w, const Inst& i) { write_hwreg(w, i.imm, w.s[i.dst]); }));
  r.add("S_SETREG_IMM32_B32", Rows::info([](Wave& w, const Inst& i) { write_hwreg(w, i.imm, u32(i.offset)); }));
  // Relative moves: M0 is added to the register number.
  auto rel = [&](const char* n, Handler fn, Ty t) { OpInfo o = Rows::info(fn); o.dst = o.src[0] = t; r.add(n, o); };
  rel("S_MOVRELS_B32", [](Wave& w, const Inst& i) { w.s[i.dst] = w.s[(i.src[0].reg + w.s[reg_m0]) & 127]; }, Ty::b32);
  rel("S_MOVRELS_B64", [](Wave& w, const Inst& i) { w.set_s64(i.dst, w.s64(int((i.src[0].reg + w.s[reg_m0]) & 126))); }, Ty::b64);
  rel("S_MOVRELD_B32", [](Wave& w, const Inst& i) { w.s[(i.dst + w.s[reg_m0]) & 127] = scalar_source<u32>(w, i.src[0]); }, Ty::b32);
  rel("S_MOVRELD_B64", [](Wave& w, const Inst& i) { w.set_s64(int((i.dst + w.s[reg_m0]) & 126), scalar_source<u64>(w, i.src[0])); }, Ty::b64);
  // VGPR indexing: M0 bits 0-7 are the index, bits 12-15 say which operands it moves.
  OpInfo on = Rows::info([](Wave& w, const Inst& i) {
    w.s[reg_m0] = (w.s[reg_m0] & ~0xf0ffu) | (scalar_source<u32>(w, i.src[0]) & 255u) | u32(i.imm & 15) << 12;
    run_indexed(w);
  });
  on.src[0] = Ty::b32;
  r.add("S_SET_GPR_IDX_ON", on);
  OpInfo idx = Rows::info([](Wave& w, const Inst& i) { w.s[reg_m0] = (w.s[reg_m0] & ~255u) | (scalar_source<u32>(w, i.src[0]) & 255u); });
  idx.src[0] = Ty::b32;
  r.add("S_SET_GPR_IDX_IDX", idx);
  r.add("S_SET_GPR_IDX_MODE", Rows::info([](Wave& w, const Inst& i) { w.s[reg_m0] = (w.s[reg_m0] & ~0xf000u) | u32(i.imm & 15) << 12; }));
  nop("S_SET_GPR_IDX_OFF");
}

// ---- scalar memory
template <int Dwords> void scalar_load(Wave& w, const Inst& i) {
  u64 address = w.s64(i.sbase) + u64(i64(i.offset));
  if (i.src[0].kind != SrcKind::none) address += scalar_source<u32>(w, i.src[0]);
  address &= ~u64{3};
  if (i.data + Dwords > 128) return fault(w, FaultKind::invalid, "scalar load past the last SGPR");
  load_scalar(w, address, &w.s[i.data], Dwords);
  issue_smem(w, i.data, Dwords);
}

template <int Dwords> void scalar_buffer_load(Wave& w, const Inst& i) {
  const u64 base = w.s64(i.sbase) & 0xffffffffffffu;
  const u32 stride = w.s[i.sbase + 1] >> 16 & 0x3fff;
  const u64 records = u64(w.s[i.sbase + 2]) * (stride ? stride : 1);
  u32 offset = u32(i.offset);
  if (i.src[0].kind != SrcKind::none) offset += scalar_source<u32>(w, i.src[0]);
  offset &= ~3u;
  for (int k = 0; k < Dwords; ++k) {
    const u64 at = u64(offset) + 4u * u64(k);
    if (at + 4 > records) w.s[i.data + k] = 0;
    else load_scalar(w, base + at, &w.s[i.data + k], 1);
  }
  issue_smem(w, i.data, Dwords);
}

template <int Dwords> void scalar_store(Wave& w, const Inst& i) {
  u64 address = w.s64(i.sbase) + u64(i64(i.offset));
  if (i.src[0].kind != SrcKind::none) address += scalar_source<u32>(w, i.src[0]);
  store_scalar(w, address & ~u64{3}, &w.s[i.data], Dwords);
}

void add_smem(Rows& r) {
  auto row = [&](const char* n, Handler fn, int dwords, uint16_t flags) {
    OpInfo o = Rows::info(fn, InstClass::smem, flags);
    o.aux = dwords * 4;
    r.add(n, o);
  };
  row("S_LOAD_DWORD", scalar_load<1>, 1, op_load);
  row("S_LOAD_DWORDX2", scalar_load<2>, 2, op_load);
  row("S_LOAD_DWORDX4", scalar_load<4>, 4, op_load);
  row("S_LOAD_DWORDX8", scalar_load<8>, 8, op_load);
  row("S_LOAD_DWORDX16", scalar_load<16>, 16, op_load);
  row("S_BUFFER_LOAD_DWORD", scalar_buffer_load<1>, 1, op_load);
  row("S_BUFFER_LOAD_DWORDX2", scalar_buffer_load<2>, 2, op_load);
  row("S_BUFFER_LOAD_DWORDX4", scalar_buffer_load<4>, 4, op_load);
  row("S_BUFFER_LOAD_DWORDX8", scalar_buffer_load<8>, 8, op_load);
  row("S_BUFFER_LOAD_DWORDX16", scalar_buffer_load<16>, 16, op_load);
  row("S_STORE_DWORD", scalar_store<1>, 1, op_store);
  row("S_STORE_DWORDX2", scalar_store<2>, 2, op_store);
  row("S_STORE_DWORDX4", scalar_store<4>, 4, op_store);
  auto time = [](Wave& w, const Inst& i) {
    w.set_s64(i.data, 4 * w.executed);
    issue_smem(w, i.data, 2);
  };
  row("S_MEMTIME", time, 2, op_load);
  row("S_MEMREALTIME", time, 2, op_load);
}

}  // namespace

void add_salu(std::vector<std::pair<std::string, OpInfo>>& table) {
  Rows r{table};
  add_arithmetic(r);
  add_bits(r);
  add_compares(r);
  add_control(r);
  add_smem(r);
}

}  // namespace tile::sim
