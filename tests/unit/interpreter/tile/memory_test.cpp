// Views and pointers: bounds, strides, broadcasting indices, packed types, masks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/interpreter/tile/maker.h"

namespace tile::interp::test {
namespace {

RunResult run(const Maker& m, const std::vector<Argument>& args, Grid grid = {1, 1, 1}, RunOptions o = {}, CompileOptions c = {}) {
  Result<RunResult> r = run_kernel(m.kernel, args, grid, c, o);
  EXPECT_TRUE(r) << (r ? "" : r.error().message);
  return r ? *r : RunResult{};
}

// Any rank, strides of any sign, index tiles with any values: element by element against the rule of docs/semantics.md.
TEST(Views, RandomIndicesOfAnyRank) {
  std::mt19937_64 rng(5);
  for (int round = 0; round < 300; ++round) {
    unsigned rank = 1 + rng() % 3;
    Shape shape;
    for (unsigned a = 0; a < rank; ++a) shape.push_back(1 + static_cast<int64_t>(rng() % 9));
    unsigned dims = 1 + rng() % 3;
    std::vector<int64_t> extents, strides;
    for (unsigned d = 0; d < dims; ++d) {
      extents.push_back(static_cast<int64_t>(rng() % 9));
      strides.push_back(static_cast<int64_t>(rng() % 25) - 12);
    }
    if (rng() % 2) strides.back() = 1;
    std::vector<int32_t> data(600), out(static_cast<size_t>(shape.elements()), -1), stored(600, 0);
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int32_t>(i) + 1000;
    const int64_t origin = 300;

    Maker m;
    ValueId p = m.pointer("data", DType::I32), q = m.pointer("out", DType::I32), s = m.pointer("stored", DType::I32);
    ValueId mid = m.b.make(OpKind::AddPtr, {p, m.i32(origin)}, Type::ptr(DType::I32));
    ValueId mid_s = m.b.make(OpKind::AddPtr, {s, m.i32(origin)}, Type::ptr(DType::I32));
    ValueId v = m.view(mid, extents, strides), vs = m.view(mid_s, extents, strides);
    std::vector<ValueId> index;
    std::vector<std::vector<int64_t>> values;  // per dimension, of every element of the tile
    std::vector<std::vector<uint8_t>> buffers;
    std::vector<Argument> args{array(data), array(out), array(stored)};
    buffers.reserve(dims);
    for (unsigned d = 0; d < dims; ++d) {
      DType t = std::vector<DType>{DType::I32, DType::I64, DType::U8, DType::I16, DType::U64}[rng() % 5];
      bool scalar = rng() % 5 == 0;
      Shape is;
      for (unsigned a = 0; a < rank; ++a) is.push_back(rng() % 2 ? shape[a] : 1);
      if (d == 0) is = shape;
      int64_t n = scalar ? 1 : is.elements();
      std::vector<int64_t> own;
      bool consecutive = rng() % 2;
      int64_t first = static_cast<int64_t>(rng() % 12) - 4;
      for (int64_t i = 0; i < n; ++i) own.push_back(consecutive ? first + i % is[rank - 1] : static_cast<int64_t>(rng() % 14) - 3);
      std::vector<uint8_t> bytes(static_cast<size_t>(n) * buffer_bytes(t));
      for (int64_t i = 0; i < n; ++i) std::memcpy(bytes.data() + i * buffer_bytes(t), &own[static_cast<size_t>(i)], buffer_bytes(t));
      buffers.push_back(bytes);
      ValueId ip = m.pointer("i" + std::to_string(d), t);
      if (scalar) index.push_back(m.b.make(OpKind::Load, {ip}, Type::scalar(t)));
      else index.push_back(m.load_all(ip, is));
      std::vector<int64_t> full;
      for (int64_t e = 0; e < shape.elements(); ++e) {
        int64_t rest = e, at = 0, step = 1;
        for (unsigned a = rank; a-- > 0;) {
          int64_t c = rest % shape[a];
          rest /= shape[a];
          if (is[a] != 1) at += c * step;
          step *= is[a];
        }
        int64_t x = own[static_cast<size_t>(scalar ? 0 : at)];
        if (t == DType::U8) x = static_cast<uint8_t>(x);
        if (t == DType::U64 && x < 0) x = INT64_MAX;
        full.push_back(x);
      }
      values.push_back(full);
    }
    for (auto& b : buffers) args.push_back(array(b));
    bool other = rng() % 2;
    ValueId t = m.load(v, index, shape, other ? m.i32(-7) : ValueId{});
    m.store_all(q, t);
    m.store(vs, m.ew(OpKind::AddI, {t, m.b.splat(m.i32(1), shape)}), index);
    m.finish();
    RunResult r = run(m, args);
    ASSERT_TRUE(r.ok()) << r.failure->message;
    std::vector<int32_t> want_stored(600, 0);
    for (int64_t e = 0; e < shape.elements(); ++e) {
      int64_t at = origin;
      bool inside = true;
      for (unsigned d = 0; d < dims; ++d) {
        int64_t x = values[d][static_cast<size_t>(e)];
        inside &= x >= 0 && x < extents[d];
        if (inside) at += x * strides[d];
      }
      int32_t want = inside ? data[static_cast<size_t>(at)] : other ? -7 : 0;
      ASSERT_EQ(out[static_cast<size_t>(e)], want) << "round " << round << " element " << e;
      if (inside) want_stored[static_cast<size_t>(at)] = want + 1;
    }
    ASSERT_EQ(stored, want_stored) << "round " << round;
  }
}

TEST(Views, InBoundsIsTheMask) {
  Maker m;
  ValueId p = m.pointer("p", DType::F32), out = m.pointer("out", DType::Bool);
  Shape shape{4, 6};
  ValueId v = m.view(p, {3, 4}, {4, 1});
  ValueId i = m.rows(m.arange(4, -1)), j = m.columns(m.arange(6, -1));
  m.store_all(out, m.b.make(OpKind::InBounds, {v, i, j}, Type::tile(DType::Bool, shape)));
  m.finish();
  std::vector<float> data(12);
  std::vector<uint8_t> got(24, 9);
  ASSERT_TRUE(run(m, {array(data), array(got)}).ok());
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 6; ++c) EXPECT_EQ(got[r * 6 + c], r >= 1 && c >= 1 && c < 5);
}

TEST(Views, ExtremeIndicesAreOutside) {
  Maker m;
  ValueId p = m.pointer("p", DType::F32), at = m.pointer("at", DType::I64), out = m.pointer("out", DType::F32);
  ValueId v = m.view(p, {4}, {1});
  m.store_all(out, m.load(v, {m.load_all(at, {8})}, {8}, m.f32(2.0f)));
  m.finish();
  std::vector<float> data{1, 1, 1, 1}, got(8);
  for (int64_t first : {INT64_MIN, INT64_MIN + 3, INT64_MAX - 7, int64_t{-1} << 32, int64_t{1} << 32, INT64_MAX - 3}) {
    std::vector<int64_t> index;
    for (uint64_t i = 0; i < 8; ++i) index.push_back(static_cast<int64_t>(static_cast<uint64_t>(first) + i));
    ASSERT_TRUE(run(m, {array(data), array(index), array(got)}).ok());
    EXPECT_EQ(got, std::vector<float>(8, 2.0f)) << first;
  }
}

TEST(Views, PackedTypesTakeTheirBits) {
  for (DType t : {DType::F4E2M1, DType::F6E2M3, DType::F6E3M2}) {
    unsigned w = bit_width(t);
    Maker m;
    ValueId p = m.pointer("p", t), q = m.pointer("q", t);
    ValueId first = m.scalar("first", DType::I32);
    ValueId one = m.b.splat(first, {16});
    ValueId from = m.view(p, {28}, {1}), to = m.view(q, {24}, {1});
    ValueId i = m.ew(OpKind::AddI, {m.arange(16), one});
    m.store(to, m.load(from, {i}, {16}), {m.ew(OpKind::AddI, {i, m.b.splat(m.i32(3), {16})})});
    m.finish();
    std::mt19937_64 rng(3);
    auto bits_of = [&](const std::vector<uint8_t>& v, unsigned e) {
      unsigned x = 0;
      for (unsigned b = 0; b < w; ++b) x |= static_cast<unsigned>(v[(e * w + b) / 8] >> (e * w + b) % 8 & 1) << b;
      return x;
    };
    for (int start : {0, 4, 12, 20}) {
      std::vector<uint8_t> in(28 * w / 8), out(24 * w / 8);
      for (uint8_t& b : in) b = static_cast<uint8_t>(rng());
      for (uint8_t& b : out) b = static_cast<uint8_t>(rng());
      std::vector<uint8_t> before = out;
      ASSERT_TRUE(run(m, {array(in), array(out), number(start)}).ok());
      for (int e = 0; e < 24; ++e) {
        int source = e - 3;
        bool written = source >= start && source < start + 16;
        unsigned want = !written ? bits_of(before, e) : source < 28 ? bits_of(in, source) : 0;
        EXPECT_EQ(bits_of(out, e), want) << name(t) << " element " << e << " from " << start;
      }
    }
  }
}

TEST(Views, BoolInMemoryIsAByte) {
  Maker m;
  ValueId p = m.pointer("p", DType::Bool), q = m.pointer("q", DType::Bool);
  m.store_all(q, m.ew(OpKind::Not, {m.load_all(p, {4})}));
  m.finish();
  std::vector<uint8_t> in{0, 1, 2, 255}, out(4, 7);
  ASSERT_TRUE(run(m, {array(in), array(out)}).ok());
  EXPECT_EQ(out, (std::vector<uint8_t>{1, 0, 0, 0}));
}

// out[i] = x[i * step] where i < n, else other; stored where i is even.
TEST(Pointers, MasksAndStrides) {
  for (bool other : {false, true})
    for (int step : {1, 2}) {
      Maker m;
      ValueId x = m.pointer("x", DType::F32), out = m.pointer("out", DType::F32), n = m.scalar("n", DType::I32);
      Shape s{10};
      ValueId i = m.arange(10);
      ValueId at = m.ew(OpKind::MulI, {i, m.b.splat(m.i32(step), s)});
      ValueId mask = m.ew(OpKind::LtS, {i, m.b.splat(n, s)});
      std::vector<ValueId> operands{m.b.make(OpKind::AddPtr, {m.b.splat(x, s), at}, Type::ptr(DType::F32, s)), mask};
      std::vector<ir::Attr> attrs{{AttrKey::HasMask, int64_t{1}}};
      if (other) {
        operands.push_back(m.b.splat(m.f32(-5.0f), s));
        attrs.push_back({AttrKey::HasOther, int64_t{1}});
      }
      ValueId v = m.b.make(OpKind::Load, operands, Type::tile(DType::F32, s), attrs);
      ValueId even = m.ew(OpKind::EqI, {m.ew(OpKind::And, {i, m.b.splat(m.i32(1), s)}), m.b.splat(m.i32(0), s)});
      m.b.op(OpKind::Store, {m.b.make(OpKind::AddPtr, {m.b.splat(out, s), i}, Type::ptr(DType::F32, s)), v, even}, {},
             {{AttrKey::HasMask, int64_t{1}}});
      m.finish();
      for (int limit : {0, 3, 10}) {
        std::vector<float> in(20), got(10, 99.0f);
        for (int k = 0; k < 20; ++k) in[k] = static_cast<float>(k);
        ASSERT_TRUE(run(m, {array(in), array(got), number(limit)}).ok());
        for (int k = 0; k < 10; ++k) {
          float want = k < limit ? static_cast<float>(k * step) : other ? -5.0f : 0.0f;
          EXPECT_EQ(got[k], k % 2 ? 99.0f : want) << k << " of " << limit;
        }
      }
    }
}

TEST(Pointers, AccessOutsideOfEveryArgument) {
  for (bool store : {false, true}) {
    Maker m;
    ValueId x = m.pointer("x", DType::F32), out = m.pointer("out", DType::F32);
    ValueId p = m.b.make(OpKind::AddPtr, {store ? out : x, m.ew(OpKind::MulI, {m.pid(), m.i32(3)})}, Type::ptr(DType::F32));
    ValueId safe = store ? x : out;
    if (store) {
      m.b.op(OpKind::Store, {p, m.b.make(OpKind::Load, {safe}, Type::scalar(DType::F32))}, {});
    } else {
      m.b.op(OpKind::Store, {safe, m.b.make(OpKind::Load, {p}, Type::scalar(DType::F32))}, {});
    }
    m.finish();
    std::vector<float> in(10), got(10);
    EXPECT_TRUE(run(m, {array(in), array(got)}, {4, 1, 1}).ok());
    RunResult r = run(m, {array(in), array(got)}, {40, 1, 1});
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.failure->program, 4);  // element 12 of 10
    EXPECT_THAT(r.failure->message, testing::HasSubstr(store ? "store of 4 bytes" : "load of 4 bytes"));
    EXPECT_EQ(m.kernel.op(r.failure->op).kind, store ? OpKind::Store : OpKind::Load);
  }
}

