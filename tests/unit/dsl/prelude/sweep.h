#pragma once
// The largest error of a math function over many inputs.
#include <cstdint>
#include <string>

#include "dsl/support/result.h"
#include "dsl/types/dtype.h"

namespace tile::test {

struct Worst {
  double error = 0;
  double x = 0, y = 0, got = 0;
  void take(const Worst& other) { if (other.error > error) *this = other; }
  // The place as hexadecimal numbers, with what was returned there.
  std::string where(int arity) const;
};

// Every `step`-th bit pattern of [first, last] of f16, bf16 or f32, for functions of one argument.
Result<Worst> sweep_patterns(const std::string& function, DType type, uint64_t first, uint64_t last, uint64_t step);

// Edge values (every pair of them, for two arguments), then `points` random values of the kinds in inputs.h. f64 is
// judged by MPFR, the others by the C library in double.
Result<Worst> sweep_points(const std::string& function, DType type, uint64_t points, uint64_t seed);

}  // namespace tile::test
