// Elementwise operations: operators and the functions of elementwise.def.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "dsl/sema/evaluator.h"
#include "dsl/sema/promote.h"

namespace tile::sema {
namespace {

// How the operation is written, for messages.
std::string written(std::string_view spelling) {
  for (unsigned i = 0; i < num_infix; ++i)
    if (infix_table[i].spelling == spelling) return fmt::format("`{}`", infix_table[i].token);
  return std::string(spelling);
}

uint64_t double_bits(double d) {
  uint64_t b;
  std::memcpy(&b, &d, 8);
  return b;
}

double double_from(uint64_t b) {
  double d;
  std::memcpy(&d, &b, 8);
  return d;
}

bool is_comparison(std::string_view s) {
  return s == "eq" || s == "ne" || s == "lt" || s == "le" || s == "gt" || s == "ge";
}

std::optional<Wide> integer_result(std::string_view op, Wide a, Wide b) {
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "mul") {
    Wide product;
    return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<Wide>::max() : product;
  }
  if (op == "div") return a / b;
  if (op == "rem") return a % b;
  if (op == "and") return a & b;
  if (op == "or") return a | b;
  if (op == "xor") return a ^ b;
  if (op == "shl" && b >= 0)
    return b < 63 ? a * (Wide{1} << static_cast<int>(b)) : a == 0 ? 0 : std::numeric_limits<Wide>::max();
  if (op == "shr" && b >= 0) return a >> static_cast<int>(b < 126 ? b : 126);
  if (op == "min") return a < b ? a : b;
  if (op == "max") return a > b ? a : b;
  return std::nullopt;
}

bool comparison_result(std::string_view op, Wide a, Wide b) {
  if (op == "eq") return a == b;
  if (op == "ne") return a != b;
  if (op == "lt") return a < b;
  if (op == "le") return a <= b;
  return op == "gt" ? a > b : a >= b;
}

}  // namespace

bool Evaluator::check_numeric(const Ranged& v, std::string_view spelling) {
  if (v.value.is_poison()) return false;
  if (is_view(v.value)) {
    error(DiagKind::ViewNeedsIndex, v.range,
          fmt::format("a view is an operand of {} without indices", written(spelling)),
          "write the elements that you mean: `x[i]`");
    return false;
  }
  if (v.value.kind == Value::Kind::String) {
    error(DiagKind::StringValue, v.range, fmt::format("a string is an operand of {}", written(spelling)));
    return false;
  }
  if (!v.value.is_numeric() || is_ptr(v.value)) {
    error(DiagKind::TypeMismatch, v.range,
          fmt::format("{} takes numbers and tiles, but this is {}", written(spelling), describe(v.value)));
    return false;
  }
  return true;
}

std::optional<DType> Evaluator::unify(std::vector<Ranged>& operands, size_t first, std::string_view spelling,
                                      Range range) {
  bool good = true, all_literal = true, any_float = false;
  for (size_t i = first; i < operands.size(); ++i) {
    good = check_numeric(operands[i], spelling) && good;
    all_literal = all_literal && operands[i].value.is_literal();
    any_float = any_float || operands[i].value.kind == Value::Kind::Float;
  }
  if (!good) return std::nullopt;
  if (all_literal) return any_float ? DType::F64 : DType::I64;
  // Tiles join first: a scalar then meets the tiles' type.
  std::optional<size_t> leader;
  DType joined{};
  for (bool tiles : {true, false})
    for (size_t i = first; i < operands.size(); ++i) {
      const Value& v = operands[i].value;
      if (v.is_literal() || (shape_of(v).rank() > 0) != tiles) continue;
      DType t = type_of(v).dtype;
      if (!leader) {
        leader = i, joined = t;
        continue;
      }
      bool leader_tile = shape_of(operands[*leader].value).rank() > 0;
      std::optional<DType> next = promote({joined, leader_tile}, {t, tiles});
      if (!next) {
        bool narrow = (is_float(joined) && !is_arith_float(joined)) || (is_float(t) && !is_arith_float(t));
        error(narrow ? DiagKind::NarrowFloatArithmetic : DiagKind::MixedSignedness, range,
              fmt::format("{} of {} and {}: the types do not mix", written(spelling), describe(operands[*leader].value),
                          describe(v)),
              narrow ? "convert first: `x as f32`"
                     : "make a number of the bool with `as i32`, or a bool of the number with `!= 0`",
              {note(operands[*leader]), note(operands[i])});
        return std::nullopt;
      }
      joined = *next;
    }
  for (size_t i = first; i < operands.size(); ++i) {
    Value& v = operands[i].value;
    // A constant that the tile's type cannot hold is a mistake; a run-time scalar is converted as it is.
    if (v.kind == Value::Kind::Const && is_int(v.dtype) && is_int(joined) &&
        !holds_integer(joined, bits_to_wide(v.dtype, v.bits)) && shape_of(operands[*leader].value).rank() > 0) {
      error(DiagKind::LiteralOutOfRange, operands[i].range,
            fmt::format("the constant {} is not a value of {}", constant_text(v.dtype, v.bits), name(joined)),
            "convert the other operand to a wider type with `as`", {note(operands[*leader])});
      return std::nullopt;
    }
    v = v.is_literal() ? literal_as(operands[i], joined) : type_of(v).dtype == joined ? v : convert(v, joined);
    if (v.is_poison()) return std::nullopt;
  }
  return joined;
}

