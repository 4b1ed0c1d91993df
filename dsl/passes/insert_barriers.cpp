// Barriers exactly where hazards.h finds that one is missing.
#include "dsl/passes/hazards.h"
#include "dsl/passes/passes.h"

namespace tile::passes {

using namespace ir;

Status insert_barriers(Kernel& k, PassContext& context) {
  auto hazards = find_hazards(k, true);
  if (!hazards) return hazards.error();
  if (!context.fault) return Unit{};
  // The first barrier is dropped.
  OpId first;
  k.walk([&](OpId o) { if (!first.valid() && k.op(o).kind == OpKind::Barrier) first = o; });
  if (first.valid()) k.erase(first);
  return Unit{};
}

}  // namespace tile::passes
