#pragma once
// What operations on tiles do to layouts. The layouts here are those of tiles: inputs reg, lane, wave, outputs
// dim0 .. dim(rank-1).
#include <optional>
#include <vector>

#include "dsl/layout/linear_layout.h"

namespace tile::layout {

// The extents rounded up to powers of two.
Shape padded_shape(const Shape& shape);
// The shape that NumPy broadcasting gives; an Error names the two extents that differ and neither is 1.
Result<Shape> join_shapes(const Shape& a, const Shape& b);

// The layout of a tile after reducing (summing away) `axis`: the axis is gone, later axes move down. Places that
// differed in that axis only now hold the same element. Register bits that carried nothing else are dropped, so that a
// lane holds no register twice for that reason: register r of the result is, in the reduced tile, the register with
// the bits of r spread over kept_registers(layout, axis).
LinearLayout slice(const LinearLayout& layout, unsigned axis);
// The register bits of `layout` that slice() keeps, ascending.
std::vector<unsigned> kept_registers(const LinearLayout& layout, unsigned axis);
// The layout without register bits whose basis is 0.
LinearLayout drop_free_registers(const LinearLayout& layout);

// The same places, with an axis of extent 1 before `axis` (axis == rank: behind the last).
LinearLayout expand_dims(const LinearLayout& layout, unsigned axis);
// The same places; axis i of the result is axis order[i] of `layout`.
LinearLayout permute(const LinearLayout& layout, const std::vector<unsigned>& order);
// The same places; the element keeps its row-major index. The numbers of elements must agree.
LinearLayout reshape(const LinearLayout& layout, const Shape& shape);
// Axes of extent 1 grow to the extents of `shape` by new high register bits, the last axis lowest. No value moves:
// register r of the result holds what register r % layout.num_registers() held.
LinearLayout broadcast_to(const LinearLayout& layout, const Shape& shape);

// The largest n such that registers [k * n, k * n + n) hold n neighbours along `axis`, ascending and aligned.
unsigned contig_registers(const LinearLayout& layout, unsigned axis);

// An input bit.
struct Carrier {
  Dim dim;
  unsigned bit;
  bool operator==(const Carrier&) const = default;
};
// For each bit of the axis, lowest first, the input bit that carries it: flipping that bit moves the element by 2^i
// along `axis` and no other non-free bit touches bit i. Nothing at the bits where there is no such input bit.
std::vector<std::optional<Carrier>> axis_carriers(const LinearLayout& layout, unsigned axis);

}  // namespace tile::layout
