// dsl/num against LLVM's APFloat, an implementation of arithmetic in software that shares nothing with it.
#include <gtest/gtest.h>
#include <llvm/ADT/APFloat.h>
#include <llvm/ADT/APSInt.h>

#include <cmath>
#include <random>
#include <vector>

#include "dsl/num/convert_scalar.h"
#include "dsl/num/kernels.h"
#include "dsl/num/mfma.h"
#include "tests/unit/dsl/num/apfloat_judge.h"

namespace tile::num {
namespace {

using llvm::APFloat;
using llvm::APInt;
using llvm::APSInt;

constexpr DType narrow_floats[] = {DType::F16,        DType::BF16,       DType::F8E4M3, DType::F8E5M2, DType::F8E4M3FNUZ,
                                   DType::F8E5M2FNUZ, DType::F6E2M3, DType::F6E3M2, DType::F4E2M1, DType::F8E8M0};

// Buffers of raw values for num's array functions.
template <class T>
std::vector<uint64_t> convert_all(DType from, DType to, const std::vector<T>& src, bool saturate) {
  std::vector<unsigned char> dst(src.size() * buffer_bytes(to));
  convert(from, to, {Rounding::NearestEven, saturate}, src.data(), dst.data(), src.size());
  std::vector<uint64_t> out(src.size());
  for (size_t i = 0; i < src.size(); i++) memcpy(&out[i], &dst[i * buffer_bytes(to)], buffer_bytes(to));
  return out;
}

// All codes of a type, as its tile buffer (at most 16 bits).
template <class T>
std::vector<T> all_codes(DType t) {
  std::vector<T> v(size_t{1} << bit_width(t));
  for (size_t i = 0; i < v.size(); i++) v[i] = static_cast<T>(i);
  return v;
}

// Conversion of a list of values of one type to every float type and both overflow rules.
template <class T>
void check_to_floats(DType from, const std::vector<T>& src) {
  for (const DTypeInfo& row : dtype_table) {
    if (!is_float(row.dtype) || row.dtype == from) continue;
    for (bool saturate : {true, false}) {
      auto got = convert_all(from, row.dtype, src, saturate);
      for (size_t i = 0; i < src.size(); i++) {
        uint64_t raw = 0;
        memcpy(&raw, &src[i], sizeof(T));
        uint64_t want = judge_convert(from, row.dtype, raw, saturate);
        ASSERT_TRUE(same_or_nan(row.dtype, got[i], want)) << name(from) << " to " << row.name << (saturate ? "" : " nosat") << " of " << std::hex << raw << ": "
                                                          << got[i] << ", APFloat " << want;
      }
    }
  }
}

TEST(ApFloat, AllCodesOfNarrowTypesToEveryFloat) {
  for (DType t : narrow_floats) {
    if (bit_width(t) == 16) check_to_floats(t, all_codes<uint16_t>(t));
    else check_to_floats(t, all_codes<uint8_t>(t));
  }
}

// Values near every code of every target, and random bits.
std::vector<double> interesting_doubles(std::mt19937_64& rng) {
  std::vector<double> v = {0.0, -0.0, INFINITY, -INFINITY, NAN, 0x1p-149, 0x1p-150, 0x1.8p-150, 0x1p128, -0x1.ffffffp127, 0x1.fffffefp127, 0x1p-1074};
  for (DType t : narrow_floats) {
    if (bit_width(t) > 8) continue;
    for (uint64_t code = 0; code + 1 < uint64_t{1} << bit_width(t); code++) {
      double x = judge_value(t, code).convertToDouble(), y = judge_value(t, code + 1).convertToDouble();
      double mid = (x + y) / 2;
      for (double z : {x, mid, std::nextafter(mid, 1e308), std::nextafter(mid, -1e308)}) v.push_back(z);
    }
  }
  for (int i = 0; i < 100000; i++) {
    uint64_t b = rng();
    v.push_back(bits_as<double>(b));
    // Exponents where the narrow types live.
    v.push_back(bits_as<double>((b & 0x800fffffffffffff) | (uint64_t{1023} - 150 + b % 300) << 52));
    // Few bits, so that ties occur.
    v.push_back(bits_as<double>((b & 0x800fff0000000000) | (uint64_t{1023} - 30 + (b & 0xff) % 60) << 52));
  }
  return v;
}

TEST(ApFloat, DoublesAndFloatsToEveryFloat) {
  std::mt19937_64 rng(31);
  auto doubles = interesting_doubles(rng);
  check_to_floats(DType::F64, doubles);
  std::vector<float> floats;
  for (double x : doubles) {
    auto f = static_cast<float>(x);
    floats.push_back(f);
    floats.push_back(std::nextafter(f, INFINITY));
  }
  for (int i = 0; i < 100000; i++) floats.push_back(bits_as<float>(static_cast<uint32_t>(rng())));
  check_to_floats(DType::F32, floats);
}

template <DType T>
void check_to_ints(const std::vector<storage_t<T>>& src) {
  for (const DTypeInfo& row : dtype_table) {
    if (!is_int(row.dtype)) continue;
    auto got = convert_all(T, row.dtype, src, true);
    for (size_t i = 0; i < src.size(); i++) {
      APSInt want(row.bits, !is_signed(row.dtype));
      bool exact;
      judge_value(T, raw_bits<T>(src[i])).convertToInteger(want, APFloat::rmTowardZero, &exact);
      uint64_t mask = row.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << row.bits) - 1;
      ASSERT_EQ(got[i] & mask, want.getZExtValue()) << name(T) << " to " << row.name << " of " << std::hex << +raw_bits<T>(src[i]);
    }
  }
}

TEST(ApFloat, FloatsToIntegers) {
  check_to_ints<DType::F16>(all_codes<uint16_t>(DType::F16));
  check_to_ints<DType::BF16>(all_codes<uint16_t>(DType::BF16));
  check_to_ints<DType::F8E4M3>(all_codes<uint8_t>(DType::F8E4M3));
  check_to_ints<DType::F8E5M2FNUZ>(all_codes<uint8_t>(DType::F8E5M2FNUZ));
  check_to_ints<DType::F8E8M0>(all_codes<uint8_t>(DType::F8E8M0));
  std::mt19937_64 rng(32);
  std::vector<double> doubles;
  std::vector<float> floats;
  for (unsigned bits : {7, 8, 15, 16, 31, 32, 63, 64})
    for (int d = -4; d <= 4; d++)
      for (double sign : {1.0, -1.0}) {
        doubles.push_back(sign * (std::ldexp(1.0, static_cast<int>(bits)) + d / 2.0));
        floats.push_back(static_cast<float>(doubles.back()));
        floats.push_back(std::nextafter(floats.back(), 0.0f));
        doubles.push_back(std::nextafter(doubles.back(), 0.0));
      }
  for (int i = 0; i < 100000; i++) {
    uint64_t b = rng();
    doubles.push_back(bits_as<double>((b & 0x800fffffffffffff) | (uint64_t{1023} - 3 + (b >> 52) % 70) << 52));
    floats.push_back(static_cast<float>(doubles.back()));
    floats.push_back(bits_as<float>(static_cast<uint32_t>(rng())));
  }
  check_to_ints<DType::F64>(doubles);
  check_to_ints<DType::F32>(floats);
}

template <DType T>
void check_from_ints(std::mt19937_64& rng) {
  std::vector<storage_t<T>> src;
  for (int i = 0; i < 30000; i++) {
    uint64_t b = rng() >> (rng() % 64);
    src.push_back(static_cast<storage_t<T>>(b));
    src.push_back(static_cast<storage_t<T>>(~b));
    // Long runs of zeros after a few leading bits: ties and almost ties.
    uint64_t tie = (((b & 0xff) | 1) << (rng() % 57)) + (rng() % 3) - 1;
    src.push_back(static_cast<storage_t<T>>(tie));
  }
  for (const DTypeInfo& row : dtype_table) {
    if (!is_float(row.dtype) || row.dtype == DType::F8E8M0) continue;
    auto got = convert_all(T, row.dtype, src, false);
    for (size_t i = 0; i < src.size(); i++) {
      APFloat x(judge_semantics(row.dtype));
      x.convertFromAPInt(APInt(64, static_cast<uint64_t>(static_cast<int64_t>(src[i])), false), is_signed(T), APFloat::rmNearestTiesToEven);
      ASSERT_TRUE(same_or_nan(row.dtype, got[i], x.bitcastToAPInt().getZExtValue())) << name(T) << " to " << row.name << " of " << +src[i];
    }
  }
}

TEST(ApFloat, IntegersToFloats) {
  std::mt19937_64 rng(33);
  check_from_ints<DType::I64>(rng);
  check_from_ints<DType::U64>(rng);
  check_from_ints<DType::I32>(rng);
  check_from_ints<DType::U32>(rng);
  check_from_ints<DType::I16>(rng);
  check_from_ints<DType::U8>(rng);
}

// Operands with special values, small exponents, close exponents.
template <DType T>
storage_t<T> operand(std::mt19937_64& rng) {
  const DTypeInfo& row = info(T);
  uint64_t mask = row.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << row.bits) - 1, b = rng() & mask;
  uint64_t exp_mask = ((uint64_t{1} << row.exp_bits) - 1) << row.man_bits;
  switch (rng() % 6) {
    case 0: b &= ~exp_mask; break;                                                                        // subnormal
    case 1: b = (b & ~exp_mask) | (static_cast<uint64_t>(row.bias) + rng() % 4) << row.man_bits; break;   // near 1
    case 2: b = (b & ~exp_mask) | (rng() % 4) << row.man_bits; break;                                     // tiny
    case 3: b &= ~((uint64_t{1} << (row.man_bits - 2)) - 1); break;                                       // few bits
    case 4: {
      const uint64_t special[] = {0, exp_mask, exp_mask - 1, exp_mask | uint64_t{1} << (row.man_bits - 1), 1, uint64_t{1} << row.man_bits};
      b = special[rng() % 6] | (rng() & 1) << (row.bits - 1);
      break;
    }
    default: break;
  }
  return from_bits<T>(b);
}

