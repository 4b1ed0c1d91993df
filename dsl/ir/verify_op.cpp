// Rules on types, attributes and blocks, one function a family of operations.
#include <algorithm>
#include <set>

#include "dsl/ir/layout_rules.h"
#include "dsl/ir/verify.h"

namespace tile::ir {
namespace {

const std::set<std::string> combines = {"sum", "prod", "max", "min", "max_nan", "min_nan", "and", "or", "xor"};

class Rules {
 public:
  Rules(const Kernel& k, OpId o, Stage stage, Violations& v) : k_(k), o_(k.op(o)), stage_(stage), v_(v) {}

  void run() {
    if (is_elementwise(o_.kind)) return elementwise();
    v_.check(o_.blocks.size() == info(o_.kind).blocks, "{} blocks, not {}", o_.blocks.size(), info(o_.kind).blocks);
    switch (o_.kind) {
#define TILE_EW(Kind, ...) case OpKind::Kind:
#include "dsl/ops/elementwise.def"
      break;
      case OpKind::Constant: if (counts(0, 1) && needs(AttrKey::Value)) constant(); break;
      case OpKind::Arange:
        if (counts(0, 1) && needs(AttrKey::Start))
          v_.check(result() == Type::tile(DType::I32, result().shape) && result().shape.rank() == 1, "the result is i32[n]");
        break;
      case OpKind::ProgramId:
      case OpKind::NumPrograms:
        if (counts(0, 1) && needs(AttrKey::Axis)) {
          v_.check(o_.get_int(AttrKey::Axis) >= 0 && o_.get_int(AttrKey::Axis) < 3, "the axis is 0, 1 or 2");
          v_.check(result() == Type::scalar(DType::I32), "the result is i32");
        }
        break;
      case OpKind::Cast: if (counts(1, 1)) cast(); break;
      case OpKind::Bitcast:
        if (counts(1, 1) && same_shape(0))
          v_.check(bit_width(operand(0).dtype) == bit_width(result().dtype), "the widths of {} and {} differ", to_string(operand(0)), to_string(result()));
        break;
      case OpKind::Splat:
        if (counts(1, 1)) v_.check(operand(0).shape.rank() == 0 && !operand(0).is_view() && result() == operand(0).with_shape(result().shape) && result().shape.rank() > 0, "{} does not splat to {}", to_string(operand(0)), to_string(result()));
        break;
      case OpKind::Broadcast: if (counts(1, 1)) broadcast(); break;
      case OpKind::ExpandDims: if (counts(1, 1) && axis_at_most(result().shape.rank())) {
        Shape s = result().shape;
        unsigned axis = static_cast<unsigned>(o_.get_int(AttrKey::Axis));
        v_.check(s[axis] == 1 && operand(0) == result().with_shape(s.without(axis)), "{} does not expand to {} at axis {}", to_string(operand(0)), to_string(result()), axis);
      } break;
      case OpKind::Reshape:
        if (counts(1, 1)) v_.check(!result().is_view() && result().shape.rank() > 0 && operand(0).shape.rank() > 0 && operand(0) == result().with_shape(operand(0).shape) && operand(0).shape.elements() == result().shape.elements(), "{} does not reshape to {}", to_string(operand(0)), to_string(result()));
        break;
      case OpKind::Trans: if (counts(1, 1)) trans(); break;
      case OpKind::Reduce: if (counts(1, 1)) reduce(); break;
      case OpKind::ArgReduce: if (counts(1, 2)) reduce(); break;
      case OpKind::Dot: if (counts(3, 1)) dot(); break;
      case OpKind::MakeView: make_view(); break;
      case OpKind::LoadView: load_view(); break;
      case OpKind::StoreView: store_view(); break;
      case OpKind::InBounds: if (at_least(1, 1) && is_view(0)) {
        indices(1, o_.operands.size(), result().shape);
        v_.check(result().dtype == DType::Bool && result().is_value(), "the result is bool");
      } break;
      case OpKind::AddPtr:
        if (counts(2, 1)) v_.check(operand(0).is_ptr() && operand(0) == result() && operand(1).is_value() && is_int(operand(1).dtype) && operand(1).shape == result().shape, "operands {} and {} do not give {}", to_string(operand(0)), to_string(operand(1)), to_string(result()));
        break;
      case OpKind::Load: load(); break;
      case OpKind::Store: store(); break;
      case OpKind::For: if (at_least(3, 0)) for_loop(); break;
      case OpKind::While: while_loop(); break;
      case OpKind::If: if (at_least(1, 0) && v_.check(o_.operands.size() == 1, "it takes the condition only")) branch(); break;
      case OpKind::Yield: results(0); break;
      case OpKind::Condition: if (at_least(1, 0)) v_.check(operand(0) == Type::scalar(DType::Bool), "the condition is a bool"); break;
      case OpKind::Return: counts(0, 0); break;
      case OpKind::Print: results(0); needs(AttrKey::Text); break;
      case OpKind::DeviceAssert:
        if (counts(1, 0) && needs(AttrKey::Text)) v_.check(operand(0).is_value() && operand(0).dtype == DType::Bool, "the condition is bool");
        break;
      case OpKind::ConvertLayout:
        if (counts(1, 1)) v_.check(operand(0) == result() && !result().is_view() && result().shape.rank() > 0, "it changes {} to {}", to_string(operand(0)), to_string(result()));
        v_.check(stage_ >= Stage::Layout, "there are no layouts yet");
        break;
      case OpKind::Barrier: counts(0, 0); break;
    }
  }

