#include "dsl/layout/tile_ops.h"

#include <fmt/format.h>

#include <bit>
#include <cassert>

namespace tile::layout {

namespace {

// The layout with the output axes renamed: axis `map[i]` of the old becomes axis i; -1 adds one of extent 1.
LinearLayout rename_axes(const LinearLayout& layout, const std::vector<int>& map) {
  const Space& old = layout.out();
  Space out;
  for (unsigned i = 0; i < map.size(); i++)
    out.set(tile_dim(i), map[i] < 0 ? 0 : old.bits(tile_dim(static_cast<unsigned>(map[i]))));
  std::vector<Vec> bases;
  for (Vec v : layout.bases()) {
    Vec moved = 0;
    for (unsigned i = 0; i < map.size(); i++)
      if (map[i] >= 0) moved |= out.put(old.get(v, tile_dim(static_cast<unsigned>(map[i]))), tile_dim(i));
    bases.push_back(moved);
  }
  return LinearLayout(layout.in(), out, std::move(bases));
}

// The layout with the given register bits only.
LinearLayout keep_registers(const LinearLayout& layout, const std::vector<unsigned>& bits) {
  Space in = layout.in();
  in.set(Dim::Register, static_cast<unsigned>(bits.size()));
  std::vector<Vec> bases;
  for (unsigned b : bits) bases.push_back(layout.basis(Dim::Register, b));
  for (Dim d : layout.in().dims())
    if (d != Dim::Register)
      for (Vec v : layout.bases(d)) bases.push_back(v);
  return LinearLayout(in, layout.out(), std::move(bases));
}

std::vector<int> without_axis(unsigned rank, unsigned axis) {
  std::vector<int> map;
  for (unsigned i = 0; i < rank; i++)
    if (i != axis) map.push_back(static_cast<int>(i));
  return map;
}

}  // namespace

Shape padded_shape(const Shape& shape) {
  Shape out;
  for (int64_t n : shape) out.push_back(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))));
  return out;
}

Result<Shape> join_shapes(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < out.size(); i++) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return Error{fmt::format("extents {} and {} of axis {} from the right do not broadcast", x, y, i),
                   "extents must be equal or 1"};
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

LinearLayout slice(const LinearLayout& layout, unsigned axis) {
  assert(axis < layout.rank());
  LinearLayout reduced = rename_axes(layout, without_axis(layout.rank(), axis));
  return keep_registers(reduced, kept_registers(layout, axis));
}

std::vector<unsigned> kept_registers(const LinearLayout& layout, unsigned axis) {
  std::vector<unsigned> kept;
  Vec rest = ~layout.out().mask(tile_dim(axis));
  for (unsigned b = 0; b < layout.in().bits(Dim::Register); b++)
    if ((layout.basis(Dim::Register, b) & rest) != 0) kept.push_back(b);
  return kept;
}

LinearLayout drop_free_registers(const LinearLayout& layout) {
  std::vector<unsigned> kept;
  for (unsigned b = 0; b < layout.in().bits(Dim::Register); b++)
    if (layout.basis(Dim::Register, b) != 0) kept.push_back(b);
  return keep_registers(layout, kept);
}

LinearLayout expand_dims(const LinearLayout& layout, unsigned axis) {
  assert(axis <= layout.rank() && layout.rank() < max_rank);
  std::vector<int> map;
  for (unsigned i = 0; i < layout.rank(); i++) map.push_back(static_cast<int>(i));
  map.insert(map.begin() + axis, -1);
  return rename_axes(layout, map);
}

LinearLayout permute(const LinearLayout& layout, const std::vector<unsigned>& order) {
  assert(order.size() == layout.rank());
  return rename_axes(layout, std::vector<int>(order.begin(), order.end()));
}

LinearLayout reshape(const LinearLayout& layout, const Shape& shape) {
  // The packed form is the row-major index: only the names of its bits change.
  Space out = Space::of_shape(shape);
  assert(out.total_bits() == layout.out().total_bits());
  return LinearLayout(layout.in(), out, layout.bases());
}

LinearLayout broadcast_to(const LinearLayout& layout, const Shape& shape) {
  assert(shape.size() == layout.rank());
  LinearLayout out = layout;
  for (unsigned axis = layout.rank(); axis-- > 0;) {
    unsigned have = layout.out().bits(tile_dim(axis));
    unsigned want = static_cast<unsigned>(std::countr_zero(static_cast<uint64_t>(shape[axis])));
    assert(have == want || have == 0);
    if (have != want) out = out * LinearLayout::identity1d(want, Dim::Register, tile_dim(axis));
  }
  return out;
}

unsigned contig_registers(const LinearLayout& layout, unsigned axis) {
  Dim dim = tile_dim(axis);
  unsigned bits = 0;
  unsigned limit = std::min(layout.in().bits(Dim::Register), layout.out().bits(dim));
  while (bits < limit && layout.basis(Dim::Register, bits) == layout.out().put(Vec{1} << bits, dim)) bits++;
  // Registers are neighbours only if nothing else reaches the low bits of the axis.
  Vec others = 0;
  for (Dim d : layout.in().dims())
    for (unsigned b = d == Dim::Register ? bits : 0; b < layout.in().bits(d); b++) others |= layout.basis(d, b, dim);
  return 1u << std::min(bits, static_cast<unsigned>(std::countr_zero(others | Vec{1} << 62)));
}

std::vector<std::optional<Carrier>> axis_carriers(const LinearLayout& layout, unsigned axis) {
  Dim dim = tile_dim(axis);
  std::vector<std::optional<Carrier>> out(layout.out().bits(dim));
  for (unsigned i = 0; i < out.size(); i++) {
    Vec unit = layout.out().put(Vec{1} << i, dim);
    unsigned touching = 0;
    for (Dim d : layout.in().dims())
      for (unsigned b = 0; b < layout.in().bits(d); b++) {
        if ((layout.basis(d, b) & unit) == 0) continue;
        touching++;
        out[i] = Carrier{d, b};
      }
    if (touching != 1 || layout.basis(out[i]->dim, out[i]->bit) != unit) out[i].reset();
  }
  return out;
}

}  // namespace tile::layout
