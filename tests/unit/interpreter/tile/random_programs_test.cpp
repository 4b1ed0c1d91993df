// Random straight-line and looping programs: groups, checking, instruction sets and threads all agree to the bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsl/num/kernels.h"
#include "tests/unit/interpreter/tile/maker.h"
#include "tests/unit/interpreter/tile/reference.h"

namespace tile::interp::test {
namespace {

constexpr int64_t programs = 6;

// A random program on tiles of a few shapes; every value ends in the output.
class Generator {
 public:
  Generator(uint64_t seed) : rng_(seed) {
    rows_ = 1 + static_cast<int64_t>(rng_() % 9);
    columns_ = 1 + static_cast<int64_t>(rng_() % (rng_() % 3 ? 40 : 700));
    in_ = m.pointer("in", DType::I32);
    out_ = m.pointer("out", DType::I32);
    pid_ = m.pid();
  }
  Maker m;
  int64_t columns() const { return columns_; }
  int64_t rows() const { return rows_; }
  int64_t stores() const { return stores_; }

  void body(ir::Builder& b, unsigned count, int depth, std::vector<ValueId> scope) {
    std::vector<ValueId> own;
    for (unsigned i = 0; i < count; ++i) {
      ValueId v = step(b, scope, depth);
      if (!v.valid()) continue;
      scope.push_back(v);
      own.push_back(v);
    }
    last_ = own.empty() ? scope.back() : own.back();
    scope_ = scope;
  }
  void generate() {
    ValueId i = m.ew(OpKind::AddI, {m.arange(columns_), m.b.splat(pid_, {columns_})});
    body(m.b, 25, 2, {m.load_all(in_, full()), i, pid_});
    // All values of the outer block, summed into a full tile.
    ValueId sum = m.load_all(in_, full());
    for (ValueId v : scope_) sum = m.ew(OpKind::AddI, {sum, widen(m.b, v)});
    ValueId row = m.ew(OpKind::AddI, {m.b.splat(m.ew(OpKind::MulI, {pid_, m.i32(rows_)}), {rows_}), m.arange(rows_)});
    m.store(m.view(out_, {programs * rows_, columns_}, {columns_, 1}), sum, {m.rows(row), m.columns(m.arange(columns_))});
    m.finish();
  }

 private:
  Shape full() const { return {rows_, columns_}; }
  ValueId pick(const std::vector<ValueId>& scope) { return scope[rng_() % scope.size()]; }
  // v as a full i32 tile.
  ValueId widen(ir::Builder& b, ValueId v) {
    const Shape s = m.kernel.type(v).shape;
    if (s == full()) return v;
    if (s.rank() == 0) return b.splat(v, full());
    ValueId two = s.rank() == 2 ? v : b.expand_dims(v, s[0] == columns_ && (s[0] != rows_ || rng_() % 2) ? 0 : 1);
    return b.broadcast(two, full());
  }
  ValueId constant(ir::Builder& b) { return b.constant_int(DType::I32, static_cast<int64_t>(rng_() % 41) - 20); }

