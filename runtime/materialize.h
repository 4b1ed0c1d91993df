#pragma once
// From values as written on a command line (value_spec.h) to the arrays and scalars of a launch.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/launch.h"
#include "runtime/value_spec.h"

namespace tile {

// Owns what a launch borrows.
struct OwnedValues {
  std::map<std::string, std::unique_ptr<Array>, std::less<>> arrays;
  LaunchValues values;
  std::vector<std::string> created;  // views that got no value and were made as zeros of their extents
};

// `named` holds NAME, VALUE pairs. A type that a value does not name is the parameter's; a shape likewise, once the
// extents are known. Errors name the argument.
Result<OwnedValues> materialize(const KernelManifest& kernel,
                                const std::vector<std::pair<std::string, std::string>>& named);

}  // namespace tile
