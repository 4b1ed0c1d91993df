#include "dsl/layout/f2.h"

#include <algorithm>
#include <bit>

namespace tile::layout::f2 {

bool Span::add(Vec v) {
  Vec combo = added_ < 64 ? Vec{1} << added_ : 0;
  added_++;
  for (unsigned i = 0; i < dim_; i++) {
    Vec take = rows_[i].covers(v);
    v ^= rows_[i].vector & take;
    combo ^= rows_[i].combo & take;
  }
  if (v == 0) return false;
  Row added{v, combo, static_cast<unsigned>(std::bit_width(v)) - 1};
  for (unsigned i = 0; i < dim_; i++) {
    Vec take = added.covers(rows_[i].vector);
    rows_[i].vector ^= v & take;
    rows_[i].combo ^= combo & take;
  }
  rows_[dim_++] = added;
  return true;
}

Vec Span::reduce(Vec v) const {
  for (unsigned i = 0; i < dim_; i++) v ^= rows_[i].vector & rows_[i].covers(v);
  return v;
}

std::optional<Vec> Span::solve(Vec v) const {
  Vec combo = 0;
  for (unsigned i = 0; i < dim_; i++) {
    Vec take = rows_[i].covers(v);
    v ^= rows_[i].vector & take;
    combo ^= rows_[i].combo & take;
  }
  if (v != 0) return std::nullopt;
  return combo;
}

unsigned rank(const std::vector<Vec>& vectors) { return Span(vectors).dim(); }

std::vector<Vec> independent(const std::vector<Vec>& vectors, const std::vector<Vec>& modulo) {
  Span span(modulo);
  std::vector<Vec> out;
  for (Vec v : vectors)
    if (span.add(v)) out.push_back(v);
  return out;
}

std::vector<Vec> intersection(const std::vector<Vec>& a, const std::vector<Vec>& b) {
  // Every vector of b that depends on a and the earlier ones of b gives one common vector: its part over a.
  std::vector<Vec> all = independent(a);
  Vec a_part = all.size() < 64 ? (Vec{1} << all.size()) - 1 : ~Vec{0};
  Span span(all);
  std::vector<Vec> out;
  for (Vec v : independent(b)) {
    if (std::optional<Vec> combo = span.solve(v)) {
      out.push_back(combine(all, *combo & a_part));
    } else {
      span.add(v);
      all.push_back(v);
    }
  }
  return out;
}

std::vector<Vec> kernel(const std::vector<Vec>& columns) {
  Span span;
  std::vector<Vec> out;
  for (size_t i = 0; i < columns.size(); i++) {
    if (std::optional<Vec> combo = span.solve(columns[i])) out.push_back(*combo ^ Vec{1} << i);
    span.add(columns[i]);
  }
  return out;
}

std::vector<Vec> annihilator(const std::vector<Vec>& vectors, unsigned bits) {
  // f is 0 on all vectors: f is in the kernel of the matrix whose rows are the vectors.
  std::vector<Vec> rows = independent(vectors);
  std::vector<Vec> columns(bits, 0);
  for (size_t r = 0; r < rows.size(); r++)
    for (unsigned b = 0; b < bits; b++) columns[b] |= (rows[r] >> b & 1) << r;
  return kernel(columns);
}

Vec combine(const std::vector<Vec>& columns, Vec x) {
  Vec out = 0;
  for (; x != 0; x &= x - 1) out ^= columns[static_cast<size_t>(std::countr_zero(x))];
  return out;
}

std::optional<std::vector<Vec>> inverse(const std::vector<Vec>& columns) {
  Span span(columns);
  if (span.dim() != columns.size()) return std::nullopt;
  std::vector<Vec> out;
  for (size_t i = 0; i < columns.size(); i++) {
    std::optional<Vec> combo = span.solve(Vec{1} << i);
    if (!combo) return std::nullopt;
    out.push_back(*combo);
  }
  return out;
}

std::vector<ShiftTerm> shift_terms(const std::vector<Vec>& columns) {
  std::vector<ShiftTerm> out;
  for (size_t i = 0; i < columns.size(); i++)
    for (Vec rest = columns[i]; rest != 0; rest &= rest - 1) {
      int shift = std::countr_zero(rest) - static_cast<int>(i);
      auto same = std::find_if(out.begin(), out.end(), [&](const ShiftTerm& t) { return t.shift == shift; });
      if (same == out.end()) same = out.insert(out.end(), {0, shift});
      same->mask |= Vec{1} << i;
    }
  return out;
}

std::vector<Vec> identity(unsigned bits) {
  std::vector<Vec> out;
  for (unsigned b = 0; b < bits; b++) out.push_back(Vec{1} << b);
  return out;
}

}  // namespace tile::layout::f2
