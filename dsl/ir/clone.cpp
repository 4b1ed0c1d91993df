#include "dsl/ir/clone.h"

#include <algorithm>

namespace tile::ir {

ValueId mapped(const ValueMap& map, ValueId v) {
  auto it = map.find(v);
  return it == map.end() ? v : it->second;
}

namespace {

void copy_value(Kernel& k, ValueId from, ValueId to, ValueMap& map) {
  k.value(to).name = k.value(from).name;
  k.value(to).layout = k.value(from).layout;
  map[from] = to;
}

}  // namespace

OpId clone_op(OpId o, Builder& at, ValueMap& map) {
  Kernel& k = at.kernel();
  std::vector<ValueId> operands = k.op(o).operands;
  for (ValueId& v : operands) v = mapped(map, v);
  std::vector<Type> types;
  for (ValueId r : k.op(o).results) types.push_back(k.type(r));
  Range outer = at.range;
  at.range = k.op(o).range;
  OpId copy = at.op(k.op(o).kind, std::move(operands), types, k.op(o).attrs);
  at.range = outer;
  std::vector<BlockId> blocks = k.op(o).blocks;
  for (BlockId b : blocks) {
    BlockId nb = k.add_block(copy);
    std::vector<ValueId> args = k.block(b).args;
    for (ValueId a : args) copy_value(k, a, k.add_block_arg(nb, k.type(a)), map);
    Builder inner(k, nb);
    std::vector<OpId> ops = k.block(b).ops;
    for (OpId n : ops) clone_op(n, inner, map);
  }
  for (size_t i = 0; i < k.op(o).results.size(); ++i) copy_value(k, k.op(o).results[i], k.op(copy).results[i], map);
  return copy;
}

std::vector<ValueId> clone_body(const Kernel& source, BlockId from, Builder& at, ValueMap& map) {
  std::vector<OpId> ops = source.block(from).ops;
  for (size_t i = 0; i + 1 < ops.size(); ++i) clone_op(ops[i], at, map);
  std::vector<ValueId> values = source.op(ops.back()).operands;
  for (ValueId& v : values) v = mapped(map, v);
  return values;
}

void move_before(Kernel& k, OpId o, OpId place) {
  std::erase(k.block(k.op(o).parent).ops, o);
  BlockId to = k.op(place).parent;
  std::vector<OpId>& list = k.block(to).ops;
  list.insert(std::find(list.begin(), list.end(), place), o);
  k.op(o).parent = to;
}

OpId ancestor_in(const Kernel& k, OpId o, BlockId b) {
  while (o.valid() && k.op(o).parent != b) o = k.block(k.op(o).parent).parent;
  return o;
}

BlockId block_of(const Kernel& k, ValueId v) {
  if (k.value(v).def.valid()) return k.op(k.value(v).def).parent;
  return k.value(v).block.valid() ? k.value(v).block : k.body;
}

bool defined_outside(const Kernel& k, ValueId v, OpId holder) {
  for (BlockId b = block_of(k, v);;) {
    OpId parent = k.block(b).parent;
    if (!parent.valid()) return true;
    if (parent == holder) return false;
    b = k.op(parent).parent;
  }
}

namespace {

// Reading memory has no effect either, but what is inside of a loop or branch may have.
bool has_effect(const Kernel& k, OpId o) {
  Effects e = info(k.op(o).kind).effects;
  if (e == Effects::Pure || e == Effects::Read) return false;
  if (e != Effects::Control || k.op(o).blocks.empty()) return true;
  if (k.op(o).kind == OpKind::While) return true;  // it may not end
  bool effect = false;
  for (BlockId b : k.op(o).blocks)
    for (OpId n : k.block(b).ops) {
      OpKind kind = k.op(n).kind;
      effect |= kind != OpKind::Yield && has_effect(k, n);
    }
  return effect;
}

}  // namespace

unsigned remove_dead(Kernel& k) {
  std::vector<unsigned> uses(k.num_values());
  std::vector<OpId> order;
  k.walk([&](OpId o) {
    order.push_back(o);
    for (ValueId v : k.op(o).operands) ++uses[v.index];
  });
  unsigned removed = 0;
  // Backwards, so that users go before what they use.
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Op& op = k.op(*it);
    if (op.erased || (op.results.empty() && op.blocks.empty()) || has_effect(k, *it)) continue;
    bool used = std::any_of(op.results.begin(), op.results.end(), [&](ValueId r) { return uses[r.index] != 0; });
    if (used) continue;
    auto drop = [&](auto&& self, OpId o) -> void {
      for (ValueId v : k.op(o).operands) --uses[v.index];
      for (BlockId b : k.op(o).blocks)
        for (OpId n : k.block(b).ops) self(self, n);
    };
    drop(drop, *it);
    k.erase(*it);
    ++removed;
  }
  return removed;
}

}  // namespace tile::ir
