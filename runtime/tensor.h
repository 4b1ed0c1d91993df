#pragma once
// Values of host expressions in test blocks: integers are exact 64-bit, everything else is f64.
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "dsl/support/result.h"
#include "runtime/array.h"

namespace tile {

struct Tensor {
  enum class Class : uint8_t { Bool, Int, Float };
  Class cls = Class::Float;
  std::vector<int64_t> shape;  // empty: a scalar
  std::vector<double> f;       // Float
  std::vector<int64_t> i;      // Bool (0, 1) and Int

  static Tensor of(double v) { return {Class::Float, {}, {v}, {}}; }
  static Tensor of(int64_t v) { return {Class::Int, {}, {}, {v}}; }
  static Tensor of(bool v) { return {Class::Bool, {}, {}, {v}}; }
  static Tensor zeros(Class cls, std::vector<int64_t> shape);
  static Tensor from(const Array& a);

  size_t size() const { return cls == Class::Float ? f.size() : i.size(); }
  bool is_scalar() const { return shape.empty(); }
  double at(size_t e) const { return cls == Class::Float ? f[e] : static_cast<double>(i[e]); }
  // The same values in class Float.
  Tensor as_float() const;
  // Rounded to nearest even (saturating where the type does, integers modulo 2^bits from integers).
  Result<Array> to_array(DType t) const;
};

// Index of each element of `to` in a tensor of shape `from` that broadcasts to it (NumPy's rule).
std::vector<size_t> broadcast_map(const std::vector<int64_t>& from, const std::vector<int64_t>& to);
Result<std::vector<int64_t>> broadcast_shape(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

// Elementwise operations by their spelling in the language (`add`, `lt`, `exp`, `where`, ...); operands broadcast.
// Integer division and remainder truncate; by zero, and integer overflow, are errors.
Result<Tensor> apply_elementwise(const std::string& spelling, const std::vector<Tensor>& operands);
bool has_elementwise(const std::string& spelling);

// sum, prod, max, min, mean, argmax, argmin; axis -1 reduces everything.
Result<Tensor> apply_reduce(const std::string& op, const Tensor& x, int64_t axis, bool keep_dims);
bool has_reduce(const std::string& op);

// Matrix product of [M, K] and [K, N].
Result<Tensor> matmul(const Tensor& a, const Tensor& b);
// Dimension i of the result is dimension perm[i] of x.
Result<Tensor> transpose(const Tensor& x, const std::vector<int64_t>& perm);

}  // namespace tile
