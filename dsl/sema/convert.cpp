// Values: their types, conversion to tile IR, what syntax needs to be constant.
#include <fmt/format.h>

#include <limits>

#include "dsl/sema/evaluator.h"

namespace tile::sema {
namespace {

constexpr unsigned max_rank = 4;
constexpr int64_t max_elements = int64_t{1} << 20;

}  // namespace

ir::Type Evaluator::type_of(const Value& v) const { return v.is_runtime() ? k_.type(v.id) : ir::Type::scalar(v.dtype); }

ir::Shape Evaluator::shape_of(const Value& v) const { return v.is_runtime() ? k_.type(v.id).shape : ir::Shape{}; }

Value Evaluator::default_typed(Value v) {
  if (v.kind == Value::Kind::Int) {
    DType t = holds_integer(DType::I32, v.wide)   ? DType::I32
              : holds_integer(DType::I64, v.wide) ? DType::I64
                                                  : DType::U64;
    return Value::constant(t, integer_bits(t, v.wide));
  }
  if (v.kind == Value::Kind::Float) return Value::constant(DType::F32, float_bits(DType::F32, v.real));
  if (v.is_bundle())
    for (Value& item : v.items) item = default_typed(std::move(item));
  return v;
}

Value Evaluator::literal_as(const Ranged& v, DType t, std::string_view where) {
  if (v.value.kind == Value::Kind::Int) {
    if (holds_integer(t, v.value.wide)) return Value::constant(t, integer_bits(t, v.value.wide));
  } else if (holds_float(t, v.value.real)) {
    return Value::constant(t, float_bits(t, v.value.real));
  }
  std::string hint;
  if (v.value.kind == Value::Kind::Float && !is_float(t)) {
    hint = is_bool(t) ? "write `true` or `false`" : "convert the other operand: `x as f32`";
  } else if (is_bool(t)) {
    hint = "write `true` or `false`";
  } else if (v.value.kind == Value::Kind::Int && !is_float(t)) {
    hint = v.value.wide < 0 ? "an unsigned type has no negative values; convert the other operand with `as`"
                            : "convert the other operand to a wider type with `as`";
  } else {
    hint = "convert the other operand to a wider type with `as`";
  }
  return error(DiagKind::LiteralOutOfRange, v.range,
               fmt::format("{} is not a value of {}{}", describe(v.value).substr(4), name(t), where), hint);
}

bool Evaluator::same_type(const Value& a, const Value& b) const {
  if (a.is_bundle() || b.is_bundle()) {
    if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
    for (size_t i = 0; i < a.items.size(); ++i)
      if (!same_type(a.items[i], b.items[i])) return false;
    return true;
  }
  auto typed = [](const Value& v) { return v.kind == Value::Kind::Const || v.is_runtime(); };
  if (typed(a) && typed(b)) return type_of(a) == type_of(b);
  if (a.kind != b.kind) return false;
  if (a.kind == Value::Kind::Type) return a.dtype == b.dtype;
  if (a.kind == Value::Kind::Function) return a.closure->function == b.closure->function;
  return true;
}

ir::ValueId Evaluator::materialize(const Value& v) {
  if (v.is_runtime()) return v.id;
  Value c = default_typed(v);
  return b_.constant(ir::Type::scalar(c.dtype), c.bits);
}

Value Evaluator::convert(const Value& v, DType t, bool round_to_zero, bool saturate) {
  if (v.kind == Value::Kind::Const)
    return Value::constant(t, convert_bits(v.dtype, t, v.bits, round_to_zero, saturate));
  if (k_.type(v.id).dtype == t) return v;
  // A tile of one constant value stays one.
  if (const ir::Op* d = k_.def(v.id); d && d->kind == OpKind::Constant)
    return Value::runtime(
        b_.constant(k_.type(v.id).with_dtype(t),
                    convert_bits(k_.type(v.id).dtype, t, d->get_bits(AttrKey::Value), round_to_zero, saturate)));
  return Value::runtime(b_.cast(v.id, t, round_to_zero ? "rtz" : "", saturate));
}

Value Evaluator::broadcast_to(const Value& v, const ir::Shape& shape) {
  if (shape.rank() == 0) return v;
  if (v.kind == Value::Kind::Const) return Value::runtime(b_.constant(ir::Type::tile(v.dtype, shape), v.bits));
  ir::ValueId id = v.id;
  if (const ir::Op* d = k_.def(id); d && d->kind == OpKind::Constant && !(k_.type(id).shape == shape))
    return Value::runtime(b_.constant(k_.type(id).with_shape(shape), d->get_bits(AttrKey::Value)));
  unsigned rank = k_.type(id).shape.rank();
  if (rank > 0)
    for (; rank < shape.rank(); ++rank) id = b_.expand_dims(id, 0);
  return Value::runtime(b_.broadcast(id, shape));
}

std::optional<ir::Shape> Evaluator::broadcast_shape(const ir::Shape& a, const ir::Shape& b) const {
  const ir::Shape& longer = a.rank() >= b.rank() ? a : b;
  const ir::Shape& shorter = a.rank() >= b.rank() ? b : a;
  ir::Shape out = longer;
  unsigned shift = longer.rank() - shorter.rank();
  for (unsigned i = 0; i < shorter.rank(); ++i) {
    int64_t x = longer[i + shift], y = shorter[i];
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[i + shift] = x == 1 ? y : x;
  }
  return out;
}

Value Evaluator::assignable(const Ranged& v, DType t, DiagKind kind, const std::string& what, std::vector<Note> notes) {
  if (v.value.is_poison()) return v.value;
  if (v.value.is_literal()) return literal_as(v, t);
  bool numeric = v.value.kind == Value::Kind::Const || (v.value.is_runtime() && ir_type(v.value).is_value());
  if (numeric && type_of(v.value).dtype == t) return v.value;
  if (v.value.is_runtime() && ir_type(v.value).is_view())
    return error(DiagKind::ViewNeedsIndex, v.range, "a view is used without indices",
                 "write the elements that you mean: `x[i]`", std::move(notes));
  return error(kind, v.range, fmt::format("{} takes {}, but this is {}", what, name(t), describe(v.value)),
               numeric ? fmt::format("convert it: `{} as {}`",
                                     text_of(v.range).find(' ') == std::string::npos ? text_of(v.range)
                                                                                     : "(" + text_of(v.range) + ")",
                                     name(t))
                       : "",
               std::move(notes));
}

bool Evaluator::can_flatten(const Value& v) const {
  if (v.is_bundle()) {
    for (const Value& item : v.items)
      if (!can_flatten(item)) return false;
    return true;
  }
  return v.is_numeric();
}

void Evaluator::flatten(const Value& v, std::vector<ir::ValueId>& out) {
  if (v.is_bundle()) {
    for (const Value& item : v.items) flatten(item, out);
  } else {
    out.push_back(materialize(v));
  }
}

Value Evaluator::rebuild(const Value& shape, const std::vector<ir::ValueId>& ids, size_t& at) const {
  if (!shape.is_bundle()) return Value::runtime(ids[at++]);
  Value v = Value::of(shape.kind);
  for (const Value& item : shape.items) v.items.push_back(rebuild(item, ids, at));
  return v;
}

std::optional<Wide> Evaluator::constant_integer(const Ranged& v, DiagKind kind, std::string_view what) {
  if (v.value.is_poison()) return std::nullopt;
  if (v.value.kind == Value::Kind::Int) return v.value.wide;
  if (v.value.kind == Value::Kind::Const && is_int(v.value.dtype)) return bits_to_wide(v.value.dtype, v.value.bits);
  if (v.value.is_runtime() && ir_type(v.value).is_scalar() && is_int(ir_type(v.value).dtype)) {
    error(kind, v.range, fmt::format("{} must be known at compile time", what), "make it a `const` parameter");
  } else {
    error(DiagKind::TypeMismatch, v.range,
          fmt::format("{} must be an integer, but this is {}", what, describe(v.value)));
  }
  return std::nullopt;
}

std::optional<Wide> Evaluator::eval_constant_integer(const ast::Expr& e, DiagKind kind, std::string_view what) {
  return constant_integer(eval_ranged(e), kind, what);
}

std::optional<bool> Evaluator::eval_constant_bool(const ast::Expr& e, std::string_view what) {
  Value v = eval(e);
  if (v.is_poison()) return std::nullopt;
  if (v.kind == Value::Kind::Const && is_bool(v.dtype)) return v.bits != 0;
  if (is_tile(v)) {
    error(DiagKind::TileCondition, e.range, fmt::format("{} is {}, one value for each element", what, describe(v)));
  } else if (v.is_runtime() && is_bool(ir_type(v).dtype)) {
    error(DiagKind::NotConstant, e.range, fmt::format("{} must be known at compile time", what),
          "for a condition on run-time values leave `static` out");
  } else {
    error(DiagKind::NonBoolCondition, e.range, fmt::format("{} must be bool, but this is {}", what, describe(v)),
          "compare it: `x != 0`");
  }
  return std::nullopt;
}

bool Evaluator::check_shape(const ir::Shape& s, Range range) {
  int64_t elements = 1;
  for (int64_t d : s) {
    elements *= d;
    if (elements > max_elements) {
      error(DiagKind::BadExtent, range,
            fmt::format("a tile of {} has more than {} elements", ir::to_string(s), max_elements),
            "use smaller blocks and a loop");
      return false;
    }
  }
  return true;
}

std::optional<ir::Shape> Evaluator::shape_from(const std::vector<Ranged>& extents, Range whole) {
  if (extents.size() > max_rank) {
    error(DiagKind::RankTooLarge, whole,
          fmt::format("a tile of {} dimensions, where at most {} are allowed", extents.size(), max_rank));
    return std::nullopt;
  }
  ir::Shape s;
  bool good = true;
  for (const Ranged& e : extents) {
    std::optional<Wide> w = constant_integer(e, DiagKind::NonConstantShape, "the extent of a tile");
    if (w && (*w < 1 || *w > max_elements)) {
      error(DiagKind::BadExtent, e.range,
            *w < 1 ? fmt::format("the extent of a tile is {}, but must be positive", to_text(*w))
                   : fmt::format("the extent {} is more than {}", to_text(*w), max_elements));
      w.reset();
    }
    good = good && w;
    s.push_back(w ? static_cast<int64_t>(*w) : 1);
  }
  if (!good || !check_shape(s, whole)) return std::nullopt;
  return s;
}

std::optional<int64_t> Evaluator::axis_of(const Ranged& v, unsigned rank) {
  std::optional<Wide> w = constant_integer(v, DiagKind::NotConstant, "an axis");
  if (!w) return std::nullopt;
  Wide axis = *w < 0 ? *w + rank : *w;
  if (axis < 0 || axis >= rank) {
    error(DiagKind::AxisOutOfRange, v.range,
          fmt::format("axis {} of a tile with {} dimension{}", to_text(*w), rank, rank == 1 ? "" : "s"),
          rank == 0 ? "" : fmt::format("axes go from 0 to {}", rank - 1));
    return std::nullopt;
  }
  return static_cast<int64_t>(axis);
}

}  // namespace tile::sema
