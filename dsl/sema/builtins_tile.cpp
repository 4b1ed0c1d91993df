// Builtins on the shape of tiles, reductions and dot.
#include <fmt/format.h>

#include "dsl/sema/evaluator.h"

namespace tile::sema {

std::optional<Ranged> Evaluator::tile_operand(const CallArgs& a, size_t i) {
  const CallArgs::Arg& x = a[i];
  if (x.value.is_poison()) return std::nullopt;
  if (is_tile(x.value)) return a.ranged(i);
  if (is_view(x.value)) {
    error(DiagKind::ViewNeedsIndex, x.range, fmt::format("{} of a view without indices", a.name),
          "write the elements that you mean: `x[i]`");
  } else {
    error(DiagKind::NotATile, x.range, fmt::format("{} takes a tile, but this is {}", a.name, describe(x.value)));
  }
  return std::nullopt;
}

bool Evaluator::flag(const CallArgs& a, size_t i, bool absent) {
  if (!a[i].given) return absent;
  const Value& v = a[i].value;
  if (v.kind == Value::Kind::Const && is_bool(v.dtype)) return v.bits != 0;
  error(DiagKind::NotConstant, a[i].range,
        fmt::format("this argument of {} must be true or false, but it is {}", a.name, describe(v)));
  return absent;
}

// A shape as the operands behind the first: `f(x, M, N)` or `f(x, [M, N])`.
std::vector<Ranged> Evaluator::extents_from(const CallArgs& a) {
  std::vector<Ranged> out;
  for (const CallArgs::Arg& r : a.rest) {
    if (r.value.is_bundle()) {
      for (const Value& item : r.value.items) out.push_back({item, r.range});
    } else {
      out.push_back({r.value, r.range});
    }
  }
  return out;
}

Value Evaluator::flatten_tile(const Value& v) {
  ir::Shape s = shape_of(v);
  if (s.rank() == 1) return v;
  return Value::runtime(b_.make(OpKind::Reshape, {v.id}, ir_type(v).with_shape({s.elements()})));
}

Value Evaluator::reduce(CallArgs& a, std::string_view combine) {
  std::optional<Ranged> x = tile_operand(a);
  if (!x) return Value::poison();
  bool sums = combine == "sum" || combine == "prod";
  bool logical = combine == "and" || combine == "or";
  DType t = type_of(x->value).dtype;
  if (is_float(t) && !is_arith_float(t))
    return error(DiagKind::NarrowFloatArithmetic, x->range,
                 fmt::format("{} of {}, which is only stored and converted", a.name, name(t)),
                 "convert first: `x as f32`");
  if (logical && !is_bool(t))
    return error(DiagKind::TypeMismatch, x->range,
                 fmt::format("{} takes bools, but this is {}", a.name, describe(x->value)), "compare first: `x != 0`");
  if (!sums && !logical && is_bool(t))
    return error(DiagKind::BoolArithmetic, x->range, fmt::format("{} of bool", a.name),
                 combine == "max"   ? "write any(x)"
                 : combine == "min" ? "write all(x)"
                                    : "convert first: `x as i32`");
  if (combine == "xor" && is_float(t))
    return error(DiagKind::TypeMismatch, x->range,
                 fmt::format("{} takes integers, but this is {}", a.name, describe(x->value)));
  Value v = x->value;
  b_.range = a.call->range;
  if (sums) {
    if (t == DType::F16 || t == DType::BF16) v = convert(v, DType::F32);
    if (is_bool(t) || (is_int(t) && bit_width(t) < 32)) v = convert(v, DType::I32);
  }
  ir::Shape before = shape_of(v);
  int64_t axis = 0;
  bool all = !a[1].given;
  if (all) {
    v = flatten_tile(v);
  } else {
    std::optional<int64_t> ax = axis_of(a.ranged(1), before.rank());
    if (!ax) return Value::poison();
    axis = *ax;
  }
  bool keep = flag(a, 2, false);
  b_.range = a.call->range;
  ir::Shape s = shape_of(v).without(static_cast<unsigned>(axis));
  ir::ValueId r = b_.make(OpKind::Reduce, {v.id}, ir_type(v).with_shape(s),
                          {{AttrKey::Axis, axis}, {AttrKey::Combine, std::string(combine)}});
  if (keep && all) {
    ir::Shape ones;
    for (unsigned i = 0; i < before.rank(); ++i) ones.push_back(1);
    r = b_.splat(r, ones);
  } else if (keep) {
    r = s.rank() == 0 ? b_.splat(r, ir::Shape{1}) : b_.expand_dims(r, static_cast<unsigned>(axis));
  }
  return Value::runtime(r);
}

Value Evaluator::arg_reduce(CallArgs& a, std::string_view combine) {
  std::optional<Ranged> x = tile_operand(a);
  if (!x) return Value::poison();
  DType t = type_of(x->value).dtype;
  if (is_bool(t))
    return error(DiagKind::BoolArithmetic, x->range, fmt::format("{} of bool", a.name), "convert first: `x as i32`");
  if (is_float(t) && !is_arith_float(t))
    return error(DiagKind::NarrowFloatArithmetic, x->range,
                 fmt::format("{} of {}, which is only stored and converted", a.name, name(t)),
                 "convert first: `x as f32`");
  Value v = x->value;
  unsigned rank = shape_of(v).rank();
  int64_t axis = 0;
  b_.range = a.call->range;
  if (a[1].given) {
    std::optional<int64_t> ax = axis_of(a.ranged(1), rank);
    if (!ax) return Value::poison();
    axis = *ax;
  } else {
    v = flatten_tile(v);
  }
  bool keep = flag(a, 2, false);
  b_.range = a.call->range;
  ir::Shape s = shape_of(v).without(static_cast<unsigned>(axis));
  ir::OpId op = b_.op(OpKind::ArgReduce, {v.id}, {ir_type(v).with_shape(s), ir::Type::tile(DType::I32, s)},
                      {{AttrKey::Axis, axis}, {AttrKey::Combine, std::string(combine)}});
  Value pair = Value::of(Value::Kind::Tuple);
  for (ir::ValueId r : std::vector<ir::ValueId>(k_.op(op).results)) {
    if (keep) r = s.rank() == 0 ? b_.splat(r, ir::Shape{1}) : b_.expand_dims(r, static_cast<unsigned>(axis));
    pair.items.push_back(Value::runtime(r));
  }
  return pair;
}

// min and max: of two or more operands by element, of one operand along an axis; `x.max(0)` is along an axis too.
Value Evaluator::builtin_min(CallArgs& a) {
  std::string_view spelling = a.name;
  // Arguments: x, axis, keep_dims, return_indices; operands behind x are in `rest`.
  if (a.method && a.rest.size() == 1 && !a[1].given) {
    a.args[1] = a.rest[0];
    a.rest.clear();
  }
  if (a.rest.empty()) {
    bool indices = flag(a, 3, false);
    if (!is_tile(a[0].value) && !a[0].value.is_poison() && !a[1].given && !is_view(a[0].value))
      return error(DiagKind::ArgumentCount, a.call->range, fmt::format("{} takes two operands, or one tile", spelling));
    return indices ? arg_reduce(a, spelling) : reduce(a, spelling);
  }
  for (size_t i = 1; i < 4; ++i)
    if (a[i].given)
      return error(DiagKind::ArgumentCount, a[i].range, fmt::format("{} of several operands takes no axis", spelling),
                   "write `axis = ...` with one operand");
  Ranged v = a.ranged(0);
  for (const CallArgs::Arg& r : a.rest)
    v = {elementwise(spelling, {v, {r.value, r.range}}, a.call->range), a.call->range};
  return v.value;
}

Value Evaluator::builtin_max(CallArgs& a) { return builtin_min(a); }
Value Evaluator::builtin_sum(CallArgs& a) { return reduce(a, "sum"); }
Value Evaluator::builtin_prod(CallArgs& a) { return reduce(a, "prod"); }
Value Evaluator::builtin_xor_sum(CallArgs& a) { return reduce(a, "xor"); }
Value Evaluator::builtin_any(CallArgs& a) { return reduce(a, "or"); }
Value Evaluator::builtin_all(CallArgs& a) { return reduce(a, "and"); }

Value Evaluator::builtin_argmax(CallArgs& a) {
  Value pair = arg_reduce(a, "max");
  return pair.is_poison() ? pair : pair.items[1];
}

Value Evaluator::builtin_argmin(CallArgs& a) {
  Value pair = arg_reduce(a, "min");
  return pair.is_poison() ? pair : pair.items[1];
}

Value Evaluator::builtin_trans(CallArgs& a) {
  std::optional<Ranged> x = tile_operand(a);
  if (!x) return Value::poison();
  ir::Shape s = shape_of(x->value);
  std::vector<Ranged> dims = extents_from(a);
  std::vector<int64_t> perm;
  if (dims.empty()) {
    for (unsigned i = s.rank(); i-- > 0;) perm.push_back(i);
  } else {
    for (const Ranged& d : dims) {
      std::optional<int64_t> axis = axis_of(d, s.rank());
      if (!axis) return Value::poison();
      perm.push_back(*axis);
    }
  }
  std::vector<bool> seen(s.rank());
  bool good = perm.size() == s.rank();
  for (int64_t p : perm) {
    good = good && !seen[static_cast<size_t>(p)];
    seen[static_cast<size_t>(p)] = true;
  }
  if (!good)
    return error(DiagKind::BadPermutation, a.call->range,
                 fmt::format("the dimensions given to {} are no permutation of the {} of {}", a.name, s.rank(),
                             describe(x->value)),
                 "name each dimension once: `trans(x, [1, 0])`");
  ir::Shape out;
  for (int64_t p : perm) out.push_back(s[static_cast<unsigned>(p)]);
  b_.range = a.call->range;
  return Value::runtime(
      b_.make(OpKind::Trans, {x->value.id}, ir_type(x->value).with_shape(out), {{AttrKey::Perm, perm}}));
}

Value Evaluator::builtin_permute(CallArgs& a) {
  if (a.rest.empty())
    return error(DiagKind::ArgumentCount, a.call->range, "permute needs the order of the dimensions",
                 "write `permute(x, [1, 0])`");
  return builtin_trans(a);
}

Value Evaluator::builtin_reshape(CallArgs& a) {
  std::optional<Ranged> x = tile_operand(a);
  if (!x) return Value::poison();
  std::optional<ir::Shape> s = shape_from(extents_from(a), a.call->range);
  if (!s) return Value::poison();
  if (s->rank() == 0)
    return error(DiagKind::ArgumentCount, a.call->range, "reshape needs a shape", "write `reshape(x, [M, N])`");
  ir::Shape old = shape_of(x->value);
  if (s->elements() != old.elements())
    return error(DiagKind::ReshapeMismatch, a.call->range,
                 fmt::format("reshape of {} with {} elements to {} with {}", ir::to_string(old), old.elements(),
                             ir::to_string(*s), s->elements()),
                 {}, {note(*x)});
  if (*s == old) return x->value;
  b_.range = a.call->range;
  return Value::runtime(b_.make(OpKind::Reshape, {x->value.id}, ir_type(x->value).with_shape(*s)));
}

Value Evaluator::builtin_ravel(CallArgs& a) {
  std::optional<Ranged> x = tile_operand(a);
  return x ? flatten_tile(x->value) : Value::poison();
}

Value Evaluator::builtin_broadcast_to(CallArgs& a) {
  Ranged x = a.ranged(0);
  if (!check_numeric(x, a.name)) return Value::poison();
  std::optional<ir::Shape> s = shape_from(extents_from(a), a.call->range);
  if (!s) return Value::poison();
  x.value = default_typed(x.value);
  std::optional<ir::Shape> joint = broadcast_shape(shape_of(x.value), *s);
  if (!joint || !(*joint == *s))
    return error(DiagKind::BroadcastMismatch, a.call->range,
                 fmt::format("{} does not broadcast to {}", ir::to_string(shape_of(x.value)), ir::to_string(*s)), {},
                 {note(x)});
  b_.range = a.call->range;
  return broadcast_to(x.value, *s);
}

Value Evaluator::builtin_broadcast(CallArgs& a) {
  Ranged x = a.ranged(0), y = a.ranged(1);
  if (!check_numeric(x, a.name) || !check_numeric(y, a.name)) return Value::poison();
  x.value = default_typed(x.value), y.value = default_typed(y.value);
  std::optional<ir::Shape> s = broadcast_shape(shape_of(x.value), shape_of(y.value));
  if (!s)
    return error(DiagKind::BroadcastMismatch, a.call->range,
                 fmt::format("shapes {} and {} do not broadcast", ir::to_string(shape_of(x.value)),
                             ir::to_string(shape_of(y.value))),
                 {}, {note(x), note(y)});
  if (!check_shape(*s, a.call->range)) return Value::poison();
  b_.range = a.call->range;
  return Value::bundle(Value::Kind::Tuple, {broadcast_to(x.value, *s), broadcast_to(y.value, *s)});
}

Value Evaluator::builtin_expand_dims(CallArgs& a) {
  std::optional<Ranged> x = tile_operand(a);
  if (!x) return Value::poison();
  unsigned rank = shape_of(x->value).rank();
  std::optional<int64_t> axis = axis_of(a.ranged(1), rank + 1);
  if (!axis) return Value::poison();
  if (rank == 4)
    return error(DiagKind::RankTooLarge, a.call->range, "a tile of 5 dimensions, where at most 4 are allowed");
  b_.range = a.call->range;
  return Value::runtime(b_.expand_dims(x->value.id, static_cast<unsigned>(*axis)));
}

Value Evaluator::builtin_squeeze(CallArgs& a) {
  std::optional<Ranged> x = tile_operand(a);
  if (!x) return Value::poison();
  ir::Shape s = shape_of(x->value);
  std::optional<int64_t> axis = axis_of(a.ranged(1), s.rank());
  if (!axis) return Value::poison();
  unsigned n = static_cast<unsigned>(*axis);
  if (s[n] != 1)
    return error(DiagKind::ReshapeMismatch, a[1].range, fmt::format("squeeze of a dimension of extent {}", s[n]),
                 "only a dimension of extent 1 can be dropped");
  if (s.rank() == 1) return take_element(x->value, 0, {Value::integer(0), a[1].range});
  b_.range = a.call->range;
  return Value::runtime(b_.make(OpKind::Reshape, {x->value.id}, ir_type(x->value).with_shape(s.without(n))));
}

Value Evaluator::builtin_dot(CallArgs& a) {
  std::optional<Ranged> acc;
  if (a[2].given) acc = a.ranged(2);
  return matrix_product(a.ranged(0), a.ranged(1), acc, a.call->range);
}

}  // namespace tile::sema
