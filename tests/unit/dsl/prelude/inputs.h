#pragma once
// Inputs of math functions: edge values and random ones.
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "dsl/types/dtype.h"

namespace tile::test {

// Zeros, infinities, NaN, the ends of the normal and subnormal range, small integers and halves, powers of two and ten,
// multiples of pi / 4, places where results overflow or underflow; all with both signs and with their neighbours.
std::vector<double> edge_values(DType type);

// A random argument: a random bit pattern, a logarithmically uniform magnitude, or a uniform one in a range where the
// function is interesting. For pow, y is often such that the result is a normal number.
class RandomInputs {
 public:
  RandomInputs(std::string_view function, DType type, uint64_t seed) : function_(function), type_(type), engine_(seed) {}
  void next(double& x, double& y);

 private:
  double any();
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine_); }
  std::string_view function_;
  DType type_;
  std::mt19937_64 engine_;
};

}  // namespace tile::test
