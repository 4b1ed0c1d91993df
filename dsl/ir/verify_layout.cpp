// Rules on layouts; layout_rules.h states them.
#include "dsl/ir/layout_rules.h"
#include "dsl/ir/verify.h"

namespace tile::ir {
namespace {

using layout::Dim;

class LayoutRules {
 public:
  LayoutRules(const Kernel& k, OpId o, Stage stage, Violations& v) : k_(k), o_(k.op(o)), stage_(stage), v_(v) {}

  void run() {
    for (ValueId r : o_.results) whole(r);
    for (BlockId b : o_.blocks)
      for (ValueId a : k_.block(b).args) whole(a);
    if (stage_ < Stage::Layout) return;
    if (is_elementwise(o_.kind)) return all_same();
    switch (o_.kind) {
#define TILE_EW(Kind, ...) case OpKind::Kind:
#include "dsl/ops/elementwise.def"
      break;
      case OpKind::Constant: case OpKind::Arange: case OpKind::ProgramId: case OpKind::NumPrograms: case OpKind::Splat:
      case OpKind::MakeView: case OpKind::Return: case OpKind::Print: case OpKind::DeviceAssert: case OpKind::Barrier:
      case OpKind::Yield: case OpKind::Condition:  // the parent checks them
        break;
      case OpKind::Cast: case OpKind::Bitcast: case OpKind::AddPtr:
        all_same();
        break;
      case OpKind::Load: case OpKind::Store:
        all_same();
        width(o_.kind == OpKind::Load ? o_.results[0] : o_.operands[1]);
        break;
      case OpKind::Broadcast:
        is(0, project(*result(), type(o_.operands[0]).shape, type(o_.results[0]).shape));
        break;
      case OpKind::ExpandDims: is(0, layout::slice(*result(), axis())); break;
      case OpKind::Trans: {
        std::vector<unsigned> perm;
        for (int64_t p : o_.get_ints(AttrKey::Perm)) perm.push_back(static_cast<unsigned>(p));
        v_.check(*result() == layout::permute(*operand(0), perm), "the result's layout is not the operand's with renamed axes");
        break;
      }
      case OpKind::Reshape: reshape(); break;
      case OpKind::Reduce: case OpKind::ArgReduce: reduce(); break;
      case OpKind::Dot: dot(); break;
      case OpKind::LoadView:
        load_view();
        width(o_.results[0]);
        break;
      case OpKind::StoreView:
        indices(2, o_.operands.size(), o_.operands[1]);
        width(o_.operands[1]);
        break;
      case OpKind::InBounds: indices(1, o_.operands.size(), o_.results[0]); break;
      case OpKind::For:
        same(o_.operands, 3, o_.results);
        same(k_.block(o_.blocks[0]).args, 1, o_.results);
        same(ends(0), 0, o_.results);
        break;
      case OpKind::While:
        same(o_.operands, 0, k_.block(o_.blocks[0]).args);
        same(ends(0), 1, o_.results);
        same(k_.block(o_.blocks[1]).args, 0, o_.results);
        same(ends(1), 0, k_.block(o_.blocks[0]).args);
        break;
      case OpKind::If:
        same(ends(0), 0, o_.results);
        same(ends(1), 0, o_.results);
        break;
      case OpKind::ConvertLayout: break;
    }
  }

 private:
  const Type& type(ValueId v) const { return k_.type(v); }
  const LinearLayout* of(ValueId v) const { return k_.value(v).layout.get(); }
  const LinearLayout* operand(size_t i) const { return of(o_.operands[i]); }
  const LinearLayout* result() const { return of(o_.results[0]); }
  unsigned axis() const { return static_cast<unsigned>(o_.get_int(AttrKey::Axis)); }
  std::vector<ValueId> ends(size_t i) const { return k_.op(k_.block(o_.blocks[i]).ops.back()).operands; }
  static std::string str(const LinearLayout* l) { return l ? l->str() : "none"; }

  // A layout stands at tiles only and covers them: all lanes and waves, every element, no register for nothing.
  void whole(ValueId v) {
    const LinearLayout* l = of(v);
    const Type& t = type(v);
    bool tile = !t.is_view() && t.shape.rank() > 0;
    if (!tile) {
      v_.check(!l, "a {} has a layout", to_string(t));
      return;
    }
    if (!l) {
      v_.check(stage_ < Stage::Layout, "a {} has no layout", to_string(t));
      return;
    }
    if (!v_.check(l->rank() == t.shape.rank(), "a {} has a layout of rank {}", to_string(t), l->rank())) return;
    v_.check(l->in().bits(Dim::Lane) == 6 && l->num_waves() == layout_waves(k_), "the layout {} is not for {} waves of 64 lanes", l->str(), layout_waves(k_));
    v_.check(l->is_surjective(), "the layout {} does not reach every element", l->str());
    layout::Shape have = l->shape();
    for (unsigned i = 0; i < t.shape.rank(); ++i) v_.check(have[i] >= t.shape[i], "the layout {} does not cover {}", l->str(), to_string(t));
    for (unsigned b = 0; b < l->in().bits(Dim::Register); ++b)
      v_.check(l->basis(Dim::Register, b) != 0, "register bit {} of the layout {} repeats the same elements", b, l->str());
  }

