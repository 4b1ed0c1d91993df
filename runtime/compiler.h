#pragma once
// From a kernel of a .tile file to machine code and its manifest. Needs LLVM; the only way from tile IR to an hsaco.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/report.h"
#include "dsl/passes/passes.h"
#include "runtime/manifest.h"
#include "runtime/session.h"

namespace tile {

struct CompileFlags {
  // Called after each pass from assign_layouts on.
  std::function<Status(const passes::PassInfo&, const ir::Kernel&)> after_pass = {};
  bool keep_llvm = false;  // fill CompiledKernel::llvm_ir
  bool keep_asm = false;   // fill CompiledKernel::assembly
  bool code = true;        // generate machine code
};

struct CompiledKernel {
  ir::Kernel kernel;      // after all passes
  std::string llvm_ir;    // before LLVM's optimisations
  std::string assembly;   // a listing of the machine code
  std::vector<uint8_t> hsaco;
  KernelManifest manifest;  // with what the machine code uses
  codegen::KernelReport report;
};

// `kernel` right after fix_values. Nothing on an error, which is then in `diags`: an operation that the target lacks, a
// limit exceeded, an `expects` clause that does not hold (with the figures), what LLVM says.
std::optional<CompiledKernel> compile_kernel(const ir::Kernel& kernel, const SourceManager& sources, const CompileFlags& flags,
                                             Diagnostics& diags);
// The same for a kernel of a file, specialised first.
std::optional<CompiledKernel> compile_kernel(Session& session, const SpecializeOptions& options, const CompileFlags& flags,
                                             Diagnostics& diags);

// Conditions on strides that are not constants, so that the elements of one tile lie within 2 GiB of its first one: buffer
// descriptors reach no further. Views that are declared `wide` need none. Expressions as in the manifest.
std::vector<std::string> implied_requires(const ir::Kernel& kernel);

}  // namespace tile
