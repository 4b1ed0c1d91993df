// Shape operations, reductions, dots.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <functional>
#include <numeric>

#include "tests/unit/interpreter/tile/maker.h"
#include "tests/unit/interpreter/tile/reference.h"

namespace tile::interp::test {
namespace {

RunResult run(const Maker& m, const std::vector<Argument>& args) {
  Result<RunResult> r = run_kernel(m.kernel, args, {1, 1, 1});
  EXPECT_TRUE(r) << (r ? "" : r.error().message);
  return r ? *r : RunResult{};
}

TEST(ShapeOps, TransposeBroadcastReshape) {
  std::mt19937_64 rng(2);
  for (int round = 0; round < 60; ++round) {
    unsigned rank = 2 + rng() % 3;
    Shape shape;
    for (unsigned a = 0; a < rank; ++a) shape.push_back(rng() % 3 ? 1 + static_cast<int64_t>(rng() % 6) : 1);
    std::vector<int64_t> perm(rank);
    std::iota(perm.begin(), perm.end(), 0);
    std::shuffle(perm.begin(), perm.end(), rng);
    Shape turned, wide;
    for (int64_t p : perm) turned.push_back(shape[static_cast<unsigned>(p)]);
    for (int64_t e : turned) wide.push_back(e == 1 && rng() % 2 ? 3 : e);
    bool splat_source = rng() % 5 == 0;

    Maker m;
    ValueId x = m.pointer("x", DType::I16), out = m.pointer("out", DType::I16), s = m.scalar("s", DType::I16);
    ValueId source = splat_source ? m.b.splat(s, shape) : m.load_all(x, shape);
    ValueId t = m.b.make(OpKind::Trans, {source}, Type::tile(DType::I16, turned), {{AttrKey::Perm, perm}});
    ValueId b = m.b.broadcast(t, wide);
    ValueId flat = m.b.make(OpKind::Reshape, {b}, Type::tile(DType::I16, {wide.elements()}));
    m.store_all(out, m.ew(OpKind::AddI, {flat, m.b.splat(s, {wide.elements()})}));
    m.finish();
    std::vector<int16_t> in(static_cast<size_t>(shape.elements())), got(static_cast<size_t>(wide.elements()));
    for (int16_t& v : in) v = static_cast<int16_t>(rng());
    ASSERT_TRUE(run(m, {array(in), array(got), number(77)}).ok());
    for (int64_t e = 0; e < wide.elements(); ++e) {
      std::vector<int64_t> coord(rank);
      int64_t rest = e;
      for (unsigned a = rank; a-- > 0; rest /= wide[a]) coord[static_cast<size_t>(perm[a])] = turned[a] == 1 ? 0 : rest % wide[a];
      int64_t at = 0;
      for (unsigned a = 0; a < rank; ++a) at = at * shape[a] + coord[a];
      int16_t want = static_cast<int16_t>((splat_source ? 77 : in[static_cast<size_t>(at)]) + 77);
      ASSERT_EQ(got[static_cast<size_t>(e)], want) << "round " << round;
    }
  }
}

struct ReduceCase {
  DType t;
  const char* combine;
};

// The definition: combine pairs of the padded axis bit by bit, skipping what is not there.
uint64_t tree(std::vector<std::optional<uint64_t>> v, const std::vector<int64_t>& order, const std::function<uint64_t(uint64_t, uint64_t)>& f) {
  for (int64_t bit : order)
    for (size_t i = 0; i < v.size(); ++i) {
      size_t j = i | size_t{1} << bit;
      if (i == j || !v[j]) continue;
      v[i] = v[i] ? f(*v[i], *v[j]) : *v[j];
      v[j].reset();
    }
  return *v[0];
}

uint64_t combine(const char* name, DType t, uint64_t x, uint64_t y) {
  std::string n = name;
  bool f = is_float(t), s = is_signed(t);
  if (n == "sum") return *elementwise(f ? OpKind::AddF : OpKind::AddI, t, x, y, 0);
  if (n == "prod") return *elementwise(f ? OpKind::MulF : OpKind::MulI, t, x, y, 0);
  if (n == "max" || (n == "max_nan" && !f)) return *elementwise(f ? OpKind::MaxF : s ? OpKind::MaxS : OpKind::MaxU, t, x, y, 0);
  if (n == "min" || (n == "min_nan" && !f)) return *elementwise(f ? OpKind::MinF : s ? OpKind::MinS : OpKind::MinU, t, x, y, 0);
  if (n == "max_nan") return *elementwise(OpKind::MaximumF, t, x, y, 0);
  if (n == "min_nan") return *elementwise(OpKind::MinimumF, t, x, y, 0);
  return *elementwise(n == "and" ? OpKind::And : n == "or" ? OpKind::Or : OpKind::Xor, t, x, y, 0);
}

TEST(Reduce, EveryCombineTypeAxisAndOrder) {
  const ReduceCase cases[] = {{DType::F32, "sum"}, {DType::F32, "prod"}, {DType::F32, "max"}, {DType::F32, "min"}, {DType::F32, "max_nan"},
                              {DType::F32, "min_nan"}, {DType::F64, "sum"}, {DType::F16, "max"}, {DType::BF16, "sum"}, {DType::I32, "sum"},
                              {DType::I8, "min"}, {DType::I8, "max"}, {DType::U16, "max"}, {DType::U16, "min"}, {DType::I64, "prod"}, {DType::U8, "and"},
                              {DType::U32, "or"}, {DType::I16, "xor"}, {DType::Bool, "and"}, {DType::Bool, "or"}, {DType::I32, "max_nan"}};
  std::mt19937_64 rng(9);
  for (const ReduceCase& c : cases)
    for (int round = 0; round < 12; ++round) {
      unsigned rank = 1 + rng() % 3, axis = rng() % rank;
      Shape shape;
      for (unsigned a = 0; a < rank; ++a) shape.push_back(1 + static_cast<int64_t>(rng() % (a == axis ? 70 : 6)));
      std::vector<int64_t> order(static_cast<size_t>(std::bit_width(static_cast<uint64_t>(shape[axis]) - 1)));
      std::iota(order.begin(), order.end(), 0);
      bool given = round % 3 != 0;
      if (given) std::shuffle(order.begin(), order.end(), rng);
      Maker m;
      ValueId x = m.pointer("x", c.t), out = m.pointer("out", c.t);
      std::vector<ir::Attr> attrs{{AttrKey::Axis, static_cast<int64_t>(axis)}, {AttrKey::Combine, std::string(c.combine)}};
      if (given) attrs.push_back({AttrKey::Order, order});
      m.store_all(out, m.b.make(OpKind::Reduce, {m.load_all(x, shape)}, Type::tile(c.t, shape.without(axis)), attrs));
      m.finish();
      size_t size = buffer_bytes(c.t);
      std::vector<uint8_t> in(static_cast<size_t>(shape.elements()) * size), got(static_cast<size_t>(shape.without(axis).elements()) * size);
      std::vector<uint64_t> values;
      for (int64_t i = 0; i < shape.elements(); ++i) {
        uint64_t v = rng() & mask_of(c.t);
        if (is_float(c.t)) v = rng() % 20 == 0 ? encode(c.t, NAN) : encode(c.t, std::ldexp(static_cast<double>(static_cast<int64_t>(rng() % 2001) - 1000), static_cast<int>(rng() % 20) - 16));
        if (is_float(c.t) && rng() % 10 == 0) v = rng() % 2 ? 0 : uint64_t{1} << (bit_width(c.t) - 1);
        values.push_back(v);
        std::memcpy(in.data() + static_cast<size_t>(i) * size, &v, size);
      }
      ASSERT_TRUE(run(m, {array(in), array(got)}).ok());
      int64_t inner = 1, outer = 1;
      for (unsigned a = 0; a < rank; ++a) (a < axis ? outer : inner) *= a == axis ? 1 : shape[a];
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < inner; ++i) {
          std::vector<std::optional<uint64_t>> row(size_t{1} << order.size());
          for (int64_t k = 0; k < shape[axis]; ++k) row[static_cast<size_t>(k)] = values[static_cast<size_t>((o * shape[axis] + k) * inner + i)];
          uint64_t want = tree(row, order, [&](uint64_t a, uint64_t b) { return combine(c.combine, c.t, a, b); });
          uint64_t have = 0;
          std::memcpy(&have, got.data() + static_cast<size_t>(o * inner + i) * size, size);
          ASSERT_TRUE(same_value(c.t, have, want)) << c.combine << " " << name(c.t) << " " << ir::to_string(shape) << " axis " << axis
                                                   << std::hex << ": " << have << " instead of " << want;
        }
    }
}

TEST(Reduce, BadOrderIsAnError) {
  Maker m;
  ValueId x = m.pointer("x", DType::F32), out = m.pointer("out", DType::F32);
  m.store_all(out, m.b.make(OpKind::Reduce, {m.load_all(x, {8})}, Type::scalar(DType::F32),
                            {{AttrKey::Axis, int64_t{0}}, {AttrKey::Combine, std::string("sum")}, {AttrKey::Order, std::vector<int64_t>{0, 1, 1}}}));
  m.finish();
  Result<Executable> e = compile_kernel(m.kernel);
  ASSERT_FALSE(e);
  EXPECT_THAT(e.error().message, testing::HasSubstr("not a permutation"));
}

TEST(ArgReduce, TiesAndNaN) {
  float nan = NAN;
  struct Case { std::vector<float> in; bool max; float value; int32_t index; };
  const Case cases[] = {
      {{1, 3, 3, 2}, true, 3, 1},      {{1, 3, 1, 2}, false, 1, 0},   {{1, nan, 7, nan}, true, nan, 1},
      {{nan, 3, 3, 2}, false, nan, 0}, {{-0.0f, 0.0f}, true, -0.0f, 0}, {{0.0f, -0.0f, 5}, false, 0.0f, 0},
      {{-INFINITY, -INFINITY}, true, -INFINITY, 0}, {{5}, true, 5, 0}, {{2, 1, 0, 0, 3}, false, 0, 2}};
  for (const Case& c : cases) {
    Maker m;
    auto n = static_cast<int64_t>(c.in.size());
    ValueId x = m.pointer("x", DType::F32), v = m.pointer("v", DType::F32), at = m.pointer("at", DType::I32);
    ir::OpId op = m.b.op(OpKind::ArgReduce, {m.load_all(x, {n})}, {Type::scalar(DType::F32), Type::scalar(DType::I32)},
                         {{AttrKey::Axis, int64_t{0}}, {AttrKey::Combine, std::string(c.max ? "max" : "min")}});
    m.store_all(v, m.kernel.op(op).results[0]);
    m.store_all(at, m.kernel.op(op).results[1]);
    m.finish();
    std::vector<float> in = c.in, value(1);
    std::vector<int32_t> index(1, -1);
    ASSERT_TRUE(run(m, {array(in), array(value), array(index)}).ok());
    EXPECT_EQ(index[0], c.index);
    EXPECT_TRUE(same_value(DType::F32, as_bits<uint32_t>(value[0]), as_bits<uint32_t>(c.value))) << value[0] << " " << c.value;
  }
}

// f32 chain by definition.
TEST(Dot, ChainOfFma) {
  std::mt19937_64 rng(1);
  for (bool order : {false, true}) {
    const int64_t M = 5, N = 7, K = 12;
    Maker m;
    ValueId a = m.pointer("a", DType::F16), b = m.pointer("b", DType::F16), c = m.pointer("c", DType::F32), d = m.pointer("d", DType::F32);
    std::vector<ir::Attr> attrs{{AttrKey::Mfma, std::string("fma")}};
    std::vector<int64_t> k_bits{2, 0, 3, 1};
    if (order) attrs.push_back({AttrKey::KBits, k_bits});
    m.store_all(d, m.b.make(OpKind::Dot, {m.load_all(a, {M, K}), m.load_all(b, {K, N}), m.load_all(c, {M, N})}, Type::tile(DType::F32, {M, N}), attrs));
    m.finish();
    std::vector<uint16_t> va(M * K), vb(K * N);
    std::vector<float> vc(M * N), vd(M * N);
    auto f16 = [&] { return static_cast<uint16_t>(encode(DType::F16, std::ldexp(static_cast<double>(static_cast<int64_t>(rng() % 2001) - 1000), -9))); };
    for (auto& x : va) x = f16();
    for (auto& x : vb) x = f16();
    for (auto& x : vc) x = static_cast<float>(static_cast<int64_t>(rng() % 100)) / 7.0f;
    ASSERT_TRUE(run(m, {array(va), array(vb), array(vc), array(vd)}).ok());
    for (int64_t i = 0; i < M; ++i)
      for (int64_t j = 0; j < N; ++j) {
        float want = vc[i * N + j];
        for (int64_t s = 0; s < 16; ++s) {
          int64_t k = s;
          if (order) {
            k = 0;
            for (int bit = 0; bit < 4; ++bit) k |= (s >> bit & 1) << k_bits[static_cast<size_t>(bit)];
          }
          if (k >= K) continue;
          want = std::fma(static_cast<float>(decode(DType::F16, va[i * K + k])), static_cast<float>(decode(DType::F16, vb[k * N + j])), want);
        }
        ASSERT_EQ(as_bits<uint32_t>(vd[i * N + j]), as_bits<uint32_t>(want));
      }
  }
}

TEST(Dot, IntegersWrap) {
  for (const char* how : {"fma", "I32_16x16x32_I8"}) {
    const int64_t M = 3, N = 5, K = 40;
    Maker m;
    ValueId a = m.pointer("a", DType::I8), b = m.pointer("b", DType::I8), c = m.pointer("c", DType::I32);
    ValueId start = m.b.constant(Type::tile(DType::I32, {M, N}), 0x7fffff00);
    m.store_all(c, m.b.make(OpKind::Dot, {m.load_all(a, {M, K}), m.load_all(b, {K, N}), start}, Type::tile(DType::I32, {M, N}), {{AttrKey::Mfma, std::string(how)}}));
    m.finish();
    std::vector<int8_t> va(M * K), vb(K * N);
    std::vector<int32_t> vc(M * N);
    std::mt19937_64 rng(4);
    for (auto& x : va) x = static_cast<int8_t>(rng());
    for (auto& x : vb) x = static_cast<int8_t>(rng());
    ASSERT_TRUE(run(m, {array(va), array(vb), array(vc)}).ok()) << how;
    for (int64_t i = 0; i < M; ++i)
      for (int64_t j = 0; j < N; ++j) {
        uint32_t want = 0x7fffff00;
        for (int64_t k = 0; k < K; ++k) want += static_cast<uint32_t>(va[i * K + k] * vb[k * N + j]);
        EXPECT_EQ(static_cast<uint32_t>(vc[i * N + j]), want);
      }
  }
}

// One example by hand of the truncating model of gfx942: dot = 1, c = -1e-30 gives the float below 1.
TEST(Dot, MatrixInstructionOfTheTarget) {
  for (Arch arch : {Arch::Gfx942, Arch::Gfx90a}) {
    Maker m(arch);
    ValueId a = m.pointer("a", DType::F16), b = m.pointer("b", DType::F16), d = m.pointer("d", DType::F32);
    ValueId c = m.b.constant(Type::tile(DType::F32, {2, 2}), as_bits<uint32_t>(-1e-30f));
    m.store_all(d, m.b.make(OpKind::Dot, {m.load_all(a, {2, 3}), m.load_all(b, {3, 2}), c}, Type::tile(DType::F32, {2, 2}),
                            {{AttrKey::Mfma, std::string("F32_16x16x16_F16")}}));
    m.finish();
    std::vector<uint16_t> va(6, 0), vb(6, 0);
    va[0] = va[3] = vb[0] = vb[1] = 0x3c00;  // 1 in column 0 of a, row 0 of b
    std::vector<float> vd(4);
    ASSERT_TRUE(run(m, {array(va), array(vb), array(vd)}).ok());
    for (float x : vd) EXPECT_EQ(as_bits<uint32_t>(x), arch == Arch::Gfx942 ? 0x3f7fffffu : 0x3f800000u);
    FidelitySummary f = fidelity_of(m.kernel);
    EXPECT_EQ(f.lowest, Fidelity::Modelled);
  }
}

TEST(Dot, InstructionThatDoesNotFit) {
  for (const char* how : {"F32_16x16x16_BF16_1k", "nonsense", "F32_16x16x128_F8F6F4"}) {
    Maker m;
    ValueId a = m.pointer("a", DType::F16), b = m.pointer("b", DType::F16), c = m.pointer("c", DType::F32);
    ValueId z = m.b.constant(Type::tile(DType::F32, {2, 2}), 0);
    m.store_all(c, m.b.make(OpKind::Dot, {m.load_all(a, {2, 2}), m.load_all(b, {2, 2}), z}, Type::tile(DType::F32, {2, 2}), {{AttrKey::Mfma, std::string(how)}}));
    m.finish();
    Result<Executable> e = compile_kernel(m.kernel);
    ASSERT_FALSE(e) << how;
    EXPECT_THAT(e.error().message, testing::HasSubstr(how));
  }
}

}  // namespace
}  // namespace tile::interp::test
