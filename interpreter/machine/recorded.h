#pragma once
// Recorded launches: a folder with a code object, its inputs and the outputs expected, described by case.json
// (docs/simulator.md has the format).
#include <string>

#include "interpreter/machine/machine.h"

namespace tile::sim {

struct CaseResult {
  bool passed = false;
  std::string message;      // first differing elements, or why it did not run; empty when passed
  LaunchStats stats;
};

// Runs the launch that `folder`/case.json describes and compares its outputs.
// `patch`, when given, may change the code object's bytes before they are loaded (to plant faults).
CaseResult run_case(const std::string& folder, const Options& options = {}, const std::function<void(std::vector<uint8_t>&)>& patch = {});

}  // namespace tile::sim
