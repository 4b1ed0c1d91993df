#pragma once
// What a launcher has to know about a kernel, from its tile IR: everything but the resources of the machine code.
#include "dsl/ir/ir.h"
#include "runtime/manifest.h"

namespace tile {

// Kernarg layout of docs/abi.md: parameters in order at their natural alignment. `sources` gives file names and lines
// for the fidelity list. The symbol is the kernel's name.
KernelManifest manifest_of(const ir::Kernel& kernel, const SourceManager& sources);

// Fidelity of one operation on a target (dot: by the status of its matrix instruction).
Fidelity fidelity_of(const ir::Kernel& kernel, const ir::Op& op);

}  // namespace tile
