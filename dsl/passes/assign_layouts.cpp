// Gives every tile its layout, as plan_layouts says, and converts where needs differ. Flexible tiles are made again for
// each layout that a user wants instead of being converted.
#include <unordered_map>

#include "dsl/ir/clone.h"
#include "dsl/passes/passes.h"
#include "dsl/passes/plan_layouts.h"

namespace tile::passes {

using namespace ir;

namespace {

bool is_tile_value(const Type& t) { return !t.is_view() && t.shape.rank() > 0; }

class Assigner {
 public:
  Assigner(Kernel& k, const LayoutPlan& plan) : k_(k), plan_(plan), planned_(k.num_values()) {}

  Status run() {
    // Layouts that are decided by where a value comes from.
    for (uint32_t i = 0; i < planned_; ++i) {
      ValueId v{i};
      if (is_tile_value(k_.type(v)) && plan_.of(v).anchored()) k_.value(v).layout = plan_.of(v).layout;
    }
    std::vector<OpId> order;
    k_.walk([&](OpId o) { order.push_back(o); });
    for (OpId o : order)
      if (Status s = op(o); !s) return s;
    remove_dead(k_);
    return Unit{};
  }

 private:
  bool tile(ValueId v) const { return is_tile_value(k_.type(v)); }
  bool flexible(ValueId v) const { return v.index < planned_ && !plan_.of(v).anchored(); }
  const LinearLayout& layout(ValueId v) const { return *k_.value(v).layout; }
  void set_operand(OpId o, size_t i, ValueId v) { k_.op(o).operands[i] = v; }

  // The value v in layout l.
  ValueId get(ValueId v, const LinearLayout& l) {
    if (!flexible(v) && layout(v) == l) return v;
    for (auto& [have, value] : made_[v.index])
      if (have == l) return value;
    ValueId result = flexible(v) ? make(v, l) : convert(v, l);
    made_[v.index].emplace_back(l, result);
    return result;
  }

  // Right behind the definition, where it serves every user; fold_convert_layout moves it towards the first one.
  ValueId convert(ValueId v, const LinearLayout& l) {
    const Value& value = k_.value(v);
    Builder b = value.def.valid() ? Builder::after(k_, value.def) : Builder(k_, value.block, 0);
    ValueId out = b.make(OpKind::ConvertLayout, {v}, k_.type(v));
    k_.value(out).layout = std::make_shared<const LinearLayout>(l);
    return out;
  }

  // The first layout takes the operation itself, others a copy of it beside it.
  ValueId make(ValueId v, const LinearLayout& l) {
    OpId def = k_.value(v).def;
    ValueId out = v;
    std::vector<ValueId> operands;
    if (auto first = sources_.find(v.index); first == sources_.end()) {
      operands = sources_[v.index] = k_.op(def).operands;
    } else {
      operands = first->second;
      Op copy = k_.op(def);
      Builder b = Builder::after(k_, def);
      out = b.make(copy.kind, operands, k_.type(v), copy.attrs);
      k_.value(out).name = k_.value(v).name;
      def = k_.value(out).def;
    }
    k_.value(out).layout = std::make_shared<const LinearLayout>(l);
    for (size_t i = 0; i < operands.size(); ++i)
      if (tile(operands[i])) set_operand(def, i, get(operands[i], needed_operand(k_, k_.op(def), i, l)));
    return out;
  }

  // Some layout: where it does not matter.
  ValueId any(ValueId v) {
    if (!flexible(v)) return v;
    if (!made_[v.index].empty()) return made_[v.index][0].second;
    LayoutPtr l = plan_.of(v).layout;
    return get(v, l ? *l : *default_layout(k_, k_.type(v)));
  }

  // Operands from `begin` on, in the layouts of `targets`.
  void match(OpId o, size_t begin, std::vector<ValueId> targets) {
    for (size_t i = 0; i < targets.size(); ++i) {
      ValueId v = k_.op(o).operands[begin + i];
      if (tile(v)) set_operand(o, begin + i, get(v, layout(targets[i])));
    }
  }

  void match_all(OpId o, const LinearLayout& l) {
    for (size_t i = 0; i < k_.op(o).operands.size(); ++i) {
      ValueId v = k_.op(o).operands[i];
      if (tile(v)) set_operand(o, i, get(v, needed_operand(k_, k_.op(o), i, l)));
    }
  }

