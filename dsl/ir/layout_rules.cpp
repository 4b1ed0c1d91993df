#include "dsl/ir/layout_rules.h"

#include <bit>

namespace tile::ir {

using layout::Dim;
using layout::Vec;

layout::Shape extents(const Shape& s) { return layout::Shape(s.begin(), s.end()); }

unsigned layout_waves(const Kernel& k) { return k.is_wave ? 1 : std::bit_floor(k.waves); }

LinearLayout project(const LinearLayout& result, const Shape& operand, const Shape& result_shape) {
  LinearLayout l = result;
  for (unsigned axis = 0; axis < operand.rank(); ++axis)
    if (operand[axis] == 1 && (result_shape[axis] != 1 || l.out().bits(layout::tile_dim(axis)) != 0))
      l = layout::expand_dims(layout::slice(l, axis), axis);
  return l;
}

bool reshape_is_free(const LinearLayout& operand, const Shape& from, const Shape& to) {
  if (operand.shape() != layout::padded_shape(extents(from))) return false;
  // From the innermost dimensions on: groups of equal products, in which only the outermost may be no power of two.
  unsigned i = from.rank(), j = to.rank();
  while (i > 0 || j > 0) {
    int64_t p = i > 0 ? from[--i] : 1, q = j > 0 ? to[--j] : 1;
    while (p != q) {
      // What is inside of the dimension taken next must be a power of two.
      int64_t& smaller = p < q ? p : q;
      unsigned& next = p < q ? i : j;
      if (next == 0 || !std::has_single_bit(static_cast<uint64_t>(smaller))) return false;
      --next;
      smaller *= p < q ? from[next] : to[next];
    }
  }
  return true;
}

LinearLayout fma_operand(const LinearLayout& result, layout::MfmaOperand which, int64_t k) {
  unsigned axis = which == layout::MfmaOperand::A ? 0 : 1, other = 1 - axis;
  unsigned k_bits = axis_bits(k);
  LinearLayout rest = layout::expand_dims(layout::slice(result, other), other);
  layout::Space out = rest.out(), in = rest.in();
  out.set(layout::tile_dim(other), k_bits);
  in.set(Dim::Register, k_bits + rest.in().bits(Dim::Register));
  std::vector<Vec> bases;
  for (unsigned b = 0; b < k_bits; ++b) bases.push_back(out.put(Vec{1} << b, layout::tile_dim(other)));
  for (Vec v : rest.bases()) bases.push_back(layout::repack(v, rest.out(), out));
  return LinearLayout(in, out, std::move(bases));
}

std::optional<MfmaId> mfma_of(const Op& dot) {
  std::string name = dot.get_text(AttrKey::Mfma);
  for (const MfmaInfo& row : mfma_table)
    if (row.kind == name) return row.id;
  return std::nullopt;
}

Result<DotLayouts> dot_layouts(const Kernel& k, const Op& dot, const LinearLayout* result) {
  layout::Shape a = extents(k.type(dot.operands[0]).shape), b = extents(k.type(dot.operands[1]).shape);
  layout::Shape c = extents(k.type(dot.results[0]).shape);
  std::optional<MfmaId> id = mfma_of(dot);
  if (!id) {
    if (!result) return Error{"the layout of the result is not known"};
    return DotLayouts{fma_operand(*result, layout::MfmaOperand::A, a[1]),
                      fma_operand(*result, layout::MfmaOperand::B, a[1]), *result};
  }
  std::vector<unsigned> bits, waves;
  for (int64_t x : dot.get_ints(AttrKey::KBits)) bits.push_back(static_cast<unsigned>(x));
  for (int64_t x : dot.get_ints(AttrKey::WaveGrid)) waves.push_back(static_cast<unsigned>(x));
  auto la = layout::mfma_operand(*id, layout::MfmaOperand::A, a, bits, waves);
  if (!la) return la.error();
  auto lb = layout::mfma_operand(*id, layout::MfmaOperand::B, b, bits, waves);
  if (!lb) return lb.error();
  auto lc = layout::mfma_result(*id, c, waves);
  if (!lc) return lc.error();
  return DotLayouts{*la, *lb, *lc};
}

bool order_matters(const std::string& combine, DType t) {
  return is_float(t) && (combine == "sum" || combine == "prod");
}

unsigned axis_bits(int64_t extent) { return static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(extent - 1))); }

std::optional<std::vector<ReduceStep>> reduce_steps(const LinearLayout& operand, unsigned axis,
                                                    const std::vector<int64_t>& order) {
  std::vector<std::optional<layout::Carrier>> carriers = layout::axis_carriers(operand, axis);
  // Beyond the bits of `order` the axis is padding, which would pass for copies of the result.
  if (carriers.size() != order.size()) return std::nullopt;
  std::vector<ReduceStep> steps;
  for (int64_t bit : order) {
    if (bit < 0 || static_cast<size_t>(bit) >= carriers.size() || !carriers[static_cast<size_t>(bit)]) return std::nullopt;
    layout::Carrier c = *carriers[static_cast<size_t>(bit)];
    if (!steps.empty() && c.dim < steps.back().carrier.dim) return std::nullopt;
    steps.push_back({static_cast<unsigned>(bit), c});
  }
  return steps;
}

}  // namespace tile::ir