Value Evaluator::literal_arithmetic(std::string_view spelling, const std::vector<Ranged>& operands, Range range) {
  bool any_float = false;
  for (const Ranged& o : operands) any_float = any_float || o.value.kind == Value::Kind::Float;
  std::optional<OpKind> integer_op = elementwise_by_spelling(spelling, DType::I64);
  if (!any_float && integer_op) {
    Wide a = operands[0].value.wide, b = operands.size() > 1 ? operands[1].value.wide : 0;
    if (is_comparison(spelling)) return Value::boolean(comparison_result(spelling, a, b));
    if ((spelling == "div" || spelling == "rem") && b == 0)
      return error(DiagKind::DivisionByZero, operands[1].range, "division by zero");
    std::optional<Wide> r;
    if (spelling == "neg") r = -a;
    else if (spelling == "not") r = ~a;
    else if (spelling == "abs") r = a < 0 ? -a : a;
    else if (operands.size() == 2) r = integer_result(spelling, a, b);
    if (r) {
      if (*r < std::numeric_limits<int64_t>::min() || *r > static_cast<Wide>(std::numeric_limits<uint64_t>::max()))
        return error(DiagKind::ConstOverflow, range, "the value of this constant expression does not fit 64 bits");
      return Value::integer(*r);
    }
    std::vector<Ranged> typed = operands;
    for (Ranged& o : typed) o.value = default_typed(o.value);
    return elementwise(spelling, std::move(typed), range);
  }
  std::optional<OpKind> op = elementwise_by_spelling(spelling, DType::F64);
  if (!op) {
    std::vector<Ranged> typed = operands;
    for (Ranged& o : typed)
      o.value = default_typed(
          o.value.kind == Value::Kind::Int && any_float ? Value::floating(static_cast<double>(o.value.wide)) : o.value);
    if (elementwise_by_spelling(spelling, DType::F32) && !any_float)
      for (Ranged& o : typed) o.value = convert(o.value, DType::F32);
    return elementwise(spelling, std::move(typed), range);
  }
  std::vector<uint64_t> bits;
  for (const Ranged& o : operands)
    bits.push_back(double_bits(o.value.kind == Value::Kind::Int ? static_cast<double>(o.value.wide) : o.value.real));
  std::optional<uint64_t> r = fold(*op, DType::F64, bits);
  if (!r) return error(DiagKind::TypeMismatch, range, fmt::format("{} does not take literals", written(spelling)));
  return info(*op).form == Form::Cmp ? Value::boolean(*r != 0) : Value::floating(double_from(*r));
}

Value Evaluator::no_such_operation(std::string_view spelling, DType t, const std::vector<Ranged>& operands,
                                   Range range) {
  const Ranged* culprit = nullptr;
  for (const Ranged& o : operands)
    if (!culprit && type_of(o.value).dtype == t) culprit = &o;
  Range at = culprit && operands.size() == 1 ? culprit->range : range;
  std::string what = written(spelling);
  if (is_bool(t)) {
    std::string hint = spelling == "neg" || spelling == "not" ? "write `!x`"
                       : spelling == "mul"                    ? "write `a & b`, or convert with `as i32`"
                       : spelling == "add"                    ? "write `a | b`, or convert with `as i32`"
                                                              : "convert first: `x as i32`";
    return error(DiagKind::BoolArithmetic, at, fmt::format("{} on bool", what), hint);
  }
  if (is_float(t) && !is_arith_float(t))
    return error(DiagKind::NarrowFloatArithmetic, at,
                 fmt::format("{} on {}, which is only stored and converted", what, name(t)),
                 "convert first: `x as f32`");
  std::string takes =
      elementwise_by_spelling(spelling, DType::F32) ? (is_int(t) ? "floats" : "f16 and f32") : "integers";
  std::string hint = is_int(t) ? "convert first: `x as f32`" : "";
  return error(DiagKind::TypeMismatch, at, fmt::format("{} takes {}, but this is {}", what, takes, name(t)), hint);
}

