#pragma once
// Two devices at once: the proof that machine code and interpreter agree.
#include <memory>

#include "runtime/device.h"

namespace tile {

// Runs every launch on both devices, each on its own copy of the arrays, and compares all arrays bit for bit (any NaN
// counts as any NaN). A difference is an error that names the argument and the first elements. The results and reports
// of the first device are what the caller gets.
std::unique_ptr<Device> make_comparing_device(std::unique_ptr<Device> first, std::unique_ptr<Device> second);

}  // namespace tile
