// Matrix instructions: the vectorised kernels against the scalar definition for every instruction, architecture and
// host instruction set; the modifiers of single instructions. Recorded vectors are checked by num_vectors.
#include "dsl/num/mfma.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "dsl/num/format.h"
#include "dsl/num/kernels.h"
#include "dsl/num/mfma_scalar.h"
#include "dsl/num/storage.h"

namespace tile::num {
namespace {

enum class Kind { Normal, Wide, RandomBits, Tiny, Huge, Special };

uint64_t random_element(DType t, Kind kind, std::mt19937_64& rng) {
  unsigned bits = bit_width(t);
  uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (!is_float(t) || kind == Kind::RandomBits) return rng() & mask;
  const DTypeInfo& row = info(t);
  uint64_t sign = (rng() & 1) << (bits - 1), man = rng() & ((uint64_t{1} << row.man_bits) - 1);
  int last = (1 << row.exp_bits) - 1;
  int middle = row.bias, field = middle;
  switch (kind) {
    case Kind::Normal: field = middle + static_cast<int>(rng() % 5) - 3; break;
    case Kind::Wide: field = middle + static_cast<int>(rng() % 41) - 20; break;
    case Kind::Tiny: field = static_cast<int>(rng() % 3); break;
    case Kind::Huge: field = last - 1 - static_cast<int>(rng() % 3); break;
    default:
      field = middle + static_cast<int>(rng() % 5) - 3;
      if (rng() % 16 == 0) return sign;
      if (rng() % 64 == 0) field = last, man = 0;
      if (rng() % 64 == 0) field = last, man = (uint64_t{1} << row.man_bits) - 1;
  }
  field = std::max(0, std::min(field, kind == Kind::Special ? last : last - 1));
  return sign | static_cast<uint64_t>(field) << row.man_bits | man;
}

struct Problem {
  MfmaId id;
  Arch arch;
  MfmaFormat fa = MfmaFormat::F8E4M3, fb = MfmaFormat::F8E4M3;
  size_t m, n, k;
  std::vector<uint64_t> a, b, c;
  std::vector<uint8_t> sa, sb;  // empty: no scales
  DType ta, tb, td;
};

Problem make_problem(MfmaId id, Arch arch, MfmaFormat fa, MfmaFormat fb, Kind kind, bool scales, std::mt19937_64& rng) {
  const MfmaInfo& row = info(id);
  Problem p{.id = id, .arch = arch, .fa = fa, .fb = fb, .m = 3, .n = 37, .k = row.k * (row.k < 32 ? 3 : 2), .a = {}, .b = {}, .c = {}, .sa = {}, .sb = {},
            .ta = *dtype_of(row.a, arch, fa), .tb = *dtype_of(row.b, arch, fb), .td = *dtype_of(row.cd, arch)};
  for (size_t i = 0; i < p.m * p.k; i++) p.a.push_back(random_element(p.ta, kind, rng));
  for (size_t i = 0; i < p.k * p.n; i++) p.b.push_back(random_element(p.tb, kind, rng));
  bool zero_c = rng() % 4 == 0;
  for (size_t i = 0; i < p.m * p.n; i++) p.c.push_back(zero_c ? 0 : random_element(p.td, kind, rng));
  if (scales) {
    for (size_t i = 0; i < p.m * p.k / 32; i++) p.sa.push_back(static_cast<uint8_t>(kind == Kind::Special ? rng() : 110 + rng() % 30));
    for (size_t i = 0; i < p.n * p.k / 32; i++) p.sb.push_back(static_cast<uint8_t>(kind == Kind::Special ? rng() : 110 + rng() % 30));
  }
  return p;
}

float as_f32(DType t, uint64_t bits) {
  return visit_dtype(t, [&]<DType T>() {
    if constexpr (T == DType::F32) return bits_as<float>(static_cast<uint32_t>(bits));
    else if constexpr (is_float(T) && bit_width(T) <= 16) return decode_f32<T>(static_cast<uint32_t>(bits));
    else return 0.0f;
  });
}

float flushed(float x) { return std::abs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

// One output by the definition.
uint64_t definition(const Problem& p, size_t i, size_t j) {
  MfmaModel model = model_of(p.id, p.arch);
  auto a = [&](size_t k) { return p.a[i * p.k + k]; };
  auto b = [&](size_t k) { return p.b[k * p.n + j]; };
  uint64_t c = p.c[i * p.n + j];
  if (model == MfmaModel::Int32) {
    uint32_t sum = static_cast<uint32_t>(c);
    for (size_t k = 0; k < p.k; k++) sum += static_cast<uint32_t>(static_cast<int8_t>(a(k)) * static_cast<int8_t>(b(k)));
    return sum;
  }
  if (p.td == DType::F64) {
    double sum = bits_as<double>(c);
    for (size_t k = 0; k < p.k; k++) sum = std::fma(bits_as<double>(a(k)), bits_as<double>(b(k)), sum);
    return bits_as<uint64_t>(sum);
  }
  float sum = bits_as<float>(static_cast<uint32_t>(c));
  if (model == MfmaModel::Fma) {
    for (size_t k = 0; k < p.k; k++) sum = std::fma(as_f32(p.ta, a(k)), as_f32(p.tb, b(k)), sum);
    return bits_as<uint32_t>(sum);
  }
  if (model == MfmaModel::Ftz2 || model == MfmaModel::Ftz4) {
    size_t P = model == MfmaModel::Ftz2 ? 2 : 4;
    float smallest = std::ldexp(1.0f, 1 - info(p.ta).bias);
    auto product = [&](size_t k) {
      float x = as_f32(p.ta, a(k)), y = as_f32(p.tb, b(k));
      return flushed((std::abs(x) < smallest ? 0.0f : x) * (std::abs(y) < smallest ? 0.0f : y));
    };
    for (size_t k = 0; k < p.k; k += P) {
      if (k % info(p.id).k == 0 && std::abs(sum) < 0x1p-126f) sum = 0.0f;
      float s = flushed(product(k) + product(k + 1));
      if (P == 4) s = flushed(s + flushed(product(k + 2) + product(k + 3)));
      sum = flushed(sum + s);
    }
    return bits_as<uint32_t>(sum);
  }
  MfmaOperandType ta{p.ta, info(p.id).a == MfmaType::Xf32}, tb{p.tb, info(p.id).b == MfmaType::Xf32};
  unsigned L = model == MfmaModel::Tr4 ? 4 : model == MfmaModel::Tr8 ? 8 : model == MfmaModel::Gtr16 ? 16 : 32;
  for (size_t k = 0; k < p.k; k += L) {
    MfmaOperand x[32], y[32];
    for (unsigned l = 0; l < L; l++) x[l] = mfma_decode(ta, static_cast<uint32_t>(a(k + l))), y[l] = mfma_decode(tb, static_cast<uint32_t>(b(k + l)));
    int man = mfma_man_bits(ta) + mfma_man_bits(tb);
    if (model == MfmaModel::Gtr16) {
      sum = mfma_gtr_group(x, y, L, man, sum);
      continue;
    }
    int scale = 0;
    if (!p.sa.empty()) {
      unsigned sa = p.sa[i * (p.k / 32) + k / 32], sb = p.sb[k / 32 * p.n + j];
      if (sa == 255 || sb == 255) sum = NAN;
      scale = static_cast<int>(sa + sb) - 254;
    }
    sum = mfma_tr_group(x, y, L, man, scale, sum);
  }
  return bits_as<uint32_t>(sum);
}

std::vector<unsigned char> buffer(const std::vector<uint64_t>& v, DType t, size_t rows, size_t ld) {
  size_t cols = v.size() / rows, bytes = buffer_bytes(t);
  std::vector<unsigned char> out(rows * ld * bytes, 0xcd);
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < cols; c++) memcpy(&out[(r * ld + c) * bytes], &v[r * cols + c], bytes);
  return out;
}

bool same(DType t, uint64_t x, uint64_t y) {
  if (x == y) return true;
  if (t == DType::F32) return std::isnan(as_f32(t, x)) && std::isnan(as_f32(t, y));
  return t == DType::F64 && std::isnan(bits_as<double>(x)) && std::isnan(bits_as<double>(y));
}

void check(const Problem& p, const std::string& what) {
  std::vector<uint64_t> want;
  for (size_t i = 0; i < p.m; i++)
    for (size_t j = 0; j < p.n; j++) want.push_back(definition(p, i, j));
  for (HostIsa isa : {HostIsa::Base, HostIsa::Avx2, HostIsa::Avx512}) {
    set_host_isa(isa);
    for (size_t pad : {0, 5}) {
      auto a = buffer(p.a, p.ta, p.m, p.k + pad), b = buffer(p.b, p.tb, p.k, p.n + pad), c = buffer(p.c, p.td, p.m, p.n + pad);
      mfma_dot({p.id, p.arch, p.fa, p.fb, p.m, p.n, p.k, a.data(), p.k + pad, b.data(), p.n + pad, c.data(), p.n + pad,
                p.sa.empty() ? nullptr : p.sa.data(), p.k / 32, p.sb.empty() ? nullptr : p.sb.data(), p.n});
      for (size_t i = 0; i < p.m; i++)
        for (size_t j = 0; j < p.n + pad; j++) {
          uint64_t got = 0;
          memcpy(&got, &c[(i * (p.n + pad) + j) * buffer_bytes(p.td)], buffer_bytes(p.td));
          if (j >= p.n) {
            ASSERT_EQ(got & 0xff, 0xcdu) << what << ": wrote outside of C";
            continue;
          }
          ASSERT_TRUE(same(p.td, got, want[i * p.n + j])) << what << " isa " << static_cast<int>(isa) << " (" << i << ", " << j << "): " << std::hex
                                                         << got << " want " << want[i * p.n + j];
        }
    }
  }
  set_host_isa(best_host_isa());
}

TEST(MfmaDot, FollowsTheDefinition) {
  std::mt19937_64 rng(11);
  for (const MfmaInfo& row : mfma_table)
    for (const ArchInfo& arch : arch_table) {
      if (!exists_on(row.id, arch.arch) || row.maps == MfmaMaps::Scaled) continue;
      for (Kind kind : {Kind::Normal, Kind::Wide, Kind::RandomBits, Kind::Tiny, Kind::Huge, Kind::Special})
        for (int repeat = 0; repeat < 3; repeat++)
          check(make_problem(row.id, arch.arch, {}, {}, kind, false, rng), std::string(row.kind) + " " + std::string(arch.name) + " kind " + std::to_string(static_cast<int>(kind)));
    }
}

TEST(MfmaDot, ScaledFormats) {
  std::mt19937_64 rng(12);
  for (MfmaId id : {MfmaId::F32_16x16x128_F8F6F4, MfmaId::F32_32x32x64_F8F6F4})
    for (unsigned fa = 0; fa < 5; fa++)
      for (unsigned fb = 0; fb < 5; fb++)
        for (bool scales : {false, true})
          for (Kind kind : {Kind::Normal, Kind::RandomBits, Kind::Tiny, Kind::Huge, Kind::Special})
            check(make_problem(id, Arch::Gfx950, static_cast<MfmaFormat>(fa), static_cast<MfmaFormat>(fb), kind, scales, rng),
                  std::string(info(id).kind) + " formats " + std::to_string(fa) + std::to_string(fb) + " kind " + std::to_string(static_cast<int>(kind)));
}

TEST(MfmaDot, ScaleOfNanGivesNan) {
  std::mt19937_64 rng(13);
  Problem p = make_problem(MfmaId::F32_16x16x128_F8F6F4, Arch::Gfx950, MfmaFormat::F4E2M1, MfmaFormat::F4E2M1, Kind::Normal, true, rng);
  p.sa[1] = 255;                        // row 0
  std::fill(p.a.begin(), p.a.end(), 0);  // NaN even of zeros
  check(p, "NaN scale");
  auto a = buffer(p.a, p.ta, p.m, p.k), b = buffer(p.b, p.tb, p.k, p.n), c = buffer(p.c, p.td, p.m, p.n);
  mfma_dot({p.id, p.arch, p.fa, p.fb, p.m, p.n, p.k, a.data(), p.k, b.data(), p.n, c.data(), p.n, p.sa.data(), p.k / 32, p.sb.data(), p.n});
  auto out = reinterpret_cast<const float*>(c.data());
  for (size_t j = 0; j < p.n; j++) {
    EXPECT_TRUE(std::isnan(out[j]));
    EXPECT_FALSE(std::isnan(out[p.n + j]));
  }
}

// Consequences of the models that docs/semantics.md states.
float one_output(MfmaId id, Arch arch, const std::vector<float>& a, const std::vector<float>& b, float c) {
  const MfmaInfo& row = info(id);
  DType ta = *dtype_of(row.a, arch);
  std::vector<float> ap(a), bp(b);
  ap.resize(row.k), bp.resize(row.k);
  std::vector<uint64_t> ab(row.k), bb(row.k);
  convert(DType::F32, ta, {}, ap.data(), ab.data(), row.k);
  convert(DType::F32, ta, {}, bp.data(), bb.data(), row.k);
  mfma_dot({.id = id, .arch = arch, .m = 1, .n = 1, .k = row.k, .a = ab.data(), .lda = row.k, .b = bb.data(), .ldb = 1, .c = &c, .ldc = 1});
  return c;
}

TEST(MfmaDot, StatedConsequences) {
  MfmaId f16 = MfmaId::F32_16x16x16_F16;
  EXPECT_EQ(one_output(f16, Arch::Gfx942, {1}, {1}, -1e-30f), 0x1.fffffep-1f);
  EXPECT_EQ(one_output(f16, Arch::Gfx90a, {1}, {1}, -1e-30f), 1.0f);
  EXPECT_FALSE(std::signbit(one_output(f16, Arch::Gfx942, {0}, {0}, -0.0f)));
  EXPECT_TRUE(std::signbit(one_output(MfmaId::F32_16x16x4_F32, Arch::Gfx942, {-0.0f, -0.0f, -0.0f, -0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}, -0.0f)));
  // A peer's failure: bf16 products of small integers are exact.
  EXPECT_EQ(one_output(MfmaId::F32_16x16x16_BF16_1k, Arch::Gfx942, {1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 4, 5, 6, 7, 8}, 0), 204.0f);
  EXPECT_EQ(one_output(MfmaId::F32_16x16x16_BF16_1k, Arch::Gfx90a, {1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 4, 5, 6, 7, 8}, 0), 204.0f);
  // Truncated below 2^-24 of the largest product, in one group of eight; the next group starts anew.
  EXPECT_EQ(one_output(f16, Arch::Gfx942, {1, 0x1p-13f}, {1, 0x1p-12f}, 0), 1.0f);
  EXPECT_EQ(one_output(f16, Arch::Gfx942, {1, 0x1p-12f}, {1, 0x1p-12f}, -1), 0x1p-24f);
  EXPECT_EQ(one_output(f16, Arch::Gfx942, {1, -1, 0x1p-13f}, {1, 1, 0x1p-12f}, 0), 0.0f);
  EXPECT_EQ(one_output(f16, Arch::Gfx942, {1, -1, 0, 0, 0, 0, 0, 0, 0x1p-13f}, {1, 1, 0, 0, 0, 0, 0, 0, 0x1p-12f}, 0), 0x1p-25f);
  // The worked example of docs/semantics.md.
  EXPECT_EQ(one_output(f16, Arch::Gfx942, {1.5f, 0x1p-13f, 0x1p-13f, 0x1p-13f, -0x1p-12f}, {1, 0x1p-12f, 0x1p-12f, 0x1p-12f, 0x1.8p-12f}, -0x1p-26f),
            0x1.7ffffep0f);
  EXPECT_EQ(one_output(f16, Arch::Gfx90a, {1.5f, 0x1p-13f, 0x1p-13f, 0x1p-13f, -0x1p-12f}, {1, 0x1p-12f, 0x1p-12f, 0x1p-12f, 0x1.8p-12f}, -0x1p-26f),
            0x1.7ffffep0f);
}

// Modifiers of single instructions, against the same products with the operands moved by hand.
TEST(MfmaExecute, Broadcasts) {
  std::mt19937_64 rng(21);
  for (MfmaId id : {MfmaId::F32_32x32x4_2b_F16, MfmaId::F32_16x16x4_4b_F16, MfmaId::F32_4x4x4_16b_F16, MfmaId::I32_4x4x4_16b_I8, MfmaId::F32_16x16x1_4b_F32}) {
    const MfmaInfo& row = info(id);
    std::vector<uint32_t> a(a_registers(id) * wave_size), b(b_registers(id) * wave_size), c(d_registers(id) * wave_size);
    for (auto* v : {&a, &b, &c})
      for (uint32_t& x : *v) x = row.a == MfmaType::F16 ? 0x2c003400u + (rng() & 0x03ff03ff) : row.a == MfmaType::F32 ? 0x3f800000u + (rng() & 0xffffff) : static_cast<uint32_t>(rng());
    for (unsigned cbsz = 0; 1u << cbsz <= row.blocks; cbsz++)
      for (unsigned abid = 0; abid < 1u << cbsz; abid++)
        for (unsigned blgp = 0; blgp < 8; blgp++) {
          std::vector<uint32_t> moved_a = a, moved_b = b, got(c.size()), want(c.size());
          unsigned regs_a = a_registers(id), regs_b = b_registers(id);
          for (unsigned lane = 0; lane < wave_size; lane++) {
            unsigned block = lane / row.m, source = (block >> cbsz << cbsz) + abid;
            unsigned b_lane[] = {lane, lane % 32, lane % 32 + 32, (lane + 16) % 64, lane % 16, lane % 16 + 16, lane % 16 + 32, lane % 16 + 48};
            for (unsigned r = 0; r < regs_a; r++) moved_a[r * wave_size + lane] = a[r * wave_size + source * row.m + lane % row.m];
            for (unsigned r = 0; r < regs_b; r++) moved_b[r * wave_size + lane] = b[r * wave_size + b_lane[blgp]];
          }
          mfma_execute(id, Arch::Gfx942, a.data(), b.data(), c.data(), got.data(), {.cbsz = cbsz, .abid = abid, .blgp = blgp});
          mfma_execute(id, Arch::Gfx942, moved_a.data(), moved_b.data(), c.data(), want.data());
          ASSERT_EQ(got, want) << row.kind << " " << cbsz << " " << abid << " " << blgp;
        }
  }
}

TEST(MfmaExecute, NegatesF64) {
  std::mt19937_64 rng(22);
  MfmaId id = MfmaId::F64_16x16x4_F64;
  auto random = [&](unsigned regs) {
    std::vector<uint32_t> v(regs * wave_size);
    for (unsigned r = 0; r < regs; r++)
      for (unsigned l = 0; l < wave_size; l++) v[r * wave_size + l] = r % 2 ? 0x3ff00000u | (rng() & 0x800fffff) : static_cast<uint32_t>(rng());
    return v;
  };
  auto a = random(2), b = random(2), c = random(8);
  auto negated = [](std::vector<uint32_t> v) {
    for (size_t r = 1; r < v.size() / wave_size; r += 2)
      for (unsigned l = 0; l < wave_size; l++) v[r * wave_size + l] ^= 0x80000000u;
    return v;
  };
  for (unsigned neg = 0; neg < 8; neg++) {
    std::vector<uint32_t> got(c.size()), want(c.size());
    auto na = neg & 1 ? negated(a) : a, nb = neg & 2 ? negated(b) : b, nc = neg & 4 ? negated(c) : c;
    mfma_execute(id, Arch::Gfx942, a.data(), b.data(), c.data(), got.data(), {.blgp = neg});
    mfma_execute(id, Arch::Gfx942, na.data(), nb.data(), nc.data(), want.data());
    EXPECT_EQ(got, want) << neg;
    mfma_execute(id, Arch::Gfx90a, a.data(), b.data(), c.data(), got.data(), {.blgp = neg});  // the field means nothing there
    mfma_execute(id, Arch::Gfx90a, a.data(), b.data(), c.data(), want.data());
    EXPECT_EQ(got, want) << neg;
  }
}

}  // namespace
}  // namespace tile::num
