// Conversions between all types, with every rounding and overflow mode.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/unit/frontend/harness.h"

namespace tile::test {
namespace {

constexpr DType types[] = {DType::Bool, DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64,
                           DType::F16, DType::BF16, DType::F32, DType::F64, DType::F8E4M3, DType::F8E5M2, DType::F8E4M3FNUZ,
                           DType::F8E5M2FNUZ, DType::F8E8M0};

using namespace ir;

constexpr int64_t count = 4096;

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
  return b.make(OpKind::MakeView, {base, b.constant_int(DType::I32, count), one}, Type::view(t, 1),
                {{AttrKey::Align, int64_t{16}}, {AttrKey::Param, name}});
}

class CastFrom : public testing::TestWithParam<std::tuple<Arch, DType>> {};

TEST_P(CastFrom, AllTypes) {
  auto [arch, from] = GetParam();
  Kernel k;
  Values values;
  k.name = fmt::format("cast_{}", name(from));
  k.arch = arch;
  k.body = k.add_block();
  k.grid = {"4"};
  Builder b(k, k.body);
  ValueId one = b.constant_int(DType::I32, 1);
  ValueId in = view_of(k, "x", from, one);
  values.arrays["x"] = wild(from, count, 11 * static_cast<uint64_t>(from) + 1);
  ValueId pid = b.make(OpKind::ProgramId, {}, Type::scalar(DType::I32), {{AttrKey::Axis, int64_t{0}}});
  ValueId start = b.elementwise(OpKind::MulI, {pid, b.constant_int(DType::I32, count / 4)});
  Shape s{count / 4};
  ValueId index = b.elementwise(OpKind::AddI, {b.splat(start, s), b.make(OpKind::Arange, {}, Type::tile(DType::I32, s), {{AttrKey::Start, int64_t{0}}})});
  ValueId x = b.make(OpKind::LoadView, {in, index}, Type::tile(from, s));
  int number = 0;
  auto output = [&](ValueId v, DType to) {
    std::string n = fmt::format("{}_{}", name(to), number++);
    ValueId view = view_of(k, n, to, one);
    values.arrays[n] = zeros(to, count);
    b.op(OpKind::StoreView, {view, v, index}, {});
  };
  for (DType to : types) {
    if (to == from) continue;
    output(b.cast(x, to), to);
    if (is_float(to) && is_float(from)) {
      if (bit_width(to) <= 8) {
        output(b.cast(x, to, "rtne", false), to);
        output(b.cast(x, to, "rtz", false), to);
      }
      if (bit_width(to) < bit_width(from)) output(b.cast(x, to, "rtz"), to);
    }
  }
  // Codes of 4 and 6 bits stay in registers here: there and back.
  if (is_float(from))
    for (DType narrow : {DType::F4E2M1, DType::F6E2M3, DType::F6E3M2}) output(b.cast(b.cast(x, narrow), DType::F32), DType::F32);
  b.op(OpKind::Return, {}, {});
  auto d = difference(std::move(k), values);
  EXPECT_FALSE(d) << *d;
}

INSTANTIATE_TEST_SUITE_P(Cast, CastFrom, testing::Combine(testing::ValuesIn(all_archs), testing::ValuesIn(types)),
                         [](const auto& p) { return fmt::format("{}_{}", name(std::get<0>(p.param)), name(std::get<1>(p.param))); });

}  // namespace
}  // namespace tile::test