  bool is(size_t i, const LinearLayout& want) {
    const LinearLayout* l = operand(i);
    return v_.check(l && *l == want, "operand {} has layout {}, not {}", i, str(l), want.str());
  }

  void all_same() {
    const LinearLayout* first = nullptr;
    auto check = [&](ValueId v) {
      if (type(v).is_view() || type(v).shape.rank() == 0) return;
      const LinearLayout* l = of(v);
      if (!l) return;
      if (!first) first = l;
      v_.check(*l == *first, "its tiles have different layouts, {} and {}", l->str(), first->str());
    };
    for (ValueId v : o_.results) check(v);
    for (ValueId v : o_.operands) check(v);
  }

  void same(const std::vector<ValueId>& have, size_t skip, const std::vector<ValueId>& want) {
    for (size_t i = skip; i < have.size(); ++i) {
      const LinearLayout *h = of(have[i]), *w = of(want[i - skip]);
      v_.check((!h && !w) || (h && w && *h == *w), "carried value {} changes its layout from {} to {}", i - skip, str(h), str(w));
    }
  }

  void indices(size_t begin, size_t end, ValueId tile) {
    for (size_t i = begin; i < end; ++i)
      if (type(o_.operands[i]).shape.rank() > 0) is(i, project(*of(tile), type(o_.operands[i]).shape, type(tile).shape));
  }

  // The elements of one access are neighbours in consecutive registers, 16 bytes at most.
  void width(ValueId tile) {
    if (!o_.has(AttrKey::Vector)) return;
    int64_t v = o_.get_int(AttrKey::Vector), granule = o_.get_int(AttrKey::Granule, v);
    unsigned bits = std::max(8u, bit_width(type(tile).dtype)), most = 1;
    for (unsigned axis = 0; of(tile) && axis < of(tile)->rank(); ++axis) most = std::max(most, layout::contig_registers(*of(tile), axis));
    v_.check(v >= 1 && v <= most && v * bits <= 128, "an access of {} elements of {}; the layout has {} neighbours in a row", v, name(type(tile).dtype), most);
    v_.check(granule >= 1 && granule <= v && v % granule == 0, "granule {} of an access of {} elements", granule, v);
  }

  void load_view() {
    bool other = o_.get_int(AttrKey::HasOther) != 0;
    size_t end = o_.operands.size() - other;
    if (type(o_.results[0]).shape.rank() == 0) return;
    indices(1, end, o_.results[0]);
    if (other && type(o_.operands[end]).shape.rank() > 0) is(end, *result());
  }

  void reshape() {
    const Shape &from = type(o_.operands[0]).shape, &to = type(o_.results[0]).shape;
    if (reshape_is_free(*operand(0), from, to) && layout::reshape(*operand(0), layout::padded_shape(extents(to))) == *result()) return;
    v_.check(stage_ < Stage::Final || o_.has(AttrKey::LdsOffset), "it moves values and has no shared memory");
  }

  void reduce() {
    LinearLayout want = layout::slice(*operand(0), axis());
    for (ValueId r : o_.results)
      if (type(r).shape.rank() > 0) v_.check(*of(r) == want, "the result's layout is {}, not {}", of(r)->str(), want.str());
    auto steps = reduce_steps(*operand(0), axis(), o_.get_ints(AttrKey::Order));
    if (!v_.check(steps.has_value(), "the layout {} can't combine in this order", operand(0)->str())) return;
    bool across = false;
    for (const ReduceStep& s : *steps) across |= s.carrier.dim == Dim::Wave;
    v_.check(!across || stage_ < Stage::Final || o_.has(AttrKey::LdsOffset), "it combines waves and has no shared memory");
  }

  void dot() {
    auto want = dot_layouts(k_, o_, result());
    if (!v_.check(want.ok(), "{}", want.ok() ? "" : want.error().message)) return;
    is(0, want->a);
    is(1, want->b);
    is(2, want->c);
    v_.check(*result() == want->c, "the result has layout {}, not {}", result()->str(), want->c.str());
  }

  const Kernel& k_;
  const Op& o_;
  Stage stage_;
  Violations& v_;
};

}  // namespace

void verify_layouts(const Kernel& k, OpId o, Stage stage, Violations& v) {
  // Rules compare layouts that exist.
  for (ValueId x : k.op(o).results)
    if (stage >= Stage::Layout && !k.type(x).is_view() && k.type(x).shape.rank() > 0 && !k.value(x).layout)
      return v.add("a result has no layout");
  for (ValueId x : k.op(o).operands)
    if (stage >= Stage::Layout && !k.type(x).is_view() && k.type(x).shape.rank() > 0 && !k.value(x).layout)
      return v.add("an operand has no layout");
  LayoutRules(k, o, stage, v).run();
}

}  // namespace tile::ir
