// Conversions to and from the narrow float formats: cvt_pk_fp8 and friends, and the scaled family of gfx950.
#include <fmt/format.h>

#include <cmath>

#include "dsl/num/format.h"
#include "interpreter/machine/checks.h"
#include "interpreter/machine/exec.h"
#include "interpreter/machine/lane_types.h"
#include "interpreter/machine/program.h"
#include "interpreter/machine/salu.h"

namespace tile::sim {
namespace {

enum class Fmt : uint8_t { f32, f16, bf16, fp8, bf8, fp6, bf6, fp4 };
int bits_of_format(Fmt f) {
  switch (f) {
    case Fmt::f32: return 32;
    case Fmt::f16: case Fmt::bf16: return 16;
    case Fmt::fp8: case Fmt::bf8: return 8;
    case Fmt::fp6: case Fmt::bf6: return 6;
    case Fmt::fp4: return 4;
  }
  return 32;
}

bool is_ocp(const Wave& w) { return w.program->target == "gfx950"; }

double decode(Fmt f, bool ocp, uint32_t x) {
  switch (f) {
    case Fmt::f32: return double(std::bit_cast<float>(x));
    case Fmt::f16: return double(num::decode_f32<DType::F16>(x & 0xffffu));
    case Fmt::bf16: return double(num::decode_f32<DType::BF16>(x & 0xffffu));
    case Fmt::fp8: return double(ocp ? num::decode_f32<DType::F8E4M3>(x & 255u) : num::decode_f32<DType::F8E4M3FNUZ>(x & 255u));
    case Fmt::bf8: return double(ocp ? num::decode_f32<DType::F8E5M2>(x & 255u) : num::decode_f32<DType::F8E5M2FNUZ>(x & 255u));
    case Fmt::fp6: return double(num::decode_f32<DType::F6E2M3>(x & 63u));
    case Fmt::bf6: return double(num::decode_f32<DType::F6E3M2>(x & 63u));
    case Fmt::fp4: return double(num::decode_f32<DType::F4E2M1>(x & 15u));
  }
  return 0;
}

uint32_t encode(Fmt f, bool ocp, double x, bool saturate, num::Rounding r, uint32_t random) {
  switch (f) {
    case Fmt::f32: return std::bit_cast<uint32_t>(float(x));
    case Fmt::f16: return num::encode_f64<DType::F16>(x, r, saturate, random);
    case Fmt::bf16: return num::encode_f64<DType::BF16>(x, r, saturate, random);
    case Fmt::fp8: return ocp ? num::encode_f64<DType::F8E4M3>(x, r, saturate, random) : num::encode_f64<DType::F8E4M3FNUZ>(x, r, saturate, random);
    case Fmt::bf8: return ocp ? num::encode_f64<DType::F8E5M2>(x, r, saturate, random) : num::encode_f64<DType::F8E5M2FNUZ>(x, r, saturate, random);
    case Fmt::fp6: return num::encode_f64<DType::F6E2M3>(x, r, true, random);
    case Fmt::bf6: return num::encode_f64<DType::F6E3M2>(x, r, true, random);
    case Fmt::fp4: return num::encode_f64<DType::F4E2M1>(x, r, true, random);
  }
  return 0;
}

uint32_t lane_word(const Wave& w, const Src& s, int lane, int word = 0) {
  if (s.kind == SrcKind::vgpr) return w.v[s.reg + word][lane];
  if (s.kind == SrcKind::sgpr) return read_scalar(w, s.reg + unsigned(word));
  return uint32_t(s.value);
}
uint32_t prng(uint32_t x) { return (x << 1) ^ (x >> 31 ? 197u : 0u); }

// Operands narrower than a dword choose their place with op_sel.
struct Scaled {
  std::string name;
  Fmt to, from;
  int count;
  bool stochastic, two_sources;   // two_sources: S0 and S1 interleave (2xpk16), or hold one element each
};
std::vector<Scaled>& scaled_rows() {
  static std::vector<Scaled> rows;
  return rows;
}

double modified(const Src& s, double x) {
  if (s.mods & mod_abs) x = std::fabs(x);
  return s.mods & mod_neg ? -x : x;
}

void scaled_convert(Wave& w, const Inst& i) {
  const Scaled& c = scaled_rows()[size_t(i.op->aux)];
  const bool widening = bits_of_format(c.from) < 16;
  const Src& scale_src = i.src[c.stochastic || c.two_sources ? 2 : 1];
  const int fb = bits_of_format(c.from), tb = bits_of_format(c.to);
  const uint64_t exec = w.exec();
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    const int scale = int(lane_word(w, scale_src, l) >> 23 & 255u);
    uint32_t random = c.stochastic ? lane_word(w, i.src[1], l) : 0;
    uint32_t out[32] = {};
    for (int e = 0; e < c.count; ++e) {
      const Src& s = i.src[c.two_sources ? e & 1 : 0];
      const int k = c.two_sources ? e / 2 : e;
      uint32_t x;
      if (c.count <= 2 && widening) {        // a byte or word of the source register
        const int byte = c.count * fb <= 8 ? i.op_sel & 3 : 2 * (i.op_sel & 1);
        x = lane_word(w, s, l) >> (8 * byte + fb * k);
      } else {
        const int at = k * fb;
        uint64_t word = lane_word(w, s, l, at / 32);
        if (at % 32 + fb > 32) word |= uint64_t(lane_word(w, s, l, at / 32 + 1)) << 32;
        x = uint32_t(word >> (at % 32));
      }
      double v = modified(s, decode(c.from, true, x));
      v = scale == 255 ? std::nan("") : std::ldexp(v, widening ? scale - 127 : 127 - scale);
      const uint32_t code = encode(c.to, true, v, w.ovfl16, c.stochastic ? num::Rounding::Stochastic : num::Rounding::NearestEven, random);
      random = prng(random);
      for (int b = 0; b < tb; ++b) out[(e * tb + b) / 32] |= (code >> b & 1u) << ((e * tb + b) % 32);
    }
    const int total = c.count * tb;
    if (total >= 32) {
      for (int r = 0; r < total / 32; ++r) w.v[i.dst + r][l] = out[r];
    } else {
      const int shift = total == 16 ? 16 * (i.op_sel >> 3 & 1) : 8 * (i.op_sel >> 2 & 3);
      const uint32_t mask = ((1u << total) - 1) << shift;
      w.v[i.dst][l] = (w.v[i.dst][l] & ~mask) | out[0] << shift;
    }
  }
}

// Two f32 to one 16-bit half.
template <Fmt F> void pack_fp8(Wave& w, const Inst& i) {
  Rows ba, bb;
  const In a = fetch<F32>(w, i, 0, ba), b = fetch<F32>(w, i, 1, bb);
  const uint64_t exec = w.exec();
  const int shift = i.op_sel & 8 ? 16 : 0;
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    const uint32_t lo = encode(F, is_ocp(w), double(F32::get(a, l)), w.ovfl16, num::Rounding::NearestEven, 0);
    const uint32_t hi = encode(F, is_ocp(w), double(F32::get(b, l)), w.ovfl16, num::Rounding::NearestEven, 0);
    uint32_t& d = w.v[i.dst][l];
    d = (d & ~(0xffffu << shift)) | (lo | hi << 8) << shift;
  }
}

