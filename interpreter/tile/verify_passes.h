#pragma once
// `--verify-each-pass`: the interpreter runs after each pass, and the first pass that changes what a kernel does is
// named, with the operation and the element.
//
// The kernel right after fix_values, run by the fast interpreter, is the judge. After each later pass the fast
// interpreter runs again: arrays, all stores and printed lines must be the same. Once tiles have layouts the
// faithful interpreter (faithful.h) runs as well.
#include <optional>
#include <string>
#include <vector>

#include "dsl/ir/ir.h"
#include "interpreter/tile/interpreter.h"

namespace tile::interp {

struct PassDifference {
  std::string pass;
  ir::OpId op;          // in the kernel after that pass; invalid if no operation is to blame
  std::string op_name;  // its mnemonic
  Range range;
  int64_t program = -1, element = -1;
  std::string message;
  // "pass plan_memory: kernel.tile:3:14: load_view: element 5 is 1 instead of 2 (program 0)"
  std::string text(const SourceManager* sources) const;
};

struct VerifyPassesOptions {
  bool verifier = true;      // ir::verify after each pass as well
  int64_t max_programs = 0;  // of the faithful runs; 0: all
  std::string fault = {};    // plant the fault of this pass; for tests
};

struct VerifyPassesReport {
  std::vector<std::string> passes;  // that were run and found right, the judge first
  std::optional<PassDifference> difference;
};

// `kernel` comes from sema. The arrays of `args` are read, not written. An Error: a pass refuses the kernel, the
// arguments do not fit, or the kernel fails by itself (the message says how).
Result<VerifyPassesReport> verify_each_pass(ir::Kernel kernel, const std::vector<Argument>& args, Grid grid,
                                            const VerifyPassesOptions& options = {});

}  // namespace tile::interp
