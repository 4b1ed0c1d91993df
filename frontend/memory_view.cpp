// load_view, store_view, in_bounds.
#include "frontend/amdgpu/buffer.h"
#include "frontend/masked_access.h"
#include "frontend/memory_packed.h"
#include "frontend/view.h"

namespace tile::frontend {

using namespace llvm;

namespace {

Value* both(Lowering& l, Value* a, Value* b) { return !a ? b : !b ? a : l.b.CreateAnd(a, b); }

// How the registers of an access are grouped.
struct Grouping {
  unsigned vector = 1;   // registers of one access
  unsigned granule = 1;  // of those, inside or outside together
  bool aligned = false;  // a group does not leave the aligned piece of memory of its size
};

Grouping grouping(const ViewAccess& a, const ir::Op& o, unsigned registers) {
  Grouping g;
  if (!a.axis()) return g;
  g.vector = std::min<unsigned>(registers, static_cast<unsigned>(o.get_int(AttrKey::Vector, 1)));
  g.granule = std::min<unsigned>(g.vector, static_cast<unsigned>(o.get_int(AttrKey::Granule, 1)));
  g.aligned = a.alignment(g.vector) >= uint64_t{g.vector} * a.element_bytes();
  return g;
}

// Offset of a lane that may be masked off. The select by what stays the same in a loop leaves the loop; LLVM would join
// the two into one if they had the same constant, and then keep a mask in scalar registers for each.
Value* masked_offset(Lowering& l, const ViewAccess::Offset& at, const ViewAccess::Masks& m) {
  Value* v = at.vector;
  if (m.steady) v = l.b.CreateSelect(m.steady, v, l.b.getInt32(out_of_range));
  if (m.varying) v = l.b.CreateSelect(m.varying, v, l.b.getInt32(m.steady ? out_of_range + 4 : out_of_range));
  return at.fixed ? l.b.CreateAdd(v, l.b.getInt32(at.fixed), "", true, false) : v;
}

class ViewLoad {
 public:
  ViewLoad(Lowering& l, const ir::Op& o, ViewAccess& a) : l_(l), o_(o), a_(a), n_(a.registers()), out_(n_) {
    t_ = l.dtype(o.results[0]);
    if (o.get_int(AttrKey::HasOther) != 0) other_ = &l.regs(o.operands.back());
  }

  void run() {
    if (a_.is_scalar()) scalar();
    else if (a_.fits_buffer()) buffer();
    else global();
    l_.set(o_.results[0], std::move(out_));
  }

 private:
  Value* other(unsigned r) const {
    if (!other_) return Constant::getNullValue(l_.type(t_));
    return (*other_)[other_->size() == 1 ? 0 : r];
  }
  Value* masked(Value* mask, Value* v, unsigned r) { return mask ? l_.b.CreateSelect(mask, v, other(r)) : v; }

  void scalar() {
    Regs loaded = masked_load(l_, a_.address(0), 1, a_.element_bytes(), a_.element_bytes(), a_.inside(0));
    out_[0] = l_.uniform(masked(a_.inside(0), from_memory(l_, loaded[0], t_), 0));
  }

  void global() {
    Grouping g = grouping(a_, o_, n_);
    unsigned v = g.granule < g.vector ? 1 : g.vector;
    unsigned align = v == 1 ? a_.element_bytes() : static_cast<unsigned>(std::min<uint64_t>(a_.alignment(v), v * a_.element_bytes()));
    for (unsigned r = 0; r < n_; r += v) {
      Value* mask = a_.inside(r);
      Regs loaded = masked_load(l_, a_.address(r), v, a_.element_bytes(), align, mask);
      for (unsigned i = 0; i < v; ++i) out_[r + i] = masked(mask, from_memory(l_, loaded[i], t_), r + i);
    }
  }

  void take(unsigned r, unsigned v, Value* descriptor, const ViewAccess::Masks& masks, ArrayRef<Value*> keep = {}) {
    ViewAccess::Offset at = a_.offset(r);
    Regs loaded = buffer_load(l_, descriptor, masked_offset(l_, at, masks), at.scalar, v, a_.element_bytes(), keep);
    for (unsigned i = 0; i < v; ++i) out_[r + i] = from_memory(l_, loaded[i], t_);
  }

