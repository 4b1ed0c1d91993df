// Vector ALU handlers made from valu.def, and the compares. Compiled once per host instruction set
// (TILE_SIM_ISA names the namespace); the dispatcher picks one table at start.
#include "interpreter/machine/valu_tables.h"

#include "interpreter/machine/lane_types.h"

namespace tile::sim::TILE_SIM_ISA {
namespace {

// One struct a row: its types and its meaning.
#define V1(NAME, CLS, SHADOW, FLAGS, D_, A_, EXPR)                                                          \
  struct NAME##_row {                                                                                       \
    using D = D_; using A = A_; using B = U32; using C = U32;                                               \
    static constexpr int n = 1;                                                                             \
    static D::V f(A::V a, [[maybe_unused]] int l) { return D::V(EXPR); }                                    \
  };
#define V2(NAME, CLS, SHADOW, FLAGS, D_, A_, B_, EXPR)                                                      \
  struct NAME##_row {                                                                                       \
    using D = D_; using A = A_; using B = B_; using C = U32;                                                \
    static constexpr int n = 2;                                                                             \
    static D::V f(A::V a, B::V b, [[maybe_unused]] int l) { return D::V(EXPR); }                            \
  };
#define V3(NAME, CLS, SHADOW, FLAGS, D_, A_, B_, C_, EXPR)                                                  \
  struct NAME##_row {                                                                                       \
    using D = D_; using A = A_; using B = B_; using C = C_;                                                 \
    static constexpr int n = 3;                                                                             \
    static D::V f(A::V a, B::V b, C::V c, [[maybe_unused]] int l) { return D::V(EXPR); }                    \
  };
// Saturation to the result type; 32-bit results of unsigned types saturate at 0 and 2^32 - 1.
#define VS2(NAME, D_, A_, B_, EXPR)                                                                         \
  struct NAME##_sat {                                                                                       \
    using D = D_; using A = A_; using B = B_; using C = U32;                                                \
    static constexpr int n = 2;                                                                             \
    static D::V f(A::V a, B::V b, int) { return saturate<D>(EXPR); }                                        \
  };
#define VS3(NAME, D_, A_, B_, C_, EXPR)                                                                     \
  struct NAME##_sat {                                                                                       \
    using D = D_; using A = A_; using B = B_; using C = C_;                                                 \
    static constexpr int n = 3;                                                                             \
    static D::V f(A::V a, B::V b, C::V c, int) { return saturate<D>(EXPR); }                                \
  };

template <class D> inline typename D::V saturate(int64_t x) {
  int64_t lo = 0, hi = 0;
  if constexpr (std::is_same_v<D, U32>) hi = 0xffffffffll;
  if constexpr (std::is_same_v<D, U16>) hi = 0xffff;
  if constexpr (std::is_same_v<D, I32>) { lo = -0x80000000ll; hi = 0x7fffffffll; }
  if constexpr (std::is_same_v<D, I16>) { lo = -0x8000; hi = 0x7fff; }
  return typename D::V(x < lo ? lo : x > hi ? hi : x);
}

#include "interpreter/machine/valu.def"
#undef V1
#undef V2
#undef V3
#undef VS2
#undef VS3

template <class Op, int Round> inline void loop(In a, In b, In c, Out d, int round) {
  using D = typename Op::D;
  const int r = Round == 0 ? 0 : round;
#pragma GCC ivdep
  for (int l = 0; l < lanes; ++l) {
    if constexpr (Op::n == 1) D::put(d, l, Op::f(Op::A::get(a, l), l), r);
    else if constexpr (Op::n == 2) D::put(d, l, Op::f(Op::A::get(a, l), Op::B::get(b, l), l), r);
    else D::put(d, l, Op::f(Op::A::get(a, l), Op::B::get(b, l), Op::C::get(c, l), l), r);
  }
}

