#pragma once
// Tile IR to LLVM IR for the AMDGPU target. Nothing here decides a value: what an operation returns is its row in
// dsl/ops, docs/semantics.md, and the attributes that the passes left.
#include "dsl/diag/diag.h"
#include "dsl/ir/ir.h"
#include "dsl/support/result.h"

namespace llvm {
class Module;
}

namespace tile::frontend {

// Adds the kernel as a function of its own name to `module`, which codegen::prepare_module() made ready for
// `kernel.arch`. The kernel must be valid for ir::Stage::Final. Parameters are the function's arguments, in order, at
// their natural alignment (docs/abi.md); the function takes a workgroup of waves * 64 threads in x. Debug locations lead
// back to `sources`. `remarks` (may be null) gets a remark for each print and device_assert, which are dropped.
// Errors: an operation that the target has no way to do, or a kernel that breaks a rule of its stage.
Status lower(const ir::Kernel& kernel, llvm::Module& module, const SourceManager& sources, Diagnostics* remarks = nullptr);

}  // namespace tile::frontend
