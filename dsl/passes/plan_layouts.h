#pragma once
// Which layout each tile is made in. A pure function of the IR, the target and the number of waves: fix_values asks it
// for the order of reductions before any layout is assigned, assign_layouts then follows it.
//
// A tile is *anchored* when an operation makes it in one layout: loads (coalesced), dots (the instruction's), what is
// computed from those, and values that loops carry. Everything else (constants, index arithmetic, broadcasts of small
// tiles) is *flexible*: it is computed in whatever layout its user wants, again for each one if need be.
#include <memory>
#include <string>

#include "dsl/ir/layout_rules.h"
#include "dsl/passes/access.h"
#include "dsl/support/result.h"

namespace tile::passes {

using LayoutPtr = std::shared_ptr<const ir::LinearLayout>;

// In rising order of what it costs to leave the layout.
enum class Origin : uint8_t { Flexible, Computed, Memory, Dot };

struct Placement {
  LayoutPtr layout;  // anchored: the layout; flexible: one that is natural for it, or null
  Origin origin = Origin::Flexible;
  bool anchored() const { return origin != Origin::Flexible; }
};

class LayoutPlan {
 public:
  const Placement& of(ir::ValueId v) const { return placements_[v.index]; }
  // The layout in which operation o takes its tile operand: of reductions, stores and
  // reshapes.
  LayoutPtr operand(ir::OpId o) const { return operands_[o.index]; }

 private:
  friend class LayoutPlanner;
  std::vector<Placement> placements_;
  std::vector<LayoutPtr> operands_;
};

// Dots must have their instruction (fix_values, first half). Reductions that have an `order` keep it.
Result<LayoutPlan> plan_layouts(const ir::Kernel& k, const AxisAnalysis& facts);

// A layout without preferences: row-major, 16 bytes a lane at most.
LayoutPtr default_layout(const ir::Kernel& k, const ir::Type& t);
// A layout that combines `order` as reduce_steps wants it: registers for the first bits, then lanes, then waves.
LayoutPtr layout_for_order(const ir::Kernel& k, const ir::Shape& s, unsigned axis, const std::vector<int64_t>& order);
// The order in which the layout combines by itself: register bits, lane bits, wave bits of the axis. Nothing if an
// axis bit has no input bit of its own.
std::optional<std::vector<int64_t>> natural_order(const ir::LinearLayout& l, unsigned axis, int64_t extent);

// The layout that operand i of a flexible operation (or of a load or store with that tile) needs so that its tile comes
// out in `l`.
ir::LinearLayout needed_operand(const ir::Kernel& k, const ir::Op& o, size_t i, const ir::LinearLayout& l);
// True if the operation can be computed in any layout without moving values.
bool is_flexible_op(const ir::Op& o);

}  // namespace tile::passes