template <class Op> void run(Wave& w, const Inst& i) {
  using D = typename Op::D;
  Rows ba, bb, bc;
  const In a = fetch<typename Op::A>(w, i, 0, ba);
  const In b = Op::n > 1 ? fetch<typename Op::B>(w, i, 1, bb) : a;
  const In c = Op::n > 2 ? fetch<typename Op::C>(w, i, 2, bc) : a;
  const uint64_t exec = exec_of(w, i);
  if (exec == 0) return;
  constexpr bool rounds = D::ty == Ty::f16;
  if (direct<D>(w, i, exec)) [[likely]] {
    loop<Op, 0>(a, b, c, {w.v[i.dst], w.v[i.dst + (D::wide ? 1 : 0)]}, 0);
    return;
  }
  Rows out;
  if (rounds && w.round16 != 0) loop<Op, 1>(a, b, c, {out.lo, out.hi}, w.round16);
  else loop<Op, 0>(a, b, c, {out.lo, out.hi}, 0);
  finish<D>(w, i, out, exec);
}

// ---- compares
// Conditions by number: bit 0 less, bit 1 equal, bit 2 greater, bit 3 unordered (integers never are).
template <class T, int Cond> inline bool holds(typename T::V a, typename T::V b) {
  bool r = false;
  if constexpr ((Cond & 1) != 0) r |= a < b;
  if constexpr ((Cond & 2) != 0) r |= a == b;
  if constexpr ((Cond & 4) != 0) r |= a > b;
  if constexpr ((Cond & 8) != 0 && T::is_float) r |= (a != a) | (b != b);
  return r;
}

inline uint64_t pack_bits(const uint8_t* flag) {
  uint64_t m = 0;
  for (int k = 0; k < 8; ++k) {
    uint64_t x;
    std::memcpy(&x, flag + 8 * k, 8);
    m |= (x * 0x0102040810204080u >> 56) << (8 * k);
  }
  return m;
}

template <class T, int Cond, bool X> void compare(Wave& w, const Inst& i) {
  Rows ba, bb;
  const In a = fetch<T>(w, i, 0, ba);
  const In b = fetch<T>(w, i, 1, bb);
  alignas(64) uint8_t flag[lanes];
  for (int l = 0; l < lanes; ++l) flag[l] = holds<T, Cond>(T::get(a, l), T::get(b, l));
  const uint64_t m = pack_bits(flag) & exec_of(w, i);
  w.set_s64(i.sdst, m);
  if (X) w.set_s64(reg_exec, m);
}

// Class mask: 0 sNaN, 1 qNaN, 2 -inf, 3 -normal, 4 -subnormal, 5 -0, 6 +0, 7 +subnormal, 8 +normal, 9 +inf.
template <class T> inline bool in_class(uint64_t bits, uint32_t mask) {
  constexpr int man = std::is_same_v<T, F16> ? 10 : std::is_same_v<T, F32> ? 23 : 52;
  constexpr int width = std::is_same_v<T, F16> ? 16 : std::is_same_v<T, F32> ? 32 : 64;
  const bool neg = bits >> (width - 1) & 1;
  const uint64_t m = bits & ((uint64_t{1} << man) - 1);
  const uint64_t e = bits >> man & ((uint64_t{1} << (width - 1 - man)) - 1);
  const bool top = e == (uint64_t{1} << (width - 1 - man)) - 1;
  int k;
  if (top) k = m ? (m >> (man - 1) ? 1 : 0) : neg ? 2 : 9;
  else if (e) k = neg ? 3 : 8;
  else if (m) k = neg ? 4 : 7;
  else k = neg ? 5 : 6;
  return mask >> k & 1;
}

template <class T, bool X> void compare_class(Wave& w, const Inst& i) {
  Rows ba, bb;
  const In a = fetch_slow(w, i, 0, T::ty, ba);
  const In b = fetch<U32>(w, i, 1, bb);
  const uint64_t exec = exec_of(w, i);
  uint64_t m = 0;
  for (int l = 0; l < lanes; ++l) {
    const uint64_t bits = T::wide ? uint64_t(a.hi[l]) << 32 | a.lo[l] : T::ty == Ty::f16 ? a.lo[l] & 0xffffu : a.lo[l];
    m |= uint64_t(in_class<T>(bits, b.lo[l])) << l;
  }
  m &= exec;
  w.set_s64(i.sdst, m);
  if (X) w.set_s64(reg_exec, m);
}

struct Builder {
  std::vector<std::pair<std::string, OpInfo>>& table;

