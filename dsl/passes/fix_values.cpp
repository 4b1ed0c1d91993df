// The only pass that may change a value: it decides contraction, how each dot is done and in which order reductions
// combine. After it the kernel has one result, to the bit, on any executor.
#include <fmt/format.h>

#include <unordered_set>

#include "dsl/ir/clone.h"
#include "dsl/ir/layout_rules.h"
#include "dsl/passes/choose_mfma.h"
#include "dsl/passes/passes.h"
#include "dsl/passes/plan_layouts.h"

namespace tile::passes {

using namespace ir;

namespace {

// --- contraction: a * b + c, where the product has no other use and stands in the same block

const Op* single_product(const Kernel& k, ValueId v, BlockId block, const std::vector<std::vector<OpId>>& users) {
  const Op* d = k.def(v);
  return d && d->kind == OpKind::MulF && d->parent == block && users[v.index].size() == 1 ? d : nullptr;
}

void contract(Kernel& k, OpId o, const std::vector<std::vector<OpId>>& users) {
  Op op = k.op(o);
  if ((op.kind != OpKind::AddF && op.kind != OpKind::SubF) || op.has(AttrKey::Separate)) return;
  if (k.type(op.results[0]).dtype == DType::BF16) return;  // no target has an fma for it
  ValueId x = op.operands[0], y = op.operands[1];
  const Op* left = single_product(k, x, op.parent, users);
  const Op* right = left ? nullptr : single_product(k, y, op.parent, users);
  if (!left && !right) return;
  Builder b = Builder::before(k, o);
  ValueId p = (left ? left : right)->operands[0], q = (left ? left : right)->operands[1], addend = left ? y : x;
  if (op.kind == OpKind::SubF) {
    if (left) addend = b.elementwise(OpKind::NegF, {addend});
    else p = b.elementwise(OpKind::NegF, {p});
  }
  ValueId fused = b.elementwise(OpKind::FmaF, {p, q, addend});
  k.value(fused).name = k.value(op.results[0]).name;
  k.replace_all_uses(op.results[0], fused);
  OpId product = k.value(left ? x : y).def;
  k.erase(o);
  k.erase(product);
}

void contract_all(Kernel& k) {
  std::vector<OpId> sums;
  k.walk([&](OpId o) { if (k.op(o).kind == OpKind::AddF || k.op(o).kind == OpKind::SubF) sums.push_back(o); });
  for (OpId o : sums) contract(k, o, k.users());
}

// --- dots

// True if what is computed from v is reduced along the columns or is an operand of another dot.
bool wants_rows(const Kernel& k, ValueId v, const std::vector<std::vector<OpId>>& users, std::unordered_set<uint32_t>& seen) {
  if (!seen.insert(v.index).second) return false;
  for (OpId u : users[v.index]) {
    const Op& o = k.op(u);
    if ((o.kind == OpKind::Reduce || o.kind == OpKind::ArgReduce) && o.get_int(AttrKey::Axis) == 1) return true;
    if (o.kind == OpKind::Dot && (o.operands[0] == v || o.operands[1] == v)) return true;
    bool same_rows = is_elementwise(o.kind) || o.kind == OpKind::Cast;
    if (same_rows && wants_rows(k, o.results[0], users, seen)) return true;
  }
  return false;
}

Status fix_dot(Kernel& k, OpId o, PassContext& context) {
  auto dtype = [&](unsigned i) { return k.type(k.op(o).operands[i]).dtype; };
  auto cast = operand_cast(k.arch, dtype(0), dtype(1), dtype(2));
  if (!cast) return cast.error();
  if (*cast) {
    Builder b = Builder::before(k, o);
    for (unsigned i : {0u, 1u}) {
      if (dtype(i) == **cast) continue;
      if (context.diags)
        context.diags->emit(DiagKind::EmulatedType, k.op(o).range,
                            fmt::format("{} has no matrix instruction for {} and {}, operand {} is converted to {}", name(k.arch),
                                        name(dtype(0)), name(dtype(1)), i == 0 ? "a" : "b", name(**cast)));
      k.op(o).operands[i] = b.cast(k.op(o).operands[i], **cast);
    }
  }
  std::unordered_set<uint32_t> seen;
  bool rows = wants_rows(k, k.op(o).results[0], k.users(), seen);
  const Shape& a = k.type(k.op(o).operands[0]).shape;
  int64_t n = k.type(k.op(o).operands[1]).shape[1];
  DotChoice c = choose_dot(k.arch, dtype(0), dtype(1), dtype(2), a[0], n, a[1], layout_waves(k), rows);
  Op& op = k.op(o);
  op.set(AttrKey::Mfma, std::string(info(c.mfma).kind));
  op.set(AttrKey::WaveGrid, std::vector<int64_t>{c.waves_m, c.waves_n});
  op.set(AttrKey::KBits, c.k_bits);
  return Unit{};
}

}  // namespace

Status fix_values(Kernel& k, PassContext& context) {
  if (k.contract) contract_all(k);
  std::vector<OpId> dots, reductions;
  k.walk([&](OpId o) {
    if (k.op(o).kind == OpKind::Dot) dots.push_back(o);
    if (k.op(o).kind == OpKind::Reduce || k.op(o).kind == OpKind::ArgReduce) reductions.push_back(o);
  });
  for (OpId o : dots)
    if (Status s = fix_dot(k, o, context); !s) return s;
  AxisAnalysis facts(k);
  auto plan = plan_layouts(k, facts);
  if (!plan) return plan.error();
  for (OpId o : reductions) {
    Op& op = k.op(o);
    unsigned axis = static_cast<unsigned>(op.get_int(AttrKey::Axis));
    auto order = natural_order(*plan->operand(o), axis, k.type(op.operands[0]).shape[axis]);
    if (!order) return Error{"a reduction has no order"};
    op.set(AttrKey::Order, *order);
  }
  // Orders that leave something out. Nothing judges this pass but the verifier.
  if (context.fault) {
    auto drop = [&](OpId o, AttrKey key) {
      std::vector<int64_t> list = k.op(o).get_ints(key);
      if (!list.empty()) list.pop_back();
      k.op(o).set(key, list);
    };
    for (OpId o : dots) drop(o, AttrKey::KBits);
    for (OpId o : reductions) drop(o, AttrKey::Order);
  }
  return Unit{};
}

}  // namespace tile::passes
