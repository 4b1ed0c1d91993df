// Structure: every operation stands in its block once, values are defined before they are used, blocks end as they
// must. verify_op.cpp and verify_layout.cpp have the rules of single operations.
#include "dsl/ir/verify.h"

#include "dsl/ir/layout_rules.h"

namespace tile::ir {

void Violations::add(const std::string& message) {
  if (list_.size() >= 100) return;
  if (!op_.valid()) {
    list_.push_back(message);
    return;
  }
  const Op& o = k_.op(op_);
  std::string name(mnemonic(o.kind));
  if (!o.results.empty() && !k_.value(o.results[0]).name.empty()) name += fmt::format(" `{}`", k_.value(o.results[0]).name);
  list_.push_back(fmt::format("{} (operation {}): {}", name, op_.index, message));
}

namespace {

class Verifier {
 public:
  Verifier(const Kernel& k, Stage stage) : k_(k), stage_(stage), v_(k), visible_(k.num_values()), seen_(k.num_ops()) {}

  std::vector<std::string> run() {
    v_.check(k_.waves >= 1 && k_.waves <= 16, "a workgroup has 1 to 16 waves, not {}", k_.waves);
    v_.check(k_.lds_bytes >= 0 && k_.lds_bytes <= static_cast<int64_t>(tile::info(k_.arch).lds_bytes),
             "{} bytes of shared memory, {} has {}", k_.lds_bytes, name(k_.arch), tile::info(k_.arch).lds_bytes);
    for (const Param& p : k_.params) {
      if (!v_.check(p.value.index < k_.num_values(), "parameter `{}` has no value", p.name)) continue;
      const Type& t = k_.type(p.value);
      v_.check(t.is_scalar() || (t.is_ptr() && t.shape.rank() == 0), "parameter `{}` is a {}", p.name, to_string(t));
      v_.check(p.divisor >= 1, "divisor {} of parameter `{}`", p.divisor, p.name);
      visible_[p.value.index] = true;
    }
    if (v_.check(k_.body.index < k_.num_blocks(), "the kernel has no body")) block(k_.body, OpId{});
    return v_.take();
  }

 private:
  bool exists(ValueId v) const { return v.index < k_.num_values(); }

  void block(BlockId b, OpId parent) {
    v_.at(parent);
    v_.check(k_.block(b).parent == parent, "a block has another parent");
    std::vector<ValueId> defined;
    for (ValueId a : k_.block(b).args) {
      if (!v_.check(exists(a), "a block argument does not exist")) continue;
      v_.check(k_.value(a).block == b && !k_.value(a).def.valid(), "block argument {} belongs elsewhere", a.index);
      v_.check(!visible_[a.index], "block argument {} is defined twice", a.index);
      visible_[a.index] = true;
      defined.push_back(a);
    }
    const std::vector<OpId>& ops = k_.block(b).ops;
    for (size_t i = 0; i < ops.size(); ++i) op(ops[i], b, parent, i + 1 == ops.size(), defined);
    v_.at(parent);
    v_.check(!ops.empty(), "a block is empty");
    for (ValueId a : defined) visible_[a.index] = false;
  }

  void op(OpId o, BlockId b, OpId parent, bool last, std::vector<ValueId>& defined) {
    v_.at(o);
    if (!v_.check(o.index < k_.num_ops() && !k_.op(o).erased, "an erased operation stands in a block")) return;
    const Op& op = k_.op(o);
    if (!v_.check(!seen_[o.index], "it stands in two places")) return;
    seen_[o.index] = true;
    v_.check(op.parent == b, "its parent is another block");
    terminator(op, parent, last);
    bool sound = true;
    for (size_t i = 0; i < op.operands.size(); ++i)
      sound &= v_.check(exists(op.operands[i]) && visible_[op.operands[i].index], "operand {} is not defined before it", i);
    for (ValueId r : op.results) sound &= v_.check(exists(r) && k_.value(r).def == o && !visible_[r.index], "a result is defined twice");
    if (!sound) return;
    Violations own(k_);
    own.at(o);
    verify_op(k_, o, stage_, own);
    if (std::vector<std::string> list = own.take(); !list.empty()) {
      for (const std::string& line : list) raw(line);
    } else {
      for (BlockId n : op.blocks) block(n, o);
      v_.at(o);
      verify_layouts(k_, o, stage_, v_);
    }
    for (ValueId r : op.results) {
      visible_[r.index] = true;
      defined.push_back(r);
    }
  }

  void raw(const std::string& line) {
    v_.at(OpId{});
    v_.add(line);
  }

  // The last operation of a block, and only it, ends the block, in the way that the parent wants.
  void terminator(const Op& op, OpId parent, bool last) {
    bool ends = op.kind == OpKind::Yield || op.kind == OpKind::Condition || op.kind == OpKind::Return;
    if (!last) {
      v_.check(!ends, "it is not the last of its block");
      return;
    }
    OpKind want = OpKind::Return;
    if (parent.valid()) {
      bool first_of_while = k_.op(parent).kind == OpKind::While && k_.op(parent).blocks[0] == op.parent;
      want = first_of_while ? OpKind::Condition : OpKind::Yield;
    }
    v_.check(op.kind == want, "the block must end in {}", mnemonic(want));
  }

  const Kernel& k_;
  Stage stage_;
  Violations v_;
  std::vector<bool> visible_, seen_;
};

}  // namespace

std::vector<std::string> verify(const Kernel& k, Stage stage) { return Verifier(k, stage).run(); }

}  // namespace tile::ir
