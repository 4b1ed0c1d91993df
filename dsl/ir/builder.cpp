#include <algorithm>

#include "dsl/ir/ir.h"

namespace tile::ir {
namespace {

size_t position(const Kernel& k, OpId o) {
  const std::vector<OpId>& list = k.block(k.op(o).parent).ops;
  return static_cast<size_t>(std::find(list.begin(), list.end(), o) - list.begin());
}

}  // namespace

Builder Builder::before(Kernel& k, OpId o) {
  Builder b(k, k.op(o).parent, position(k, o));
  b.range = k.op(o).range;
  return b;
}

Builder Builder::after(Kernel& k, OpId o) {
  Builder b(k, k.op(o).parent, position(k, o) + 1);
  b.range = k.op(o).range;
  return b;
}

OpId Builder::op(OpKind kind, std::vector<ValueId> operands, const std::vector<Type>& results,
                 std::vector<Attr> attrs) {
  OpId id = k_->add_op(block_, kind, std::move(operands), results, std::move(attrs), range, at_);
  if (at_ != SIZE_MAX) ++at_;
  return id;
}

ValueId Builder::make(OpKind kind, std::vector<ValueId> operands, Type result, std::vector<Attr> attrs) {
  return k_->op(op(kind, std::move(operands), {result}, std::move(attrs))).results[0];
}

ValueId Builder::elementwise(OpKind kind, std::vector<ValueId> operands) {
  const Type& last = k_->type(operands.back());
  Type result = info(kind).form == Form::Cmp ? last.with_dtype(DType::Bool) : last;
  return make(kind, std::move(operands), result);
}

ValueId Builder::constant(Type t, uint64_t bits) {
  unsigned unused = 64 - bit_width(t.dtype);
  return make(OpKind::Constant, {}, t, {{AttrKey::Value, AttrValue(bits << unused >> unused)}});
}

ValueId Builder::cast(ValueId v, DType to, std::string rounding, bool saturate) {
  if (k_->type(v).dtype == to) return v;
  std::vector<Attr> attrs;
  if (!rounding.empty()) attrs.push_back({AttrKey::Rounding, rounding});
  if (!saturate) attrs.push_back({AttrKey::Saturate, int64_t{0}});
  return make(OpKind::Cast, {v}, k_->type(v).with_dtype(to), std::move(attrs));
}

ValueId Builder::splat(ValueId scalar, Shape s) {
  if (s.rank() == 0) return scalar;
  return make(OpKind::Splat, {scalar}, k_->type(scalar).with_shape(s));
}

ValueId Builder::broadcast(ValueId v, Shape s) {
  const Type& t = k_->type(v);
  if (t.shape == s) return v;
  if (t.shape.rank() == 0) return splat(v, s);
  return make(OpKind::Broadcast, {v}, t.with_shape(s));
}

ValueId Builder::expand_dims(ValueId v, unsigned axis) {
  const Type& t = k_->type(v);
  return make(OpKind::ExpandDims, {v}, t.with_shape(t.shape.with_inserted(axis, 1)),
              {{AttrKey::Axis, static_cast<int64_t>(axis)}});
}

}  // namespace tile::ir
