// `x[...]` on bundles and tiles; views are in view.cpp.
#include <fmt/format.h>

#include "dsl/sema/evaluator.h"

namespace tile::sema {
namespace {

using Kind = ast::IndexItem::Kind;

bool is_full_slice(const ast::IndexItem& i) { return i.kind == Kind::Slice && !i.begin && !i.end && !i.step; }

}  // namespace

Value Evaluator::eval_index(const ast::Expr& e) {
  Ranged base = eval_ranged(*e.operands[0]);
  if (base.value.is_poison()) {
    for (const ast::IndexItem& i : e.items)
      if (i.value) eval(*i.value);
    return base.value;
  }
  if (base.value.is_bundle()) return index_bundle(e, base.value);
  if (is_view(base.value)) {
    std::optional<ViewIndex> at = view_index(e, base);
    return at ? load_view(*at, std::nullopt, e.range) : Value::poison();
  }
  if (base.value.is_numeric() && !base.value.is_literal() && !is_ptr(base.value)) return index_tile(e, base.value);
  if (is_ptr(base.value)) {
    bool only_shape = shape_of(base.value).rank() > 0;
    for (const ast::IndexItem& i : e.items) only_shape = only_shape && (i.kind == Kind::None || is_full_slice(i));
    if (only_shape) return index_tile(e, base.value);
    return error(DiagKind::NotIndexable, e.range, "a pointer has no elements to index", "write `load(p + i)`",
                 {note(base)});
  }
  std::string hint = base.value.kind == Value::Kind::Builtin
                         ? fmt::format("a shape follows a type: `{}<f32>[M, N]`", base.value.text)
                         : "";
  return error(DiagKind::NotIndexable, base.range, fmt::format("{} cannot be indexed", describe(base.value)), hint);
}

Value Evaluator::index_bundle(const ast::Expr& e, const Value& base) {
  if (e.items.size() != 1 || e.items[0].kind != Kind::Value)
    return error(DiagKind::NotIndexable, e.range, "a tuple or list takes one constant index");
  std::optional<Wide> i =
      eval_constant_integer(*e.items[0].value, DiagKind::NotConstant, "the index of a tuple or list");
  if (!i) return Value::poison();
  Wide size = static_cast<Wide>(base.items.size());
  Wide at = *i < 0 ? *i + size : *i;
  if (at < 0 || at >= size)
    return error(DiagKind::NotIndexable, e.items[0].range,
                 fmt::format("index {} of {} values", to_text(*i), base.items.size()));
  return base.items[static_cast<size_t>(at)];
}

// One element along an axis, by a reduction that selects it: exact for every type, bits unchanged.
Value Evaluator::take_element(const Value& tile, unsigned axis, const Ranged& index) {
  ir::Shape s = shape_of(tile);
  if (known(index.value)) {
    std::optional<Wide> i = constant_integer(index, DiagKind::NotConstant, "the index");
    if (!i) return Value::poison();
    if (*i < 0 || *i >= s[axis])
      return error(DiagKind::NotIndexable, index.range,
                   fmt::format("index {} of a dimension of extent {}", to_text(*i), s[axis]));
  }
  DType t = ir_type(tile).dtype;
  if (is_packed(t))
    return error(DiagKind::NarrowFloatArithmetic, index.range, fmt::format("an element of {}", describe(tile)),
                 "convert first: `x as f32`");
  ir::ValueId v = tile.id;
  DType raw = t;
  if (is_float(t)) {
    raw = bit_width(t) == 8    ? DType::U8
          : bit_width(t) == 16 ? DType::U16
          : bit_width(t) == 32 ? DType::U32
                               : DType::U64;
    v = b_.make(OpKind::Bitcast, {v}, ir::Type::tile(raw, s));
  }
  Value i = default_typed(index.value);
  DType ti = type_of(i).dtype;
  ir::ValueId position =
      b_.make(OpKind::Arange, {}, ir::Type::tile(DType::I32, {s[axis]}), {{AttrKey::Start, int64_t{0}}});
  Value wanted = bit_width(ti) < 32 ? convert(i, DType::I32) : i;
  ti = type_of(wanted).dtype;
  if (ti != DType::I32) position = b_.cast(position, ti);
  ir::ValueId mask = b_.elementwise(OpKind::EqI, {position, materialize(broadcast_to(wanted, ir::Shape{s[axis]}))});
  for (unsigned d = 0; d < s.rank(); ++d)
    if (d != axis) mask = b_.expand_dims(mask, d);
  mask = b_.broadcast(mask, s);
  ir::ValueId zero = b_.constant(ir::Type::tile(raw, s), 0);
  ir::ValueId selected = b_.elementwise(OpKind::Where, {mask, v, zero});
  ir::ValueId r = b_.make(OpKind::Reduce, {selected}, ir::Type::tile(raw, s.without(axis)),
                          {{AttrKey::Axis, static_cast<int64_t>(axis)}, {AttrKey::Combine, std::string("or")}});
  if (raw != t) r = b_.make(OpKind::Bitcast, {r}, ir::Type::tile(t, s.without(axis)));
  return Value::runtime(r);
}

Value Evaluator::index_tile(const ast::Expr& e, const Value& base) {
  if (shape_of(base).rank() == 0 && base.kind == Value::Kind::Const)
    return error(DiagKind::NotIndexable, e.range, "a scalar has no elements to index");
  unsigned rank = shape_of(base).rank(), used = 0;
  for (const ast::IndexItem& i : e.items) used += i.kind != Kind::None;
  if (rank == 0 && used > 0)
    return error(DiagKind::NotIndexable, e.range,
                 fmt::format("{} is a scalar: it has no elements to index", describe(base)));
  if (used > rank)
    return error(
        DiagKind::IndexCount, e.range,
        fmt::format("{} indices for {}, which has {} dimension{}", used, describe(base), rank, rank == 1 ? "" : "s"));
  unsigned added = static_cast<unsigned>(e.items.size()) - used;
  if (rank + added > 4)
    return error(DiagKind::RankTooLarge, e.range,
                 fmt::format("a tile of {} dimensions, where at most 4 are allowed", rank + added));
  Value v = base;
  unsigned axis = 0;
  for (const ast::IndexItem& i : e.items) {
    b_.range = e.range;
    if (i.kind == Kind::None) {
      v = Value::runtime(b_.expand_dims(materialize(v), axis++));
    } else if (i.kind == Kind::Slice) {
      if (!is_full_slice(i))
        return error(DiagKind::NotIndexable, i.range, "a part of a tile cannot be taken by a slice",
                     "`:` takes all of a dimension; index the view instead");
      ++axis;
    } else {
      Ranged index = eval_ranged(*i.value);
      if (index.value.is_poison()) return index.value;
      b_.range = e.range;
      bool integer =
          index.value.kind == Value::Kind::Int ||
          ((index.value.kind == Value::Kind::Const || (index.value.is_runtime() && ir_type(index.value).is_value())) &&
           is_int(type_of(index.value).dtype));
      if (!integer)
        return error(DiagKind::IndexType, i.range,
                     fmt::format("an index must be an integer, but this is {}", describe(index.value)));
      if (is_tile(index.value))
        return error(DiagKind::NotIndexable, i.range, "a tile is indexed by a tile",
                     "a tile takes constants, `:`, `None` or one scalar; a view takes index tiles");
      v = take_element(v, axis, index);
      if (v.is_poison()) return v;
    }
  }
  return v;
}

}  // namespace tile::sema
