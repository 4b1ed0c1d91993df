// dot on every target and type, for extents that no instruction divides.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/unit/frontend/harness.h"

namespace tile::test {
namespace {

const char* matmul = R"(
kernel product(a: A[M, K], b: B[K, N], c: C[M, N], M: i32, N: i32, K: i32, const A: type, const B: type, const C: type,
         const BM: i32, const BN: i32, const BK: i32) grid (cdiv(M, BM), cdiv(N, BN)) {
    let m = program_id(0) * BM + arange(BM);
    let n = program_id(1) * BN + arange(BN);
    var acc = load(c[m, n]);
    for k0 in range(0, K, BK) {
        let k = k0 + arange(BK);
        acc = dot(a[m, k], b[k, n], acc);
    }
    c[m, n] = acc;
})";

struct DotCase {
  const char *a, *b, *c;
  int bm, bn, bk;
};

class Dot : public testing::TestWithParam<std::tuple<Arch, DotCase>> {};

TEST_P(Dot, AgreesWithInterpreter) {
  auto [arch, d] = GetParam();
  int m = d.bm + 5, n = d.bn + 3, k = d.bk * 2 + 7;
  DType ta = *parse_dtype(d.a), tb = *parse_dtype(d.b), tc = *parse_dtype(d.c);
  Values v;
  v.arrays["a"] = tame(ta, static_cast<size_t>(m * k), 1);
  v.arrays["b"] = tame(tb, static_cast<size_t>(k * n), 2);
  v.arrays["c"] = tame(tc, static_cast<size_t>(m * n), 3);
  v.scalars = {{"M", m}, {"N", n}, {"K", k}};
  auto text = [](int x) { return std::to_string(x); };
  auto why = difference(matmul, arch, {{"A", d.a}, {"B", d.b}, {"C", d.c}, {"BM", text(d.bm)}, {"BN", text(d.bn)}, {"BK", text(d.bk)}}, v);
  EXPECT_FALSE(why) << *why;
}

constexpr DotCase cases[] = {
    {"f16", "f16", "f32", 32, 32, 32},   {"f16", "f16", "f32", 64, 64, 64},  {"f16", "f16", "f32", 16, 16, 16}, {"f16", "f16", "f32", 24, 40, 20},
    {"f16", "f16", "f32", 128, 64, 32},  {"bf16", "bf16", "f32", 64, 32, 64}, {"bf16", "bf16", "f32", 16, 48, 8}, {"f32", "f32", "f32", 32, 32, 16},
    {"f32", "f32", "f32", 64, 64, 8},    {"f64", "f64", "f64", 32, 16, 16},  {"i8", "i8", "i32", 32, 32, 64},   {"i8", "i8", "i32", 64, 64, 24},
    {"f8e4m3", "f8e4m3", "f32", 32, 32, 64}, {"f8e4m3fnuz", "f8e4m3fnuz", "f32", 32, 64, 32}, {"f8e5m2", "f8e4m3", "f32", 16, 16, 32},
};

INSTANTIATE_TEST_SUITE_P(Frontend, Dot, testing::Combine(testing::ValuesIn(all_archs), testing::ValuesIn(cases)), [](const auto& p) {
  const DotCase& d = std::get<1>(p.param);
  return fmt::format("{}_{}_{}_{}_{}x{}x{}", name(std::get<0>(p.param)), d.a, d.b, d.c, d.bm, d.bn, d.bk);
});

class Chained : public testing::TestWithParam<Arch> {};
INSTANTIATE_TEST_SUITE_P(Frontend, Chained, testing::ValuesIn(all_archs), [](const auto& p) { return std::string(name(p.param)); });

// The result of one product is an operand of the next: the layout of results becomes that of operands.
TEST_P(Chained, TwoProductsAndSoftmax) {
  const char* source = R"(
kernel attend(q: f16[64, 32], kt: f16[32, 64], v: f16[64, 32], o: f32[64, 32]) grid (1) {
    let s = dot(q[arange(64), arange(32)], kt[arange(32), arange(64)], zeros<f32>[64, 64]);
    let top = max(s, axis = 1);
    let p = s - top[:, None];
    let scaled = p / (sum(p, axis = 1)[:, None] - 1.0);
    o[arange(64), arange(32)] = dot(scaled as f16, v[arange(64), arange(32)], zeros<f32>[64, 32]);
})";
  Values v;
  v.arrays["q"] = tame(DType::F16, 64 * 32, 1);
  v.arrays["kt"] = tame(DType::F16, 64 * 32, 2);
  v.arrays["v"] = tame(DType::F16, 64 * 32, 3);
  v.arrays["o"] = zeros(DType::F32, 64 * 32);
  auto why = difference(source, GetParam(), {}, v);
  EXPECT_FALSE(why) << *why;
}

}  // namespace
}  // namespace tile::test