  ValueId step(ir::Builder& b, const std::vector<ValueId>& scope, int depth) {
    static const OpKind ops[] = {OpKind::AddI, OpKind::SubI, OpKind::MulI, OpKind::DivS, OpKind::RemS, OpKind::MinS, OpKind::MaxS,
                                 OpKind::And, OpKind::Or, OpKind::Xor, OpKind::Shl, OpKind::ShrS, OpKind::MulhiS};
    ValueId x = pick(scope), y = pick(scope);
    const Shape xs = m.kernel.type(x).shape;
    switch (rng_() % 12) {
      case 0:
      case 1:
      case 2: {
        OpKind op = ops[rng_() % std::size(ops)];
        if (!(m.kernel.type(y).shape == xs)) y = b.splat(constant(b), xs);
        return b.elementwise(op, {x, y});
      }
      case 3: return b.elementwise(OpKind::AddI, {widen(b, x), widen(b, y)});
      case 4: {
        ValueId wx = widen(b, x), wy = widen(b, y);
        return b.elementwise(OpKind::Where, {b.elementwise(OpKind::LtS, {wx, wy}), wy, b.splat(constant(b), full())});
      }
      case 5: return b.cast(b.cast(x, DType::I8), DType::I32);
      case 6: {
        ValueId f = b.cast(x, DType::F32);
        return b.make(OpKind::Bitcast, {b.elementwise(OpKind::MulF, {f, f})}, Type::tile(DType::I32, xs));
      }
      case 7: {
        if (xs.rank() < 1) return {};
        unsigned axis = rng_() % xs.rank();
        return b.make(OpKind::Reduce, {x}, Type::tile(DType::I32, xs.without(axis)),
                      {{AttrKey::Axis, static_cast<int64_t>(axis)}, {AttrKey::Combine, std::string(rng_() % 2 ? "sum" : "max")}});
      }
      case 8: {
        if (xs.rank() != 2) return {};
        ValueId t = b.make(OpKind::Trans, {x}, Type::tile(DType::I32, {xs[1], xs[0]}), {{AttrKey::Perm, std::vector<int64_t>{1, 0}}});
        ValueId z = b.elementwise(OpKind::Xor, {t, b.splat(constant(b), {xs[1], xs[0]})});
        return b.make(OpKind::Trans, {z}, Type::tile(DType::I32, xs), {{AttrKey::Perm, std::vector<int64_t>{1, 0}}});
      }
      case 9: {
        if (depth == 0) return {};
        ir::OpId loop = b.op(OpKind::For, {b.constant_int(DType::I32, 0), b.constant_int(DType::I32, static_cast<int64_t>(rng_() % 4)), b.constant_int(DType::I32, 1), x, y},
                             {m.kernel.type(x), m.kernel.type(y)});
        nested(loop, {{Type::scalar(DType::I32)}, {m.kernel.type(x)}, {m.kernel.type(y)}}, scope, depth);
        return m.kernel.op(loop).results[rng_() % 2];
      }
      case 10: {
        if (depth == 0) return {};
        ValueId c = b.elementwise(OpKind::LtS, {pid_, constant(b)});
        ir::OpId branch = b.op(OpKind::If, {c}, {m.kernel.type(x)});
        for (int i = 0; i < 2; ++i) nested(branch, {}, scope, depth, m.kernel.type(x));
        return m.kernel.op(branch).results[0];
      }
      default: return b.splat(constant(b), xs);
    }
  }

  void nested(ir::OpId op, const std::vector<Type>& args, std::vector<ValueId> scope, int depth, std::optional<Type> result = {}) {
    ir::BlockId block = m.kernel.add_block(op);
    std::vector<ValueId> carried;
    for (size_t i = 0; i < args.size(); ++i) {
      scope.push_back(m.kernel.add_block_arg(block, args[i]));
      if (i > 0) carried.push_back(scope.back());
    }
    std::vector<Type> wanted;
    for (ValueId v : carried) wanted.push_back(m.kernel.type(v));
    if (result) wanted.push_back(*result);
    ir::Builder b(m.kernel, block);
    body(b, 6, depth - 1, scope);
    std::vector<ValueId> out;
    for (const Type& t : wanted) {
      std::vector<ValueId> fitting;
      for (ValueId v : scope_)
        if (m.kernel.type(v) == t) fitting.push_back(v);
      out.push_back(pick(fitting));
    }
    b.op(OpKind::Yield, out, {});
  }

  std::mt19937_64 rng_;
  int64_t rows_, columns_, stores_ = 0;
  ValueId in_, out_, pid_, last_;
  std::vector<ValueId> scope_;
};

std::vector<int32_t> run(const ir::Kernel& k, std::vector<int32_t>& in, size_t out_size, unsigned threads, CompileOptions c) {
  std::vector<int32_t> out(out_size, -1);
  RunOptions o;
  o.threads = threads;
  Result<RunResult> r = run_kernel(k, {array(in), array(out)}, {programs, 1, 1}, c, o);
  EXPECT_TRUE(r) << (r ? "" : r.error().message);
  if (r) {
    EXPECT_TRUE(r->ok()) << r->failure->message;
  }
  return out;
}

// A direct evaluator: values as vectors of int64, one operation at a time, on the test's own arithmetic.
class Reference {
 public:
  Reference(const ir::Kernel& k, const std::vector<int32_t>& in, std::vector<int32_t>& out, int64_t pid) : k_(k), in_(in), out_(out), pid_(pid) {
    values_.resize(k.num_values());
  }
  void run() { block(k_.body); }