  template <class Op> void row(const char* name, InstClass cls, Shadow shadow, uint16_t flags) {
    OpInfo o;
    o.fn = run<Op>;
    o.cls = cls;
    o.shadow = shadow;
    o.flags = flags;
    o.dst = Op::D::ty;
    o.src[0] = Op::A::ty;
    if (Op::n > 1) o.src[1] = Op::B::ty;
    if (Op::n > 2) o.src[2] = Op::C::ty;
    table.emplace_back(name, o);
  }
  template <class T> void add_compare(const std::string& name, Handler fn, bool x, bool cls = false) {
    OpInfo o;
    o.fn = fn;
    o.cls = InstClass::valu;
    o.dst = Ty::mask;
    o.src[0] = T::ty;
    o.src[1] = cls ? Ty::b32 : T::ty;
    o.flags = uint16_t((cls ? op_noflush : 0) | (T::wide ? op_f64rate : 0));
    o.aux = x;
    table.emplace_back(name, o);
  }
  template <class T, int Cond> void cmp(const char* cond, const char* ty) {
    add_compare<T>(std::string("V_CMP_") + cond + "_" + ty, compare<T, Cond, false>, false);
    add_compare<T>(std::string("V_CMPX_") + cond + "_" + ty, compare<T, Cond, true>, true);
  }
  template <class T> void integers(const char* ty) {
    cmp<T, 0>("F", ty); cmp<T, 1>("LT", ty); cmp<T, 2>("EQ", ty); cmp<T, 3>("LE", ty);
    cmp<T, 4>("GT", ty); cmp<T, 5>("NE", ty); cmp<T, 6>("GE", ty); cmp<T, 7>("T", ty);
  }
  template <class T> void floats(const char* ty) {
    cmp<T, 0>("F", ty); cmp<T, 1>("LT", ty); cmp<T, 2>("EQ", ty); cmp<T, 3>("LE", ty);
    cmp<T, 4>("GT", ty); cmp<T, 5>("LG", ty); cmp<T, 6>("GE", ty); cmp<T, 7>("O", ty);
    cmp<T, 8>("U", ty); cmp<T, 9>("NGE", ty); cmp<T, 10>("NLG", ty); cmp<T, 11>("NGT", ty);
    cmp<T, 12>("NLE", ty); cmp<T, 13>("NEQ", ty); cmp<T, 14>("NLT", ty); cmp<T, 15>("TRU", ty);
    add_compare<T>(std::string("V_CMP_CLASS_") + ty, compare_class<T, false>, false, true);
    add_compare<T>(std::string("V_CMPX_CLASS_") + ty, compare_class<T, true>, true, true);
  }
};

}  // namespace

void add_valu(std::vector<std::pair<std::string, OpInfo>>& table) {
  using enum InstClass;
  using enum Shadow;
  Builder b{table};
#define V1(NAME, CLS, SHADOW, FLAGS, D_, A_, EXPR) b.row<NAME##_row>(#NAME, CLS, Shadow::SHADOW, FLAGS);
#define V2(NAME, CLS, SHADOW, FLAGS, D_, A_, B_, EXPR) b.row<NAME##_row>(#NAME, CLS, Shadow::SHADOW, FLAGS);
#define V3(NAME, CLS, SHADOW, FLAGS, D_, A_, B_, C_, EXPR) b.row<NAME##_row>(#NAME, CLS, Shadow::SHADOW, FLAGS);
#define VS2(NAME, D_, A_, B_, EXPR) b.row<NAME##_sat>(#NAME ":clamp", valu, Shadow::all, 0);
#define VS3(NAME, D_, A_, B_, C_, EXPR) b.row<NAME##_sat>(#NAME ":clamp", valu, Shadow::all, 0);
#include "interpreter/machine/valu.def"
#undef V1
#undef V2
#undef V3
#undef VS2
#undef VS3
  b.integers<I16>("I16"); b.integers<U16>("U16"); b.integers<I32>("I32"); b.integers<U32>("U32");
  b.integers<I64>("I64"); b.integers<U64>("U64");
  b.floats<F16>("F16"); b.floats<F32>("F32"); b.floats<F64>("F64");
}

}  // namespace tile::sim::TILE_SIM_ISA
