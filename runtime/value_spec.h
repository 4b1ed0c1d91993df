#pragma once
// The VALUE of NAME=VALUE on a command line.
//   3   -1.5e-3   true   inf              a number
//   x.npy   x.npy:f8e4m3                  a file; the type says what raw bytes are
//   zeros   zeros:f32[10,20]              zeros; without type and shape: those of the parameter
//   full:f32[10]:value=2.5                one value
//   arange:i32[10]:start=0:step=1         start + i * step
//   randn:f16[512,512]:seed=3             normal, mean 0, deviation 1 (:mean= :std=)
//   uniform:f32[100]:low=-1:high=1:seed=0 uniform in [low, high)
//   randint:i32[100]:low=0:high=10:seed=0 integers in [low, high)
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/support/result.h"
#include "dsl/types/dtype.h"

namespace tile {

enum class ValueKind : uint8_t { Number, File, Zeros, Full, Arange, Randn, Uniform, Randint };

struct ValueSpec {
  ValueKind kind = ValueKind::Number;
  std::string text;                // as written; Number: the number; File: the path
  std::optional<DType> dtype;      // absent: that of the parameter
  std::optional<std::vector<int64_t>> shape;
  std::map<std::string, double, std::less<>> options;
  uint64_t seed = 0;
};

// Errors say what was expected, with a hint.
Result<ValueSpec> parse_value(std::string_view text);

// Raw bits of a number as an element of `dtype`: integers must be in range, floats are rounded to nearest even.
Result<uint64_t> parse_scalar(std::string_view text, DType dtype);

}  // namespace tile
