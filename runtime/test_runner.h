#pragma once
// Runs the `test` blocks of a .tile file on a device.
#include <functional>
#include <string>
#include <vector>

#include "runtime/device.h"

namespace tile {

struct TestOptions {
  std::vector<Arch> targets;  // empty: those that a test names in its launches, or else gfx942
  DeviceOptions device;
};

struct TestSummary {
  int passed = 0, failed = 0;
};

// A test runs once a target. `say` gets a line for each: "ok   gfx942  title" or "FAIL gfx942  title" and why.
TestSummary run_tests(Session& session, Device& device, const TestOptions& options,
                      const std::function<void(const std::string&)>& say);

}  // namespace tile
