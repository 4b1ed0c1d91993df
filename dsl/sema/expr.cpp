// Expressions other than calls and indexing.
#include <fmt/format.h>

#include "dsl/sema/evaluator.h"

namespace tile::sema {

Value Evaluator::eval(const ast::Expr& e) {
  Deeper deeper(depth_);
  if (stopped_ || too_deep(e.range)) return Value::poison();
  using Kind = ast::Expr::Kind;
  switch (e.kind) {
    case Kind::Int:
      return Value::integer(static_cast<Wide>(e.int_value));
    case Kind::Float:
      return Value::floating(e.float_value);
    case Kind::Bool:
      return Value::boolean(e.bool_value);
    case Kind::String:
      return Value::string(e.text);
    case Kind::NameRef:
      return eval_name(e);
    case Kind::Unary:
      return eval_unary(e);
    case Kind::Binary:
      return eval_binary(e);
    case Kind::Cast:
      return eval_cast(e);
    case Kind::Call:
      return eval_call(e);
    case Kind::Create:
      return eval_create(e);
    case Kind::Index:
      return eval_index(e);
    case Kind::Member:
      return eval_member(e);
    case Kind::Tuple:
    case Kind::List:
      return eval_list(e);
  }
  return Value::poison();
}

Value Evaluator::eval_name(const ast::Expr& e) {
  if (Variable* v = lookup(e.name.text)) {
    if (v->role == Variable::Role::Kernel)
      return error(DiagKind::TypeMismatch, e.range, fmt::format("the kernel '{}' is used as a value", e.name.text));
    return read(*v, e.range);
  }
  if (std::optional<Value> v = named_constant(e.name.text)) return *v;
  if (std::optional<DType> t = parse_dtype(e.name.text)) return Value::type(*t);
  if (std::optional<Value> v = prelude_function(e.name.text)) return *v;
  if (is_builtin_name(e.name.text)) {
    Value v = Value::of(Value::Kind::Builtin);
    v.text = e.name.text;
    return v;
  }
  return unknown_name(e.name, false);
}

Value Evaluator::eval_unary(const ast::Expr& e) {
  Ranged v = eval_ranged(*e.operands[0]);
  if (v.value.is_poison()) return v.value;
  if (e.op == "!") {
    bool boolean = !v.value.is_literal() && v.value.is_numeric() && !is_view(v.value) && !is_ptr(v.value) &&
                   is_bool(type_of(v.value).dtype);
    if (!boolean)
      return error(DiagKind::TypeMismatch, v.range, fmt::format("`!` takes a bool, but this is {}", describe(v.value)),
                   "compare with zero: `x == 0`; all bits are inverted by `~x`");
    return negate_bool({v.value, e.range});
  }
  if (e.op == "~" && !v.value.is_literal() && v.value.is_numeric() && !is_view(v.value) &&
      is_bool(type_of(v.value).dtype))
    return no_such_operation("not", DType::Bool, {v}, e.range);
  return elementwise(e.op == "~" ? "not" : "neg", {v}, e.range);
}

Value Evaluator::eval_logical(const ast::Expr& e) {
  bool is_and = e.op == "&&";
  auto check = [&](const Ranged& v) {
    if (v.value.is_poison()) return false;
    bool good = (v.value.kind == Value::Kind::Const || v.value.is_runtime()) && !is_view(v.value) && !is_ptr(v.value) &&
                is_bool(type_of(v.value).dtype);
    if (!good)
      error(DiagKind::TypeMismatch, v.range, fmt::format("`{}` takes bools, but this is {}", e.op, describe(v.value)),
            "compare it: `x != 0`");
    return good;
  };
  Ranged a = eval_ranged(*e.operands[0]);
  bool good = check(a);
  // What is decided at compile time is not evaluated further.
  if (good && a.value.kind == Value::Kind::Const) {
    if ((a.value.bits != 0) != is_and) return a.value;
    Ranged b = eval_ranged(*e.operands[1]);
    return check(b) ? b.value : Value::poison();
  }
  Ranged b = eval_ranged(*e.operands[1]);
  if (!check(b) || !good) return Value::poison();
  return elementwise(is_and ? "and" : "or", {a, b}, e.range);
}

Value Evaluator::eval_binary(const ast::Expr& e) {
  if (e.op == "&&" || e.op == "||") return eval_logical(e);
  Ranged a = eval_ranged(*e.operands[0]), b = eval_ranged(*e.operands[1]);
  if (a.value.is_poison() || b.value.is_poison()) return Value::poison();
  if (e.op == "@") return matrix_product(a, b, std::nullopt, e.range);
  std::string_view spelling;
  for (unsigned i = 0; i < num_infix; ++i)
    if (infix_table[i].token == e.op && infix_table[i].arity == 2) spelling = infix_table[i].spelling;
  bool equality = spelling == "eq" || spelling == "ne";
  if (equality && a.value.kind == Value::Kind::Type && b.value.kind == Value::Kind::Type)
    return Value::boolean((a.value.dtype == b.value.dtype) == (spelling == "eq"));
  if (equality && a.value.kind == Value::Kind::String && b.value.kind == Value::Kind::String)
    return Value::boolean((a.value.text == b.value.text) == (spelling == "eq"));
  if (is_ptr(a.value) || is_ptr(b.value)) return pointer_arithmetic(spelling, a, b, e.range);
  if (a.value.kind == Value::Kind::List && b.value.kind == Value::Kind::List && spelling == "add") {
    for (Value& item : b.value.items) a.value.items.push_back(std::move(item));
    return a.value;
  }
  return elementwise(spelling, {a, b}, e.range);
}

std::optional<DType> Evaluator::eval_dtype(const ast::TypeExpr& t) {
  if (t.kind == ast::TypeExpr::Kind::Named || t.kind == ast::TypeExpr::Kind::Shaped ||
      t.kind == ast::TypeExpr::Kind::Ptr) {
    if (Variable* v = lookup(t.name.text)) {
      Value value = read(*v, t.name.range);
      if (value.kind == Value::Kind::Type) return value.dtype;
      if (!value.is_poison())
        error(DiagKind::UnknownType, t.name.range,
              fmt::format("'{}' is not a type but {}", t.name.text, describe(value)), {},
              {{v->range, "it is defined here"}});
      return std::nullopt;
    }
    if (std::optional<DType> d = parse_dtype(t.name.text)) return d;
    std::string hint;
    std::vector<std::string> names;
    for (const DTypeInfo& row : dtype_table) {
      if (!row.triton_name.empty() &&
          (row.triton_name == t.name.text || "tl::" + std::string(row.triton_name) == t.name.text))
        hint = fmt::format("write `{}`", row.name);
      names.emplace_back(row.name);
    }
    if (t.name.text == "int") hint = "write `i32`";
    if (t.name.text == "float") hint = "write `f32`";
    if (t.name.text == "double") hint = "write `f64`";
    if (t.name.text == "half") hint = "write `f16`";
    if (t.name.text == "constexpr") hint = "write `const NAME: i32`";
    if (hint.empty())
      if (std::string near = nearest_name(t.name.text, names); !near.empty())
        hint = fmt::format("did you mean `{}`?", near);
    error(DiagKind::UnknownType, t.name.range, fmt::format("unknown type '{}'", t.name.text), hint);
    return std::nullopt;
  }
  error(DiagKind::UnknownType, t.range, "a scalar type is needed here");
  return std::nullopt;
}

Value Evaluator::eval_cast(const ast::Expr& e) {
  Ranged v = eval_ranged(*e.operands[0]);
  std::optional<DType> t;
  if (e.type.kind == ast::TypeExpr::Kind::Named) t = eval_dtype(e.type);
  else
    error(DiagKind::CannotConvert, e.type.range, "`as` converts the elements: it takes a scalar type",
          "write `x as f16`; shapes are changed by reshape and broadcast_to");
  bool rtz = false, saturate = true;
  for (const ast::Name& option : e.cast_options) {
    if (option.text == "rtz") rtz = true;
    else if (option.text == "nosat") saturate = false;
    else if (option.text != "rtne")
      error(DiagKind::BadArgument, option.range, fmt::format("unknown option '{}' of `as`", option.text),
            "options are rtne, rtz and nosat");
  }
  if (v.value.is_poison() || !t) return Value::poison();
  bool good = v.value.is_numeric() && !is_view(v.value) && !is_ptr(v.value);
  if (is_view(v.value))
    return error(DiagKind::ViewNeedsIndex, v.range, "a view is converted without indices",
                 "write the elements that you mean: `x[i]`");
  if (!good)
    return error(DiagKind::CannotConvert, v.range,
                 fmt::format("{} cannot be converted to {}", describe(v.value), name(*t)));
  b_.range = e.range;
  if (v.value.kind == Value::Kind::Int) {
    DType from = holds_integer(DType::I64, v.value.wide) ? DType::I64 : DType::U64;
    v.value = Value::constant(from, integer_bits(from, v.value.wide));
  } else if (v.value.kind == Value::Kind::Float) {
    v.value = Value::constant(DType::F64, float_bits(DType::F64, v.value.real));
  }
  return convert(v.value, *t, rtz, saturate);
}

Value Evaluator::eval_member(const ast::Expr& e) {
  Ranged v = eval_ranged(*e.operands[0]);
  if (v.value.is_poison()) return v.value;
  const std::string& member = e.name.text;
  if (v.value.is_literal() && (member == "dtype" || member == "shape" || member == "rank"))
    v.value = default_typed(v.value);
  bool elements = v.value.is_numeric() && !v.value.is_literal();
  if (member == "dtype" && elements) return Value::type(type_of(v.value).dtype);
  if (member == "shape" && elements) {
    Value shape = Value::of(Value::Kind::Tuple);
    if (is_view(v.value)) {
      shape.items = view_extents_[v.value.id.index];
    } else {
      for (int64_t d : shape_of(v.value)) shape.items.push_back(Value::integer(d));
    }
    return shape;
  }
  if (member == "rank" && elements)
    return Value::integer(is_view(v.value) ? ir_type(v.value).view_rank : shape_of(v.value).rank());
  if (member == "T" && is_tile(v.value)) {
    unsigned rank = shape_of(v.value).rank();
    if (rank != 2)
      return error(DiagKind::BadPermutation, e.range, fmt::format("`.T` of {}", describe(v.value)),
                   "it takes two dimensions; for more write trans(x, [0, 2, 1])");
    ir::Shape s = shape_of(v.value);
    b_.range = e.range;
    return Value::runtime(b_.make(OpKind::Trans, {v.value.id}, ir_type(v.value).with_shape({s[1], s[0]}),
                                  {{AttrKey::Perm, std::vector<int64_t>{1, 0}}}));
  }
  std::string hint;
  if (member == "to") hint = "write `x as TYPE`";
  else if (elements && is_builtin_name(member)) hint = fmt::format("call it: `.{}(...)`", member);
  else if (std::string near = nearest_name(member, {"dtype", "shape", "rank", "T"}); !near.empty())
    hint = fmt::format("did you mean `.{}`?", near);
  return error(DiagKind::UnknownMember, e.name.range, fmt::format("{} has no member '{}'", describe(v.value), member),
               hint);
}

Value Evaluator::eval_list(const ast::Expr& e) {
  Value::Kind kind = e.kind == ast::Expr::Kind::Tuple ? Value::Kind::Tuple : Value::Kind::List;
  Value list = Value::of(kind);
  if (e.comprehension) {
    std::optional<std::vector<Wide>> values = static_range(e.comprehension->range_args, e.range);
    if (!values) return Value::poison();
    for (Wide w : *values) {
      push_scope();
      declare(e.comprehension->name, Variable::Role::LoopVariable,
              Value::constant(DType::I32, integer_bits(DType::I32, w)));
      list.items.push_back(eval(*e.operands[0]));
      pop_scope();
      if (stopped_ || list.items.back().is_poison()) return Value::poison();
    }
    return list;
  }
  bool poison = false;
  for (const ast::ExprPtr& item : e.operands) {
    list.items.push_back(eval(*item));
    const Value& v = list.items.back();
    poison |= v.is_poison();
    if (v.kind == Value::Kind::Void)
      poison |= error(DiagKind::TypeMismatch, item->range, "this call returns nothing").is_poison();
  }
  return poison ? Value::poison() : list;
}

Value Evaluator::check_annotation(const Ranged& v, const ast::TypeExpr& t, std::string_view what) {
  if (t.kind == ast::TypeExpr::Kind::Type) {
    if (v.value.kind == Value::Kind::Type || v.value.is_poison()) return v.value;
    return error(DiagKind::TypeMismatch, v.range, fmt::format("{} is a type, but this is {}", what, describe(v.value)));
  }
  std::optional<DType> d = eval_dtype(t);
  if (!d || v.value.is_poison()) return Value::poison();
  std::vector<Note> notes = {{t.range, "the type is given here"}};
  if (t.kind == ast::TypeExpr::Kind::Ptr) {
    if (is_ptr(v.value) && ir_type(v.value).dtype == *d) return v.value;
    return error(DiagKind::TypeMismatch, v.range,
                 fmt::format("{} takes ptr<{}>, but this is {}", what, name(*d), describe(v.value)), {}, notes);
  }
  if (t.kind == ast::TypeExpr::Kind::Shaped && is_view(v.value)) {
    if (ir_type(v.value).dtype == *d && ir_type(v.value).view_rank == t.extents.size()) return v.value;
    return error(DiagKind::TypeMismatch, v.range,
                 fmt::format("{} takes a view of {} with {} dimensions, but this is {}", what, name(*d),
                             t.extents.size(), describe(v.value)),
                 {}, notes);
  }
  ir::Shape shape;
  if (t.kind == ast::TypeExpr::Kind::Shaped) {
    std::vector<Ranged> extents;
    for (const ast::ExprPtr& x : t.extents) extents.push_back(eval_ranged(*x));
    std::optional<ir::Shape> s = shape_from(extents, t.range);
    if (!s) return Value::poison();
    shape = *s;
  }
  bool literal = v.value.is_literal();
  Value typed = assignable(v, *d, DiagKind::TypeMismatch, std::string(what), notes);
  if (typed.is_poison()) return typed;
  if (literal && shape.rank() > 0) return broadcast_to(typed, shape);
  if (!(shape_of(typed) == shape))
    return error(
        DiagKind::TypeMismatch, v.range,
        fmt::format("{} takes {}, but this is {}", what, ir::to_string(ir::Type::tile(*d, shape)), describe(typed)),
        shape_of(typed).rank() == 0 ? "make a tile of it: broadcast_to(x, [...])"
        : shape.rank() == 0         ? "without a type, a parameter takes tiles too"
                                    : "",
        notes);
  return typed;
}

}  // namespace tile::sema