template <DType T>
void expect_same(const char* what, APFloat want, storage_t<T> got, std::initializer_list<storage_t<T>> args) {
  if (same_or_nan(T, raw_bits<T>(got), want.bitcastToAPInt().getZExtValue())) return;
  std::string text;
  for (auto a : args) text += " " + std::to_string(raw_bits<T>(a));
  ADD_FAILURE() << name(T) << " " << what << " of bits" << text << ": " << raw_bits<T>(got) << ", APFloat " << want.bitcastToAPInt().getZExtValue();
}

template <DType T>
void check_arithmetic(int count) {
  std::mt19937_64 rng(34);
  constexpr auto rne = APFloat::rmNearestTiesToEven;
  for (int i = 0; i < count && !testing::Test::HasFailure(); i++) {
    auto a = operand<T>(rng), b = operand<T>(rng), c = operand<T>(rng);
    if (i % 4 == 0) c = op::NegF<T>(op::MulF<T>(a, b));  // cancellation
    APFloat x = judge_value(T, raw_bits<T>(a)), y = judge_value(T, raw_bits<T>(b)), z = judge_value(T, raw_bits<T>(c));
    auto with = [&](auto f) {
      APFloat r = x;
      f(r);
      return r;
    };
    expect_same<T>("add", with([&](APFloat& r) { r.add(y, rne); }), op::AddF<T>(a, b), {a, b});
    expect_same<T>("sub", with([&](APFloat& r) { r.subtract(y, rne); }), op::SubF<T>(a, b), {a, b});
    expect_same<T>("mul", with([&](APFloat& r) { r.multiply(y, rne); }), op::MulF<T>(a, b), {a, b});
    expect_same<T>("div", with([&](APFloat& r) { r.divide(y, rne); }), op::DivF<T>(a, b), {a, b});
    expect_same<T>("fma", with([&](APFloat& r) { r.fusedMultiplyAdd(y, z, rne); }), op::FmaF<T>(a, b, c), {a, b, c});
    if (!x.isSignaling() && !y.isSignaling()) {
      expect_same<T>("min", llvm::minnum(x, y), op::MinF<T>(a, b), {a, b});
      expect_same<T>("max", llvm::maxnum(x, y), op::MaxF<T>(a, b), {a, b});
      expect_same<T>("minimum", llvm::minimum(x, y), op::MinimumF<T>(a, b), {a, b});
      expect_same<T>("maximum", llvm::maximum(x, y), op::MaximumF<T>(a, b), {a, b});
    }
    auto order = x.compare(y);
    EXPECT_EQ(op::LtF<T>(a, b), order == APFloat::cmpLessThan);
    EXPECT_EQ(op::GtF<T>(a, b), order == APFloat::cmpGreaterThan);
    EXPECT_EQ(op::EqF<T>(a, b), order == APFloat::cmpEqual);
    EXPECT_EQ(op::NeF<T>(a, b), order != APFloat::cmpEqual);
    EXPECT_EQ(op::LeF<T>(a, b), order == APFloat::cmpLessThan || order == APFloat::cmpEqual);
    EXPECT_EQ(op::GeF<T>(a, b), order == APFloat::cmpGreaterThan || order == APFloat::cmpEqual);
  }
}

