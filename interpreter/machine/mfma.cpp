// Matrix instructions: the register maps are this file's own; sums are dsl/num's.
//
// Lane l holds n elements of A packed over its registers, element e in bits [w*e, w*e + w). With M rows a block:
//   several blocks (64/M of them): A row l % M, k = e, block l / M
//   one block:                     A row l % M, k = n * (l / M) + e
//   f8f6f4, 8-bit operand:         k = (K/2) * (e / 16) + 16 * (l / M) + e % 16
//   f8f6f4, narrower operand:      k = 32 * (l / M) + e
//   f64 4x4x4:                     A row l % 4, block l / 4 % 4, k = l / 16
// B is the same with columns. Result element r of lane l:
//   M = 32: row 8 * (r % 16 / 4) + 4 * (l / 32) + r % 4, column l % 32, block r / 16
//   M = 16: row 4 * (l / 16) + r % 4, column l % 16, block r / 4
//   M = 4:  row r, column l % 4, block l / 4
//   f64 16x16: row 4 * r + l / 16, column l % 16; f64 4x4: row l / 16, column l % 4, block l / 4 % 4
#include <fmt/format.h>

#include <cctype>

#include "dsl/num/mfma.h"
#include "interpreter/machine/checks.h"
#include "interpreter/machine/exec.h"
#include "interpreter/machine/program.h"
#include "interpreter/machine/salu.h"

