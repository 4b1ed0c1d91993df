// Software prefetch. In a loop that asks for N stages, loads whose addresses depend on nothing but the loop variable
// and values from outside run N - 1 iterations ahead: the first ones before the loop, the others at the top of the
// body. What they loaded is carried to the iteration that wants it.
//
// A load of an iteration that will not happen is harmless: views read 0 outside of their bounds, raw loads get a mask
// that is false there, and nobody uses the values. Loads do not move over a store that may touch the same bytes: a loop
// with such a store keeps that load where it is. So does a load that goes by elements of less than 4 bytes: each of
// them would take a register of its own, and a mask, for as long as it is under way.
#include <algorithm>
#include <unordered_set>

#include "dsl/ir/clone.h"
#include "dsl/passes/access.h"
#include "dsl/passes/passes.h"
#include "dsl/passes/roots.h"

namespace tile::passes {

using namespace ir;

namespace {

class Pipeliner {
 public:
  Pipeliner(Kernel& k, OpId loop, unsigned ahead, bool fault)
      : k_(k), loop_(loop), body_(k.op(loop).blocks[0]), iv_(k.block(body_).args[0]), ahead_(ahead), fault_(fault) {}

  void run() {
    step_ = k_.constant_int(k_.op(loop_).operands[2]);
    std::vector<OpId> loads = candidates();
    for (OpId o : loads) prefetch(o);
  }

 private:
  // Loads directly in the body that may run ahead.
  std::vector<OpId> candidates() {
    Roots roots(k_);
    AxisAnalysis facts(k_);
    std::vector<OpId> stores, list;
    bool opaque = false;
    k_.walk(body_, [&](OpId o) {
      OpKind kind = k_.op(o).kind;
      if (kind == OpKind::Store || kind == OpKind::StoreView) stores.push_back(o);
      else opaque |= info(kind).effects == Effects::Write;
    });
    if (opaque) return {};
    for (OpId o : k_.block(body_).ops) {
      const Op& op = k_.op(o);
      if (op.kind != OpKind::Load && op.kind != OpKind::LoadView) continue;
      if (op.kind == OpKind::Load && !step_) continue;  // its mask needs the direction
      Access access = analyse_access(k_, facts, op);
      if (k_.type(access.tile).shape.rank() > 0 && access.vector * access.bytes < 4) continue;
      bool clear = std::none_of(stores.begin(), stores.end(), [&](OpId s) { return roots.may_alias(op, k_.op(s)); });
      if (clear && slice(o)) list.push_back(o);
    }
    return list;
  }

  // The pure operations of the body that o's operands come from, in program order; nothing if o depends on what the
  // loop carries or on other effects.
  std::optional<std::vector<OpId>> slice(OpId o) const {
    std::unordered_set<uint32_t> wanted;
    std::vector<ValueId> work = k_.op(o).operands;
    while (!work.empty()) {
      ValueId v = work.back();
      work.pop_back();
      if (v == iv_ || defined_outside(k_, v, loop_)) continue;
      OpId def = k_.value(v).def;
      if (!def.valid() || k_.op(def).parent != body_ || info(k_.op(def).kind).effects != Effects::Pure || !k_.op(def).blocks.empty()) return std::nullopt;
      if (wanted.insert(def.index).second) work.insert(work.end(), k_.op(def).operands.begin(), k_.op(def).operands.end());
    }
    std::vector<OpId> list;
    for (OpId x : k_.block(body_).ops)
      if (wanted.count(x.index)) list.push_back(x);
    return list;
  }

  // The load `o` for iteration variable `iv`, at the builder's place.
  ValueId load_for(OpId o, ValueId iv, Builder& b) {
    ValueMap map{{iv_, iv}};
    std::vector<OpId> list = *slice(o);
    for (OpId x : list) clone_op(x, b, map);
    OpId copy = clone_op(o, b, map);
    if (k_.op(copy).kind == OpKind::Load) mask(copy, iv);
    return k_.op(copy).results[0];
  }

  // A raw load happens only where the iteration does.
  void mask(OpId load, ValueId iv) {
    Builder b = Builder::before(k_, load);
    bool is_up = *step_ > 0, is_s = is_signed(k_.type(iv).dtype);
    OpKind compare = is_up ? (is_s ? OpKind::LtS : OpKind::LtU) : (is_s ? OpKind::GtS : OpKind::GtU);
    ValueId inside = b.splat(b.elementwise(compare, {iv, k_.op(loop_).operands[1]}), k_.type(k_.op(load).operands[0]).shape);
    if (k_.op(load).get_int(AttrKey::HasMask) != 0) {
      k_.op(load).operands[1] = b.elementwise(OpKind::And, {k_.op(load).operands[1], inside});
      return;
    }
    k_.op(load).operands.insert(k_.op(load).operands.begin() + 1, inside);
    k_.op(load).set(AttrKey::HasMask, int64_t{1});
  }

  ValueId advance(Builder& b, ValueId iv, int64_t times) {
    if (times == 0) return iv;
    const Type t = k_.type(iv);
    ValueId distance = b.elementwise(OpKind::MulI, {k_.op(loop_).operands[2], b.constant(t, static_cast<uint64_t>(times))});
    return b.elementwise(OpKind::AddI, {iv, distance});
  }

  void prefetch(OpId o) {
    const Type t = k_.type(k_.op(o).results[0]);
    std::string name = k_.value(k_.op(o).results[0]).name;
    Builder before = Builder::before(k_, loop_);
    std::vector<ValueId> first;
    for (unsigned i = 0; i < ahead_; ++i)
      first.push_back(load_for(o, advance(before, k_.op(loop_).operands[0], i), before));
    Builder top(k_, body_, 0);
    top.range = k_.op(o).range;
    ValueId next = load_for(o, advance(top, iv_, ahead_ + (fault_ ? 1 : 0)), top);
    // A queue of `ahead` tiles: the first is used now.
    OpId yield = k_.block(body_).ops.back();
    std::vector<ValueId> queue;
    for (unsigned i = 0; i < ahead_; ++i) {
      k_.op(loop_).operands.push_back(first[i]);
      queue.push_back(k_.add_block_arg(body_, t, name));
      k_.add_result(loop_, t);
    }
    for (unsigned i = 1; i < ahead_; ++i) k_.op(yield).operands.push_back(queue[i]);
    k_.op(yield).operands.push_back(next);
    k_.replace_all_uses(k_.op(o).results[0], queue[0]);
    k_.erase(o);
  }

  Kernel& k_;
  OpId loop_;
  BlockId body_;
  ValueId iv_;
  unsigned ahead_;
  bool fault_;
  std::optional<int64_t> step_;
};

}  // namespace

Status pipeline_loops(Kernel& k, PassContext& context) {
  std::vector<OpId> loops;
  k.walk([&](OpId o) {
    if (k.op(o).kind == OpKind::For && k.op(o).get_int(AttrKey::Pipeline, 1) > 1) loops.push_back(o);
  });
  constexpr int64_t max_stages = 8;
  // Inner loops first: the copies of loads that an outer loop makes are then what stays.
  for (auto it = loops.rbegin(); it != loops.rend(); ++it) {
    int64_t stages = std::min(k.op(*it).get_int(AttrKey::Pipeline), max_stages);
    k.op(*it).remove(AttrKey::Pipeline);
    Pipeliner(k, *it, static_cast<unsigned>(stages - 1), context.fault).run();
  }
  remove_dead(k);
  return Unit{};
}

}  // namespace tile::passes
