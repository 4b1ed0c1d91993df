// Views and pointers: bounds of every dimension, strides, tails, masks, widths.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/unit/frontend/harness.h"

namespace tile::test {
namespace {

std::string param_name(const testing::TestParamInfo<Arch>& p) { return std::string(name(p.param)); }

class Memory : public testing::TestWithParam<Arch> {};
INSTANTIATE_TEST_SUITE_P(Frontend, Memory, testing::ValuesIn(all_archs), param_name);

void expect_same(const std::string& source, Arch arch, const Constants& constants, const Values& values, const std::string& what) {
  auto d = difference(source, arch, constants, values);
  EXPECT_FALSE(d) << what << ": " << *d;
}

TEST_P(Memory, OneDimensionOfEveryLengthAndType) {
  const char* source = R"(
kernel k(x: T[n], y: T[n], n: i32, const T: type = f32, const BLOCK: i32 = 256) grid (cdiv(n, BLOCK) + 1) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    y[i] = x[i];
})";
  const std::pair<const char*, DType> types[] = {{"bool", DType::Bool}, {"i8", DType::I8}, {"f16", DType::F16}, {"f32", DType::F32}, {"f64", DType::F64}, {"f8e4m3", DType::F8E4M3}};
  for (auto [t, dtype] : types) {
    for (int n : {1, 2, 3, 7, 255, 256, 257, 515, 1023}) {
      for (const char* block : {"256", "100"}) {
        Values v;
        v.arrays["x"] = wild(dtype, static_cast<size_t>(n), 3);
        v.arrays["y"] = zeros(dtype, static_cast<size_t>(n));
        v.scalars["n"] = n;
        expect_same(source, GetParam(), {{"T", t}, {"BLOCK", block}}, v, fmt::format("{} x {} by {}", n, t, block));
      }
    }
  }
}

TEST_P(Memory, ShiftedAndNegativeIndices) {
  const char* source = R"(
kernel k(x: f32[n], y: f32[n], n: i32, shift: i32, const BLOCK: i32 = 128) grid (cdiv(n, BLOCK)) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    y[i] = x[i + shift] + load(x[i - 3], other = 2.0);
})";
  for (int shift : {-200, -5, -1, 0, 1, 3, 130, 2147483647, -2147483647})
    for (int n : {5, 200, 513}) {
      Values v;
      v.arrays["x"] = wild(DType::F32, static_cast<size_t>(n), 4);
      v.arrays["y"] = zeros(DType::F32, static_cast<size_t>(n));
      v.scalars = {{"n", n}, {"shift", shift}};
      expect_same(source, GetParam(), {}, v, fmt::format("shift {} of {}", shift, n));
    }
}

TEST_P(Memory, TwoDimensionsWithStrides) {
  const char* source = R"(
kernel k(x: T[rows, cols] stride (ldx, 1), y: T[rows, cols] stride (ldy, 1), rows: i32, cols: i32, ldx: i32, ldy: i32,
         const T: type = f16, const BM: i32 = 32, const BN: i32 = 64) grid (cdiv(rows, BM), cdiv(cols, BN)) {
    let m = program_id(0) * BM + arange(BM);
    let n = program_id(1) * BN + arange(BN);
    y[m, n] = load(x[m, n], other = 1.0);
})";
  for (auto [rows, cols, pad] : {std::tuple{1, 1, 0}, {33, 65, 0}, {32, 64, 0}, {40, 100, 4}, {7, 129, 3}, {64, 72, 8}}) {
    for (auto [t, dtype] : {std::pair{"f16", DType::F16}, {"f32", DType::F32}}) {
      Values v;
      auto size = static_cast<size_t>(rows) * static_cast<size_t>(cols + pad);
      v.arrays["x"] = wild(dtype, size, 8);
      v.arrays["y"] = zeros(dtype, size);
      v.scalars = {{"rows", rows}, {"cols", cols}, {"ldx", cols + pad}, {"ldy", cols + pad}};
      expect_same(source, GetParam(), {{"T", t}}, v, fmt::format("{} x {} + {} {}", rows, cols, pad, t));
    }
  }
}

