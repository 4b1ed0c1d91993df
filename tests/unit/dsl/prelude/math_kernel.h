#pragma once
// A math function of the prelude, as a program of the language executed by the tile interpreter on arrays in memory.
#include <cstddef>
#include <string>

#include "dsl/support/result.h"
#include "dsl/types/dtype.h"
#include "interpreter/tile/interpreter.h"

namespace tile::test {

class MathKernel {
 public:
  // `function` is a name of math_functions.def, `dtype` f16, bf16, f32 or f64. Fails if the program does not specialise.
  static Result<MathKernel> make(const std::string& function, DType dtype);

  // out[i] = function(x[i]) or function(x[i], y[i]) for n elements of the type; y is ignored for one argument.
  // One thread. The arrays are not owned.
  Status run(const void* x, const void* y, void* out, size_t n) const;

 private:
  MathKernel(interp::Executable e, bool two, DType dtype) : executable_(std::move(e)), two_(two), dtype_(dtype) {}
  interp::Executable executable_;
  bool two_;
  DType dtype_;
};

}  // namespace tile::test
