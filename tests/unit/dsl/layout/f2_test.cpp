// Vector spaces over F2, each answer checked against the enumeration of all members.
#include "dsl/layout/f2.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tile::layout::f2 {
namespace {

std::set<Vec> members(const std::vector<Vec>& vectors) {
  std::set<Vec> out = {0};
  for (Vec v : vectors) {
    std::set<Vec> more = out;
    for (Vec m : out) more.insert(m ^ v);
    out = more;
  }
  return out;
}

std::vector<Vec> random_vectors(std::mt19937& rng, unsigned max_count, unsigned bits) {
  std::vector<Vec> out(rng() % (max_count + 1));
  for (Vec& v : out) v = rng() & ((1u << bits) - 1);
  return out;
}

TEST(F2, SpansOnAllVectors) {
  std::mt19937 rng(1);
  for (int round = 0; round < 200; round++) {
    std::vector<Vec> vectors = random_vectors(rng, 7, 6);
    std::set<Vec> all = members(vectors);
    Span span(vectors);
    EXPECT_EQ(1u << span.dim(), all.size());
    EXPECT_EQ(independent(vectors).size(), span.dim());
    EXPECT_EQ(members(independent(vectors)), all);
    for (Vec v = 0; v < 64; v++) {
      EXPECT_EQ(span.contains(v), all.count(v) == 1);
      std::optional<Vec> combo = span.solve(v);
      ASSERT_EQ(combo.has_value(), all.count(v) == 1);
      if (combo) {
        EXPECT_EQ(combine(vectors, *combo), v);
      }
      for (Vec m : all) EXPECT_EQ(span.reduce(v ^ m), span.reduce(v));
    }
  }
}

TEST(F2, IntersectionKernelAnnihilator) {
  std::mt19937 rng(2);
  for (int round = 0; round < 300; round++) {
    std::vector<Vec> a = random_vectors(rng, 6, 6), b = random_vectors(rng, 6, 6);
    std::set<Vec> sa = members(a), sb = members(b), both;
    for (Vec v : sa)
      if (sb.count(v)) both.insert(v);
    std::vector<Vec> common = intersection(a, b);
    EXPECT_EQ(members(common), both);
    EXPECT_EQ(1u << common.size(), both.size());

    std::set<Vec> zero;
    for (Vec x = 0; x < 1u << a.size(); x++)
      if (combine(a, x) == 0) zero.insert(x);
    EXPECT_EQ(members(kernel(a)), zero);
    EXPECT_EQ(1u << kernel(a).size(), zero.size());

    std::set<Vec> functionals;
    for (Vec f = 0; f < 64; f++) {
      bool zero_on_all = true;
      for (Vec v : a) zero_on_all &= parity(f & v) == 0;
      if (zero_on_all) functionals.insert(f);
    }
    EXPECT_EQ(members(annihilator(a, 6)), functionals);
  }
}

TEST(F2, Inverse) {
  std::mt19937 rng(3);
  unsigned regular = 0;
  for (int round = 0; round < 300; round++) {
    std::vector<Vec> columns(5);
    for (Vec& v : columns) v = rng() & 31;
    std::optional<std::vector<Vec>> inv = inverse(columns);
    ASSERT_EQ(inv.has_value(), rank(columns) == 5);
    if (!inv) continue;
    regular++;
    for (Vec x = 0; x < 32; x++) {
      EXPECT_EQ(combine(*inv, combine(columns, x)), x);
      EXPECT_EQ(combine(columns, combine(*inv, x)), x);
    }
  }
  EXPECT_GT(regular, 50u);
}

TEST(F2, ShiftTerms) {
  std::mt19937 rng(4);
  for (int round = 0; round < 100; round++) {
    std::vector<Vec> columns(6);
    for (Vec& v : columns) v = rng() & 0xfff;
    std::vector<ShiftTerm> terms = shift_terms(columns);
    for (Vec x = 0; x < 64; x++) {
      Vec sum = 0;
      for (const ShiftTerm& t : terms) sum ^= t.shift >= 0 ? (x & t.mask) << t.shift : (x & t.mask) >> -t.shift;
      EXPECT_EQ(sum, combine(columns, x));
    }
  }
  EXPECT_EQ(shift_terms({8, 16, 32}), (std::vector<ShiftTerm>{{7, 3}}));
  EXPECT_EQ(shift_terms({1, 2, 5}), (std::vector<ShiftTerm>{{7, 0}, {4, -2}}));
}

TEST(F2, SpansTakeMoreThan64Vectors) {
  Span span;
  for (int i = 0; i < 100; i++) span.add(1);
  EXPECT_TRUE(span.add(2));
  EXPECT_FALSE(span.add(3));
  EXPECT_EQ(span.dim(), 2u);
  EXPECT_TRUE(span.contains(3));
}

}  // namespace
}  // namespace tile::layout::f2
