#include "dsl/layout/linear_layout.h"

#include <bit>
#include <cassert>

namespace tile::layout {

namespace {
constexpr std::string_view dim_names[num_dims] = {"reg",  "lane", "wave", "offset", "dim5",
                                                  "dim4", "dim3", "dim2", "dim1",   "dim0"};
}

std::string_view name(Dim d) { return dim_names[static_cast<unsigned>(d)]; }

std::optional<Dim> parse_dim(std::string_view s) {
  for (unsigned i = 0; i < num_dims; i++)
    if (dim_names[i] == s) return static_cast<Dim>(i);
  return std::nullopt;
}

Space Space::of_shape(const Shape& shape) {
  assert(shape.size() <= max_rank);
  Space out;
  for (unsigned axis = 0; axis < shape.size(); axis++) {
    assert(shape[axis] > 0 && std::has_single_bit(static_cast<uint64_t>(shape[axis])));
    out.set(tile_dim(axis), static_cast<unsigned>(std::countr_zero(static_cast<uint64_t>(shape[axis]))));
  }
  return out;
}

unsigned Space::shift(Dim d) const {
  unsigned sum = 0;
  for (unsigned i = 0; i < static_cast<unsigned>(d); i++) sum += bits(static_cast<Dim>(i));
  return sum;
}

unsigned Space::total_bits() const {
  unsigned sum = 0;
  for (int8_t b : bits_) sum += b > 0 ? static_cast<unsigned>(b) : 0;
  return sum;
}

std::vector<Dim> Space::dims() const {
  std::vector<Dim> out;
  for (unsigned i = 0; i < num_dims; i++)
    if (bits_[i] >= 0) out.push_back(static_cast<Dim>(i));
  return out;
}

unsigned Space::rank() const {
  unsigned r = 0;
  while (r < max_rank && has(tile_dim(r))) r++;
  return r;
}

Vec repack(Vec packed, const Space& from, const Space& to) {
  if (from == to) return packed;
  Vec out = 0;
  for (Dim d : from.dims())
    if (to.has(d)) out |= to.put(from.get(packed, d), d);
  return out;
}

LinearLayout::LinearLayout(Space in, Space out, std::vector<Vec> bases) : in_(in), out_(out), bases_(std::move(bases)) {
  assert(bases_.size() == in_.total_bits() && in_.total_bits() <= 60 && out_.total_bits() <= 60);
  for ([[maybe_unused]] Vec v : bases_) assert(v >> out_.total_bits() == 0);
}

LinearLayout LinearLayout::identity1d(unsigned bits, Dim in, Dim out) {
  return LinearLayout({{in, bits}}, {{out, bits}}, f2::identity(bits));
}

LinearLayout LinearLayout::zeros1d(unsigned bits, Dim in, Dim out) {
  return LinearLayout({{in, bits}}, {{out, 0}}, std::vector<Vec>(bits, 0));
}

LinearLayout LinearLayout::identity(const Space& space) {
  return LinearLayout(space, space, f2::identity(space.total_bits()));
}

std::vector<Vec> LinearLayout::bases(Dim d) const {
  auto first = bases_.begin() + in_.shift(d);
  return std::vector<Vec>(first, first + in_.bits(d));
}

std::vector<unsigned> LinearLayout::coords(unsigned reg, unsigned lane, unsigned wave) const {
  Vec packed = at(reg, lane, wave);
  std::vector<unsigned> out;
  for (unsigned axis = 0; axis < rank(); axis++) out.push_back(static_cast<unsigned>(out_.get(packed, tile_dim(axis))));
  return out;
}

Shape LinearLayout::shape() const {
  Shape out;
  for (unsigned axis = 0; axis < rank(); axis++) out.push_back(int64_t{1} << out_.bits(tile_dim(axis)));
  return out;
}

bool LinearLayout::is_surjective() const { return f2::rank(bases_) == out_.total_bits(); }
bool LinearLayout::is_injective() const { return f2::rank(bases_) == in_.total_bits(); }

bool LinearLayout::is_trivial_over(const std::vector<Dim>& dims) const {
  Vec reached = 0;
  for (Dim d : dims) {
    if (!in_.has(d) || !out_.has(d) || in_.bits(d) != out_.bits(d)) return false;
    reached |= out_.mask(d);
  }
  for (Dim d : in_.dims()) {
    bool listed = false;
    for (Dim l : dims) listed |= l == d;
    for (unsigned b = 0; b < in_.bits(d); b++)
      if ((listed ? basis(d, b) ^ out_.put(Vec{1} << b, d) : basis(d, b) & reached) != 0) return false;
  }
  return true;
}

Vec LinearLayout::free_bits() const {
  f2::Span span;
  Vec free = 0;
  for (size_t i = 0; i < bases_.size(); i++)
    if (!span.add(bases_[i])) free |= Vec{1} << i;
  return free;
}

LinearLayout LinearLayout::operator*(const LinearLayout& high) const {
  Space in, out;
  for (unsigned i = 0; i < num_dims; i++) {
    Dim d = static_cast<Dim>(i);
    if (in_.has(d) || high.in_.has(d)) in.set(d, in_.bits(d) + high.in_.bits(d));
    if (out_.has(d) || high.out_.has(d)) out.set(d, out_.bits(d) + high.out_.bits(d));
  }
  std::vector<Vec> bases;
  for (Dim d : in.dims()) {
    if (in_.has(d))
      for (Vec v : this->bases(d)) bases.push_back(repack(v, out_, out));
    if (!high.in_.has(d)) continue;
    for (Vec v : high.bases(d)) {
      Vec shifted = 0;
      for (Dim o : high.out_.dims()) shifted |= out.put(high.out_.get(v, o) << out_.bits(o), o);
      bases.push_back(shifted);
    }
  }
  return LinearLayout(in, out, std::move(bases));
}

LinearLayout LinearLayout::then(const LinearLayout& next) const {
  for ([[maybe_unused]] Dim d : out_.dims()) assert(next.in_.has(d) && out_.bits(d) <= next.in_.bits(d));
  std::vector<Vec> bases;
  for (Vec v : bases_) bases.push_back(next.apply(repack(v, out_, next.in_)));
  return LinearLayout(in_, next.out_, std::move(bases));
}

LinearLayout LinearLayout::invert() const {
  std::optional<std::vector<Vec>> inverse = f2::inverse(bases_);
  assert(inverse && in_.total_bits() == out_.total_bits());
  return LinearLayout(out_, in_, std::move(*inverse));
}

LinearLayout LinearLayout::right_inverse() const {
  f2::Span span(bases_);
  std::vector<Vec> bases;
  for (unsigned b = 0; b < out_.total_bits(); b++) {
    std::optional<Vec> x = span.solve(Vec{1} << b);
    assert(x);
    bases.push_back(*x);
  }
  return LinearLayout(out_, in_, std::move(bases));
}

LinearLayout LinearLayout::left_inverse() const {
  assert(is_injective());
  // Outputs beyond the image are made members by adding unit vectors, which map to 0.
  f2::Span span(bases_);
  for (unsigned b = 0; b < out_.total_bits(); b++) span.add(Vec{1} << b);
  Vec mask = (Vec{1} << in_.total_bits()) - 1;
  std::vector<Vec> bases;
  for (unsigned b = 0; b < out_.total_bits(); b++) bases.push_back(*span.solve(Vec{1} << b) & mask);
  return LinearLayout(out_, in_, std::move(bases));
}

std::optional<LinearLayout> LinearLayout::divide_left(const LinearLayout& low) const {
  Space in = in_, out = out_;
  for (Dim d : low.in_.dims()) {
    if (!in_.has(d) || in_.bits(d) < low.in_.bits(d)) return std::nullopt;
    in.set(d, in_.bits(d) - low.in_.bits(d));
  }
  for (Dim d : low.out_.dims()) {
    if (!out_.has(d) || out_.bits(d) < low.out_.bits(d)) return std::nullopt;
    out.set(d, out_.bits(d) - low.out_.bits(d));
  }
  std::vector<Vec> bases;
  for (Dim d : in_.dims())
    for (unsigned b = low.in_.bits(d); b < in_.bits(d); b++) {
      Vec v = 0;
      for (Dim o : out_.dims()) v |= out.put(out_.get(basis(d, b), o) >> low.out_.bits(o), o);
      bases.push_back(v);
    }
  LinearLayout quotient(in, out, std::move(bases));
  if (low * quotient != *this) return std::nullopt;
  return quotient;
}

LinearLayout LinearLayout::sublayout(const std::vector<Dim>& ins, const std::vector<Dim>& outs) const {
  Space in, out;
  for (Dim d : ins)
    if (in_.has(d)) in.set(d, in_.bits(d));
  for (Dim d : outs)
    if (out_.has(d)) out.set(d, out_.bits(d));
  std::vector<Vec> bases;
  for (Dim d : in.dims())
    for (Vec v : this->bases(d)) bases.push_back(repack(v, out_, out));
  return LinearLayout(in, out, std::move(bases));
}

size_t LinearLayout::hash() const {
  uint64_t h = 0xcbf29ce484222325u;
  auto mix = [&h](uint64_t v) { h = (h ^ v ^ v >> 29) * 0x9e3779b97f4a7c15u; };
  for (const Space* s : {&in_, &out_})
    for (unsigned i = 0; i < num_dims; i++) mix(s->has(static_cast<Dim>(i)) ? s->bits(static_cast<Dim>(i)) + 1 : 0);
  for (Vec v : bases_) mix(v);
  return static_cast<size_t>(h ^ h >> 32);
}

}  // namespace tile::layout
