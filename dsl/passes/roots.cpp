#include "dsl/passes/roots.h"

namespace tile::passes {

using namespace ir;

namespace {

bool is_address(const Type& t) { return t.is_ptr() || t.is_view(); }

// Where a value's roots flow: into results, block arguments, and around loops.
class Flow {
 public:
  Flow(const Kernel& k, std::vector<std::set<uint32_t>>& sets) : k_(k), sets_(sets) {}

  void collect() {
    k_.walk([&](OpId id) {
      const Op& o = k_.op(id);
      if (o.kind == OpKind::For) {
        const std::vector<ValueId>& args = k_.block(o.blocks[0]).args;
        std::vector<ValueId> next = ends(o.blocks[0]);
        for (size_t i = 0; i < o.results.size(); ++i)
          for (ValueId to : {args[i + 1], o.results[i]}) edge(o.operands[i + 3], to), edge(next[i], to);
      } else if (o.kind == OpKind::While) {
        const std::vector<ValueId>&cond = k_.block(o.blocks[0]).args, &body = k_.block(o.blocks[1]).args;
        std::vector<ValueId> passed = ends(o.blocks[0]), next = ends(o.blocks[1]);
        for (size_t i = 0; i < cond.size(); ++i) edge(o.operands[i], cond[i]), edge(next[i], cond[i]);
        for (size_t i = 0; i < body.size(); ++i) edge(passed[i + 1], body[i]), edge(passed[i + 1], o.results[i]);
      } else if (o.kind == OpKind::If) {
        for (BlockId b : o.blocks) {
          std::vector<ValueId> values = ends(b);
          for (size_t i = 0; i < o.results.size(); ++i) edge(values[i], o.results[i]);
        }
      } else {
        for (ValueId r : o.results) plain(o, r);
      }
    });
  }

  void spread() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto [from, to] : edges_)
        for (uint32_t root : sets_[from.index]) changed |= sets_[to.index].insert(root).second;
    }
  }

 private:
  std::vector<ValueId> ends(BlockId b) const { return k_.op(k_.block(b).ops.back()).operands; }
  void edge(ValueId from, ValueId to) {
    if (is_address(k_.type(to))) edges_.emplace_back(from, to);
  }
  // Addresses come from addresses; a loaded or converted one may point anywhere.
  void plain(const Op& o, ValueId r) {
    if (!is_address(k_.type(r))) return;
    bool known = false, opaque = o.kind == OpKind::Bitcast || o.kind == OpKind::Load || o.kind == OpKind::LoadView;
    for (ValueId v : o.operands) {
      if (opaque || !is_address(k_.type(v))) continue;
      edge(v, r);
      known = true;
    }
    if (!known) sets_[r.index].insert(Roots::anywhere);
  }

  const Kernel& k_;
  std::vector<std::set<uint32_t>>& sets_;
  std::vector<std::pair<ValueId, ValueId>> edges_;
};

}  // namespace

Roots::Roots(const Kernel& k) : k_(k), sets_(k.num_values()) {
  for (const Param& p : k.params) sets_[p.value.index].insert(p.value.index);
  Flow flow(k, sets_);
  flow.collect();
  flow.spread();
}

bool Roots::noalias(uint32_t root, const Op& access) const {
  if (root == anywhere) return false;
  for (const Param& p : k_.params)
    if (p.value.index == root && p.noalias) return true;
  const Op* view = k_.type(access.operands[0]).is_view() ? k_.def(access.operands[0]) : nullptr;
  return view && view->get_int(AttrKey::NoAlias) != 0;
}

bool Roots::may_alias(const Op& a, const Op& b) const {
  for (uint32_t i : of(a.operands[0]))
    for (uint32_t j : of(b.operands[0]))
      if (i == j || (!noalias(i, a) && !noalias(j, b))) return true;
  return false;
}

}  // namespace tile::passes
