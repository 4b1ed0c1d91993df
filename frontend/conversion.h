#pragma once
// Carrying out conversion plans (dsl/layout/conversion.h).
#include "dsl/layout/conversion.h"
#include "frontend/lowering.h"

namespace tile::frontend {

// The registers of the destination. `lds_offset`: of the plan's scratch area in shared memory.
Regs emit_conversion(Lowering& l, const layout::ConversionPlan& plan, const Regs& source, int64_t lds_offset);
// A reshape that moves values between threads.
Status restage_reshape(Lowering& l, const ir::Op& o);

}  // namespace tile::frontend
