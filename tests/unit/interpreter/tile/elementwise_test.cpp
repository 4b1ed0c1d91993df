// Every elementwise operation on every type, through whole kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsl/num/kernels.h"
#include "tests/unit/interpreter/tile/maker.h"
#include "tests/unit/interpreter/tile/reference.h"

namespace tile::interp::test {
namespace {

uint64_t read(const std::vector<uint8_t>& v, size_t i, size_t size) {
  uint64_t x = 0;
  std::memcpy(&x, v.data() + i * size, size);
  return x;
}

// Special values first, then random bits.
std::vector<uint8_t> samples(DType t, size_t n, std::mt19937_64& rng) {
  size_t size = buffer_bytes(t);
  std::vector<uint8_t> v(n * size);
  uint64_t top = uint64_t{1} << (bit_width(t) - 1);
  std::vector<uint64_t> special{0, 1, 2, 7, top, top - 1, top + 1, mask_of(t), mask_of(t) - 1, mask_of(t) / 3};
  if (is_float(t)) {
    uint64_t man = info(t).man_bits, one = static_cast<uint64_t>(info(t).bias) << man;
    for (uint64_t x : {one, one + 1, one - 1, one + (uint64_t{3} << man), ((uint64_t{1} << info(t).exp_bits) - 1) << man}) {
      special.push_back(x);
      special.push_back(x | top);
    }
  }
  for (size_t i = 0; i < n; ++i) {
    uint64_t x = rng() % 3 == 0 ? special[rng() % special.size()] : rng();
    if (is_int(t) && rng() % 4 == 0) x = rng() % (2 * bit_width(t));
    if (is_float(t) && rng() % 2 == 0) x = encode(t, std::ldexp(static_cast<double>(static_cast<int64_t>(rng() % 2001) - 1000), static_cast<int>(rng() % 9) - 4));
    x &= mask_of(t);
    std::memcpy(v.data() + i * size, &x, size);
  }
  return v;
}

void run_one(OpKind op, DType t, int64_t n, std::mt19937_64& rng) {
  const OpInfo& row = info(op);
  Maker m;
  std::vector<std::vector<uint8_t>> data;
  std::vector<DType> types;
  std::vector<ValueId> values;
  for (unsigned a = 0; a < row.arity; ++a) {
    types.push_back(row.form == Form::Select && a == 0 ? DType::Bool : t);
    values.push_back(m.load_all(m.pointer("p" + std::to_string(a), types[a]), {n}));
    data.push_back(samples(types[a], static_cast<size_t>(n), rng));
  }
  ValueId out = m.pointer("out", row.form == Form::Cmp ? DType::Bool : t);
  ValueId result = m.ew(op, values);
  DType rt = m.kernel.type(result).dtype;
  m.store_all(out, result);
  m.finish();
  std::vector<uint8_t> got(static_cast<size_t>(n) * buffer_bytes(rt));
  std::vector<Argument> args;
  for (auto& d : data) args.push_back(array(d));
  args.push_back(array(got));
  Result<RunResult> r = run_kernel(m.kernel, args, {1, 1, 1});
  ASSERT_TRUE(r) << r.error().message;
  ASSERT_TRUE(r->ok()) << r->failure->message;
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    uint64_t x[3] = {};
    for (unsigned a = 0; a < row.arity; ++a) x[a] = read(data[a], i, buffer_bytes(types[a]));
    std::optional<uint64_t> want = elementwise(op, t, x[0], x[1], x[2]);
    if (!want) continue;
    ASSERT_TRUE(same_value(rt, read(got, i, buffer_bytes(rt)), *want))
        << mnemonic(op) << " " << name(t) << " of " << std::hex << x[0] << ", " << x[1] << ", " << x[2] << ": "
        << read(got, i, buffer_bytes(rt)) << " instead of " << *want;
  }
}

TEST(Elementwise, EveryOperationOnEveryType) {
  std::mt19937_64 rng(11);
  for (unsigned i = 0; i < num_elementwise; ++i)
    for (unsigned d = 0; d < num_dtypes; ++d) {
      DType t = static_cast<DType>(d);
      if (!in_domain(info(op_at(i)).domain, t) || is_packed(t)) continue;
      for (int64_t n : {1, 300, 1500}) run_one(op_at(i), t, n, rng);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(Elementwise, ApproximateOperationsAreNearAndNoted) {
  Maker m;
  ValueId x = m.pointer("x", DType::F32), out = m.pointer("out", DType::F32);
  m.store_all(out, m.ew(OpKind::FastExp2, {m.load_all(x, {64})}));
  m.finish();
  std::vector<float> in(64), got(64);
  for (int i = 0; i < 64; ++i) in[i] = static_cast<float>(i - 32) * 0.37f;
  Result<Executable> e = compile_kernel(m.kernel);
  ASSERT_TRUE(e);
  ASSERT_TRUE(e->run({array(in), array(got)}, {1, 1, 1}).ok());
  for (int i = 0; i < 64; ++i) EXPECT_FLOAT_EQ(got[i], std::exp2(in[i]));
  EXPECT_EQ(e->fidelity().lowest, Fidelity::Approximate);
  ASSERT_EQ(e->fidelity().notes.size(), 1u);
  EXPECT_EQ(e->fidelity().notes[0].what, "fast::exp2");
}

TEST(Elementwise, ScalarsAndMixedSizes) {
  // out[i, j] = (x[i] * s + j) where x[i] > t else -(x[i])
  Maker m;
  ValueId x = m.pointer("x", DType::I32), out = m.pointer("out", DType::I32);
  ValueId s = m.scalar("s", DType::I32), t = m.scalar("t", DType::I32);
  Shape shape{5, 700};
  ValueId xs = m.b.broadcast(m.rows(m.load_all(x, {5})), shape);
  ValueId j = m.b.broadcast(m.columns(m.arange(700)), shape);
  ValueId twice = m.ew(OpKind::AddI, {s, s});
  ValueId sum = m.ew(OpKind::AddI, {m.ew(OpKind::MulI, {xs, m.b.splat(twice, shape)}), j});
  ValueId cond = m.ew(OpKind::GtS, {xs, m.b.splat(t, shape)});
  m.store_all(out, m.ew(OpKind::Where, {cond, sum, m.ew(OpKind::NegI, {xs})}));
  m.finish();
  std::vector<int32_t> in{5, -3, 100, 7, 8}, got(3500);
  Result<RunResult> r = run_kernel(m.kernel, {array(in), array(got), number(21), number(6)}, {1, 1, 1});
  ASSERT_TRUE(r && r->ok());
  for (int i = 0; i < 5; ++i)
    for (int c = 0; c < 700; ++c) ASSERT_EQ(got[i * 700 + c], in[i] > 6 ? in[i] * 42 + c : -in[i]) << i << " " << c;
}

TEST(Elementwise, Casts) {
  struct Case { DType from, to; uint64_t in, out; };
  const Case cases[] = {
      {DType::F32, DType::I32, 0x4f000000, 0x7fffffff},  // 2^31 saturates
      {DType::F32, DType::I32, 0x7fc00000, 0},           // NaN
      {DType::F32, DType::U8, 0xc0000000, 0},            // -2
      {DType::F32, DType::I8, 0xc3800000, 0x80},         // -256
      {DType::F32, DType::F16, 0x477fefff, 0x7bff},      // below the middle of 65504 and 65536
      {DType::F32, DType::F16, 0x477ff000, 0x7c00},      // the middle: Inf
      {DType::F64, DType::F32, 0x3ff0000010000000, 0x3f800000},  // tie to even
      {DType::F32, DType::BF16, 0x3f808000, 0x3f80},
      {DType::F32, DType::BF16, 0x3f818000, 0x3f82},
      {DType::I32, DType::I8, 0x1ff, 0xff},              // wraps
      {DType::I8, DType::I32, 0x80, 0xffffff80},
      {DType::U8, DType::F32, 200, 0x43480000},
      {DType::I32, DType::Bool, 4, 1},
      {DType::F32, DType::F8E4M3, 0x44000000, 0x7e},     // 512 -> 448
      {DType::F32, DType::F8E4M3FNUZ, 0xff800000, 0xff}, // -Inf -> -240
      {DType::F32, DType::F4E2M1, 0x41000000, 0x7},      // 8 -> 6
      {DType::F8E5M2, DType::F32, 0x3c, 0x3f800000},
      {DType::F4E2M1, DType::F16, 0x9, 0xb800},          // -0.5
  };
  for (const Case& c : cases) {
    Maker m;
    ValueId out = m.pointer("out", is_packed(c.to) ? DType::U8 : c.to);
    ValueId x = m.b.constant(Type::tile(c.from, {3}), c.in);
    ValueId y = m.b.cast(x, c.to);
    if (is_packed(c.to)) {  // back to a byte by way of f32, times two
      y = m.b.cast(m.ew(OpKind::MulF, {m.b.cast(y, DType::F32), m.b.splat(m.f32(1.0f), {3})}), DType::U8);
    }
    m.store_all(out, y);
    m.finish();
    std::vector<uint64_t> got(3, 0);
    std::vector<uint8_t> bytes(3 * buffer_bytes(c.to));
    Result<RunResult> r = run_kernel(m.kernel, {array(bytes)}, {1, 1, 1});
    ASSERT_TRUE(r && r->ok());
    uint64_t want = is_packed(c.to) ? 6 : c.out;
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(read(bytes, i, buffer_bytes(c.to)), want) << name(c.from) << " " << std::hex << c.in << " as " << name(c.to);
  }
}

}  // namespace
}  // namespace tile::interp::test