 private:
  const Type& operand(size_t i) const { return k_.type(o_.operands[i]); }
  const Type& result(size_t i = 0) const { return k_.type(o_.results[i]); }

  bool results(size_t n) { return v_.check(o_.results.size() == n, "{} results, not {}", o_.results.size(), n); }
  bool counts(size_t operands, size_t results) {
    return v_.check(o_.operands.size() == operands, "{} operands, not {}", o_.operands.size(), operands) & this->results(results);
  }
  bool at_least(size_t operands, size_t results) {
    if (results != 0 && !this->results(results)) return false;
    return v_.check(o_.operands.size() >= operands, "{} operands, at least {} are needed", o_.operands.size(), operands);
  }
  bool needs(AttrKey key) { return v_.check(o_.has(key), "attribute `{}` is missing", info(key).name); }
  bool is_view(size_t i) { return v_.check(operand(i).is_view(), "operand {} is a {}, not a view", i, to_string(operand(i))); }
  bool same_shape(size_t i) {
    return v_.check(operand(i).kind == result().kind && operand(i).shape == result().shape, "operand {} is {}, the result {}", i, to_string(operand(i)), to_string(result()));
  }
  bool axis_at_most(unsigned rank) {
    if (!needs(AttrKey::Axis)) return false;
    int64_t axis = o_.get_int(AttrKey::Axis);
    return v_.check(axis >= 0 && axis < static_cast<int64_t>(rank), "axis {} of {} dimensions", axis, rank);
  }

  void elementwise() {
    const OpInfo& row = info(o_.kind);
    v_.check(o_.blocks.empty(), "it has nested blocks");
    if (!counts(row.arity, 1)) return;
    Type t = operand(row.arity - 1);
    v_.check(t.is_value(), "the operands are values, not {}", to_string(t));
    v_.check(in_domain(row.domain, t.dtype), "it is not defined on {}", name(t.dtype));
    for (unsigned i = 0; i < row.arity; ++i) {
      Type want = row.form == Form::Select && i == 0 ? t.with_dtype(DType::Bool) : t;
      v_.check(operand(i) == want, "operand {} is {}, not {}", i, to_string(operand(i)), to_string(want));
    }
    Type want = row.form == Form::Cmp ? t.with_dtype(DType::Bool) : t;
    v_.check(result() == want, "the result is {}, not {}", to_string(result()), to_string(want));
  }

  void constant() {
    v_.check(result().is_value(), "a constant of type {}", to_string(result()));
    unsigned bits = bit_width(result().dtype);
    v_.check(bits == 64 || o_.get_bits(AttrKey::Value) >> bits == 0, "the value has more than {} bits", bits);
  }

  void cast() {
    same_shape(0);
    v_.check(operand(0).is_value(), "only values are converted");
    std::string rounding = o_.get_text(AttrKey::Rounding, "rtne");
    v_.check(rounding == "rtne" || rounding == "rtz", "rounding `{}`", rounding);
    int64_t sat = o_.get_int(AttrKey::Saturate, 1);
    v_.check(sat == 0 || sat == 1, "saturate is 0 or 1");
  }