// Random bits are added below the kept mantissa, without a carry into the exponent, then rounded to nearest even.
template <Fmt F> void stochastic_fp8(Wave& w, const Inst& i) {
  Rows ba, bb;
  const In a = fetch<F32>(w, i, 0, ba), b = fetch<U32>(w, i, 1, bb);
  const uint64_t exec = w.exec();
  const int shift = 8 * (i.op_sel >> 2 & 3);
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    uint32_t x = a.lo[l];
    if ((x & 0x7f800000u) != 0x7f800000u) x = (x & 0xff800000u) | ((x + (b.lo[l] >> (F == Fmt::fp8 ? 12 : 11))) & 0x7fffffu);
    const uint32_t code = encode(F, is_ocp(w), double(std::bit_cast<float>(x)), w.ovfl16, num::Rounding::NearestEven, 0);
    uint32_t& d = w.v[i.dst][l];
    d = (d & ~(0xffu << shift)) | code << shift;
  }
}

template <Fmt F> void stochastic_half(Wave& w, const Inst& i) {
  Rows ba, bb;
  const In a = fetch<F32>(w, i, 0, ba), b = fetch<U32>(w, i, 1, bb);
  const uint64_t exec = w.exec();
  const int shift = i.op_sel & 8 ? 16 : 0;
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    const uint32_t code = encode(F, true, double(F32::get(a, l)), w.ovfl16, num::Rounding::Stochastic, b.lo[l]);
    uint32_t& d = w.v[i.dst][l];
    d = (d & ~(0xffffu << shift)) | code << shift;
  }
}

