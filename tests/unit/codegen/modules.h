#pragma once
// Hand-written LLVM modules for the tests of codegen.
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "codegen/compile.h"
#include "dsl/target/arch.h"

namespace tile::codegen::test {

// Parses textual IR and prepares it for `arch`. The text has no triple and no data layout. Null on a parse error, which
// is added to the running test.
std::unique_ptr<llvm::Module> parse(llvm::LLVMContext& context, const std::string& text, Arch arch);

// out[i] = x[i] + y[i] through buffer resources, n in bytes; lines 10, 11 and 12 of "vadd.tile" for the loads, the
// addition and the store.
std::string vector_add();

// A loop that loads 16 bytes a lane, exchanges them through LDS, and feeds matrix products with f16 operands; its
// k-loop runs `steps` (an argument) times. Lines 20 (loop), 21 (load), 22 (LDS), 23 (mfma) of "mm.tile".
std::string lds_mfma(Arch arch);

// A kernel whose body is `body` and which has the arguments (ptr addrspace(1) %p, float %x, i32 %n); `declarations`
// stands before it.
std::string small_kernel(const std::string& body, const std::string& declarations, const std::string& name = "k");

// Compiles text; the context is kept only inside.
Result<HsacoImage> compile_text(const std::string& text, Arch arch, const CompileOptions& options = {});

}  // namespace tile::codegen::test