  // True if `from` repeats along its extents of 1 to `to`.
  static bool broadcasts(const Shape& from, const Shape& to) {
    if (from.rank() != to.rank()) return false;
    for (unsigned i = 0; i < from.rank(); ++i)
      if (from[i] != to[i] && from[i] != 1) return false;
    return true;
  }

  void broadcast() {
    v_.check(!result().is_view() && result().shape.rank() > 0 && result() == operand(0).with_shape(result().shape) && broadcasts(operand(0).shape, result().shape),
             "{} does not broadcast to {}", to_string(operand(0)), to_string(result()));
  }

  void trans() {
    std::vector<int64_t> perm = o_.get_ints(AttrKey::Perm), sorted = perm;
    std::sort(sorted.begin(), sorted.end());
    bool ok = perm.size() == operand(0).shape.rank() && !perm.empty();
    for (size_t i = 0; i < sorted.size(); ++i) ok &= sorted[i] == static_cast<int64_t>(i);
    if (!v_.check(ok, "perm is no permutation of the dimensions")) return;
    Shape s;
    for (int64_t p : perm) s.push_back(operand(0).shape[static_cast<unsigned>(p)]);
    v_.check(result() == operand(0).with_shape(s), "the result is {}, not {}", to_string(result()), to_string(s));
  }

  void reduce() {
    if (!v_.check(operand(0).is_tile(), "it reduces a {}", to_string(operand(0))) || !axis_at_most(operand(0).shape.rank())) return;
    unsigned axis = static_cast<unsigned>(o_.get_int(AttrKey::Axis));
    Type want = operand(0).with_shape(operand(0).shape.without(axis));
    v_.check(result() == want, "the result is {}, not {}", to_string(result()), to_string(want));
    std::string combine = o_.get_text(AttrKey::Combine);
    DType t = operand(0).dtype;
    if (o_.kind == OpKind::ArgReduce) {
      v_.check(result(1) == want.with_dtype(DType::I32), "the index is {}, not {}", to_string(result(1)), to_string(want.with_dtype(DType::I32)));
      v_.check(combine == "max" || combine == "min", "combine `{}`, not max or min", combine);
    } else {
      v_.check(combines.count(combine) != 0, "combine `{}`", combine);
      bool bitwise = combine == "and" || combine == "or" || combine == "xor";
      v_.check(bitwise ? is_int(t) || is_bool(t) : is_int(t) || is_arith_float(t), "`{}` is not defined on {}", combine, name(t));
      v_.check(is_float(t) || !combine.ends_with("_nan"), "`{}` is for floats", combine);
    }
    if (stage_ < Stage::Fixed || !needs(AttrKey::Order)) return;
    std::vector<int64_t> order = o_.get_ints(AttrKey::Order);
    std::sort(order.begin(), order.end());
    bool ok = order.size() == axis_bits(operand(0).shape[axis]);
    for (size_t i = 0; i < order.size(); ++i) ok &= order[i] == static_cast<int64_t>(i);
    v_.check(ok, "order is no permutation of the {} bits of the axis", axis_bits(operand(0).shape[axis]));
  }

