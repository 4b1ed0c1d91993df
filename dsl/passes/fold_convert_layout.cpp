// Fewer conversions, of fewer bytes, as late as can be.
#include <algorithm>

#include "dsl/ir/clone.h"
#include "dsl/ir/layout_rules.h"
#include "dsl/passes/passes.h"

namespace tile::passes {

using namespace ir;

namespace {

class Folder {
 public:
  explicit Folder(Kernel& k) : k_(k) {}

  void run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (OpId o : conversions()) {
        if (k_.op(o).erased) continue;
        changed |= simplify(o) || swap_with_cast(o);
      }
    }
    share();
    remove_dead(k_);
    for (OpId o : conversions()) sink(o);
  }

 private:
  std::vector<OpId> conversions() const {
    std::vector<OpId> list;
    k_.walk([&](OpId o) { if (k_.op(o).kind == OpKind::ConvertLayout) list.push_back(o); });
    return list;
  }
  const LinearLayout& layout(ValueId v) const { return *k_.value(v).layout; }

  // The same layout on both sides, or a conversion of a conversion.
  bool simplify(OpId o) {
    ValueId in = k_.op(o).operands[0], out = k_.op(o).results[0];
    if (layout(in) == layout(out)) {
      k_.replace_all_uses(out, in);
      k_.erase(o);
      return true;
    }
    const Op* d = k_.def(in);
    if (!d || d->kind != OpKind::ConvertLayout) return false;
    k_.op(o).operands[0] = d->operands[0];
    return true;
  }

  // Converts before a cast to a wider type instead of after it, where nothing else uses the cast; the wide tile then only
  // exists in the new layout.
  bool swap_with_cast(OpId o) {
    ValueId in = k_.op(o).operands[0], out = k_.op(o).results[0];
    const Op* d = k_.def(in);
    if (!d || d->kind != OpKind::Cast || k_.users()[in.index].size() != 1) return false;
    ValueId narrow = d->operands[0];
    OpId cast = k_.value(in).def;
    if (bit_width(k_.type(narrow).dtype) >= bit_width(k_.type(in).dtype)) return false;
    Builder b = Builder::before(k_, cast);
    ValueId moved = b.make(OpKind::ConvertLayout, {narrow}, k_.type(narrow));
    k_.value(moved).layout = k_.value(out).layout;
    k_.op(cast).operands[0] = moved;
    k_.value(in).layout = k_.value(out).layout;
    k_.replace_all_uses(out, in);
    k_.erase(o);
    return true;
  }

  // One conversion for one value and layout: the first whose block holds the other's.
  void share() {
    std::vector<OpId> seen;
    for (OpId o : conversions()) {
      auto same = std::find_if(seen.begin(), seen.end(), [&](OpId s) {
        return k_.op(s).operands == k_.op(o).operands && layout(k_.op(s).results[0]) == layout(k_.op(o).results[0]) &&
               ancestor_in(k_, o, k_.op(s).parent).valid();
      });
      if (same == seen.end()) {
        seen.push_back(o);
        continue;
      }
      k_.replace_all_uses(k_.op(o).results[0], k_.op(*same).results[0]);
      k_.erase(o);
    }
  }

  // Down to the first operation of its block that uses it or holds a user, so that loads can be under way before it.
  void sink(OpId o) {
    BlockId b = k_.op(o).parent;
    ValueId out = k_.op(o).results[0];
    std::vector<OpId> list = k_.block(b).ops;
    std::vector<bool> holds(k_.num_ops());
    std::vector<std::vector<OpId>> users = k_.users();
    for (OpId user : users[out.index])
      if (OpId a = ancestor_in(k_, user, b); a.valid()) holds[a.index] = true;
    auto at = std::find(list.begin(), list.end(), o);
    for (++at; at != list.end(); ++at)
      if (holds[at->index]) {
        move_before(k_, o, *at);
        return;
      }
  }

  Kernel& k_;
};

// The first conversion gives its source in another order of lanes.
void plant_fault(Kernel& k) {
  bool done = false;
  k.walk([&](OpId o) {
    if (done || k.op(o).kind != OpKind::ConvertLayout) return;
    Value& v = k.value(k.op(o).results[0]);
    std::vector<layout::Vec> bases = v.layout->bases();
    unsigned lane = v.layout->in().shift(layout::Dim::Lane);
    std::swap(bases[lane], bases[lane + 1]);
    v.layout = std::make_shared<const LinearLayout>(v.layout->in(), v.layout->out(), bases);
    done = true;
  });
}

}  // namespace

Status fold_convert_layout(Kernel& k, PassContext& context) {
  Folder(k).run();
  if (context.fault) plant_fault(k);
  return Unit{};
}

}  // namespace tile::passes
