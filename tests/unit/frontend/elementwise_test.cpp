// Every row of elementwise.def on every type of its domain: all operations of a type in one kernel, an output each.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/unit/frontend/harness.h"

namespace tile::test {
namespace {

using namespace ir;

constexpr int64_t count = 2048;

struct ElementwiseKernel {
  Kernel k;
  Values values;
};

ValueId view_of(Kernel& k, const std::string& name, DType t, ValueId one) {
  Param p;
  p.name = name;
  p.is_view = true;
  p.align = 16;
  p.dtype = t;
  p.extents = {std::to_string(count)};
  p.strides = {"1"};
  ValueId base = k.add_param(p, Type::ptr(t));
  Builder b(k, k.body);
  ValueId extent = b.constant_int(DType::I32, count);
  return b.make(OpKind::MakeView, {base, extent, one}, Type::view(t, 1), {{AttrKey::Align, int64_t{16}}, {AttrKey::Param, name}});
}

ElementwiseKernel make(DType t, Arch arch) {
  ElementwiseKernel e;
  Kernel& k = e.k;
  k.name = fmt::format("all_{}", name(t));
  k.arch = arch;
  k.body = k.add_block();
  k.grid = {"2"};
  Builder b(k, k.body);
  ValueId one = b.constant_int(DType::I32, 1);
  std::vector<ValueId> in;
  for (const char* n : {"x", "y", "z"}) {
    in.push_back(view_of(k, n, t, one));
    e.values.arrays[n] = wild(t, count, 7 * static_cast<uint64_t>(t) + static_cast<uint64_t>(n[0]));
  }
  ValueId chooser = view_of(k, "c", DType::Bool, one);
  e.values.arrays["c"] = wild(DType::Bool, count, 5);
  ValueId pid = b.make(OpKind::ProgramId, {}, Type::scalar(DType::I32), {{AttrKey::Axis, int64_t{0}}});
  ValueId start = b.elementwise(OpKind::MulI, {pid, b.constant_int(DType::I32, count / 2)});
  Type index_type = Type::tile(DType::I32, {count / 2});
  ValueId index = b.elementwise(OpKind::AddI, {b.splat(start, {count / 2}), b.make(OpKind::Arange, {}, index_type, {{AttrKey::Start, int64_t{0}}})});
  std::vector<ValueId> operands;
  for (ValueId v : in) operands.push_back(b.make(OpKind::LoadView, {v, index}, Type::tile(t, {count / 2})));
  ValueId chosen = b.make(OpKind::LoadView, {chooser, index}, Type::tile(DType::Bool, {count / 2}));
  for (unsigned i = 0; i < num_elementwise; ++i) {
    const OpInfo& row = info(op_at(i));
    if (!in_domain(row.domain, t)) continue;
    std::vector<ValueId> args(operands.begin(), operands.begin() + row.arity);
    if (row.form == Form::Select) args = {chosen, operands[0], operands[1]};
    ValueId r = b.elementwise(row.kind, args);
    DType out = k.type(r).dtype;
    std::string n = fmt::format("out_{}", i);
    ValueId to = view_of(k, n, out, one);
    e.values.arrays[n] = zeros(out, count);
    b.op(OpKind::StoreView, {to, r, index}, {});
  }
  b.op(OpKind::Return, {}, {});
  return e;
}

class EveryType : public testing::TestWithParam<std::tuple<Arch, DType>> {};

TEST_P(EveryType, AllOperations) {
  auto [arch, t] = GetParam();
  ElementwiseKernel e = make(t, arch);
  auto d = difference(std::move(e.k), e.values);
  EXPECT_FALSE(d) << *d;
}

constexpr DType types[] = {DType::Bool, DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64,
                           DType::F16, DType::BF16, DType::F32, DType::F64};

INSTANTIATE_TEST_SUITE_P(Elementwise, EveryType, testing::Combine(testing::ValuesIn(all_archs), testing::ValuesIn(types)),
                         [](const auto& p) { return fmt::format("{}_{}", name(std::get<0>(p.param)), name(std::get<1>(p.param))); });

}  // namespace
}  // namespace tile::test
