// The whole pipeline on kernels as sema makes them: nothing to find; then with each pass's planted fault.
#include "interpreter/tile/verify_passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsl/passes/passes.h"
#include "tests/unit/interpreter/tile/maker.h"
#include "tests/unit/interpreter/tile/reference.h"

namespace tile::interp::test {
namespace {

// A kernel with arguments to run it on.
struct Example {
  Maker m;
  std::vector<std::vector<uint8_t>> arrays;
  std::vector<Argument> args;
  Grid grid{1, 1, 1};

  explicit Example(Arch arch) : m(arch) {}
  void add_array(DType t, size_t n, uint64_t seed) {
    std::mt19937_64 rng(seed);
    std::vector<uint8_t> bytes(n * buffer_bytes(t) + 64);
    for (size_t i = 0; i < n; ++i) {
      uint64_t x = rng() & mask_of(t);
      if (is_arith_float(t)) x = encode(t, static_cast<double>(static_cast<int64_t>(rng() % 2001) - 1000) / 256);
      std::memcpy(bytes.data() + i * buffer_bytes(t), &x, buffer_bytes(t));
    }
    arrays.push_back(std::move(bytes));
    // From a multiple of 16 on, as launches have them.
    auto address = reinterpret_cast<uintptr_t>(arrays.back().data());
    args.push_back(Argument::array(reinterpret_cast<void*>((address + 15) / 16 * 16), n * buffer_bytes(t)));
  }
  ValueId view_param(const std::string& name, DType t, std::vector<ValueId> extents, std::vector<ValueId> strides, size_t n, uint64_t seed) {
    ir::Param p;
    p.name = name;
    p.dtype = t;
    p.is_view = true;
    p.align = 16;
    std::vector<ValueId> operands{m.kernel.add_param(p, Type::ptr(t))};
    add_array(t, n, seed);
    operands.insert(operands.end(), extents.begin(), extents.end());
    operands.insert(operands.end(), strides.begin(), strides.end());
    return m.b.make(OpKind::MakeView, operands, Type::view(t, static_cast<unsigned>(extents.size())), {{AttrKey::Align, int64_t{16}}});
  }
  ValueId index(ValueId base, int64_t n) { return m.ew(OpKind::AddI, {m.b.splat(base, {n}), m.arange(n)}); }
};

using ExamplePtr = std::unique_ptr<Example>;

ExamplePtr vector_add(Arch arch) {
  auto e = std::make_unique<Example>(arch);
  ValueId n = e->m.i32(2037), one = e->m.i32(1);
  ValueId x = e->view_param("x", DType::F32, {n}, {one}, 2037, 1), y = e->view_param("y", DType::F32, {n}, {one}, 2037, 2);
  ValueId out = e->view_param("out", DType::F32, {n}, {one}, 2037, 3);
  ValueId i = e->index(e->m.ew(OpKind::MulI, {e->m.pid(), e->m.i32(1024)}), 1024);
  e->m.store(out, e->m.ew(OpKind::AddF, {e->m.load(x, {i}, {1024}), e->m.load(y, {i}, {1024})}), {i});
  e->m.finish();
  e->grid = {2, 1, 1};
  return e;
}

// Each row minus its maximum over its sum; the index of the maximum beside it.
ExamplePtr row_norm(Arch arch) {
  auto e = std::make_unique<Example>(arch);
  Maker& m = e->m;
  ValueId rows = m.i32(3), columns = m.i32(1000), one = m.i32(1);
  ValueId x = e->view_param("x", DType::F32, {rows, columns}, {columns, one}, 3000, 1);
  ValueId y = e->view_param("y", DType::F32, {rows, columns}, {columns, one}, 3000, 2);
  ValueId at = e->view_param("at", DType::I32, {rows}, {one}, 3, 3);
  ValueId c = m.arange(1024), row = m.pid();
  ValueId v = m.load(x, {row, c}, {1024}, m.f32(-1e30f));
  std::vector<ir::Attr> max{{AttrKey::Axis, int64_t{0}}, {AttrKey::Combine, std::string("max")}};
  std::vector<ir::Attr> sum{{AttrKey::Axis, int64_t{0}}, {AttrKey::Combine, std::string("sum")}};
  ir::OpId arg = m.b.op(OpKind::ArgReduce, {v}, {Type::scalar(DType::F32), Type::scalar(DType::I32)}, max);
  ValueId d = m.ew(OpKind::SubF, {v, m.b.splat(m.kernel.op(arg).results[0], {1024})});
  ValueId w = m.ew(OpKind::Where, {m.ew(OpKind::LtF, {d, m.b.splat(m.f32(-1e6f), {1024})}), m.b.splat(m.f32(0), {1024}), d});
  ValueId total = m.b.make(OpKind::Reduce, {w}, Type::scalar(DType::F32), sum);
  m.store(y, m.ew(OpKind::DivF, {w, m.b.splat(total, {1024})}), {row, c});
  m.store(at, m.kernel.op(arg).results[1], {row});
  m.finish();
  e->grid = {3, 1, 1};
  return e;
}

// c = a @ b, blocks of 64 x 64 x 32 on extents that none of them divides.
ExamplePtr matmul(Arch arch, DType t, DType acc, int64_t rows, int64_t columns, int64_t depth) {
  auto e = std::make_unique<Example>(arch);
  Maker& m = e->m;
  ValueId M = m.i32(rows), N = m.i32(columns), K = m.i32(depth), one = m.i32(1);
  ValueId a = e->view_param("a", t, {M, K}, {K, one}, static_cast<size_t>(rows * depth), 1);
  ValueId b = e->view_param("b", t, {K, N}, {N, one}, static_cast<size_t>(depth * columns), 2);
  ValueId c = e->view_param("c", acc, {M, N}, {N, one}, static_cast<size_t>(rows * columns), 3);
  int64_t across = (columns + 63) / 64;
  ValueId pm = m.ew(OpKind::DivS, {m.pid(), m.i32(across)}), pn = m.ew(OpKind::RemS, {m.pid(), m.i32(across)});
  ValueId mi = m.rows(e->index(m.ew(OpKind::MulI, {pm, m.i32(64)}), 64)), ni = m.columns(e->index(m.ew(OpKind::MulI, {pn, m.i32(64)}), 64));
  Type tile = Type::tile(acc, {64, 64});
  ir::OpId loop = m.b.op(OpKind::For, {m.i32(0), K, m.i32(32), m.b.constant(tile, 0)}, {tile},
                        {{AttrKey::Pipeline, int64_t{2}}});
  ir::BlockId body = m.kernel.add_block(loop);
  ValueId k0 = m.kernel.add_block_arg(body, Type::scalar(DType::I32)), sum = m.kernel.add_block_arg(body, tile);
  ir::BlockId outer = m.b.block();
  m.b.set_block(body);
  ValueId k = e->index(k0, 32);
  ValueId ta = m.load(a, {mi, m.columns(k)}, {64, 32}), tb = m.load(b, {m.rows(k), ni}, {32, 64});
  ValueId d = m.b.make(OpKind::Dot, {ta, tb, sum}, tile);
  m.b.op(OpKind::Yield, {d}, {});
  m.b.set_block(outer);
  m.store(c, m.kernel.op(loop).results[0], {mi, ni});
  m.finish();
  e->grid = {(rows + 63) / 64 * across, 1, 1};
  return e;
}

// y = transpose(x), column sums beside it; in place over the first rows.
ExamplePtr transpose(Arch arch) {
  auto e = std::make_unique<Example>(arch);
  Maker& m = e->m;
  ValueId r = m.i32(60), c = m.i32(100), one = m.i32(1);
  ValueId x = e->view_param("x", DType::F16, {r, c}, {c, one}, 6000, 1);
  ValueId y = e->view_param("y", DType::F16, {c, r}, {r, one}, 6000, 2);
  ValueId s = e->view_param("s", DType::F16, {c}, {one}, 100, 3);
  ValueId i = m.arange(64), j = m.arange(128);
  ValueId v = m.load(x, {m.rows(i), m.columns(j)}, {64, 128});
  ValueId t = m.b.make(OpKind::Trans, {v}, Type::tile(DType::F16, {128, 64}), {{AttrKey::Perm, std::vector<int64_t>{1, 0}}});
  m.store(y, t, {m.rows(j), m.columns(i)});
  ValueId sum = m.b.make(OpKind::Reduce, {v}, Type::tile(DType::F16, {128}), {{AttrKey::Axis, int64_t{0}}, {AttrKey::Combine, std::string("sum")}});
  m.store(s, sum, {j});
  // What was stored is read again, in another order.
  ValueId again = m.load(y, {m.rows(m.arange(32)), m.columns(i)}, {32, 64});
  ValueId turned = m.b.make(OpKind::Trans, {again}, Type::tile(DType::F16, {64, 32}), {{AttrKey::Perm, std::vector<int64_t>{1, 0}}});
  m.store(x, m.ew(OpKind::AddF, {turned, turned}), {m.rows(i), m.columns(m.arange(32))});
  m.finish();
  return e;
}

// Extents that are no powers of two, a broadcast of columns and rows, a reshape.
ExamplePtr odd_shapes(Arch arch) {
  auto e = std::make_unique<Example>(arch);
  Maker& m = e->m;
  ValueId n = m.i32(36), one = m.i32(1);
  ValueId x = e->view_param("x", DType::I32, {n}, {one}, 36, 1), y = e->view_param("y", DType::I32, {n}, {one}, 36, 2);
  Shape wide{12, 3};
  ValueId a = m.load(x, {m.arange(12)}, {12}), b = m.load(x, {m.arange(3, 5)}, {3});
  ValueId sum = m.ew(OpKind::AddI, {m.b.broadcast(m.rows(a), wide), m.b.broadcast(m.columns(b), wide)});
  ValueId flat = m.b.make(OpKind::Reshape, {sum}, Type::tile(DType::I32, {36}));
  m.store(y, flat, {m.arange(36)});
  m.finish();
  return e;
}

// Turns an array round in place, through two parameters that are the same array.
ExamplePtr reverse_in_place(Arch arch) {
  auto e = std::make_unique<Example>(arch);
  Maker& m = e->m;
  ValueId n = m.i32(1000), one = m.i32(1);
  ValueId x = e->view_param("x", DType::F32, {n}, {one}, 1000, 1), y = e->view_param("y", DType::F32, {n}, {one}, 1000, 2);
  e->args[1] = e->args[0];
  ValueId i = m.arange(1024), last = m.b.splat(m.i32(999), {1024});
  m.store(y, m.load(x, {m.ew(OpKind::SubI, {last, i})}, {1024}), {i});
  m.finish();
  return e;
}

std::vector<std::pair<std::string, ExamplePtr>> examples(Arch arch) {
  std::vector<std::pair<std::string, ExamplePtr>> list;
  list.emplace_back("vector_add", vector_add(arch));
  list.emplace_back("row_norm", row_norm(arch));
  list.emplace_back("matmul f16", matmul(arch, DType::F16, DType::F32, 70, 65, 100));
  list.emplace_back("matmul f32", matmul(arch, DType::F32, DType::F32, 64, 64, 40));
  list.emplace_back("matmul i8", matmul(arch, DType::I8, DType::I32, 33, 64, 64));
  list.emplace_back("transpose", transpose(arch));
  list.emplace_back("odd shapes", odd_shapes(arch));
  list.emplace_back("reverse in place", reverse_in_place(arch));
  return list;
}

VerifyPassesReport verify(Example& e, const VerifyPassesOptions& o = {}) {
  Result<VerifyPassesReport> r = verify_each_pass(e.m.kernel, e.args, e.grid, o);
  EXPECT_TRUE(r) << (r ? "" : r.error().message);
  return r ? *r : VerifyPassesReport{};
}

TEST(VerifyEachPass, TheRightPipelineIsRight) {
  for (Arch arch : {Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950})
    for (auto& [name, e] : examples(arch)) {
      VerifyPassesReport r = verify(*e);
      EXPECT_FALSE(r.difference) << name << " on " << tile::name(arch) << ": " << r.difference->text(nullptr);
      EXPECT_EQ(r.passes.size(), passes::pass_table().size()) << name;
    }
}

// With and without the verifier of tile IR. fix_values sets what is right, so only the verifier can judge it.
TEST(VerifyEachPass, EveryPlantedFaultIsNamed) {
  for (bool verifier : {true, false})
    for (const passes::PassInfo& pass : passes::pass_table()) {
      if (!verifier && pass.name == "fix_values") continue;
      unsigned found = 0;
      for (auto& [name, e] : examples(Arch::Gfx942)) {
        VerifyPassesOptions o;
        o.verifier = verifier;
        o.fault = pass.name;
        VerifyPassesReport r = verify(*e, o);
        if (!r.difference) continue;
        ++found;
        EXPECT_EQ(r.difference->pass, pass.name) << name << ": " << r.difference->text(nullptr);
        if (!verifier) {
          EXPECT_TRUE(r.difference->op.valid()) << r.difference->text(nullptr);
        }
      }
      EXPECT_GT(found, 0u) << "nobody noticed the fault of " << pass.name << (verifier ? "" : " without the verifier");
    }
}

}  // namespace
}  // namespace tile::interp::test
