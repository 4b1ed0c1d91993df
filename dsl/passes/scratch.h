#pragma once
// Shared memory that an operation uses while it runs. docs/passes.md says how each of them uses it.
#include "dsl/ir/layout_rules.h"
#include "dsl/layout/conversion.h"

namespace tile::passes {

// Bytes that the kernel may use; in a wave kernel, each of its waves.
size_t shared_memory_limit(const ir::Kernel& k);

// The plan of a convert_layout, for executors and the lowering. Its scratch takes at most 32 KiB and half of the limit (it
// goes in rounds otherwise), so that two conversions can stand beside each other.
Result<layout::ConversionPlan> conversion_plan(const ir::Kernel& k, const ir::Op& convert);

// Cross-wave part of a reduce or arg_reduce. Let R be the layout slice(operand, axis), W the number of input combinations
// of the wave bits that carry the axis, and E the number of elements of R's padded shape (1 if the result is a scalar).
// Partial result p (the wave bits of the axis, gathered lowest axis bit of the order first) of element e (row-major in
// the padded shape) lives at byte (p * E + e) * elem_bytes. An arg_reduce has its indices (4 bytes) behind the values, at
// index_offset + (p * E + e) * 4.
struct ReduceScratch {
  unsigned partials = 1;    // W; 1: no shared memory is used
  size_t elements = 1;      // E
  unsigned elem_bytes = 4;
  size_t index_offset = 0;  // arg_reduce only
  size_t bytes = 0;
};
ReduceScratch reduce_scratch(const ir::Kernel& k, const ir::Op& reduce);

// A reshape that moves values: element with row-major index e (of the true shape) lives at byte e * elem_bytes.
size_t reshape_scratch(const ir::Kernel& k, const ir::Op& reshape);

// How an operation uses shared memory. None: bytes is 0.
struct Scratch {
  size_t bytes = 0;
  bool wave_local = false;  // no wave touches what another one wrote: no barrier is needed around it, none is inside
};
Result<Scratch> scratch_of(const ir::Kernel& k, const ir::Op& o);

}  // namespace tile::passes
