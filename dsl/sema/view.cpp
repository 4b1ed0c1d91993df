// Loads from and stores to views.
#include <fmt/format.h>

#include "dsl/sema/evaluator.h"

namespace tile::sema {

std::optional<Evaluator::ViewIndex> Evaluator::view_index(const ast::Expr& e, const Ranged& base) {
  using Kind = ast::IndexItem::Kind;
  const std::vector<Value>& extents = view_extents_[base.value.id.index];
  std::vector<Ranged> indices;
  bool good = true;
  for (size_t i = 0; i < e.items.size(); ++i) {
    const ast::IndexItem& item = e.items[i];
    if (item.kind == Kind::Value) {
      indices.push_back(eval_ranged(*item.value));
      continue;
    }
    indices.push_back({Value::poison(), item.range});
    if (item.kind == Kind::None || item.begin || item.end || item.step) {
      error(DiagKind::NotIndexable, item.range,
            item.kind == Kind::None ? "`None` in the index of a view" : "a slice with bounds in the index of a view",
            item.kind == Kind::None ? "expand the loaded tile: `x[i][:, None]`"
                                    : "write the indices: `x[begin + arange(N)]`");
      good = false;
    } else if (i < extents.size()) {
      if (!known(extents[i])) {
        error(DiagKind::NonConstantShape, item.range,
              "`:` takes a whole dimension, whose extent is not a constant here",
              "write the indices: `arange(N)` with a constant N",
              {{base.range, fmt::format("this is {}", describe(base.value))}});
        good = false;
        continue;
      }
      std::optional<ir::Shape> s = shape_from({{extents[i], item.range}}, item.range);
      if (!s) {
        good = false;
        continue;
      }
      b_.range = item.range;
      indices.back().value =
          Value::runtime(b_.make(OpKind::Arange, {}, ir::Type::tile(DType::I32, *s), {{AttrKey::Start, int64_t{0}}}));
    }
  }
  if (!good) return std::nullopt;
  return view_index(base, indices, e.range);
}

std::optional<Evaluator::ViewIndex> Evaluator::view_index(const Ranged& base, const std::vector<Ranged>& given,
                                                          Range range) {
  std::vector<Ranged> indices = given;
  unsigned dims = ir_type(base.value).view_rank;
  if (indices.size() != dims) {
    for (const Ranged& i : indices)
      if (i.value.is_poison()) return std::nullopt;
    error(DiagKind::IndexCount, range,
          fmt::format("{} ind{} for a view of {} dimension{}", indices.size(), indices.size() == 1 ? "ex" : "ices",
                      dims, dims == 1 ? "" : "s"),
          "`:` takes all of a dimension", {note(base)});
    return std::nullopt;
  }
  bool good = true;
  unsigned tiles = 0, highest = 0;
  for (Ranged& i : indices) {
    if (i.value.is_poison()) {
      good = false;
      continue;
    }
    if (i.value.is_literal() && i.value.kind == Value::Kind::Int) i.value = default_typed(i.value);
    bool integer = (i.value.kind == Value::Kind::Const || (i.value.is_runtime() && ir_type(i.value).is_value())) &&
                   is_int(type_of(i.value).dtype);
    if (!integer) {
      error(DiagKind::IndexType, i.range, fmt::format("an index must be an integer, but this is {}", describe(i.value)),
            i.value.kind == Value::Kind::Float ||
                    (i.value.is_numeric() && !is_view(i.value) && !is_ptr(i.value) && is_float(type_of(i.value).dtype))
                ? "convert it: `i as i32`"
                : "");
      good = false;
      continue;
    }
    unsigned rank = shape_of(i.value).rank();
    tiles += rank > 0;
    highest = std::max(highest, rank);
  }
  if (!good) return std::nullopt;
  b_.range = range;
  if (highest > 1) {
    const Ranged* low = nullptr;
    const Ranged* high = nullptr;
    for (const Ranged& i : indices) {
      unsigned rank = shape_of(i.value).rank();
      if (rank == highest) high = high ? high : &i;
      else if (rank > 0) low = low ? low : &i;
    }
    if (low) {
      std::string one = text_of(low->range);
      error(DiagKind::MixedIndexRanks, range,
            fmt::format("index tiles of {} and {} dimensions in one index", shape_of(low->value).rank(), highest),
            "give all index tiles the same rank",
            {note(*low),
             note(*high),
             {low->range, fmt::format("as a row, which broadcasts with the other, it is `({})[None, :]`", one)},
             {low->range, fmt::format("as a column it is `({})[:, None]`", one)}});
      return std::nullopt;
    }
  } else if (tiles > 1) {  // an outer product: the n-th tile runs along dimension n
    if (tiles > 4) {
      error(DiagKind::RankTooLarge, range, fmt::format("a tile of {} dimensions, where at most 4 are allowed", tiles));
      return std::nullopt;
    }
    unsigned n = 0;
    for (Ranged& i : indices) {
      if (shape_of(i.value).rank() == 0) continue;
      ir::ValueId v = i.value.id;
      for (unsigned d = 0; d < tiles; ++d)
        if (d != n) v = b_.expand_dims(v, d);
      i.value = Value::runtime(v);
      ++n;
    }
  }
  ViewIndex at;
  at.view = base.value.id;
  for (const Ranged& i : indices) {
    std::optional<ir::Shape> s = broadcast_shape(at.shape, shape_of(i.value));
    if (!s) {
      std::vector<Note> notes;
      for (const Ranged& o : indices)
        if (shape_of(o.value).rank() > 0) notes.push_back(note(o));
      error(DiagKind::BroadcastMismatch, range, "index tiles whose shapes do not broadcast", {}, std::move(notes));
      return std::nullopt;
    }
    at.shape = *s;
  }
  if (!check_shape(at.shape, range)) return std::nullopt;
  for (const Ranged& i : indices) at.indices.push_back(materialize(i.value));
  return at;
}

Value Evaluator::load_view(const ViewIndex& at, const std::optional<Ranged>& other, Range range) {
  DType t = k_.type(at.view).dtype;
  std::vector<ir::ValueId> operands = {at.view};
  operands.insert(operands.end(), at.indices.begin(), at.indices.end());
  std::vector<ir::Attr> attrs;
  if (other) {
    Value v = assignable(*other, t, DiagKind::TypeMismatch, "`other`");
    if (v.is_poison()) return v;
    std::optional<ir::Shape> s = broadcast_shape(at.shape, shape_of(v));
    if (!s || !(*s == at.shape))
      return error(DiagKind::BroadcastMismatch, other->range,
                   fmt::format("`other` is {}, but the elements are {}", describe(v),
                               ir::to_string(ir::Type::tile(t, at.shape))));
    b_.range = range;
    operands.push_back(materialize(broadcast_to(v, at.shape)));
    attrs.push_back({AttrKey::HasOther, int64_t{1}});
  }
  b_.range = range;
  return Value::runtime(b_.make(OpKind::LoadView, std::move(operands), ir::Type::tile(t, at.shape), std::move(attrs)));
}

void Evaluator::store_view(const ast::Expr& target, const Ranged& value) {
  Ranged base = eval_ranged(*target.operands[0]);
  if (base.value.is_poison()) return;
  if (!is_view(base.value)) {
    std::string hint = is_ptr(base.value)    ? "write `store(p + i, value)`"
                       : is_tile(base.value) ? "a tile changes as a whole: `x = where(..., value, x)`"
                                             : "";
    error(DiagKind::StoreToValue, target.range, fmt::format("an element of {} is assigned", describe(base.value)), hint,
          {note(base)});
    return;
  }
  std::optional<ViewIndex> at = view_index(target, base);
  if (!at || value.value.is_poison()) return;
  DType t = ir_type(base.value).dtype;
  Value v = assignable(value, t, DiagKind::TypeMismatch, fmt::format("the view {}", text_of(base.range)),
                       {{base.range, fmt::format("this is {}", describe(base.value))}});
  if (v.is_poison()) return;
  std::optional<ir::Shape> s = broadcast_shape(at->shape, shape_of(v));
  if (!s || !(*s == at->shape)) {
    error(DiagKind::BroadcastMismatch, value.range,
          fmt::format("a value of shape {} is stored to elements of shape {}", ir::to_string(shape_of(v)),
                      ir::to_string(at->shape)),
          {},
          {{target.range, fmt::format("the index has shape {}", ir::to_string(at->shape))}, note({v, value.range})});
    return;
  }
  b_.range = target.range;
  std::vector<ir::ValueId> operands = {at->view, materialize(broadcast_to(v, at->shape))};
  operands.insert(operands.end(), at->indices.begin(), at->indices.end());
  b_.op(OpKind::StoreView, std::move(operands), {});
}

}  // namespace tile::sema
