#pragma once
// Accesses of shared memory as plan_access() lays them out (dsl/layout/shared_memory.h).
#include "dsl/layout/shared_memory.h"
#include "frontend/lowering.h"

namespace tile::frontend {

// The ops of `access` that take place in `round`. `base`: byte offset of the area. Registers are integers of the
// element's width; a load overwrites those that it reads, where the thread takes part.
void shared_store(Lowering& l, const layout::SharedAccess& access, unsigned round, int64_t base, const Regs& registers);
void shared_load(Lowering& l, const layout::SharedAccess& access, unsigned round, int64_t base, Regs& registers);

}  // namespace tile::frontend
