// Loops, branches, and tiles that change their shape and layout.
#include <gtest/gtest.h>

#include "tests/unit/frontend/harness.h"

namespace tile::test {
namespace {

class Control : public testing::TestWithParam<Arch> {};
INSTANTIATE_TEST_SUITE_P(Frontend, Control, testing::ValuesIn(all_archs), [](const auto& p) { return std::string(name(p.param)); });

TEST_P(Control, LoopsUpAndDown) {
  const char* source = R"(
kernel k(x: i32[64], low: i32, high: i32, step: i32) grid (2) {
    let i = arange(64);
    var acc = x[i];
    var turns = 0;
    for n in range(low, high, step) {
        acc = acc * 3 + n;
        turns = turns + 1;
    }
    x[i] = acc + turns;
})";
  for (auto [low, high, step] : {std::tuple{0, 10, 1}, {0, 10, 3}, {10, 0, -1}, {10, -3, -4}, {5, 5, 1}, {5, 4, 1}, {2147483640, 2147483647, 5},
                                 {-2147483640, -2147483648 + 1, -3}, {-2147483647, 2147483647, 1000000000}}) {
    Values v;
    v.arrays["x"] = tame(DType::I32, 64, 5);
    v.scalars = {{"low", low}, {"high", high}, {"step", step}};
    auto why = difference(std::string(source).replace(std::string(source).find("grid (2)"), 8, "grid (1)"), GetParam(), {}, v);
    EXPECT_FALSE(why) << low << " to " << high << " by " << step << ": " << *why;
  }
}

TEST_P(Control, WhileAndIf) {
  const char* source = R"(
kernel k(x: i32[n], y: i32[n], n: i32) grid (n) {
    let p = program_id(0);
    var v = x[p];
    var steps = 0;
    while v > 1 {
        if v % 2 == 0 { v = v / 2; } else { v = v * 3 + 1; }
        steps = steps + 1;
    }
    y[p] = steps;
})";
  Values v;
  v.arrays["x"] = tame(DType::I32, 60, 5);
  v.arrays["y"] = zeros(DType::I32, 60);
  v.scalars["n"] = 60;
  auto why = difference(source, GetParam(), {}, v);
  EXPECT_FALSE(why) << *why;
}

TEST_P(Control, NumPrograms) {
  const char* source = R"(
kernel k(y: i32[2, 3, 4]) grid (4, 3, 2) {
    y[program_id(2), program_id(1), program_id(0)] = num_programs(0) * 100 + num_programs(1) * 10 + num_programs(2);
})";
  Values v;
  v.arrays["y"] = zeros(DType::I32, 24);
  auto why = difference(source, GetParam(), {}, v);
  EXPECT_FALSE(why) << *why;
}

TEST_P(Control, TransposeReshapeBroadcast) {
  const char* source = R"(
kernel k(x: T[R, C], y: T[C, R], z: T[R * C], w: T[R, C], const T: type, const R: i32, const C: i32) grid (1) {
    let v = x[arange(R), arange(C)];
    y[arange(C), arange(R)] = trans(v);
    z[arange(R * C)] = reshape(v, [R * C]);
    let first = max(v, axis = 1);
    w[arange(R), arange(C)] = first[:, None] - v;
})";
  for (auto [t, dtype] : {std::pair{"f32", DType::F32}, {"f16", DType::F16}, {"i8", DType::I8}, {"f64", DType::F64}})
    for (auto [r, c] : {std::pair{16, 64}, {64, 16}, {12, 20}, {128, 32}, {1, 7}}) {
      auto size = static_cast<size_t>(r * c);
      Values v;
      v.arrays["x"] = tame(dtype, size, 5);
      for (const char* n : {"y", "z", "w"}) v.arrays[n] = zeros(dtype, size);
      auto why = difference(source, GetParam(), {{"T", t}, {"R", std::to_string(r)}, {"C", std::to_string(c)}}, v);
      EXPECT_FALSE(why) << r << " x " << c << " " << t << ": " << *why;
    }
}

}  // namespace
}  // namespace tile::test