TEST(Pointers, ReadOnlyArgument) {
  Maker m;
  ValueId x = m.pointer("x", DType::F32);
  m.b.op(OpKind::Store, {x, m.f32(1.0f)}, {});
  m.finish();
  std::vector<float> in(1);
  Argument a = array(in);
  a.writable = false;
  RunResult r = run(m, {a});
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.failure->message, testing::HasSubstr("'x', which is read-only"));
}

TEST(Launch, WrongArguments) {
  Maker m;
  m.pointer("x", DType::F32);
  m.finish();
  std::vector<float> in(1);
  EXPECT_THAT(run(m, {}).failure->message, testing::HasSubstr("1 parameters, 0 arguments"));
  EXPECT_THAT(run(m, {array(in)}, {-1, 1, 1}).failure->message, testing::HasSubstr("grid extent"));
  EXPECT_TRUE(run(m, {array(in)}, {0, 1, 1}).ok());
  EXPECT_EQ(run(m, {array(in)}, {0, 5, 1}).report.programs, 0);
}

TEST(Launch, GridOfThreeDimensions) {
  Maker m;
  ValueId out = m.pointer("out", DType::I32);
  auto count = [&](int64_t axis) { return m.b.make(OpKind::NumPrograms, {}, Type::scalar(DType::I32), {{AttrKey::Axis, axis}}); };
  ValueId at = m.ew(OpKind::AddI, {m.ew(OpKind::MulI, {m.ew(OpKind::AddI, {m.ew(OpKind::MulI, {m.pid(2), count(1)}), m.pid(1)}), count(0)}), m.pid(0)});
  ValueId value = m.ew(OpKind::AddI, {m.ew(OpKind::MulI, {m.pid(2), m.i32(100)}), m.ew(OpKind::AddI, {m.ew(OpKind::MulI, {m.pid(1), m.i32(10)}), m.pid(0)})});
  m.b.op(OpKind::Store, {m.b.make(OpKind::AddPtr, {out, at}, Type::ptr(DType::I32)), value}, {});
  m.finish();
  std::vector<int32_t> got(24, -1);
  RunResult r = run(m, {array(got)}, {2, 3, 4});
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r.report.programs, 24);
  for (int z = 0; z < 4; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 2; ++x) EXPECT_EQ(got[(z * 3 + y) * 2 + x], z * 100 + y * 10 + x);
}

}  // namespace
}  // namespace tile::interp::test