 private:
  using Values = std::vector<uint64_t>;
  Values& at(ValueId v) { return values_[v.index]; }

  std::vector<ValueId> block(ir::BlockId b) {
    for (ir::OpId id : k_.block(b).ops) {
      const ir::Op& op = k_.op(id);
      if (op.kind == OpKind::Yield || op.kind == OpKind::Return) return op.operands;
      one(op);
    }
    return {};
  }
  std::vector<int64_t> coords(const Shape& s, int64_t e) {
    std::vector<int64_t> c(s.rank());
    for (unsigned a = s.rank(); a-- > 0; e /= s[a]) c[a] = e % s[a];
    return c;
  }
  int64_t linear(const Shape& s, const std::vector<int64_t>& c) {
    int64_t e = 0;
    for (unsigned a = 0; a < s.rank(); ++a) e = e * s[a] + (s[a] == 1 ? 0 : c[a]);
    return e;
  }
  int64_t element_index(ValueId index, const Shape& s, int64_t e) {
    const Shape& is = k_.type(index).shape;
    return static_cast<int32_t>(at(index)[is.rank() == 0 ? 0 : static_cast<size_t>(linear(is, coords(s, e)))]);
  }
  void one(const ir::Op& op) {
    auto size = [&](ValueId v) { return static_cast<size_t>(k_.type(v).shape.elements()); };
    ValueId r = op.results.empty() ? ValueId{} : op.results[0];
    if (is_elementwise(op.kind)) {
      DType t = k_.type(op.operands.back()).dtype;
      for (size_t i = 0; i < size(r); ++i)
        at(r).push_back(*elementwise(op.kind, t, at(op.operands[0])[i], op.operands.size() > 1 ? at(op.operands[1])[i] : 0, op.operands.size() > 2 ? at(op.operands[2])[i] : 0));
      return;
    }
    switch (op.kind) {
      case OpKind::Constant: at(r).assign(size(r), op.get_bits(AttrKey::Value)); break;
      case OpKind::Arange:
        for (size_t i = 0; i < size(r); ++i) at(r).push_back(static_cast<uint32_t>(op.get_int(AttrKey::Start) + static_cast<int64_t>(i)));
        break;
      case OpKind::ProgramId: at(r) = {static_cast<uint64_t>(pid_)}; break;
      case OpKind::MakeView: break;
      case OpKind::Splat: at(r).assign(size(r), at(op.operands[0])[0]); break;
      case OpKind::ExpandDims:
      case OpKind::Bitcast: at(r) = at(op.operands[0]); break;
      case OpKind::Broadcast:
        for (size_t i = 0; i < size(r); ++i)
          at(r).push_back(at(op.operands[0])[static_cast<size_t>(linear(k_.type(op.operands[0]).shape, coords(k_.type(r).shape, static_cast<int64_t>(i))))]);
        break;
      case OpKind::Trans:
        for (size_t i = 0; i < size(r); ++i) {
          std::vector<int64_t> c = coords(k_.type(r).shape, static_cast<int64_t>(i));
          at(r).push_back(at(op.operands[0])[static_cast<size_t>(linear(k_.type(op.operands[0]).shape, {c[1], c[0]}))]);
        }
        break;
      case OpKind::Cast: {
        DType from = k_.type(op.operands[0]).dtype, to = k_.type(r).dtype;
        for (uint64_t v : at(op.operands[0])) {
          auto s = from == DType::I8 ? static_cast<int8_t>(v) : static_cast<int32_t>(v);
          if (to == DType::F32) at(r).push_back(as_bits<uint32_t>(static_cast<float>(s)));
          else at(r).push_back(static_cast<uint64_t>(s) & mask_of(to));
        }
        break;
      }
      case OpKind::Reduce: {
        const Shape& s = k_.type(op.operands[0]).shape;
        auto axis = static_cast<unsigned>(op.get_int(AttrKey::Axis));
        bool sum = op.get_text(AttrKey::Combine) == "sum";
        std::vector<std::optional<uint64_t>> acc(size(r));
        for (int64_t e = 0; e < s.elements(); ++e) {
          std::vector<int64_t> c = coords(s, e);
          c.erase(c.begin() + axis);
          auto i = static_cast<size_t>(linear(s.without(axis), c));
          uint64_t v = at(op.operands[0])[static_cast<size_t>(e)];
          acc[i] = acc[i] ? *elementwise(sum ? OpKind::AddI : OpKind::MaxS, DType::I32, *acc[i], v, 0) : v;
        }
        for (auto& a : acc) at(r).push_back(*a);
        break;
      }
      case OpKind::LoadView:
        for (size_t i = 0; i < size(r); ++i) {
          int64_t row = element_index(op.operands[1], k_.type(r).shape, static_cast<int64_t>(i));
          int64_t column = element_index(op.operands[2], k_.type(r).shape, static_cast<int64_t>(i));
          at(r).push_back(static_cast<uint32_t>(in_[static_cast<size_t>(row * k_.type(r).shape[1] + column)]));
        }
        break;
      case OpKind::StoreView: {
        const Shape& s = k_.type(op.operands[1]).shape;
        for (size_t i = 0; i < size(op.operands[1]); ++i) {
          int64_t row = element_index(op.operands[2], s, static_cast<int64_t>(i)), column = element_index(op.operands[3], s, static_cast<int64_t>(i));
          out_[static_cast<size_t>(row * s[1] + column)] = static_cast<int32_t>(at(op.operands[1])[i]);
        }
        break;
      }
      case OpKind::For: {
        std::vector<Values> carried;
        for (size_t i = 3; i < op.operands.size(); ++i) carried.push_back(at(op.operands[i]));
        for (int32_t iv = 0; iv < static_cast<int32_t>(at(op.operands[1])[0]); ++iv) {
          std::vector<Values> saved = values_;
          const auto& args = k_.block(op.blocks[0]).args;
          at(args[0]) = {static_cast<uint64_t>(iv)};
          for (size_t i = 0; i < carried.size(); ++i) at(args[i + 1]) = carried[i];
          std::vector<ValueId> yielded = block(op.blocks[0]);
          for (size_t i = 0; i < carried.size(); ++i) carried[i] = at(yielded[i]);
          values_ = saved;
        }
        for (size_t i = 0; i < carried.size(); ++i) at(op.results[i]) = carried[i];
        break;
      }
      case OpKind::If: {
        std::vector<Values> saved = values_;
        std::vector<ValueId> yielded = block(op.blocks[at(op.operands[0])[0] ? 0 : 1]);
        Values v = at(yielded[0]);
        values_ = saved;
        at(r) = v;
        break;
      }
      default: FAIL() << mnemonic(op.kind);
    }
  }