Value Evaluator::emit_elementwise(OpKind op, DType t, std::vector<Ranged>& operands, Range range) {
  bool all_const = true;
  for (const Ranged& o : operands) all_const = all_const && o.value.kind == Value::Kind::Const;
  if (all_const) {
    std::vector<uint64_t> bits;
    for (const Ranged& o : operands) bits.push_back(o.value.bits);
    if (std::optional<uint64_t> r = fold(op, t, bits))
      return Value::constant(info(op).form == Form::Cmp ? DType::Bool : t, *r);
  }
  ir::Shape shape;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::optional<ir::Shape> s = broadcast_shape(shape, shape_of(operands[i].value));
    if (!s) {
      std::vector<Note> notes;
      std::string shapes;
      for (const Ranged& o : operands) {
        if (shape_of(o.value).rank() == 0) continue;
        notes.push_back({o.range, fmt::format("this has shape {}", ir::to_string(shape_of(o.value)))});
        shapes += (shapes.empty() ? "" : " and ") + ir::to_string(shape_of(o.value));
      }
      return error(DiagKind::BroadcastMismatch, range, fmt::format("shapes {} do not broadcast", shapes),
                   "a dimension of extent 1 is repeated: `x[:, None]`", std::move(notes));
    }
    shape = *s;
  }
  if (!check_shape(shape, range)) return Value::poison();
  b_.range = range;
  std::vector<ir::ValueId> ids;
  for (const Ranged& o : operands) ids.push_back(materialize(broadcast_to(o.value, shape)));
  ir::ValueId v = b_.elementwise(op, std::move(ids));
  // Math functions are written with the roundings that they need: `contract on` is for the program's own sums.
  if (k_.contract && (op == OpKind::AddF || op == OpKind::SubF) && !frames_.empty() && frames_.back().prelude)
    k_.op(k_.value(v).def).set(AttrKey::Separate, int64_t{1});
  return Value::runtime(v);
}

Value Evaluator::elementwise(std::string_view spelling, std::vector<Ranged> operands, Range range) {
  size_t first = spelling == "where" ? 1 : 0;
  if (first == 1) {
    Ranged& c = operands[0];
    if (!check_numeric(c, spelling)) return Value::poison();
    if (c.value.is_literal() || !is_bool(type_of(c.value).dtype))
      return error(DiagKind::NonBoolCondition, c.range,
                   fmt::format("the condition of where must be bool, but this is {}", describe(c.value)),
                   "compare it: `x != 0`");
    if (c.value.kind == Value::Kind::Const && operands[1].value.is_literal() && operands[2].value.is_literal())
      return c.value.bits != 0 ? operands[1].value : operands[2].value;
  }
  std::optional<DType> t = unify(operands, first, spelling, range);
  if (!t) return Value::poison();
  if (operands[first].value.is_literal()) {
    if (first == 0) return literal_arithmetic(spelling, operands, range);
    for (size_t i = 1; i < 3; ++i)
      operands[i].value =
          literal_as(operands[i], t == DType::F64 ? DType::F32 : type_of(default_typed(operands[i].value)).dtype);
    if (operands[1].value.is_poison() || operands[2].value.is_poison()) return Value::poison();
    t = unify(operands, 1, spelling, range);
    if (!t) return Value::poison();
  }
  std::optional<OpKind> op = elementwise_by_spelling(spelling, *t);
  if (!op) return no_such_operation(spelling, *t, operands, range);
  if ((spelling == "div" || spelling == "rem") && is_int(*t)) {
    const Ranged& divisor = operands[1];
    std::optional<uint64_t> bits;
    if (divisor.value.kind == Value::Kind::Const) bits = divisor.value.bits;
    else bits = k_.constant_bits(divisor.value.id);
    if (bits == uint64_t{0}) return error(DiagKind::DivisionByZero, divisor.range, "division by zero");
  }
  return emit_elementwise(*op, *t, operands, range);
}