  std::vector<ValueId> carried_args(OpId loop) const {
    std::vector<ValueId> args = k_.block(k_.op(loop).blocks[0]).args;
    args.erase(args.begin());
    return args;
  }

  Status op(OpId o) {
    const Op op = k_.op(o);  // a copy: new operations move the old ones
    ValueId result = op.results.empty() ? ValueId{} : op.results[0];
    switch (op.kind) {
      case OpKind::For: match(o, 3, carried_args(o)); break;
      case OpKind::While: match(o, 0, k_.block(op.blocks[0]).args); break;
      case OpKind::Yield: yield(o); break;
      case OpKind::Condition: match(o, 1, k_.op(k_.block(op.parent).parent).results); break;
      case OpKind::Print: case OpKind::DeviceAssert:
        for (size_t i = 0; i < op.operands.size(); ++i)
          if (tile(k_.op(o).operands[i])) set_operand(o, i, any(k_.op(o).operands[i]));
        break;
      case OpKind::Store: case OpKind::StoreView:
        if (tile(op.operands[1])) match_all(o, *plan_.operand(o));
        break;
      case OpKind::Reduce: case OpKind::ArgReduce: reduce(o); break;
      case OpKind::Reshape: set_operand(o, 0, get(op.operands[0], *plan_.operand(o))); break;
      case OpKind::Dot: return dot(o);
      default:
        if (result.valid() && tile(result) && !flexible(result)) match_all(o, layout(result));
    }
    return Unit{};
  }

  void yield(OpId o) {
    OpId parent = k_.block(k_.op(o).parent).parent;
    const Op& p = k_.op(parent);
    if (p.kind == OpKind::While) match(o, 0, k_.block(p.blocks[0]).args);
    else match(o, 0, p.results);
  }

  void reduce(OpId o) {
    const LinearLayout& l = *plan_.operand(o);
    set_operand(o, 0, get(k_.op(o).operands[0], l));
    Op& op = k_.op(o);
    const Type& t = k_.type(op.operands[0]);
    if (op.kind == OpKind::Reduce && order_matters(op.get_text(AttrKey::Combine), t.dtype)) return;
    // Any order gives the same value: take the layout's own.
    unsigned axis = static_cast<unsigned>(op.get_int(AttrKey::Axis));
    if (auto order = natural_order(l, axis, t.shape[axis])) op.set(AttrKey::Order, *order);
  }

  Status dot(OpId o) {
    auto want = dot_layouts(k_, k_.op(o), &layout(k_.op(o).results[0]));
    if (!want) return want.error();
    const LinearLayout* layouts[] = {&want->a, &want->b, &want->c};
    for (size_t i = 0; i < 3; ++i) set_operand(o, i, get(k_.op(o).operands[i], *layouts[i]));
    return Unit{};
  }

  Kernel& k_;
  const LayoutPlan& plan_;
  uint32_t planned_;  // values that the plan knows; later ones have their layout from the start
  std::unordered_map<uint32_t, std::vector<std::pair<LinearLayout, ValueId>>> made_;
  std::unordered_map<uint32_t, std::vector<ValueId>> sources_;  // operands of flexible operations before they changed
};

// Lanes 0 and 1 of the first loaded tile change places, where there are two.
void plant_fault(Kernel& k) {
  bool done = false;
  k.walk([&](OpId o) {
    OpKind kind = k.op(o).kind;
    if (done || (kind != OpKind::Load && kind != OpKind::LoadView) || !k.value(k.op(o).results[0]).layout) return;
    const LinearLayout& l = *k.value(k.op(o).results[0]).layout;
    std::vector<layout::Vec> bases = l.bases();
    unsigned lane = l.in().shift(layout::Dim::Lane);
    std::swap(bases[lane], bases[lane + 1]);
    k.value(k.op(o).results[0]).layout = std::make_shared<const LinearLayout>(l.in(), l.out(), bases);
    done = true;
  });
}

}  // namespace

Status assign_layouts(Kernel& k, PassContext& context) {
  AxisAnalysis facts(k);
  auto plan = plan_layouts(k, facts);
  if (!plan) return plan.error();
  if (Status s = Assigner(k, *plan).run(); !s) return s;
  if (context.fault) plant_fault(k);
  return Unit{};
}

}  // namespace tile::passes
