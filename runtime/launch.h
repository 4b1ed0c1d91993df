#pragma once
// From named values to a launch: arguments bound to a kernel's parameters and checked before anything runs.
#include <map>
#include <string>
#include <vector>

#include "runtime/array.h"
#include "runtime/manifest.h"

namespace tile {

// Named values for a launch. Arrays are borrowed and must outlive the launch; scalars are raw bits of the parameter's
// type.
struct LaunchValues {
  std::map<std::string, Array*, std::less<>> arrays;
  std::map<std::string, uint64_t, std::less<>> scalars;
};

// A launch whose arguments fit the kernel. `args` has one entry a parameter, in order.
struct BoundArg {
  Array* array = nullptr;   // views and pointers
  uint64_t scalar = 0;      // raw bits of the parameter's type
};
struct BoundLaunch {
  std::vector<BoundArg> args;
  Expr::Values scalars;  // integer parameters by name
  Grid grid;
  bool empty() const { return grid.x == 0 || grid.y == 0 || grid.z == 0; }
};

// Scalars that stand alone as an extent (`x: f32[n]`) or a stride are taken from the arrays when not given; a stride is
// that of the row-major array. Checks: every parameter has a value, no unknown names, element types, ranks, every
// element of a view inside its array, alignment, `noalias`, `requires`. Errors name the argument and the rule.
Result<BoundLaunch> bind_launch(const KernelManifest& kernel, const LaunchValues& values);

// Extents of a view parameter, as far as the scalars known tell; for making an output array that was not given.
Result<std::vector<int64_t>> view_extents(const ManifestArg& arg, const Expr::Values& scalars);
// Infers scalars from arrays as bind_launch does, without checks.
Expr::Values infer_scalars(const KernelManifest& kernel, const LaunchValues& values);

}  // namespace tile