Value Evaluator::pointer_arithmetic(std::string_view spelling, const Ranged& a, const Ranged& b, Range range) {
  const Ranged& p = is_ptr(a.value) ? a : b;
  const Ranged& offset = is_ptr(a.value) ? b : a;
  if (offset.value.is_poison()) return Value::poison();
  bool integer =
      offset.value.kind == Value::Kind::Int ||
      ((offset.value.kind == Value::Kind::Const || (offset.value.is_runtime() && ir_type(offset.value).is_value())) &&
       is_int(type_of(offset.value).dtype));
  if (!integer || !(spelling == "add" || (spelling == "sub" && &p == &a)))
    return error(DiagKind::BadPointer, range,
                 fmt::format("{} of {} and {}", written(spelling), describe(a.value), describe(b.value)),
                 "a pointer takes `+` and `-` with integers, counted in elements", {note(a), note(b)});
  Value step = default_typed(offset.value);
  if (spelling == "sub") {
    if (!is_signed(type_of(step).dtype)) step = convert(step, DType::I64);
    step = elementwise("neg", {{step, offset.range}}, range);
  }
  std::optional<ir::Shape> shape = broadcast_shape(shape_of(p.value), shape_of(step));
  if (!shape)
    return error(DiagKind::BroadcastMismatch, range,
                 fmt::format("shapes {} and {} do not broadcast", ir::to_string(shape_of(p.value)),
                             ir::to_string(shape_of(step))),
                 {}, {note(p), note(offset)});
  b_.range = range;
  ir::ValueId base = materialize(broadcast_to(p.value, *shape)), by = materialize(broadcast_to(step, *shape));
  return Value::runtime(b_.make(OpKind::AddPtr, {base, by}, k_.type(base)));
}

Value Evaluator::negate_bool(const Ranged& v) {
  if (v.value.kind == Value::Kind::Const) return Value::boolean(v.value.bits == 0);
  b_.range = v.range;
  return Value::runtime(b_.elementwise(OpKind::Not, {v.value.id}));
}

Value Evaluator::matrix_product(const Ranged& a, const Ranged& b, const std::optional<Ranged>& acc, Range range) {
  for (const Ranged* o : {&a, &b}) {
    if (!check_numeric(*o, "dot")) return Value::poison();
    if (!is_tile(o->value) || shape_of(o->value).rank() != 2)
      return error(DiagKind::DotShapeMismatch, o->range,
                   fmt::format("dot takes tiles of two dimensions, but this is {}", describe(o->value)));
  }
  if (acc && acc->value.is_poison()) return Value::poison();
  DType ta = type_of(a.value).dtype, tb = type_of(b.value).dtype;
  auto fp8 = [](DType t) { return t == DType::F8E4M3 || t == DType::F8E5M2; };
  auto fnuz = [](DType t) { return t == DType::F8E4M3FNUZ || t == DType::F8E5M2FNUZ; };
  std::optional<DType> result;
  if (ta == tb && (ta == DType::F16 || ta == DType::BF16 || ta == DType::F32)) result = DType::F32;
  if ((fp8(ta) && fp8(tb)) || (fnuz(ta) && fnuz(tb))) result = DType::F32;
  if (ta == tb && ta == DType::F64) result = DType::F64;
  if (ta == tb && ta == DType::I8) result = DType::I32;
  if (!result) {
    std::string hint =
        ta != tb ? fmt::format("convert one of them: `as {}`", name(ta)) : "dot takes f16, bf16, f32, f64, i8 and fp8";
    return error(DiagKind::DotTypeMismatch, range,
                 fmt::format("dot of {} and {}", describe(a.value), describe(b.value)), hint, {note(a), note(b)});
  }
  ir::Shape sa = shape_of(a.value), sb = shape_of(b.value);
  if (sa[1] != sb[0])
    return error(DiagKind::DotShapeMismatch, range,
                 fmt::format("dot of {} and {}: the first has {} columns, the second {} rows", ir::to_string(sa),
                             ir::to_string(sb), sa[1], sb[0]),
                 sa[1] == sb[1] ? "transpose the second: `b.T`" : "", {note(a), note(b)});
  ir::Shape shape{sa[0], sb[1]};
  if (!check_shape(shape, range)) return Value::poison();
  b_.range = range;
  ir::ValueId c;
  if (acc) {
    Value v = assignable(*acc, *result, DiagKind::DotTypeMismatch,
                         fmt::format("the accumulator of dot on {}", name(ta)), {note(a)});
    if (v.is_poison()) return v;
    if (shape_of(v).rank() != 0 && !(shape_of(v) == shape))
      return error(
          DiagKind::DotShapeMismatch, acc->range,
          fmt::format("the accumulator is {}, but the product is {}", ir::to_string(shape_of(v)), ir::to_string(shape)),
          {}, {note(a), note(b)});
    c = materialize(broadcast_to(v, shape));
  } else {
    c = b_.constant(ir::Type::tile(*result, shape), 0);
  }
  return Value::runtime(b_.make(OpKind::Dot, {a.value.id, b.value.id, c}, ir::Type::tile(*result, shape)));
}

}  // namespace tile::sema