TEST_P(Memory, ColumnMajorAndConstantExtents) {
  const char* source = R"(
kernel k(x: f32[48, 24] stride (1, 48), y: f32[48, 24]) grid (1) {
    y[arange(48), arange(24)] = x[arange(48), arange(24)];
})";
  Values v;
  v.arrays["x"] = wild(DType::F32, 48 * 24, 8);
  v.arrays["y"] = zeros(DType::F32, 48 * 24);
  expect_same(source, GetParam(), {}, v, "column-major");
}

TEST_P(Memory, GatherRows) {
  const char* source = R"(
kernel k(x: f32[rows, cols], pick: i32[n], y: f32[n, cols], rows: i32, cols: i32, n: i32, const BM: i32 = 16, const BN: i32 = 32) grid (cdiv(n, BM)) {
    let m = program_id(0) * BM + arange(BM);
    let c = arange(BN);
    y[m, c] = x[pick[m], c];
})";
  for (int cols : {32, 20}) {
    Values v;
    v.arrays["x"] = wild(DType::F32, 40 * static_cast<size_t>(cols), 8);
    v.arrays["pick"] = tame(DType::I32, 37, 3);  // a half of them negative or too large
    v.arrays["y"] = zeros(DType::F32, 37 * static_cast<size_t>(cols));
    v.scalars = {{"rows", 40}, {"cols", cols}, {"n", 37}};
    expect_same(source, GetParam(), {}, v, fmt::format("{} columns", cols));
  }
}

TEST_P(Memory, ScalarsAndInBounds) {
  const char* source = R"(
kernel k(x: f32[n], y: f32[m], n: i32, m: i32) grid (m) {
    let p = program_id(0);
    let one = x[p - 1];
    let mask = in_bounds(x, p - 2 + arange(64));
    y[p] = one * 2.0 + sum(where(mask, 1.0, 0.0), axis = 0);
})";
  Values v;
  v.arrays["x"] = tame(DType::F32, 10, 8);
  v.arrays["y"] = zeros(DType::F32, 14);
  v.scalars = {{"n", 10}, {"m", 14}};
  expect_same(source, GetParam(), {}, v, "scalars");
}

TEST_P(Memory, PointersWithMasks) {
  const char* source = R"(
kernel k(x: ptr<T>, y: ptr<T>, n: i32, const T: type = f32, const BLOCK: i32 = 256) grid (cdiv(n, BLOCK)) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(y + i, load(x + i, mask = i < n, other = 1.0) + load(x + i, mask = i < n), mask = i < n);
})";
  for (auto [t, dtype] : {std::pair{"f32", DType::F32}, {"f16", DType::F16}, {"f64", DType::F64}})
    for (int n : {1, 100, 255, 256, 600})
      for (const char* block : {"256", "100"}) {
        Values v;
        v.arrays["x"] = wild(dtype, static_cast<size_t>(n), 3);
        v.arrays["y"] = zeros(dtype, static_cast<size_t>(n));
        v.scalars["n"] = n;
        expect_same(source, GetParam(), {{"T", t}, {"BLOCK", block}}, v, fmt::format("{} x {} by {}", n, t, block));
      }
}

// Elements beyond 4 GiB would need such arrays; the addresses are the same with a `wide` view.
TEST_P(Memory, WideViews) {
  const char* source = R"(
kernel k(x: f16[rows, cols] stride (ldx, 1) wide, y: f16[rows, cols] wide, rows: i32, cols: i32, ldx: i64) grid (1) {
    y[arange(32), arange(64)] = x[arange(32), arange(64)];
})";
  for (auto [rows, cols] : {std::pair{32, 64}, {20, 33}, {9, 48}}) {
    Values v;
    v.arrays["x"] = wild(DType::F16, static_cast<size_t>(rows * (cols + 8)), 8);
    v.arrays["y"] = zeros(DType::F16, static_cast<size_t>(rows * cols));
    v.scalars = {{"rows", rows}, {"cols", cols}, {"ldx", cols + 8}};
    expect_same(source, GetParam(), {}, v, fmt::format("{} x {}", rows, cols));
  }
}

}  // namespace
}  // namespace tile::test
