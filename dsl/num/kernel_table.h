#pragma once
// What the sources that are compiled once per host instruction set (kernels_*.cpp) provide to dispatch.cpp.
#include "dsl/num/isa.h"
#include "dsl/num/kernels.h"

namespace tile::num {

// Conversions go through a carrier type (carrier_t in dsl/num/convert_scalar.h).
enum class Carrier : uint8_t { I32, I64, U64, F32, F64 };

struct KernelTable {
  ElementwiseKernel (*integer)(OpKind op, DType t);
  ElementwiseKernel (*floating)(OpKind op, DType t);
  // Null for types that are their own carrier.
  void (*(*decode)(DType from))(const void* src, void* carrier, size_t n);
  // To nearest even.
  void (*(*encode)(Carrier from, DType to))(bool saturate, const void* carrier, void* dst, size_t n);
};

inline namespace TILE_NUM_ISA {
ElementwiseKernel find_integer_kernel(OpKind op, DType t);
ElementwiseKernel find_float_kernel(OpKind op, DType t);
KernelTable kernel_table();
}  // namespace TILE_NUM_ISA

}  // namespace tile::num
