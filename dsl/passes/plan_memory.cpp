// How many elements each memory operation moves at once, and for how many of them the bounds or the mask agree.
#include <algorithm>

#include "dsl/passes/access.h"
#include "dsl/passes/passes.h"
#include "dsl/layout/tile_ops.h"

namespace tile::passes {

using namespace ir;

Status plan_memory(Kernel& k, PassContext& context) {
  AxisAnalysis facts(k);
  std::vector<OpId> list;
  k.walk([&](OpId o) { if (is_memory_op(k.op(o).kind)) list.push_back(o); });
  for (OpId o : list) {
    Access a = analyse_access(k, facts, k.op(o));
    int64_t vector = 1, granule = 1;
    if (a.axis && k.value(a.tile).layout) {
      unsigned registers = layout::contig_registers(*k.value(a.tile).layout, *a.axis);
      vector = std::min(registers, a.vector);
      granule = std::min<int64_t>(vector, a.granule);
    }
    // Twice as wide as the layout or the addresses allow.
    if (context.fault && a.axis) vector = granule = 2 * vector;
    // A raw access has one mask for all of its elements.
    if (k.op(o).kind == OpKind::Load || k.op(o).kind == OpKind::Store) vector = granule;
    k.op(o).set(AttrKey::Vector, vector);
    k.op(o).set(AttrKey::Granule, granule);
  }
  return Unit{};
}

}  // namespace tile::passes
