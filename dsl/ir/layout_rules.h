#pragma once
// What the layouts of an operation's operands and results must be to each other. One place for it: the verifier
// checks these rules, assign_layouts establishes them, lowering and the faithful interpreter rely on them.
//
//   elementwise, cast, bitcast, addptr, load, store    all tiles have one layout
//   splat, constant, arange                            any layout
//   expand_dims {axis}   operand = slice(result, axis): register r of the result is register r of the operand with the
//                        bits that kept_registers(result, axis) does not name left out
//   broadcast            operand = project(result, operand's shape): the same, for each axis that is repeated
//   trans, reshape       renamed axes (permute, reshape); a reshape that is not free stages through shared memory
//   reduce, arg_reduce   result = slice(operand, axis)
//   load_view, store_view, in_bounds   an index tile has project(layout of the tile, its shape)
//   dot                  mfma_operand and mfma_result, or fma_operand of the result's layout
//   for, while, if       arguments, yields and results of one carried value have one layout
#include <optional>
#include <string>
#include <vector>

#include "dsl/ir/ir.h"
#include "dsl/layout/construct.h"
#include "dsl/layout/linear_layout.h"
#include "dsl/layout/tile_ops.h"

namespace tile::ir {

using layout::LinearLayout;

layout::Shape extents(const Shape& s);

// Waves that layouts tell apart: the largest power of two that is not more than the kernel's waves (1 in a wave
// kernel). A wave w beyond them acts as wave w % layout_waves(k), computes the same and stores nothing.
unsigned layout_waves(const Kernel& k);

// The layout of an operand of extents `operand` that is repeated along its axes of extent 1 to a tile of layout `result`.
// A rank-0 operand has no layout. Same ranks.
LinearLayout project(const LinearLayout& result, const Shape& operand, const Shape& result_shape);

// True if a reshape only renames the bits of an operand of that layout, so that no value moves.
bool reshape_is_free(const LinearLayout& operand, const Shape& from, const Shape& to);

// Registers of the result of a free reshape, permute, ... are those of the operand.
// Operand layouts of a plain chain of fma: all of K in registers (lowest bits), rows or columns where the result has
// them. `m`, `n`, `k` are extents. Register r of the result needs of A the registers (kept bits of r) * padded K + k.
LinearLayout fma_operand(const LinearLayout& result, layout::MfmaOperand which, int64_t k);

// Layouts that a dot needs, from its attributes (mfma, k_bits, wave_grid) and types; `result` matters for `fma` only.
struct DotLayouts {
  LinearLayout a, b, c;
};
Result<DotLayouts> dot_layouts(const Kernel& k, const Op& dot, const LinearLayout* result);
// The instruction of a dot; nothing for `fma` or when the attribute names none.
std::optional<MfmaId> mfma_of(const Op& dot);

// True if the kind of reduction gives the same value in any order (all but sum and prod of floats).
bool order_matters(const std::string& combine, DType t);

// How a reduction along `axis` in `order` runs on a layout: each step combines over one input bit.
struct ReduceStep {
  unsigned axis_bit;
  layout::Carrier carrier;
};
// Register steps come first, then lanes, then waves; nothing if the layout can't do that order so, or pads the axis
// beyond the power of two that `order` covers.
std::optional<std::vector<ReduceStep>> reduce_steps(const LinearLayout& operand, unsigned axis,
                                                    const std::vector<int64_t>& order);
// Bits of the axis index that `order` must list: those of the extent padded to a power of two.
unsigned axis_bits(int64_t extent);

}  // namespace tile::ir
