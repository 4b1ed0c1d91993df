#pragma once
// Comparing and summarising arrays.
#include <optional>
#include <string>

#include "runtime/array.h"

namespace tile {

// |a - b| <= atol + rtol * |b|, or at most `ulp` units in the last place of a's type apart. Any NaN equals any NaN.
// With no tolerance at all, values must be equal (-0 equals +0 only if `bits` is false).
struct Tolerances {
  double atol = 0, rtol = 0, ulp = 0;
  bool bits = false;
};

// Null if `got` matches `want`, else what differs: the number of elements, the first ones with their indices, and the
// largest difference. Shapes must be equal; dtypes may differ unless `bits`.
std::optional<std::string> difference(const Array& got, const Array& want, const Tolerances& t);

// "out: f32[1000] min -3.2 max 3.1 mean 0.01 nan 0 [0.5, 1.25, ...]"
std::string summary(const std::string& name, const Array& a);

// "[2, 17]" of a row-major element number.
std::string index_text(const std::vector<int64_t>& shape, int64_t element);

}  // namespace tile