  void buffer() {
    Grouping g = grouping(a_, o_, n_);
    bool whole = g.granule >= g.vector;
    bool records = !other_ && whole && a_.bounded_by_records();
    Value* descriptor = a_.descriptor(records);
    if (!whole && !g.aligned) return ragged(g.vector, descriptor);
    Value* same = a_.inside_uniform();
    for (unsigned r = 0; r < n_; r += g.vector) {
      // Outside the buffer everything is 0; in a group that sticks out the elements differ.
      std::vector<Value*> keep;
      if (!whole && !other_)
        for (unsigned i = 0; i < g.vector; ++i) keep.push_back(i == 0 ? l_.b.getTrue() : a_.inside_along_axis(r + i));
      take(r, g.vector, descriptor, records ? ViewAccess::Masks{} : a_.masks(r), keep);
      if (!other_) continue;
      Value* first = a_.inside_lanes(r);
      for (unsigned i = 0; i < g.vector; ++i) {
        Value* own = whole || i == 0 ? first : a_.inside_lanes(r + i);
        out_[r + i] = masked(both(l_, same, own), out_[r + i], r + i);
      }
    }
  }

  // Groups that may stick out and are not aligned to their size: whole groups at once, and the elements of the others
  // one by one, in a block of their own.
  void ragged(unsigned v, Value* descriptor) {
    Value *same = a_.inside_uniform(), *tail = nullptr;
    std::vector<Value*> own(n_), partial(n_ / v);
    for (unsigned r = 0; r < n_; r += v) {
      for (unsigned i = 0; i < v; ++i) own[r + i] = a_.inside_lanes(r + i);
      Value* full = l_.b.CreateAnd(own[r], own[r + v - 1]);
      take(r, v, descriptor, {nullptr, full});
      Value* any = own[r];
      for (unsigned i = 1; i < v; ++i) any = l_.b.CreateOr(any, own[r + i]);
      partial[r / v] = l_.b.CreateAnd(any, l_.b.CreateNot(full));
      tail = tail ? l_.b.CreateOr(tail, partial[r / v]) : partial[r / v];
    }
    Regs whole = out_;
    BasicBlock* from = l_.b.GetInsertBlock();
    BasicBlock *some = l_.new_block("tail"), *done = l_.new_block("loaded");
    l_.b.CreateCondBr(tail, some, done);
    l_.b.SetInsertPoint(some);
    for (unsigned r = 0; r < n_; ++r) {
      take(r, 1, descriptor, {nullptr, l_.b.CreateAnd(partial[r / v], own[r])});
      out_[r] = l_.b.CreateSelect(partial[r / v], out_[r], whole[r]);
    }
    BasicBlock* some_end = l_.b.GetInsertBlock();
    l_.b.CreateBr(done);
    l_.b.SetInsertPoint(done);
    for (unsigned r = 0; r < n_; ++r) {
      PHINode* phi = l_.b.CreatePHI(out_[r]->getType(), 2);
      phi->addIncoming(whole[r], from);
      phi->addIncoming(out_[r], some_end);
      out_[r] = phi;
    }
    if (other_)
      for (unsigned r = 0; r < n_; ++r) out_[r] = masked(both(l_, same, own[r]), out_[r], r);
  }

  Lowering& l_;
  const ir::Op& o_;
  ViewAccess& a_;
  unsigned n_;
  DType t_;
  const Regs* other_ = nullptr;
  Regs out_;
};

class ViewStore {
 public:
  ViewStore(Lowering& l, const ir::Op& o, ViewAccess& a) : l_(l), o_(o), a_(a), n_(a.registers()) {
    for (Value* v : l.regs(o.operands[1])) values_.push_back(to_memory(l, v));
    if (!a.is_scalar()) {
      layout_ = &l.layout(o.operands[1]);
      copies_ = layout_->free_mask(layout::Dim::Register);
      once_ = l.is_first_copy(*layout_);
    }
  }

  void run() {
    if (a_.is_scalar()) return scalar();
    if (a_.fits_buffer()) buffer();
    else global();
  }

 private:
  bool is_copy(unsigned r) const { return (r & copies_) != 0; }

  // One thread stores a scalar.
  void scalar() {
    masked_store(l_, values_, a_.address(0), a_.element_bytes(), both(l_, l_.is_first_thread(), a_.inside(0)));
  }

  // Not padding, held here for all copies, inside of the view (its dimensions that vary).
  Value* mask(unsigned r) {
    Value* m = both(l_, once_, a_.inside_lanes(r));
    const ir::Shape& s = l_.k.type(o_.operands[1]).shape;
    for (unsigned axis = 0; axis < s.rank(); ++axis)
      if (layout_->shape()[axis] > s[axis]) m = both(l_, m, l_.b.CreateICmpULT(l_.coord(*layout_, r, axis), l_.i32(s[axis])));
    return m;
  }
  // Groups that the tile's own extent cuts through.
  bool cut(unsigned v) const {
    const ir::Shape& s = l_.k.type(o_.operands[1]).shape;
    return v > 1 && s[*a_.axis()] % v != 0;
  }
  bool padded() const {
    const ir::Shape& s = l_.k.type(o_.operands[1]).shape;
    for (unsigned axis = 0; axis < s.rank(); ++axis)
      if (layout_->shape()[axis] > s[axis]) return true;
    return false;
  }

