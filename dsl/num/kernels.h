#pragma once
// Whole-array operations: what the tile interpreter calls, one call an operation on contiguous elements.
//
// Buffers hold elements as dsl/num/storage.h says, aligned to their size. The destination may be the same array as a
// source of the same element size, but must not overlap one otherwise. n may be 0. Nothing here fails or allocates;
// kernels are chosen by the host's instruction set, and all choices give the same results (any NaN being any NaN).
#include <cstddef>
#include <cstdint>

#include "dsl/num/format.h"
#include "dsl/ops/ops.h"
#include "dsl/types/dtype.h"

namespace tile::num {

// The host instruction sets that kernels are compiled for.
enum class HostIsa : uint8_t { Base, Avx2, Avx512 };
// The best that this host has, unless the environment variable TILE_HOST_ISA (base, avx2, avx512) or set_host_isa
// names a lower one.
HostIsa host_isa();
HostIsa best_host_isa();
// For tests. An instruction set that the host lacks is lowered to the best that it has.
void set_host_isa(HostIsa isa);

// Source pointers in operand order; three are passed, the ones beyond the arity are ignored.
using ElementwiseKernel = void (*)(const void* a, const void* b, const void* c, void* dst, size_t n);
// The kernel of an elementwise operation on elements of type `t` (of Where: the type of the last two operands, the
// first are bools; of comparisons: the operands' type, the result is bools). Null if the operation's domain lacks `t`.
ElementwiseKernel elementwise_kernel(OpKind op, DType t);

// dst[i] = the i-th source converted. For Stochastic use convert_stochastic.
void convert(DType from, DType to, ConvertMode mode, const void* src, void* dst, size_t n);
// The same with Rounding::Stochastic; random[i] decides for element i (rule: encode_bits in dsl/num/format.h).
void convert_stochastic(DType from, DType to, bool saturate, const void* src, const uint32_t* random, void* dst, size_t n);

}  // namespace tile::num
