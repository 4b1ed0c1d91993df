#pragma once
// Where a barrier must stand: before an access that may meet an earlier one of another thread with no barrier between.
#include <set>

#include "dsl/passes/axis_info.h"
#include "dsl/passes/scratch.h"

namespace tile::passes {

// A barrier that is missing before an operation; `global` if memory outside of LDS must be ordered.
struct Hazard {
  ir::OpId before;
  bool global;
  std::string why;
};

// Barriers that are missing, in program order. With `insert` they are inserted (Barrier operations), and none is missing
// afterwards; without it each is reported once, as if it stood there.
Result<std::vector<Hazard>> find_hazards(ir::Kernel& k, bool insert);

// Violations of Stage::Final that need plans of scratch: areas that are misaligned or stick out of lds_bytes, and (when
// `barriers`) hazards.
std::vector<std::string> verify_final(const ir::Kernel& k, bool barriers);

}  // namespace tile::passes
