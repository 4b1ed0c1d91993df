#include "codegen/target.h"

#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Triple.h>

#include <mutex>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
void LLVMInitializeAMDGPUAsmParser();
void LLVMInitializeAMDGPUDisassembler();
}

#ifdef __SANITIZE_ADDRESS__
// Unwinding out of a fatal error skips libLLVM's destructors (it is built without exceptions): what it held is lost.
extern "C" const char* __lsan_default_suppressions() { return "leak:libLLVM\n"; }
#endif

namespace tile::codegen {
namespace {

struct FatalError {
  std::string text;
};

thread_local int guard_depth = 0;

// LLVM aborts when its handler returns. Inside a guard the handler leaves by an exception instead: libLLVM has unwind
// tables, and nothing in it catches.
void on_fatal_error(void*, const char* reason, bool) {
  if (guard_depth > 0) throw FatalError{reason};
}

}  // namespace

void init() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUDisassembler();
    llvm::install_fatal_error_handler(on_fatal_error);
  });
}

Result<std::unique_ptr<llvm::TargetMachine>> target_machine(Arch arch) {
  init();
  std::string why;
  llvm::Triple triple(target_triple);
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target) return Error{"this LLVM has no AMDGPU target: " + why, "install libllvm22 from Debian"};
  // The defaults matter: AllowFPOpFusion stays at Standard, so that a multiply and an add are fused only where the IR
  // says so (and ours never does).
  llvm::TargetOptions options;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, name(arch), "", options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  if (!machine) return Error{"LLVM makes no target machine for " + std::string(name(arch))};
  return machine;
}

Status prepare_module(llvm::Module& module, Arch arch) {
  auto machine = target_machine(arch);
  if (!machine) return machine.error();
  module.setTargetTriple(llvm::Triple(target_triple));
  module.setDataLayout((*machine)->createDataLayout());
  if (!module.getModuleFlag("amdhsa_code_object_version"))
    module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", 500);
  return Unit{};
}

Status guard_fatal_errors(const std::function<void()>& body) {
  init();
  struct Depth {
    Depth() { ++guard_depth; }
    ~Depth() { --guard_depth; }
  } depth;
  try {
    body();
  } catch (FatalError& fatal) {
    return Error{"LLVM: " + fatal.text};
  }
  return Unit{};
}

}  // namespace tile::codegen