TEST(ApFloat, ArithmeticF16) { check_arithmetic<DType::F16>(400000); }
TEST(ApFloat, ArithmeticBf16) { check_arithmetic<DType::BF16>(400000); }
TEST(ApFloat, ArithmeticF32) { check_arithmetic<DType::F32>(150000); }
TEST(ApFloat, ArithmeticF64) { check_arithmetic<DType::F64>(150000); }

template <DType T>
void check_unary(const std::vector<storage_t<T>>& values) {
  for (auto a : values) {
    APFloat x = judge_value(T, raw_bits<T>(a));
    auto rounded = [&](llvm::RoundingMode mode) {
      APFloat r = x;
      r.roundToIntegral(mode);
      return r;
    };
    expect_same<T>("floor", rounded(APFloat::rmTowardNegative), op::FloorF<T>(a), {a});
    expect_same<T>("ceil", rounded(APFloat::rmTowardPositive), op::CeilF<T>(a), {a});
    expect_same<T>("trunc", rounded(APFloat::rmTowardZero), op::TruncF<T>(a), {a});
    expect_same<T>("rint", rounded(APFloat::rmNearestTiesToEven), op::RintF<T>(a), {a});
    APFloat negated = x;
    negated.changeSign();
    EXPECT_EQ(raw_bits<T>(op::NegF<T>(a)), negated.bitcastToAPInt().getZExtValue());
    EXPECT_EQ(raw_bits<T>(op::AbsF<T>(a)), llvm::abs(x).bitcastToAPInt().getZExtValue());
    // APFloat has no square root: the midpoints below and above the result, squared exactly, must enclose x.
    auto root = op::SqrtF<T>(a);
    APFloat r = judge_value(T, raw_bits<T>(root));
    if (x.isNaN() || (x.isNegative() && !x.isZero())) {
      EXPECT_TRUE(r.isNaN()) << raw_bits<T>(a);
    } else if (x.isZero() || x.isInfinity()) {
      EXPECT_EQ(raw_bits<T>(root), raw_bits<T>(a));
    } else {
      bool lost;
      auto squared_midpoint = [&](bool above) {
        APFloat low = r, high = r;
        (above ? high : low).next(!above);
        low.convert(APFloat::IEEEquad(), APFloat::rmNearestTiesToEven, &lost);
        high.convert(APFloat::IEEEquad(), APFloat::rmNearestTiesToEven, &lost);
        low.add(high, APFloat::rmNearestTiesToEven);
        low.multiply(APFloat(low.getSemantics(), "0.5"), APFloat::rmNearestTiesToEven);
        low.multiply(low, APFloat::rmNearestTiesToEven);
        return low;
      };
      APFloat wide = x;
      wide.convert(APFloat::IEEEquad(), APFloat::rmNearestTiesToEven, &lost);
      EXPECT_EQ(squared_midpoint(false).compare(wide), APFloat::cmpLessThan) << name(T) << " sqrt of bits " << raw_bits<T>(a);
      EXPECT_EQ(squared_midpoint(true).compare(wide), APFloat::cmpGreaterThan) << name(T) << " sqrt of bits " << raw_bits<T>(a);
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(ApFloat, UnaryOfAll16BitValues) {
  check_unary<DType::F16>(all_codes<uint16_t>(DType::F16));
  check_unary<DType::BF16>(all_codes<uint16_t>(DType::BF16));
}
TEST(ApFloat, UnaryF32AndF64) {
  std::mt19937_64 rng(35);
  std::vector<float> f;
  std::vector<double> d;
  for (int i = 0; i < 50000; i++) f.push_back(operand<DType::F32>(rng)), d.push_back(operand<DType::F64>(rng));
  check_unary<DType::F32>(f);
  check_unary<DType::F64>(d);
}

// The product of every pair of narrow values, through the matrix instructions that take them (one product, C = 0).
void check_products(MfmaId id, Arch arch, MfmaFormat fa, MfmaFormat fb) {
  const MfmaInfo& row = info(id);
  DType ta = *dtype_of(row.a, arch, fa), tb = *dtype_of(row.b, arch, fb);
  size_t m = size_t{1} << bit_width(ta), n = size_t{1} << bit_width(tb), k = row.k;
  std::vector<uint8_t> a(m * k), b(k * n);
  for (size_t i = 0; i < m; i++) a[i * k + i % k] = static_cast<uint8_t>(i);
  std::vector<float> c(n);
  for (size_t i = 0; i < m; i++) {
    std::fill(b.begin(), b.end(), 0);
    for (size_t j = 0; j < n; j++) b[(i % k) * n + j] = static_cast<uint8_t>(j);
    std::fill(c.begin(), c.end(), 0.0f);
    mfma_dot({.id = id, .arch = arch, .a_format = fa, .b_format = fb, .m = 1, .n = n, .k = k, .a = &a[i * k], .lda = k, .b = b.data(), .ldb = n, .c = c.data(), .ldc = n});
    for (size_t j = 0; j < n; j++) {
      APFloat x = judge_value(ta, i), y = judge_value(tb, j);
      bool lost;
      x.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lost);
      y.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lost);
      x.multiply(y, APFloat::rmNearestTiesToEven);
      if (x.isZero()) x = APFloat::getZero(APFloat::IEEEsingle());  // C = +0
      ASSERT_TRUE(same_or_nan(DType::F32, bits_as<uint32_t>(c[j]), x.bitcastToAPInt().getZExtValue())) << row.kind << " " << i << " * " << j;
    }
  }
}

TEST(ApFloat, ProductsOfAllPairsOfNarrowValues) {
  for (Arch arch : {Arch::Gfx942, Arch::Gfx950})
    for (MfmaId id : {MfmaId::F32_16x16x32_Bf8_Bf8, MfmaId::F32_16x16x32_Bf8_Fp8, MfmaId::F32_16x16x32_Fp8_Bf8, MfmaId::F32_16x16x32_Fp8_Fp8})
      check_products(id, arch, {}, {});
  for (unsigned fa = 0; fa < 5; fa++)
    for (unsigned fb = 0; fb < 5; fb++) check_products(MfmaId::F32_16x16x128_F8F6F4, Arch::Gfx950, static_cast<MfmaFormat>(fa), static_cast<MfmaFormat>(fb));
}

}  // namespace
}  // namespace tile::num
