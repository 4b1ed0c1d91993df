#pragma once
// Assembles instructions with LLVM, for tests that are written in assembly.
#include <string>
#include <vector>

#include "interpreter/machine/machine.h"

namespace tile::sim {

// The words of `text` (one instruction a line) for `target`; empty, after printing the diagnostics, when it has errors.
std::vector<uint32_t> assemble(const std::string& target, const std::string& text);

}  // namespace tile::sim
