// load, store, in_bounds, and what is created by `NAME<T>[shape]`.
#include <fmt/format.h>

#include "dsl/sema/evaluator.h"

namespace tile::sema {

std::optional<ir::ValueId> Evaluator::mask_operand(const CallArgs& a, size_t i, const ir::Shape& shape) {
  const Ranged m = a.ranged(i);
  if (m.value.is_poison()) return std::nullopt;
  bool boolean = (m.value.kind == Value::Kind::Const || m.value.is_runtime()) && !is_view(m.value) &&
                 !is_ptr(m.value) && is_bool(type_of(m.value).dtype);
  if (!boolean) {
    error(DiagKind::BadMask, m.range, fmt::format("a mask must be bool, but this is {}", describe(m.value)),
          "compare: `i < n`");
    return std::nullopt;
  }
  std::optional<ir::Shape> s = broadcast_shape(shape_of(m.value), shape);
  if (!s || !(*s == shape)) {
    error(DiagKind::BadMask, m.range,
          fmt::format("the mask has shape {}, but the pointers have shape {}", ir::to_string(shape_of(m.value)),
                      ir::to_string(shape)),
          {}, {{a[0].range, "the pointers are here"}});
    return std::nullopt;
  }
  return materialize(broadcast_to(m.value, shape));
}

Value Evaluator::builtin_load(CallArgs& a) {
  const ast::Expr& target = *a[0].expr;
  if (target.kind == ast::Expr::Kind::Index) {
    Ranged base = eval_ranged(*target.operands[0]);
    if (base.value.is_poison()) return base.value;
    if (is_view(base.value)) {
      if (a[1].given)
        return error(DiagKind::BadMask, a[1].range, "a mask for a view, which checks its bounds itself",
                     "leave the mask out, or choose with where(...)");
      std::optional<Ranged> other;
      if (a[2].given) other = a.ranged(2);
      std::optional<ViewIndex> at = view_index(target, base);
      return at ? load_view(*at, other, a.call->range) : Value::poison();
    }
  }
  Ranged p = eval_ranged(target);
  if (p.value.is_poison()) return p.value;
  if (is_view(p.value))
    return error(DiagKind::ViewNeedsIndex, p.range, "load of a view without indices",
                 "write `load(x[i], other = 0.0)` or just `x[i]`");
  if (!is_ptr(p.value))
    return error(DiagKind::BadPointer, p.range,
                 fmt::format("load takes a pointer or elements of a view, but this is {}", describe(p.value)));
  ir::Type t = ir_type(p.value);
  std::vector<ir::ValueId> operands = {p.value.id};
  std::vector<ir::Attr> attrs;
  if (a[1].given) {
    std::optional<ir::ValueId> mask = mask_operand(a, 1, t.shape);
    if (!mask) return Value::poison();
    operands.push_back(*mask);
    attrs.push_back({AttrKey::HasMask, int64_t{1}});
  }
  if (a[2].given) {
    if (!a[1].given) return error(DiagKind::BadMask, a[2].range, "`other` without a mask", "add `mask = ...`");
    Value v = assignable(a.ranged(2), t.dtype, DiagKind::TypeMismatch, "`other`");
    if (v.is_poison()) return v;
    std::optional<ir::Shape> s = broadcast_shape(shape_of(v), t.shape);
    if (!s || !(*s == t.shape))
      return error(DiagKind::BroadcastMismatch, a[2].range,
                   fmt::format("`other` is {}, but the elements are {}", describe(v),
                               ir::to_string(ir::Type::tile(t.dtype, t.shape))));
    operands.push_back(materialize(broadcast_to(v, t.shape)));
    attrs.push_back({AttrKey::HasOther, int64_t{1}});
  }
  b_.range = a.call->range;
  return Value::runtime(b_.make(OpKind::Load, std::move(operands), ir::Type::tile(t.dtype, t.shape), std::move(attrs)));
}

Value Evaluator::builtin_store(CallArgs& a) {
  const Ranged p = a.ranged(0);
  if (!is_ptr(p.value)) {
    std::string hint = is_view(p.value) || (p.value.is_runtime() && a[0].expr->kind == ast::Expr::Kind::Index)
                           ? "assign to a view: `x[i] = value`"
                           : "";
    return error(DiagKind::BadPointer, p.range, fmt::format("store takes a pointer, but this is {}", describe(p.value)),
                 hint);
  }
  ir::Type t = ir_type(p.value);
  Value v = assignable(a.ranged(1), t.dtype, DiagKind::TypeMismatch, fmt::format("ptr<{}>", name(t.dtype)), {note(p)});
  if (v.is_poison()) return v;
  std::optional<ir::Shape> s = broadcast_shape(shape_of(v), t.shape);
  if (!s || !(*s == t.shape))
    return error(DiagKind::BroadcastMismatch, a[1].range,
                 fmt::format("a value of shape {} is stored to pointers of shape {}", ir::to_string(shape_of(v)),
                             ir::to_string(t.shape)),
                 {}, {note(p)});
  std::vector<ir::ValueId> operands = {p.value.id, materialize(broadcast_to(v, t.shape))};
  std::vector<ir::Attr> attrs;
  if (a[2].given) {
    std::optional<ir::ValueId> mask = mask_operand(a, 2, t.shape);
    if (!mask) return Value::poison();
    operands.push_back(*mask);
    attrs.push_back({AttrKey::HasMask, int64_t{1}});
  }
  b_.range = a.call->range;
  b_.op(OpKind::Store, std::move(operands), {}, std::move(attrs));
  return Value::nothing();
}

Value Evaluator::builtin_in_bounds(CallArgs& a) {
  Ranged base = a.ranged(0);
  if (!is_view(base.value))
    return error(DiagKind::BadPointer, base.range,
                 fmt::format("in_bounds takes a view and its indices, but this is {}", describe(base.value)),
                 a[0].expr->kind == ast::Expr::Kind::Index ? "write `in_bounds(x, i)`" : "");
  std::vector<Ranged> indices;
  for (const CallArgs::Arg& r : a.rest) indices.push_back({r.value, r.range});
  std::optional<ViewIndex> at = view_index(base, indices, a.call->range);
  if (!at) return Value::poison();
  std::vector<ir::ValueId> operands = {at->view};
  operands.insert(operands.end(), at->indices.begin(), at->indices.end());
  b_.range = a.call->range;
  return Value::runtime(b_.make(OpKind::InBounds, std::move(operands), ir::Type::tile(DType::Bool, at->shape)));
}

Value Evaluator::eval_create(const ast::Expr& e) {
  std::string callee = e.callee->kind == ast::Expr::Kind::NameRef ? e.callee->name.text : text_of(e.callee->range);
  std::vector<Ranged> extents, args;
  for (const ast::ExprPtr& x : e.extents) extents.push_back(eval_ranged(*x));
  for (const ast::Argument& a : e.args) args.push_back(eval_ranged(*a.value));
  if (callee != "zeros" && callee != "full") {
    if (callee == "randn" || callee == "uniform" || callee == "randint" || callee == "npy")
      return error(DiagKind::BadTest, e.range,
                   fmt::format("{} makes inputs in test blocks and is not available in a kernel", callee));
    std::string near = nearest_name(callee, {"zeros", "full"});
    return error(DiagKind::UnknownName, e.callee->range, fmt::format("unknown function '{}'", callee),
                 near.empty() ? "" : fmt::format("did you mean `{}`?", near));
  }
  if (e.type_args.size() != 1)
    return error(DiagKind::ArgumentCount, e.range, fmt::format("{} takes one type", callee),
                 "write `zeros<f32>[M, N]`");
  std::optional<DType> t = eval_dtype(e.type_args[0]);
  std::optional<ir::Shape> s = shape_from(extents, e.range);
  if (!t || !s) return Value::poison();
  size_t wanted = callee == "full" ? 1 : 0;
  if (args.size() != wanted)
    return error(DiagKind::ArgumentCount, e.range,
                 fmt::format("{} takes {} in round brackets, but got {}", callee, wanted == 1 ? "one value" : "nothing",
                             args.size()),
                 wanted == 1 ? "write `full<f32>[M, N](1.0)`" : "");
  if (wanted == 1 && e.args[0].name && e.args[0].name->text != "value")
    return error(DiagKind::UnknownArgument, e.args[0].name->range,
                 fmt::format("full has no argument '{}'", e.args[0].name->text));
  b_.range = e.range;
  if (wanted == 0) {  // f8e8m0 has no zero
    Value zero = is_bool(*t) ? Value::boolean(false) : literal_as({Value::integer(0), e.range}, *t);
    return zero.is_poison() ? zero : broadcast_to(zero, *s);
  }
  Value v = assignable(args[0], *t, DiagKind::TypeMismatch, "full");
  if (v.is_poison()) return v;
  if (shape_of(v).rank() > 0)
    return error(DiagKind::NotAScalar, args[0].range,
                 fmt::format("full takes a scalar value, but this is {}", describe(v)));
  b_.range = e.range;
  return broadcast_to(v, *s);
}

}  // namespace tile::sema
