#include "dsl/passes/access.h"

#include <algorithm>
#include <numeric>

#include "dsl/layout/construct.h"

namespace tile::passes {

using namespace ir;

bool is_memory_op(OpKind kind) {
  return kind == OpKind::LoadView || kind == OpKind::StoreView || kind == OpKind::Load || kind == OpKind::Store;
}

std::pair<size_t, size_t> index_operands(const Kernel& k, const Op& o) {
  size_t first = o.kind == OpKind::StoreView ? 2 : 1;
  return {first, first + k.type(o.operands[0]).view_rank};
}

namespace {

constexpr uint64_t no_limit = max_divisibility;
constexpr unsigned max_bytes = 16;

uint64_t at_group(const AxisFact& f, uint64_t group) { return f.contiguity > group ? std::min(f.divisibility, group) : f.divisibility; }

// Facts along one axis of a tile about a memory operation.
struct Candidate {
  uint64_t contiguity = 1;   // elements consecutive in memory
  uint64_t divisibility = 1;  // of the address of each group's start, in bytes, for groups of `contiguity`
  uint64_t granule = 1;
};

class Analyser {
 public:
  Analyser(const Kernel& k, const AxisAnalysis& facts, const Op& o) : k_(k), facts_(facts), o_(o) {
    bool store = o.kind == OpKind::Store || o.kind == OpKind::StoreView;
    out_.tile = store ? o.operands[1] : o.results[0];
    out_.bytes = buffer_bytes(k.type(out_.tile).dtype);
  }

  Access run() {
    const Shape& s = k_.type(out_.tile).shape;
    std::vector<unsigned> row_major = layout::row_major_order(s.rank());
    Candidate best;
    for (unsigned axis : row_major) {
      Candidate c = o_.kind == OpKind::Load || o_.kind == OpKind::Store ? pointer(axis) : view(axis);
      if (c.contiguity <= best.contiguity) continue;
      best = c;
      out_.axis = axis;
    }
    if (out_.axis) {
      uint64_t v = std::min<uint64_t>({best.contiguity, std::max(1u, max_bytes / out_.bytes)});
      while (v > 1 && best.divisibility % std::min<uint64_t>(v * out_.bytes, 4) != 0) v /= 2;
      out_.vector = static_cast<unsigned>(v);
      out_.granule = static_cast<unsigned>(std::min<uint64_t>(best.granule, 1 << 16));
      out_.order.push_back(*out_.axis);
    }
    for (unsigned axis : row_major)
      if (axis != out_.axis) out_.order.push_back(axis);
    return std::move(out_);
  }

 private:
  // Extent of one means that the value does not vary along the axis.
  static uint64_t constancy(const AxisInfo& i, const Shape& s, unsigned axis) {
    if (s.rank() == 0 || s[axis] == 1) return no_limit;
    return i.axes[axis].constancy;
  }

  Candidate pointer(unsigned axis) const {
    const AxisFact& p = facts_.of(o_.operands[0]).axes[axis];
    Candidate c{p.contiguity, p.divisibility, no_limit};
    size_t mask = o_.kind == OpKind::Load ? 1 : 2;
    if (o_.get_int(AttrKey::HasMask) != 0) c.granule = facts_.of(o_.operands[mask]).axes[axis].constancy;
    return c;
  }

  Candidate view(unsigned axis) const {
    const Op* view = k_.def(o_.operands[0]);
    Candidate c;
    if (!view || view->kind != OpKind::MakeView) return c;
    unsigned rank = k_.type(o_.operands[0]).view_rank;
    auto [first, last] = index_operands(k_, o_);
    // The dimension that varies along the axis must have stride 1; the others stay the same for a while.
    std::optional<unsigned> fast;
    uint64_t run = no_limit;
    for (unsigned d = 0; d < rank; ++d) {
      ValueId index = o_.operands[first + d];
      const Shape& s = k_.type(index).shape;
      bool unit = k_.constant_int(view->operands[1 + rank + d]) == 1;
      uint64_t same = constancy(facts_.of(index), s, axis);
      if (unit && !fast && same < no_limit && facts_.of(index).axes[axis].contiguity > 1) {
        fast = d;
        run = std::min(run, facts_.of(index).axes[axis].contiguity);
      } else {
        run = std::min(run, same);
      }
    }
    if (!fast || run <= 1) return c;
    c.contiguity = run;
    c.divisibility = base_alignment(*view);
    c.granule = run;
    for (unsigned d = 0; d < rank; ++d) {
      ValueId index = o_.operands[first + d];
      const AxisInfo& i = facts_.of(index);
      const Shape& s = k_.type(index).shape;
      if (d == *fast) {
        uint64_t start = at_group(i.axes[axis], run);
        c.divisibility = std::min(c.divisibility, start * out_.bytes);
        // The extent may cut through a group, unless both it and the group's start are multiples of the group.
        c.granule = std::min({c.granule, at_group(i.axes[axis], run), extent_divisor(*view, d)});
      } else {
        uint64_t d_index = s.rank() == 0 ? i.axes[0].divisibility : varies_only_elsewhere(i, s, axis);
        uint64_t stride = facts_.of(view->operands[1 + rank + d]).axes[0].divisibility;
        c.divisibility = std::min(c.divisibility, std::min(no_limit, d_index * stride) * out_.bytes);
      }
    }
    return c;
  }

  // Divides every value of an index tile that is the same within the groups along `axis`.
  static uint64_t varies_only_elsewhere(const AxisInfo& i, const Shape& s, unsigned axis) {
    if (s[axis] == 1 || i.axes[axis].contiguity == 1) return i.axes[axis].divisibility;
    return 1;
  }

  uint64_t base_alignment(const Op& view) const {
    uint64_t attr = static_cast<uint64_t>(std::max<int64_t>(view.get_int(AttrKey::Align, 1), 1));
    attr &= ~attr + 1;
    return std::max(attr, facts_.of(view.operands[0]).axes[0].divisibility);
  }
  uint64_t extent_divisor(const Op& view, unsigned d) const { return facts_.of(view.operands[1 + d]).axes[0].divisibility; }

  const Kernel& k_;
  const AxisAnalysis& facts_;
  const Op& o_;
  Access out_;
};

}  // namespace

Access analyse_access(const Kernel& k, const AxisAnalysis& facts, const Op& o) { return Analyser(k, facts, o).run(); }

}  // namespace tile::passes