  const ir::Kernel& k_;
  const std::vector<int32_t>& in_;
  std::vector<int32_t>& out_;
  int64_t pid_;
  std::vector<Values> values_;
};

TEST(RandomPrograms, AllWaysAgree) {
  num::HostIsa best = num::best_host_isa();
  for (uint64_t seed = 0; seed < 80; ++seed) {
    Generator g(seed);
    g.generate();
    ASSERT_THAT(ir::verify(g.m.kernel, ir::Stage::Sema), testing::IsEmpty()) << seed;
    size_t n = static_cast<size_t>(g.rows() * g.columns());
    std::vector<int32_t> in(n);
    std::mt19937_64 rng(seed);
    for (int32_t& x : in) x = rng() % 2 ? static_cast<int32_t>(rng()) : static_cast<int32_t>(rng() % 100) - 50;
    std::vector<int32_t> want(n * programs, -1);
    for (int64_t p = 0; p < programs; ++p) Reference(g.m.kernel, in, want, p).run();
    for (num::HostIsa isa : {num::HostIsa::Base, num::HostIsa::Avx2, num::HostIsa::Avx512}) {
      num::set_host_isa(isa);
      for (unsigned threads : {1u, 3u}) ASSERT_EQ(run(g.m.kernel, in, want.size(), threads, {}), want) << "seed " << seed;
    }
    num::set_host_isa(best);
    CompileOptions checked, traced;
    checked.check = true;
    traced.trace = true;
    ASSERT_EQ(run(g.m.kernel, in, want.size(), 1, checked), want) << "seed " << seed;
    ASSERT_EQ(run(g.m.kernel, in, want.size(), 1, traced), want) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tile::interp::test
