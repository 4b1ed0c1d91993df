// Reductions over registers, lanes and waves, of every kind and type, along both axes, for extents that are no powers of
// two.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/unit/frontend/harness.h"

namespace tile::test {
namespace {

class Reduce : public testing::TestWithParam<std::tuple<Arch, DType>> {};

constexpr DType types[] = {DType::I8, DType::I32, DType::I64, DType::U16, DType::U32, DType::F16, DType::BF16, DType::F32, DType::F64};

INSTANTIATE_TEST_SUITE_P(Frontend, Reduce, testing::Combine(testing::ValuesIn(all_archs), testing::ValuesIn(types)), [](const auto& p) {
  return fmt::format("{}_{}", name(std::get<0>(p.param)), name(std::get<1>(p.param)));
});

std::string source(DType t) {
  bool narrow = t == DType::I8 || t == DType::U16;
  std::string sum = narrow ? "i32" : t == DType::F16 || t == DType::BF16 ? "f32" : std::string(name(t));
  return fmt::format(R"(
kernel k(x: {0}[R, C], rows: {1}[R], top: {0}[R], low: {0}[C], cols: {1}[C], where_top: i32[R], where_low: i32[C], total: {1}[1],
         const R: i32, const C: i32) grid (1) {{
    let v = x[arange(R), arange(C)];
    rows[arange(R)] = sum(v, axis = 1);
    cols[arange(C)] = sum(v, axis = 0);
    top[arange(R)] = max(v, axis = 1);
    low[arange(C)] = min(v, axis = 0);
    where_top[arange(R)] = argmax(v, axis = 1);
    where_low[arange(C)] = argmin(v, axis = 0);
    total[0] = sum(sum(v, axis = 1), axis = 0);
}})", name(t), sum);
}

TEST_P(Reduce, EveryShape) {
  auto [arch, t] = GetParam();
  DType sum = *parse_dtype(t == DType::I8 || t == DType::U16 ? "i32" : t == DType::F16 || t == DType::BF16 ? "f32" : std::string(name(t)));
  for (auto [r, c] : {std::pair{1, 1}, {4, 64}, {3, 100}, {64, 5}, {33, 48}, {1, 1000}}) {
    auto rows = static_cast<size_t>(r), columns = static_cast<size_t>(c);
    Values v;
    v.arrays["x"] = r == 33 ? wild(t, rows * columns, 9) : tame(t, rows * columns, 9);
    v.arrays["rows"] = zeros(sum, rows);
    v.arrays["cols"] = zeros(sum, columns);
    v.arrays["total"] = zeros(sum, 1);
    v.arrays["top"] = zeros(t, rows);
    v.arrays["low"] = zeros(t, columns);
    v.arrays["where_top"] = zeros(DType::I32, rows);
    v.arrays["where_low"] = zeros(DType::I32, columns);
    auto why = difference(source(t), arch, {{"R", std::to_string(r)}, {"C", std::to_string(c)}}, v);
    EXPECT_FALSE(why) << r << " x " << c << ": " << *why;
  }
}

}  // namespace
}  // namespace tile::test