  void dot() {
    const Shape &a = operand(0).shape, &b = operand(1).shape, &c = operand(2).shape;
    bool tiles = operand(0).is_tile() && operand(1).is_tile() && operand(2).is_tile();
    if (!v_.check(tiles && a.rank() == 2 && b.rank() == 2 && c.rank() == 2 && a[1] == b[0] && a[0] == c[0] && b[1] == c[1],
                  "{} @ {} + {}", to_string(operand(0)), to_string(operand(1)), to_string(operand(2))))
      return;
    v_.check(result() == operand(2), "the result is {}, not {}", to_string(result()), to_string(operand(2)));
    if (stage_ < Stage::Fixed || !needs(AttrKey::Mfma)) return;
    if (o_.get_text(AttrKey::Mfma) == "fma") {
      v_.check(operand(0).dtype == operand(1).dtype && operand(0).dtype == operand(2).dtype && is_arith_float(operand(2).dtype),
               "a chain of fma has one float type");
      return;
    }
    std::optional<MfmaId> id = mfma_of(o_);
    if (!v_.check(id.has_value(), "`{}` is no matrix instruction", o_.get_text(AttrKey::Mfma))) return;
    mfma_types(*id);
    if (!needs(AttrKey::WaveGrid) || !needs(AttrKey::KBits)) return;
    std::vector<int64_t> grid = o_.get_ints(AttrKey::WaveGrid);
    v_.check(grid.size() == 2 && grid[0] >= 1 && grid[1] >= 1 && grid[0] * grid[1] == static_cast<int64_t>(layout_waves(k_)),
             "the wave grid does not make {} waves", layout_waves(k_));
    std::vector<int64_t> bits = o_.get_ints(AttrKey::KBits);
    std::sort(bits.begin(), bits.end());
    unsigned want = std::max(axis_bits(a[1]), axis_bits(tile::info(*id).k));
    bool ok = bits.size() == want;
    for (size_t i = 0; i < bits.size(); ++i) ok &= bits[i] == static_cast<int64_t>(i);
    v_.check(ok, "k_bits is no permutation of the {} bits of K", want);
  }

  bool takes(MfmaType m, DType t) const {
    switch (m) {
      case MfmaType::F32: return t == DType::F32;
      case MfmaType::F64: return t == DType::F64;
      case MfmaType::F16: return t == DType::F16;
      case MfmaType::BF16: return t == DType::BF16;
      case MfmaType::I8: return t == DType::I8;
      case MfmaType::I32: return t == DType::I32;
      case MfmaType::Xf32: return t == DType::F32;
      case MfmaType::Fp8: return native_fp8(k_.arch) == t;
      case MfmaType::Bf8: return native_bf8(k_.arch) == t;
      case MfmaType::F8F6F4: return bit_width(t) <= 8 && is_float(t) && t != DType::F8E8M0;
    }
    return false;
  }

  void mfma_types(MfmaId id) {
    const MfmaInfo& row = tile::info(id);
    v_.check(exists_on(id, k_.arch), "{} does not exist on {}", row.kind, name(k_.arch));
    v_.check(takes(row.a, operand(0).dtype) && takes(row.b, operand(1).dtype) && takes(row.cd, operand(2).dtype),
             "{} does not take {}, {} and {}", row.kind, name(operand(0).dtype), name(operand(1).dtype), name(operand(2).dtype));
  }

  // Operands [begin, end) are scalar integers or tiles that broadcast to `shape`.
  void indices(size_t begin, size_t end, const Shape& shape) {
    const Type& view = operand(0);
    v_.check(end - begin == view.view_rank, "{} indices for {}", end - begin, to_string(view));
    for (size_t i = begin; i < end; ++i) {
      const Type& t = operand(i);
      v_.check(t.is_value() && is_int(t.dtype) && (t.shape.rank() == 0 || broadcasts(t.shape, shape)), "index {} is {}, the tile {}", i - begin, to_string(t), to_string(shape));
    }
  }

  void make_view() {
    if (!at_least(1, 1)) return;
    unsigned rank = result().view_rank;
    v_.check(result().is_view() && operand(0) == Type::ptr(result().dtype), "{} makes {}", to_string(operand(0)), to_string(result()));
    if (!v_.check(o_.operands.size() == 1 + 2 * static_cast<size_t>(rank), "{} operands, not {}", o_.operands.size(), 1 + 2 * rank)) return;
    for (size_t i = 1; i < o_.operands.size(); ++i)
      v_.check(operand(i).is_scalar() && is_int(operand(i).dtype), "extent or stride {} is {}", i, to_string(operand(i)));
  }

  void load_view() {
    if (!at_least(1, 1) || !is_view(0)) return;
    bool other = o_.get_int(AttrKey::HasOther) != 0;
    if (!v_.check(o_.operands.size() > other, "the last operand is missing")) return;
    size_t end = o_.operands.size() - other;
    v_.check(result().is_value() && result().dtype == operand(0).dtype, "a {} loads {}", to_string(operand(0)), to_string(result()));
    indices(1, end, result().shape);
    if (other) v_.check(operand(end) == result() || operand(end) == result().with_shape({}), "`other` is {}, the tile {}", to_string(operand(end)), to_string(result()));
  }

