#pragma once
// Where a kernel runs. The same launch gives the same bits on every device, up to the fidelity class of the kernel.
#include <memory>
#include <string>
#include <vector>

#include "runtime/launch.h"
#include "runtime/session.h"

namespace tile {

struct LaunchReport {
  double seconds = 0;               // of the run alone, without specialisation
  int64_t programs = 0;
  std::vector<std::string> prints;  // in order of programs
  std::vector<std::string> checks;  // findings of --check, one a line
};

struct DeviceOptions {
  bool check = false;
  unsigned threads = 0;  // 0: all cores
  uint64_t max_instructions = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  // "interp", "sim"
  // Runs the launch; arrays are read and written in place. An error names the operation and its source line.
  virtual Result<LaunchReport> launch(const Session& session, const SpecializedKernel& kernel,
                                      const BoundLaunch& launch, const DeviceOptions& options) = 0;
};

// The tile interpreter.
std::unique_ptr<Device> make_interpreter_device();

}  // namespace tile
