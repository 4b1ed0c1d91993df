#pragma once
// The optimisation pipeline over LLVM IR. Alone in its source file: PassBuilder.h is the slowest header of LLVM.
namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace tile::codegen {

enum class Pipeline {
  None,     // straight to instruction selection
  Kernel,   // the passes that matter for the frontend's IR: everything is inlined and in SSA form already
  Default,  // LLVM's own -O3
};

// Optimises `module` in place. No pass here may change a value: the module carries no fast-math flag.
void optimize(llvm::Module& module, llvm::TargetMachine& machine, Pipeline pipeline);

}  // namespace tile::codegen
