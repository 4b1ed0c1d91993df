#pragma once
// Folding of single operations, exact for their types.
#include "dsl/ir/ir.h"

namespace tile::passes {

// A value that always equals the result of o (which has one result), or nothing. New operations go before o.
// `folded` counts constants that were computed.
std::optional<ir::ValueId> fold_op(ir::Kernel& k, ir::OpId o, unsigned& folded);

}  // namespace tile::passes
