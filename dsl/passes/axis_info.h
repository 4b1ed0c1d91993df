#pragma once
// What is known about the integers and addresses in a tile, from `arange`, constants, and what the kernel's header
// promises of its parameters. The analysis is Triton's axis analysis on powers of two.
#include <cstdint>
#include <vector>

#include "dsl/ir/ir.h"

namespace tile::passes {

// Facts along one axis of a tile. All numbers are powers of two; groups start at multiples of their length, counted in
// positions of the padded tile.
struct AxisFact {
  uint64_t contiguity = 1;    // in each group of that many positions the values ascend by 1
  uint64_t divisibility = 1;  // divides the first value of each of those groups
  uint64_t constancy = 1;     // in each group of that many positions the values are equal
  bool operator==(const AxisFact&) const = default;
};

// Of one value: an entry an axis, or one entry for a scalar. Pointers count divisibility in bytes and contiguity in
// elements.
struct AxisInfo {
  std::vector<AxisFact> axes;
  bool non_negative = false;
  bool operator==(const AxisInfo&) const = default;
  // Divides every value.
  uint64_t divides_all() const;
};

inline constexpr uint64_t max_divisibility = uint64_t{1} << 32;  // of zero

class AxisAnalysis {
 public:
  explicit AxisAnalysis(const ir::Kernel& k);
  const AxisInfo& of(ir::ValueId v) const { return info_[v.index]; }

 private:
  friend class AxisSolver;
  std::vector<AxisInfo> info_;
};

}  // namespace tile::passes
