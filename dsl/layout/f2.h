#pragma once
// Vector spaces over F2, the field of the two numbers 0 and 1 where 1 + 1 = 0. A vector is the bits of a word, addition
// is XOR. Dimensions are at most 64.
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace tile::layout::f2 {

using Vec = uint64_t;

inline unsigned parity(Vec v) { return static_cast<unsigned>(__builtin_parityll(v)); }

// The span of the vectors added so far, kept reduced, so that membership and coordinates are cheap. Coordinates are
// known in terms of the first 64 added vectors.
class Span {
 public:
  Span() {}  // leaves the unused rows as they are
  explicit Span(const std::vector<Vec>& vectors) {
    for (Vec v : vectors) add(v);
  }
  // True when `v` was not in the span before. The vector gets the next index either way.
  bool add(Vec v);
  bool contains(Vec v) const { return reduce(v) == 0; }
  // What remains of `v` after subtracting members of the span: the same for all vectors of one coset.
  Vec reduce(Vec v) const;
  // The set of indices (of independent ones among the added vectors) whose sum is `v`; nothing when `v` is outside.
  std::optional<Vec> solve(Vec v) const;
  unsigned dim() const { return dim_; }

 private:
  struct Row {
    Vec vector;  // its highest bit is the pivot, which no other row has
    Vec combo;   // indices of added vectors that sum to it
    unsigned pivot;
    // All ones when `v` has the pivot, else 0.
    Vec covers(Vec v) const { return -(v >> pivot & 1); }
  };
  std::array<Row, 64> rows_;  // the first dim_ of them
  unsigned dim_ = 0, added_ = 0;
};

unsigned rank(const std::vector<Vec>& vectors);
// Of `vectors`, in order, those that are independent of the earlier ones (and of `modulo`).
std::vector<Vec> independent(const std::vector<Vec>& vectors, const std::vector<Vec>& modulo = {});
// A basis of the vectors that lie in both spans.
std::vector<Vec> intersection(const std::vector<Vec>& a, const std::vector<Vec>& b);
// A basis of the sets x of columns (bit i: column i) that sum to 0.
std::vector<Vec> kernel(const std::vector<Vec>& columns);
// A basis of the functionals f (as masks: f(v) = parity(f & v)) on `bits`-dimensional space that are 0 on `vectors`.
std::vector<Vec> annihilator(const std::vector<Vec>& vectors, unsigned bits);
// The matrix product columns * x.
Vec combine(const std::vector<Vec>& columns, Vec x);
// The inverse of a square matrix given by its columns; nothing when it is singular.
std::optional<std::vector<Vec>> inverse(const std::vector<Vec>& columns);
// A linear map as shifts: columns * x is the XOR over the terms of (x & mask) << shift (right for negative shifts).
// Bits of x that move by the same distance share a term: the way to compute addresses and coordinates.
struct ShiftTerm {
  Vec mask;
  int shift;
  bool operator==(const ShiftTerm&) const = default;
};
std::vector<ShiftTerm> shift_terms(const std::vector<Vec>& columns);
// The columns 1, 2, 4, ... of the identity on `bits` bits.
std::vector<Vec> identity(unsigned bits);

}  // namespace tile::layout::f2
