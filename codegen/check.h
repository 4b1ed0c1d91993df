#pragma once
// Checks of a module before LLVM generates code: what LLVM would answer by an abort or by silence.
#include <string_view>

#include "dsl/support/result.h"
#include "dsl/target/arch.h"

namespace llvm {
class Module;
}

namespace tile::codegen {

// Whether `arch` has the intrinsic of this full name ("llvm.amdgcn...."). Names that capability.def does not list count
// as present.
bool has_intrinsic(Arch arch, std::string_view intrinsic);

// Errors: the module is not well formed; a function is called that is neither defined nor an intrinsic; an intrinsic
// is called that `arch` lacks (all such names are listed, and the architectures that have them); a fast-math flag or a
// denormal mode that would let LLVM change a value.
Status check_module(const llvm::Module& module, Arch arch);

}  // namespace tile::codegen
