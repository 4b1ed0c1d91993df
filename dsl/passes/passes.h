#pragma once
// From checked tile IR to tile IR that both executors and the lowering take. docs/passes.md says what each pass does,
// and what operations execute by themselves once layouts are there.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/diag/diag.h"
#include "dsl/ir/ir.h"
#include "dsl/support/result.h"

namespace tile::passes {

// What a pass may know beside the kernel.
struct PassContext {
  Diagnostics* diags = nullptr;  // remarks; may be null
  bool fault = false;            // plant this pass's fault: a wrong result that --verify-each-pass must find
};

// One function a pass: errors are user errors (UnsupportedOnTarget, ResourceExceeded).
#define TILE_PASS(name, stage, doc) Status name(ir::Kernel& k, PassContext& context);
#include "dsl/passes/passes.def"

// A row of passes.def.
struct PassInfo {
  std::string_view name;
  ir::Stage stage;
  std::string_view doc;
  Status (*run)(ir::Kernel&, PassContext&);
};
const std::vector<PassInfo>& pass_table();
const PassInfo* find_pass(std::string_view name);

struct PassTime {
  std::string_view name;
  double seconds;
};

struct PassOptions {
  // Stop after the pass of this name; all passes when empty. `fix_values` is what fast interpretation takes.
  std::string last = {};
  // Run ir::verify after each pass; a violation is an Error that names the pass.
  bool verify = true;
  // Called after each pass: for --print-after and --verify-each-pass. An Error stops the pipeline and is returned.
  std::function<Status(const PassInfo&, const ir::Kernel&)> after = {};
  // Name of the pass whose planted fault is on; tests only.
  std::string fault = {};
  Diagnostics* diags = nullptr;           // remarks (P0901, ...)
  std::vector<PassTime>* times = nullptr;  // one entry a pass is appended
};

// Runs the passes in order on a kernel of Stage::Sema. On failure the kernel is unspecified.
Status run_passes(ir::Kernel& k, const PassOptions& options = {});
// The passes after `from` (empty: from the start), for a kernel that is there already.
Status run_passes_after(ir::Kernel& k, std::string_view from, const PassOptions& options = {});

}  // namespace tile::passes
