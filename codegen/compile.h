#pragma once
// From an LLVM module to an hsaco, in this process. Every failure is a value, also where LLVM would exit or abort.
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/optimize.h"
#include "codegen/target.h"
#include "dsl/support/result.h"
#include "dsl/target/arch.h"

namespace llvm {
class Module;
}

namespace tile::codegen {

struct CompileOptions {
  Pipeline pipeline = Pipeline::Kernel;
  // Decode every instruction again after linking: LLVM encodes some intrinsics as illegal instructions without a word.
  bool check_encoding = true;
};

// A code object (ELF shared object, version 5) as it is written to a .hsaco file.
struct HsacoImage {
  Arch arch;
  std::vector<std::uint8_t> bytes;
};

// Verifies, optimises, generates code, links and checks. `module` must come from prepare_module() for the same
// architecture; it is changed, and after a failure it is good for nothing but destruction. The same module gives the
// same bytes, on any thread. Threads may compile at the same time, each with an LLVMContext of its own.
// Errors: an invalid module, an undefined function, an intrinsic that the architecture lacks, a resource limit (LDS,
// registers), instruction selection, the linker, an illegal encoding; each with LLVM's text, which names the line when
// the module has debug locations.
Result<HsacoImage> compile(llvm::Module& module, Arch arch, const CompileOptions& options = {});

// The same up to code generation, as assembly text.
Result<std::string> emit_asm(llvm::Module& module, Arch arch, const CompileOptions& options = {});

}  // namespace tile::codegen
