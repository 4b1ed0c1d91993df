#pragma once
// The vectorised part of mfma_dot, compiled once per host instruction set (kernels_mfma.cpp).
#include <cstddef>
#include <cstdint>

#include "dsl/num/isa.h"
#include "dsl/target/mfma.h"

namespace tile::num {

// A dot whose operands have been widened to f32. Operands that are not finite are given as 0 here; their rows and
// columns are marked, their results are left undefined and computed by the caller.
struct DotF32 {
  MfmaModel model;
  unsigned inst_k;  // K of one instruction
  size_t m, n, k;
  const float* a;  // m x k, dense
  const float* b;  // k x n, dense
  int a_emin, b_emin;  // smallest encoded exponent of the operands' formats (of subnormals too)
  float* c;
  size_t ldc;
  // Scaled instructions: sa - 127 for every row and block of 32, sb - 127 for every block and column; else null.
  const int32_t* a_scale;
  const int32_t* b_scale;
  // Called where the vector code can't do a group of products: replaces *c, for row i, column j, products k0...
  void (*exact_group)(const void* context, size_t i, size_t j, size_t k0, float* c);
  const void* context;
};

struct DotKernels {
  void (*f32_out)(const DotF32& dot);
  // C (m x n, leading dimension ldc) += A * B, dense operands, modulo 2^32.
  void (*i8)(size_t m, size_t n, size_t k, const int8_t* a, const int8_t* b, int32_t* c, size_t ldc);
  void (*f64)(size_t m, size_t n, size_t k, const double* a, const double* b, double* c, size_t ldc);
};

inline namespace TILE_NUM_ISA {
DotKernels dot_kernels();
}

}  // namespace tile::num