// One byte, or with Pair two, to f32. The byte or word is chosen by SDWA or op_sel.
template <Fmt F, bool Pair> void unpack_fp8(Wave& w, const Inst& i) {
  Rows ba, out;
  const In a = fetch<U32>(w, i, 0, ba);
  for (int l = 0; l < lanes; ++l) {
    const uint32_t x = i.form == Form::plain ? a.lo[l] >> (Pair ? 16 * (i.op_sel & 1) : 8 * (i.op_sel & 3)) : a.lo[l];
    out.lo[l] = std::bit_cast<uint32_t>(float(decode(F, is_ocp(w), x & 255u)));
    if (Pair) out.hi[l] = std::bit_cast<uint32_t>(float(decode(F, is_ocp(w), x >> 8 & 255u)));
  }
  const uint64_t exec = exec_of(w, i);
  write_row(w, i, i.dst, out.lo, exec, Ty::b32);
  if (Pair) write_row(w, i, i.dst + 1, out.hi, exec, Ty::b32);
}

const char* format_name(Fmt f) {
  static const char* names[] = {"F32", "F16", "BF16", "FP8", "BF8", "FP6", "BF6", "FP4"};
  return names[int(f)];
}

void add_scaled(OpTable& table, const std::string& prefix, Fmt to, Fmt from, int count, bool stochastic, bool two) {
  OpInfo o;
  o.fn = scaled_convert;
  o.cls = InstClass::valu;
  o.flags = op_noflush;
  o.shadow = Shadow::all;
  o.aux = int32_t(scaled_rows().size());
  o.dst = Ty::b32;
  o.src[0] = Ty::f32;
  o.src[1] = Ty::b32;
  if (stochastic || two) o.src[2] = Ty::b32;
  Scaled s{fmt::format("V_CVT_SCALEF32_{}{}_{}", prefix, format_name(to), format_name(from)), to, from, count, stochastic, two};
  table.emplace_back(s.name, o);
  scaled_rows().push_back(std::move(s));
}

}  // namespace

void add_convert(OpTable& table) {
  auto row = [&](const char* name, Handler fn, Ty d, Ty a, Ty b) {
    OpInfo o;
    o.fn = fn;
    o.cls = InstClass::valu;
    o.dst = d; o.src[0] = a; o.src[1] = b;
    table.emplace_back(name, o);
  };
  row("V_CVT_PK_FP8_F32", pack_fp8<Fmt::fp8>, Ty::b32, Ty::f32, Ty::f32);
  row("V_CVT_PK_BF8_F32", pack_fp8<Fmt::bf8>, Ty::b32, Ty::f32, Ty::f32);
  row("V_CVT_SR_FP8_F32", stochastic_fp8<Fmt::fp8>, Ty::b32, Ty::f32, Ty::b32);
  row("V_CVT_SR_BF8_F32", stochastic_fp8<Fmt::bf8>, Ty::b32, Ty::f32, Ty::b32);
  row("V_CVT_SR_F16_F32", stochastic_half<Fmt::f16>, Ty::b32, Ty::f32, Ty::b32);
  row("V_CVT_SR_BF16_F32", stochastic_half<Fmt::bf16>, Ty::b32, Ty::f32, Ty::b32);
  row("V_CVT_F32_FP8", unpack_fp8<Fmt::fp8, false>, Ty::b32, Ty::b32, Ty::none);
  row("V_CVT_F32_BF8", unpack_fp8<Fmt::bf8, false>, Ty::b32, Ty::b32, Ty::none);
  row("V_CVT_PK_F32_FP8", unpack_fp8<Fmt::fp8, true>, Ty::b64, Ty::b32, Ty::none);
  row("V_CVT_PK_F32_BF8", unpack_fp8<Fmt::bf8, true>, Ty::b64, Ty::b32, Ty::none);
  const Fmt wide[] = {Fmt::f32, Fmt::f16, Fmt::bf16};
  for (Fmt w : wide) {
    for (Fmt n : {Fmt::fp8, Fmt::bf8}) {
      add_scaled(table, "PK_", n, w, 2, false, w == Fmt::f32);
      add_scaled(table, "SR_", n, w, 1, true, false);
      add_scaled(table, "PK_", w, n, 2, false, false);
      if (w != Fmt::bf16) add_scaled(table, "", w, n, 1, false, false);
    }
    add_scaled(table, "PK_", Fmt::fp4, w, 2, false, w == Fmt::f32);
    add_scaled(table, "SR_PK_", Fmt::fp4, w, 2, true, false);
    add_scaled(table, "PK_", w, Fmt::fp4, 2, false, false);
    for (Fmt n : {Fmt::fp6, Fmt::bf6}) {
      if (w == Fmt::f32) add_scaled(table, "2XPK16_", n, w, 32, false, true);
      else add_scaled(table, "PK32_", n, w, 32, false, false);
      add_scaled(table, "SR_PK32_", n, w, 32, true, false);
      add_scaled(table, "PK32_", w, n, 32, false, false);
    }
  }
}

}  // namespace tile::sim
