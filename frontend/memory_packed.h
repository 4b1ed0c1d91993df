#pragma once
// Views of types that are narrower than a byte: element i of the unit-stride dimension is bits [w i, w i + w), lowest first.
#include "frontend/view.h"

namespace tile::frontend {

Regs packed_load(Lowering& l, const ir::Op& o, ViewAccess& a);
// Elements that share bytes must be in one thread: an Error otherwise.
Status packed_store(Lowering& l, const ir::Op& o, ViewAccess& a);

}  // namespace tile::frontend
