#pragma once
// LLVM's AMDGPU target in this process: initialisation, target machines, and a guard that turns LLVM's fatal errors
// into values.
#include <functional>
#include <memory>
#include <string>

#include "dsl/support/result.h"
#include "dsl/target/arch.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace tile::codegen {

inline constexpr const char* target_triple = "amdgcn-amd-amdhsa";

// Registers the AMDGPU target and the fatal-error handler. Cheap when called again; safe from any thread. Every
// function of this library calls it, so callers need not.
void init();

// A target machine for `arch` (xnack and sramecc left open, so that one object runs under either setting). Not shared
// between threads. Fails only when libLLVM was built without AMDGPU.
Result<std::unique_ptr<llvm::TargetMachine>> target_machine(Arch arch);

// Gives an empty module the triple, the data layout (before any IR is built: allocas live in address space 5) and the
// module flag of code object version 5.
Status prepare_module(llvm::Module& module, Arch arch);

// Runs `body`. When LLVM reports a fatal error inside (which would abort the process), unwinds out of LLVM and returns
// the text as an Error. What LLVM had allocated by then is lost, so whatever `body` was working on must not be used
// again.
Status guard_fatal_errors(const std::function<void()>& body);

}  // namespace tile::codegen
