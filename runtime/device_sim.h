#pragma once
#include "runtime/device.h"

namespace tile {

// The simulator: kernels are compiled to machine code and that is executed, for the target that the kernel was specialised
// for. Needs LLVM.
std::unique_ptr<Device> make_simulator_device();

}  // namespace tile
