#pragma once
// The layouts that the compiler and the author of a kernel ask for by name.
//
// All of them start from a small block that the lanes (and registers) of a wave cover, put the waves of the workgroup
// beside it, and repeat that in registers until the tile is covered. Where the tile is smaller than the block, lanes
// and waves replicate; registers are not repeated for nothing.
#include <optional>
#include <vector>

#include "dsl/layout/linear_layout.h"
#include "dsl/target/mfma.h"

namespace tile::layout {

// Triton's blocked encoding. Per axis: neighbours that a lane holds, lanes, waves; all powers of two, the lanes 64 in
// all. `order` lists the axes, fastest first: registers, lanes and waves are counted along order[0] first. `shape`
// is padded to powers of two. Errors: lengths differ, not a power of two, lanes not 64, order not a permutation.
Result<LinearLayout> blocked(const Shape& shape, const std::vector<unsigned>& elems_per_lane,
                             const std::vector<unsigned>& lanes, const std::vector<unsigned>& waves,
                             const std::vector<unsigned>& order);

// The layout for global memory whose axis order[0] is contiguous: a lane holds `vec` neighbours (a power of two, cut
// down to the extent) along it, lanes follow along it and then along order[1], ..., waves take further rows of the
// slowest axes. Every lane and wave has an element of its own as long as the tile has that many.
Result<LinearLayout> coalesced(const Shape& shape, const std::vector<unsigned>& order, unsigned vec, unsigned waves);
// order = last axis first.
std::vector<unsigned> row_major_order(unsigned rank);

// The result (and accumulator) of a dot by the instruction: a tile [M, N], or [B, M, N] for batches. Instructions with
// several blocks do that many batches at once and need the batch axis. `waves` has one number an axis; the wave index
// counts along the last axis first. The layout's padded extents are at least the instruction's.
// Errors: waves not one power of two an axis, the wrong rank.
Result<LinearLayout> mfma_result(MfmaId id, const Shape& shape, const std::vector<unsigned>& waves);

enum class MfmaOperand : uint8_t { A, B };
// An operand of that dot: A is [M, K] or [B, M, K], B is [K, N] or [B, K, N]. `waves` as for the result ([M, N] or
// [B, M, N] of the dot): waves that differ in the axis that the operand lacks hold the same.
//
// The instructions of a dot read K as a stream: step s, and in a step the instruction's own k, so entry
// s * K_instruction + k. Bit i of the stream's number is bit k_bits[i] of the tile's K. The permutation may be any;
// both operands use the same, and it is part of the value of the dot (it decides the order of sums). Its use: a lane
// of f16 16x16x16 holds 4 neighbours of K in one step, and with k_bits = {0, 1, 3, 4, 2, 5, ...} it holds 8 in two
// steps, that is 16 bytes. Registers count elements of a step, then steps, then repetitions along the other axes.
// Empty k_bits is the identity. Errors: as for the result; k_bits not a permutation of the bits of the padded K.
Result<LinearLayout> mfma_operand(MfmaId id, MfmaOperand which, const Shape& shape, const std::vector<unsigned>& k_bits,
                                  const std::vector<unsigned>& waves, MfmaFormat format = MfmaFormat::F8E4M3);
// The permutation that gives lanes runs of `run` neighbours of K (a power of two; cut down to what K allows).
std::vector<unsigned> kpack_bits(MfmaId id, MfmaOperand which, int64_t k, unsigned run,
                                 MfmaFormat format = MfmaFormat::F8E4M3);

}  // namespace tile::layout
