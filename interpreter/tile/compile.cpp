#include "interpreter/tile/compiler.h"

namespace tile::interp {

Result<Executable> compile_kernel(const ir::Kernel& kernel, const CompileOptions& options) {
  return Compiler(kernel, options).run();
}

}  // namespace tile::interp