  void store_view() {
    if (!at_least(2, 0) || !is_view(0) || !results(0)) return;
    v_.check(operand(1).is_value() && operand(1).dtype == operand(0).dtype, "{} is stored to {}", to_string(operand(1)), to_string(operand(0)));
    indices(2, o_.operands.size(), operand(1).shape);
  }

  void load() {
    size_t mask = o_.get_int(AttrKey::HasMask) != 0, other = o_.get_int(AttrKey::HasOther) != 0;
    if (!counts(1 + mask + other, 1)) return;
    v_.check(operand(0).is_ptr() && result() == Type::tile(operand(0).dtype, operand(0).shape), "{} loads {}", to_string(operand(0)), to_string(result()));
    if (mask) v_.check(operand(1) == result().with_dtype(DType::Bool), "the mask is {}, the tile {}", to_string(operand(1)), to_string(result()));
    if (other) v_.check(operand(1 + mask) == result() || operand(1 + mask) == result().with_shape({}), "`other` is {}, the tile {}", to_string(operand(1 + mask)), to_string(result()));
  }

  void store() {
    size_t mask = o_.get_int(AttrKey::HasMask) != 0;
    if (!counts(2 + mask, 0)) return;
    Type tile = Type::tile(operand(0).dtype, operand(0).shape);
    v_.check(operand(0).is_ptr() && operand(1) == tile, "{} is stored to {}", to_string(operand(1)), to_string(operand(0)));
    if (mask) v_.check(operand(2) == tile.with_dtype(DType::Bool), "the mask is {}, the tile {}", to_string(operand(2)), to_string(tile));
  }

  // The types of a block's arguments, or the operands of the operation that ends it, against a list of values.
  void same_types(const std::vector<ValueId>& have, size_t skip, const std::vector<ValueId>& want, size_t skip_want, const char* what) {
    if (!v_.check(have.size() - std::min(skip, have.size()) == want.size() - std::min(skip_want, want.size()) && have.size() >= skip, "the number of {} does not fit", what)) return;
    for (size_t i = skip; i < have.size(); ++i) {
      const Type &h = k_.type(have[i]), &w = k_.type(want[i - skip + skip_want]);
      v_.check(h == w, "{} {} is {}, not {}", what, i - skip, to_string(h), to_string(w));
    }
  }
  const std::vector<ValueId>& args(size_t i) const { return k_.block(o_.blocks[i]).args; }
  std::vector<ValueId> ends(size_t i) const {
    const std::vector<OpId>& ops = k_.block(o_.blocks[i]).ops;
    return ops.empty() ? std::vector<ValueId>{} : k_.op(ops.back()).operands;
  }

  void for_loop() {
    const Type& iv = operand(0);
    v_.check(iv.is_scalar() && is_int(iv.dtype) && operand(1) == iv && operand(2) == iv, "the bounds are one integer type");
    if (o_.blocks.size() != 1 || !v_.check(!args(0).empty() && k_.type(args(0)[0]) == iv, "the loop variable is missing")) return;
    same_types(o_.operands, 3, o_.results, 0, "initial values");
    same_types(args(0), 1, o_.results, 0, "block arguments");
    same_types(ends(0), 0, o_.results, 0, "yielded values");
  }

  void while_loop() {
    if (o_.blocks.size() != 2) return;
    same_types(o_.operands, 0, args(0), 0, "initial values");
    same_types(ends(0), 1, o_.results, 0, "values of the condition");
    same_types(args(1), 0, o_.results, 0, "arguments of the body");
    same_types(ends(1), 0, args(0), 0, "yielded values");
  }

  void branch() {
    v_.check(operand(0) == Type::scalar(DType::Bool), "the condition is a bool");
    if (o_.blocks.size() != 2) return;
    for (size_t i = 0; i < 2; ++i) {
      v_.check(args(i).empty(), "a branch has no arguments");
      same_types(ends(i), 0, o_.results, 0, "yielded values");
    }
  }

  const Kernel& k_;
  const Op& o_;
  Stage stage_;
  Violations& v_;
};

}  // namespace

void verify_op(const Kernel& k, OpId o, Stage stage, Violations& v) { Rules(k, o, stage, v).run(); }

}  // namespace tile::ir
