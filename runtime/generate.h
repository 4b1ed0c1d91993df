#pragma once
// Arrays made from a seed. The numbers come from the language's own prelude (philox, uint_to_uniform_float,
// pair_uniform_to_normal), executed by the interpreter, so that a kernel can draw the very same ones: numbers 4 * i to
// 4 * i + 3 come from the counter (low half of i, high half of i).
#include "dsl/support/result.h"
#include "runtime/array.h"

namespace tile {

// Normal numbers in f32, times `std`, plus `mean` (both in f32), then rounded to `dtype` (integers: saturating).
Result<Array> randn(DType dtype, std::vector<int64_t> shape, uint64_t seed, double mean = 0, double std = 1);
// Uniform in [low, high) as low + u * (high - low) in f32, then rounded to `dtype`.
Result<Array> uniform(DType dtype, std::vector<int64_t> shape, uint64_t seed, double low = 0, double high = 1);
// Integers in [low, high): low + the upper 32 bits of (random u32 * (high - low)); at most 2^32 apart.
Result<Array> randint(DType dtype, std::vector<int64_t> shape, uint64_t seed, int64_t low, int64_t high);
// start + i * step in row-major order, computed in f64 (exact for integers up to 2^53), then converted.
Result<Array> arange(DType dtype, std::vector<int64_t> shape, double start = 0, double step = 1);
// Every element `value`, converted from f64.
Result<Array> full(DType dtype, std::vector<int64_t> shape, double value);

}  // namespace tile
