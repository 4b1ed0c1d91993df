// The table of builtin functions, and those that make values or talk to the user.
#include <fmt/format.h>

#include "dsl/prelude/prelude.h"
#include "dsl/sema/evaluator.h"

namespace tile::sema {
namespace {

const BuiltinRow rows[] = {
#define TILE_BUILTIN(name, params, types, handler) {name, params, types, &Evaluator::handler},
#include "dsl/sema/builtins.def"
};

// Names with syntax of their own: NAME<T>[shape].
constexpr std::string_view create_names[] = {"zeros", "full"};
constexpr std::string_view constant_names[] = {"inf", "nan", "pi"};

}  // namespace

const BuiltinRow* find_builtin(std::string_view name) {
  for (const BuiltinRow& r : rows)
    if (r.name == name) return &r;
  return nullptr;
}

bool is_builtin_name(std::string_view name) {
  for (std::string_view n : create_names)
    if (n == name) return true;
  for (std::string_view n : constant_names)
    if (n == name) return true;
  if (find_builtin(name) || prelude::part_of(name) || parse_dtype(name)) return true;
  // Operators have spellings too (`add`); those that have no token are functions.
  for (unsigned i = 0; i < num_infix; ++i)
    if (infix_table[i].spelling == name) return false;
  return is_elementwise_spelling(name);
}

std::vector<std::string> builtin_names() {
  std::vector<std::string> names;
  for (std::string_view n : create_names) names.emplace_back(n);
  for (std::string_view n : constant_names) names.emplace_back(n);
  for (const BuiltinRow& r : rows) names.emplace_back(r.name);
  for (unsigned i = 0; i < num_elementwise; ++i)
    if (is_builtin_name(info(op_at(i)).spelling)) names.emplace_back(info(op_at(i)).spelling);
  for (const std::string& n : prelude::names()) names.push_back(n);
  return names;
}

Value Evaluator::builtin_arange(CallArgs& a) {
  Ranged start{Value::integer(0), a[0].range}, end = a.ranged(0);
  if (a[1].given) start = a.ranged(0), end = a.ranged(1);
  std::optional<Wide> low = constant_integer(start, DiagKind::NonConstantShape, "the start of arange");
  std::optional<Wide> high = constant_integer(end, DiagKind::NonConstantShape, "the extent of arange");
  if (!low || !high) return Value::poison();
  if (!holds_integer(DType::I32, *low) || !holds_integer(DType::I32, *high))
    return error(DiagKind::BadExtent, a.call->range, "arange beyond the range of i32");
  std::optional<ir::Shape> s = shape_from({{Value::integer(*high - *low), end.range}}, a.call->range);
  if (!s) return Value::poison();
  b_.range = a.call->range;
  return Value::runtime(
      b_.make(OpKind::Arange, {}, ir::Type::tile(DType::I32, *s), {{AttrKey::Start, static_cast<int64_t>(*low)}}));
}

namespace {

const char* const grid_axes = "the axis of the grid";

}  // namespace

Value Evaluator::builtin_program_id(CallArgs& a) {
  Wide axis = 0;
  if (a[0].given) {
    std::optional<Wide> w = constant_integer(a.ranged(0), DiagKind::NotConstant, grid_axes);
    if (!w) return Value::poison();
    axis = *w;
  }
  if (axis < 0 || axis > 2)
    return error(DiagKind::AxisOutOfRange, a[0].range, fmt::format("axis {} of the grid", to_text(axis)),
                 "a grid has axes 0, 1 and 2");
  return Value::runtime(
      b_.make(OpKind::ProgramId, {}, ir::Type::scalar(DType::I32), {{AttrKey::Axis, static_cast<int64_t>(axis)}}));
}

Value Evaluator::builtin_num_programs(CallArgs& a) {
  Value v = builtin_program_id(a);
  if (v.is_poison()) return v;
  k_.op(k_.value(v.id).def).kind = OpKind::NumPrograms;
  return v;
}

Value Evaluator::builtin_cdiv(CallArgs& a) {
  Ranged x = a.ranged(0), y = a.ranged(1);
  Range r = a.call->range;
  Value less_one = elementwise("sub", {y, {Value::integer(1), y.range}}, r);
  Value sum = elementwise("add", {x, {less_one, y.range}}, r);
  return elementwise("div", {{sum, x.range}, y}, r);
}

Value Evaluator::builtin_zeros_like(CallArgs& a) {
  std::optional<Ranged> x = tile_operand(a);
  if (!x) return Value::poison();
  return Value::runtime(b_.constant(type_of(x->value), 0));
}

Value Evaluator::builtin_full_like(CallArgs& a) {
  std::optional<Ranged> x = tile_operand(a);
  if (!x) return Value::poison();
  Value v = assignable(a.ranged(1), type_of(x->value).dtype, DiagKind::TypeMismatch, "full_like");
  if (v.is_poison()) return v;
  if (shape_of(v).rank() > 0)
    return error(DiagKind::NotAScalar, a[1].range,
                 fmt::format("full_like takes a scalar value, but this is {}", describe(v)));
  return broadcast_to(v, shape_of(x->value));
}

Value Evaluator::builtin_bitcast(CallArgs& a) {
  Ranged x = a.ranged(0);
  if (!check_numeric(x, "bitcast")) return Value::poison();
  DType to = a.types[0];
  if (x.value.is_literal()) {  // the literal as a number of the same width
    DType from = DType::I32;
    if (x.value.kind == Value::Kind::Int) {
      if (bit_width(to) == 64) from = DType::U64;
      else if (bit_width(to) == 32) from = DType::U32;
      else if (bit_width(to) == 16) from = DType::U16;
      else if (bit_width(to) == 8) from = DType::U8;
      if (x.value.wide < 0)
        from = bit_width(to) == 64   ? DType::I64
               : bit_width(to) == 16 ? DType::I16
               : bit_width(to) == 8  ? DType::I8
                                     : DType::I32;
    } else {
      from = bit_width(to) == 64 ? DType::F64 : DType::F32;
    }
    x.value = literal_as(x, from);
    if (x.value.is_poison()) return x.value;
  }
  ir::Type t = type_of(x.value);
  if (bit_width(t.dtype) != bit_width(to) || is_bool(t.dtype) || is_bool(to))
    return error(DiagKind::BitcastWidth, x.range,
                 fmt::format("bitcast from {} with {} bits to {} with {} bits", name(t.dtype), bit_width(t.dtype),
                             name(to), bit_width(to)),
                 "to convert the value write `as`");
  if (x.value.kind == Value::Kind::Const) return Value::constant(to, x.value.bits);
  if (t.dtype == to) return x.value;
  b_.range = a.call->range;
  return Value::runtime(b_.make(OpKind::Bitcast, {x.value.id}, t.with_dtype(to)));
}

namespace {

// The type that `is_float(x)` and its like ask about: a type, or that of a value.
std::optional<DType> asked_type(const Value& v, const ir::Type& t) {
  if (v.kind == Value::Kind::Type || v.kind == Value::Kind::Const) return v.dtype;
  if (v.is_runtime()) return t.dtype;
  return std::nullopt;
}

}  // namespace

Value Evaluator::builtin_is_float(CallArgs& a) {
  std::optional<DType> t = asked_type(a[0].value, a[0].value.is_runtime() ? ir_type(a[0].value) : ir::Type{});
  if (!t)
    return error(DiagKind::TypeMismatch, a[0].range,
                 fmt::format("{} takes a type, but this is {}", a.name, describe(a[0].value)));
  return Value::boolean(is_float(*t));
}

Value Evaluator::builtin_is_int(CallArgs& a) {
  std::optional<DType> t = asked_type(a[0].value, a[0].value.is_runtime() ? ir_type(a[0].value) : ir::Type{});
  if (!t)
    return error(DiagKind::TypeMismatch, a[0].range,
                 fmt::format("{} takes a type, but this is {}", a.name, describe(a[0].value)));
  return Value::boolean(is_int(*t));
}

Value Evaluator::builtin_bit_width(CallArgs& a) {
  std::optional<DType> t = asked_type(a[0].value, a[0].value.is_runtime() ? ir_type(a[0].value) : ir::Type{});
  if (!t)
    return error(DiagKind::TypeMismatch, a[0].range,
                 fmt::format("{} takes a type, but this is {}", a.name, describe(a[0].value)));
  return Value::integer(bit_width(*t));
}

Value Evaluator::builtin_accumulator(CallArgs& a) {
  if (a[0].value.kind != Value::Kind::Type)
    return error(DiagKind::TypeMismatch, a[0].range,
                 fmt::format("accumulator takes a type, but this is {}", describe(a[0].value)));
  DType t = a[0].value.dtype;
  if (t == DType::F64) return Value::type(t);
  if (is_float(t)) return Value::type(DType::F32);
  return Value::type(is_int(t) && bit_width(t) >= 32 ? t : DType::I32);
}

Value Evaluator::builtin_where(CallArgs& a) {
  const Value &c = a[0].value, &x = a[1].value, &y = a[2].value;
  // Between types, strings and bundles a condition known now chooses.
  bool chooses = !x.is_numeric() || !y.is_numeric() || is_view(x) || is_view(y);
  if (chooses && c.kind == Value::Kind::Const && is_bool(c.dtype)) return c.bits != 0 ? x : y;
  return elementwise("where", {a.ranged(0), a.ranged(1), a.ranged(2)}, a.call->range);
}

Value Evaluator::builtin_len(CallArgs& a) {
  if (a[0].value.is_bundle()) return Value::integer(static_cast<Wide>(a[0].value.items.size()));
  return error(DiagKind::NotATuple, a[0].range,
               fmt::format("len takes a tuple or list, but this is {}", describe(a[0].value)),
               "the extents of a tile are `x.shape`");
}

std::optional<std::string> Evaluator::message_of(const CallArgs& a, size_t i) {
  Value v = eval(*a[i].expr);
  if (v.is_poison()) return std::nullopt;
  if (v.kind == Value::Kind::String) return v.text;
  error(DiagKind::BadArgument, a[i].range, fmt::format("{} takes a string here, but this is {}", a.name, describe(v)),
        a.name == "print" ? "write `print(\"x = {}\", x)`" : "");
  return std::nullopt;
}

namespace {

size_t count_holes(std::string_view text) {
  size_t n = 0;
  for (size_t at = text.find("{}"); at != std::string_view::npos; at = text.find("{}", at + 2)) ++n;
  return n;
}

}  // namespace

Value Evaluator::builtin_print(CallArgs& a) {
  std::optional<std::string> text = message_of(a, 0);
  if (!text) return Value::poison();
  if (count_holes(*text) != a.rest.size() && count_holes(*text) != 0)
    return error(DiagKind::BadArgument, a[0].range,
                 fmt::format("{} places `{{}}` for {} values", count_holes(*text), a.rest.size()));
  std::string shown = *text;
  if (count_holes(shown) == 0)
    for (size_t i = 0; i < a.rest.size(); ++i) shown += " {}";
  std::vector<ir::ValueId> operands;
  for (const CallArgs::Arg& v : a.rest) {
    if (!check_numeric({v.value, v.range}, "print")) return Value::poison();
    operands.push_back(materialize(v.value));
  }
  b_.range = a.call->range;
  b_.op(OpKind::Print, std::move(operands), {}, {{AttrKey::Text, shown}});
  return Value::nothing();
}

Value Evaluator::builtin_static_print(CallArgs& a) {
  Value first = eval(*a[0].expr);
  if (first.is_poison()) return first;
  std::string out;
  std::string_view text = first.kind == Value::Kind::String ? std::string_view(first.text) : std::string_view();
  auto shown = [&](const Value& v) {
    if (!known(v)) return v.kind == Value::Kind::String ? v.text : describe(v);
    Value c = default_typed(v);
    return constant_text(c.dtype, c.bits);
  };
  if (first.kind != Value::Kind::String) out = shown(first);
  size_t next = 0;
  for (size_t at = 0; at < text.size();) {
    if (text.substr(at, 2) == "{}" && next < a.rest.size()) {
      out += shown(a.rest[next++].value);
      at += 2;
    } else {
      out += text[at++];
    }
  }
  for (; next < a.rest.size(); ++next) out += " " + shown(a.rest[next].value);
  diags_.emit(DiagKind::StaticPrint, a.call->range, std::move(out));
  return Value::nothing();
}

Value Evaluator::builtin_device_assert(CallArgs& a) {
  const Ranged c = a.ranged(0);
  if (!check_numeric(c, "device_assert")) return Value::poison();
  if (c.value.is_literal() || !is_bool(type_of(c.value).dtype))
    return error(DiagKind::NonBoolCondition, c.range,
                 fmt::format("device_assert takes a bool, but this is {}", describe(c.value)), "compare it: `x != 0`");
  std::string text = text_of(c.range);
  if (a[1].given) {
    std::optional<std::string> m = message_of(a, 1);
    if (!m) return Value::poison();
    text = *m;
  }
  b_.range = a.call->range;
  ir::ValueId v = materialize(c.value);
  b_.range = a.call->range;
  b_.op(OpKind::DeviceAssert, {v}, {}, {{AttrKey::Text, text}});
  return Value::nothing();
}

Value Evaluator::builtin_multiple_of(CallArgs& a) {
  std::optional<Wide> w = constant_integer(a.ranged(1), DiagKind::NotConstant, "the divisor");
  if (!w) return Value::poison();
  if (*w < 1)
    return error(DiagKind::BadArgument, a[1].range, fmt::format("multiple_of with the divisor {}", to_text(*w)));
  Ranged x = a.ranged(0);
  if (!check_numeric(x, "multiple_of")) return Value::poison();
  if (!x.value.is_literal() && !is_int(type_of(x.value).dtype))
    return error(DiagKind::TypeMismatch, x.range,
                 fmt::format("multiple_of takes integers, but this is {}", describe(x.value)));
  return x.value;
}

}  // namespace tile::sema