  ArrayRef<Value*> group(unsigned r, unsigned v) const { return ArrayRef<Value*>(values_).slice(r, v); }

  void put(unsigned r, unsigned v, Value* descriptor, Value* mask) {
    ViewAccess::Offset at = a_.offset(r);
    buffer_store(l_, group(r, v), descriptor, masked_offset(l_, at, {nullptr, mask}), at.scalar);
  }

  void global() {
    Grouping g = grouping(a_, o_, n_);
    unsigned v = g.granule < g.vector || cut(g.vector) ? 1 : g.vector;
    unsigned align = v == 1 ? a_.element_bytes() : static_cast<unsigned>(std::min<uint64_t>(a_.alignment(v), v * a_.element_bytes()));
    for (unsigned r = 0; r < n_; r += v)
      if (!is_copy(r)) masked_store(l_, group(r, v), a_.address(r), align, both(l_, a_.inside_uniform(), mask(r)));
  }

  void buffer() {
    Grouping g = grouping(a_, o_, n_);
    bool whole = g.granule >= g.vector && !cut(g.vector);
    bool records = whole && a_.bounded_by_records();
    Value* descriptor = a_.descriptor(records);
    if (!whole) return ragged(g.vector, descriptor);
    for (unsigned r = 0; r < n_; r += g.vector) {
      if (is_copy(r)) continue;
      put(r, g.vector, descriptor, records && !padded() ? once_ : mask(r));
    }
  }

  void ragged(unsigned v, Value* descriptor) {
    Value* tail = nullptr;
    std::vector<Value*> own(n_), partial(n_ / v);
    for (unsigned r = 0; r < n_; r += v) {
      if (is_copy(r)) continue;
      for (unsigned i = 0; i < v; ++i) own[r + i] = mask(r + i);
      Value* full = l_.b.CreateAnd(own[r], own[r + v - 1]);
      put(r, v, descriptor, full);
      Value* any = own[r];
      for (unsigned i = 1; i < v; ++i) any = l_.b.CreateOr(any, own[r + i]);
      partial[r / v] = l_.b.CreateAnd(any, l_.b.CreateNot(full));
      tail = tail ? l_.b.CreateOr(tail, partial[r / v]) : partial[r / v];
    }
    BasicBlock *some = l_.new_block("tail"), *done = l_.new_block("stored");
    l_.b.CreateCondBr(tail, some, done);
    l_.b.SetInsertPoint(some);
    for (unsigned r = 0; r < n_; ++r)
      if (!is_copy(r)) put(r, 1, descriptor, l_.b.CreateAnd(partial[r / v], own[r]));
    l_.b.CreateBr(done);
    l_.b.SetInsertPoint(done);
  }

  Lowering& l_;
  const ir::Op& o_;
  ViewAccess& a_;
  unsigned n_;
  Regs values_;
  const LinearLayout* layout_ = nullptr;
  unsigned copies_ = 0;
  Value* once_ = nullptr;
};

}  // namespace

Status lower_load_view(Lowering& l, const ir::Op& o) {
  ViewAccess a(l, o, o.results[0]);
  if (!a.ok()) return a.ok();
  if (is_packed(l.dtype(o.results[0]))) {
    l.set(o.results[0], packed_load(l, o, a));
    return Unit{};
  }
  ViewLoad(l, o, a).run();
  return Unit{};
}

Status lower_store_view(Lowering& l, const ir::Op& o) {
  ViewAccess a(l, o, o.operands[1]);
  if (!a.ok()) return a.ok();
  if (is_packed(l.dtype(o.operands[1]))) return packed_store(l, o, a);
  ViewStore(l, o, a).run();
  return Unit{};
}

Status lower_in_bounds(Lowering& l, const ir::Op& o) {
  ViewAccess a(l, o, o.results[0]);
  if (!a.ok()) return a.ok();
  Regs out;
  for (unsigned r = 0; r < a.registers(); ++r) {
    Value* in = a.inside(r);
    out.push_back(in ? in : l.b.getTrue());
  }
  l.set(o.results[0], std::move(out));
  return Unit{};
}

}  // namespace tile::frontend