namespace tile::sim {
namespace {

struct Shape {
  std::string name;
  MfmaId id;
  int m, n, k, blocks;
  MfmaType a, b, cd;
  bool scaled;
};

// Bits of an operand element; of f8f6f4 by format.
int bits_of_type(MfmaType t, unsigned format) {
  switch (t) {
    case MfmaType::F64: return 64;
    case MfmaType::F32: case MfmaType::I32: case MfmaType::Xf32: return 32;
    case MfmaType::F16: case MfmaType::BF16: return 16;
    case MfmaType::I8: case MfmaType::Fp8: case MfmaType::Bf8: return 8;
    case MfmaType::F8F6F4: return format < 2 ? 8 : format < 4 ? 6 : 4;
  }
  return 32;
}

Arch arch_of(const Wave& w) {
  return w.program->target == "gfx90a" ? Arch::Gfx90a : w.program->target == "gfx942" ? Arch::Gfx942 : Arch::Gfx950;
}

// Element e (w bits) of lane `lane` of the operand that starts at `src`.
uint64_t element(const Wave& w, const Src& src, int lane, int e, int bits) {
  if (src.kind != SrcKind::vgpr) return src.value;
  const int at = e * bits, word = at / 32, shift = at % 32;
  uint64_t x = uint64_t(w.v[src.reg + word][lane]) >> shift;
  if (shift + bits > 32) x |= uint64_t(w.v[src.reg + word + 1][lane]) << (32 - shift);
  return bits == 64 ? x : x & ((uint64_t{1} << bits) - 1);
}

void put(std::vector<uint8_t>& m, size_t index, uint64_t x, int bits) {
  const size_t bytes = bits <= 8 ? 1 : size_t(bits / 8);
  std::memcpy(m.data() + index * bytes, &x, bytes);
}

// Which K index element e of group g (= lane / M) is.
int k_index(const Shape& s, int bits, int per_lane, int group, int e) {
  if (s.blocks == 64 / s.m) return e;
  if (s.a == MfmaType::F8F6F4) return bits == 8 ? s.k / 2 * (e / 16) + 16 * group + e % 16 : 32 * group + e;
  return per_lane * group + e;
}

bool f64_small(const Shape& s) { return s.cd == MfmaType::F64 && s.m == 4; }

// Where a lane's rows of A (columns of B) belong.
int block_of_lane(const Shape& s, int lane) {
  if (f64_small(s)) return lane / 4 % 4;
  return s.blocks == 64 / s.m ? lane / s.m : 0;
}

struct Position { int row, column, block; };
Position result_position(const Shape& s, int l, int r) {
  if (s.cd == MfmaType::F64) return s.m == 4 ? Position{l / 16, l % 4, l / 4 % 4} : Position{4 * r + l / 16, l % 16, 0};
  if (s.m == 32) return {8 * (r % 16 / 4) + 4 * (l / 32) + r % 4, l % 32, r / 16};
  if (s.m == 16) return {4 * (l / 16) + r % 4, l % 16, r / 4};
  return {r, l % 4, l / 4};
}

int b_lane(int lane, unsigned blgp) {
  switch (blgp) {
    case 1: return lane % 32;
    case 2: return lane % 32 + 32;
    case 3: return (lane + 16) % 64;
    case 4: return lane % 16;
    case 5: return lane % 16 + 16;
    case 6: return lane % 16 + 32;
    case 7: return lane % 16 + 48;
    default: return lane;
  }
}

// The same of the undefined bits: whether the element has any.
bool undefined_element(const Wave& w, const Src& src, int lane, int e, int bits) {
  if (src.kind == SrcKind::sgpr) return src.reg < 128 && w.checks->s_undef[src.reg];
  if (src.kind != SrcKind::vgpr) return false;
  const int at = e * bits, word = at / 32, shift = at % 32;
  uint64_t x = w.checks->v_undef[src.reg + word][lane];
  if (shift + bits > 32) x |= uint64_t(w.checks->v_undef[src.reg + word + 1][lane]) << 32;
  return bits >= 64 ? x != 0 : (x >> shift & ((uint64_t{1} << bits) - 1)) != 0;
}

// Gathers one operand into matrices, block after block: A as M x K, B as K x N.
std::vector<uint8_t> gather(const Wave& w, const Shape& s, const Src& src, bool is_a, unsigned format, const Inst& i, bool f64_neg) {
  const int bits = bits_of_type(is_a ? s.a : s.b, format);
  const int per_lane = s.m * s.k * s.blocks / 64;
  std::vector<uint8_t> m(size_t(s.m) * size_t(s.k) * size_t(s.blocks) * size_t(bits <= 8 ? 1 : bits / 8));
  const bool broadcasts = s.a != MfmaType::F8F6F4 && s.cd != MfmaType::F64;
  for (int l = 0; l < 64; ++l) {
    const int row = l % s.m, group = f64_small(s) ? l / 16 : l / s.m;
    const int from_lane = !is_a && broadcasts ? b_lane(l, i.blgp) : l;
    for (int e = 0; e < per_lane; ++e) {
      const int k = f64_small(s) ? group : k_index(s, bits, per_lane, group, e);
      uint64_t x = element(w, src, from_lane, e, bits);
      if (f64_neg) x ^= uint64_t{1} << 63;
      const size_t block = size_t(block_of_lane(s, l)) * size_t(s.m) * size_t(s.k);
      put(m, block + size_t(is_a ? row * s.k + k : k * s.n + row), x, bits);
    }
  }
  if (is_a && broadcasts && i.cbsz) {   // blocks read another block's A
    const size_t size = m.size() / size_t(s.blocks);
    const std::vector<uint8_t> old = m;
    for (int b = 0; b < s.blocks; ++b) {
      const int from = ((b & ~((1 << i.cbsz) - 1)) + i.abid) % s.blocks;
      std::copy_n(old.begin() + int64_t(size_t(from) * size), size, m.begin() + int64_t(size_t(b) * size));
    }
  }
  return m;
}

std::vector<uint8_t> gather_scale(const Wave& w, const Shape& s, uint16_t reg, int32_t constant, unsigned byte, bool is_a) {
  std::vector<uint8_t> m(size_t(s.m) * size_t(s.k) / 32);
  for (int l = 0; l < 64; ++l) {
    const uint32_t x = reg < 0x1000 ? w.v[reg][l] : reg < 0x2000 ? read_scalar(w, reg & 0xfff) : uint32_t(constant);
    const size_t row = size_t(l % s.m), kb = size_t(l / s.m);
    m[is_a ? row * size_t(s.k) / 32 + kb : kb * size_t(s.n) + row] = uint8_t(x >> (8 * byte));
  }
  return m;
}

std::vector<Shape>& shapes() {
  static std::vector<Shape> all;
  return all;
}

void execute(Wave& w, const Inst& i) {
  const Shape& s = shapes()[size_t(i.op->aux)];
  const Arch arch = arch_of(w);
  if (!exists_on(s.id, arch)) return fault(w, FaultKind::unsupported, "this matrix instruction does not exist on the target");
  const bool f8 = s.a == MfmaType::F8F6F4;
  const bool f64_modifiers = s.cd == MfmaType::F64 && arch != Arch::Gfx90a;
  const unsigned fa = f8 ? i.cbsz : 0, fb = f8 ? i.blgp : 0;
  if (fa > 4 || fb > 4) return fault(w, FaultKind::invalid, "reserved operand format");
  const auto a = gather(w, s, i.src[0], true, fa, i, f64_modifiers && (i.blgp & 1));
  const auto b = gather(w, s, i.src[1], false, fb, i, f64_modifiers && (i.blgp & 2));
  const int cd_bits = bits_of_type(s.cd, 0);
  const int results = s.m * s.n * s.blocks / 64;
  std::vector<uint8_t> c(size_t(s.m) * size_t(s.n) * size_t(s.blocks) * size_t(cd_bits / 8));
  const size_t c_block = size_t(s.m) * size_t(s.n);
  for (int l = 0; l < 64; ++l)
    for (int r = 0; r < results; ++r) {
      const Position p = result_position(s, l, r);
      uint64_t x = element(w, i.src[2], l, r, cd_bits);
      if (f64_modifiers && (i.blgp & 4)) x ^= uint64_t{1} << 63;
      put(c, size_t(p.block) * c_block + size_t(p.row * s.n + p.column), x, cd_bits);
    }
  std::vector<uint8_t> sa, sb;
  if (i.data) {
    sa = gather_scale(w, s, i.addr, i.offset, i.op_sel & 3u, true);
    sb = gather_scale(w, s, i.data1, i.offset1, i.op_sel >> 2 & 3u, false);
  }
  for (int blk = 0; blk < s.blocks; ++blk) {
    const size_t at = size_t(blk);
    uint8_t* cp = c.data() + at * c.size() / size_t(s.blocks);
    num::mfma_matrix(s.id, arch, a.data() + at * a.size() / size_t(s.blocks), b.data() + at * b.size() / size_t(s.blocks), cp, cp,
                     MfmaFormat(fa), MfmaFormat(fb), i.data ? sa.data() : nullptr, i.data ? sb.data() : nullptr);
  }
  for (int l = 0; l < 64; ++l)
    for (int r = 0; r < results; ++r) {
      const Position p = result_position(s, l, r);
      const size_t at = (size_t(p.block) * c_block + size_t(p.row * s.n + p.column)) * size_t(cd_bits / 8);
      std::memcpy(&w.v[i.dst + r * cd_bits / 32][l], c.data() + at, 4);
      if (cd_bits == 64) std::memcpy(&w.v[i.dst + 2 * r + 1][l], c.data() + at + 4, 4);
    }
}

// "V_MFMA_F32_16X16X32_BF8_FP8" against a row of the table.
std::string opcode_of(const MfmaInfo& row, bool separated) {
  auto type = [](MfmaType t) -> std::string {
    switch (t) {
      case MfmaType::F32: return "F32";
      case MfmaType::F64: return "F64";
      case MfmaType::F16: return "F16";
      case MfmaType::BF16: return "BF16";
      case MfmaType::I8: return "I8";
      case MfmaType::I32: return "I32";
      case MfmaType::Xf32: return "XF32";
      case MfmaType::Fp8: return "FP8";
      case MfmaType::Bf8: return "BF8";
      case MfmaType::F8F6F4: return "F8F6F4";
    }
    return "";
  };
  const std::string shape = fmt::format("V_MFMA_{}_{}X{}X{}", type(row.cd), row.m, row.n, row.k);
  if (row.a == MfmaType::Fp8 || row.a == MfmaType::Bf8) return shape + "_" + type(row.a) + "_" + type(row.b);
  if (row.a == MfmaType::F8F6F4) return shape + "_F8F6F4";
  return shape + (separated ? "_" : "") + type(row.a) + (row.intrinsic.ends_with(".1k") ? "_1K" : "");
}

}  // namespace

void add_mfma(OpTable& table) {
  auto& all = shapes();
  for (const MfmaInfo& row : mfma_table) {
    Shape s{"", row.id, int(row.m), int(row.n), int(row.k), int(row.blocks), row.a, row.b, row.cd, row.a == MfmaType::F8F6F4};
    std::vector<std::string> names{opcode_of(row, false), opcode_of(row, true)};
    if (s.scaled) names.push_back("V_MFMA_SCALE_" + opcode_of(row, false).substr(7));
    OpInfo o;
    o.fn = execute;
    o.cls = InstClass::mfma;
    o.flags = op_lanes;
    o.shadow = Shadow::custom;
    o.aux = int32_t(all.size());
    o.dst = o.src[0] = o.src[1] = Ty::b32;
    o.src[2] = row.cd == MfmaType::F64 ? Ty::f64 : row.cd == MfmaType::I32 ? Ty::b32 : Ty::f32;
    all.push_back(s);
    for (const auto& n : names) table.emplace_back(n, o);
  }
}

bool mfma_is_f64(const Inst& i) { return shapes()[size_t(i.op->aux)].cd == MfmaType::F64; }

void shadow_mfma(Wave& w, const Inst& i) {
  const Shape& s = shapes()[size_t(i.op->aux)];
  WaveChecks& c = *w.checks;
  const bool f8 = s.a == MfmaType::F8F6F4, f64 = s.cd == MfmaType::F64;
  const int a_bits = bits_of_type(s.a, f8 ? i.cbsz : 0), b_bits = bits_of_type(s.b, f8 ? i.blgp : 0), cd_bits = bits_of_type(s.cd, 0);
  const int per_lane = s.m * s.k * s.blocks / 64;
  std::vector<char> row(size_t(s.m * s.blocks)), column(size_t(s.n * s.blocks));
  for (int l = 0; l < 64; ++l)
    for (int e = 0; e < per_lane; ++e) {
      const size_t at = size_t(block_of_lane(s, l) * s.m + l % s.m);
      if (undefined_element(w, i.src[0], l, e, a_bits)) row[at] = 1;
      if (undefined_element(w, i.src[1], !f8 && !f64 ? b_lane(l, i.blgp) : l, e, b_bits)) column[at] = 1;
    }
  if (i.cbsz && !f8 && !f64) {
    const auto old = row;
    for (int b = 0; b < s.blocks; ++b)
      for (int r = 0; r < s.m; ++r) row[size_t(b * s.m + r)] = old[size_t((((b & ~((1 << i.cbsz) - 1)) + i.abid) % s.blocks) * s.m + r)];
  }
  const int results = s.m * s.n * s.blocks / 64;
  c.result_rows = results * cd_bits / 32;
  c.result_exec = ~uint64_t{0};
  for (int l = 0; l < 64; ++l)
    for (int r = 0; r < results; ++r) {
      const Position p = result_position(s, l, r);
      const bool undef = row[size_t(p.block * s.m + p.row)] || column[size_t(p.block * s.m + p.column)] || undefined_element(w, i.src[2], l, r, cd_bits);
      for (int k = 0; k < cd_bits / 32; ++k) c.result[r * cd_bits / 32 + k][l] = undef ? ~0u : 0u;
    }
}

// Passes of 4 cycles; for f8f6f4 twice as many when an operand has 8 bits.
int mfma_passes(const Wave& w, const Inst& i) {
  const Shape& s = shapes()[size_t(i.op->aux)];
  const unsigned p = info(s.id).passes[unsigned(arch_of(w))];
  return int(s.scaled && (i.cbsz < 2 || i.blgp < 2) ? 2 * p : p);
}

}  // namespace tile::sim
