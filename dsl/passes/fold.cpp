#include "dsl/passes/fold.h"

#include <array>
#include <cstring>

#include "dsl/num/kernels.h"

namespace tile::passes {

using namespace ir;

namespace {

uint64_t ones(DType t) { return ~uint64_t{0} >> (64 - bit_width(t)); }

// Bits of 1.0; nothing for types without arithmetic.
std::optional<uint64_t> float_one(DType t) {
  if (!is_arith_float(t)) return std::nullopt;
  return static_cast<uint64_t>(info(t).bias) << info(t).man_bits;
}

class Folder {
 public:
  Folder(Kernel& k, OpId id, unsigned& folded) : k_(k), id_(id), o_(k.op(id)), type_(k.type(o_.results[0])), folded_(folded) {}

  std::optional<ValueId> run() {
    if (is_elementwise(o_.kind)) {
      if (info(o_.kind).fidelity != Fidelity::Exact) return std::nullopt;
      if (auto v = constants()) return v;
      if (auto v = identity()) return v;
      return scalars();
    }
    switch (o_.kind) {
      case OpKind::Cast: case OpKind::Bitcast:
        if (k_.type(operand(0)) == type_) return operand(0);
        if (auto v = conversion()) return v;
        return scalars();
      case OpKind::Splat: case OpKind::Broadcast: case OpKind::ExpandDims: case OpKind::Reshape: case OpKind::Trans:
        return shape();
      default: return std::nullopt;
    }
  }

 private:
  ValueId operand(size_t i) const { return o_.operands[i]; }
  std::optional<uint64_t> bits(size_t i) const {
    return k_.type(operand(i)).is_value() ? k_.constant_bits(operand(i)) : std::nullopt;
  }
  bool is(size_t i, std::optional<uint64_t> want) const { return want && bits(i) == want; }
  Builder before() const { return Builder::before(k_, id_); }
  ValueId constant(uint64_t v) const { return before().constant(type_, v); }

  // All operands constant: done by the arithmetic that the interpreter has.
  std::optional<ValueId> constants() {
    if (!type_.is_value() || o_.operands.empty()) return std::nullopt;
    std::array<uint64_t, 3> in{};
    for (size_t i = 0; i < o_.operands.size(); ++i) {
      if (!bits(i)) return std::nullopt;
      in[i] = *bits(i);
    }
    auto kernel = num::elementwise_kernel(o_.kind, k_.type(o_.operands.back()).dtype);
    if (!kernel) return std::nullopt;
    uint64_t out = 0;
    kernel(&in[0], &in[1], &in[2], &out, 1);
    ++folded_;
    return constant(out);
  }

  std::optional<ValueId> conversion() {
    if (!bits(0)) return std::nullopt;
    uint64_t in = *bits(0), out = in;
    if (o_.kind == OpKind::Cast) {
      num::ConvertMode mode;
      if (o_.get_text(AttrKey::Rounding) == "rtz") mode.rounding = num::Rounding::TowardZero;
      mode.saturate = o_.get_int(AttrKey::Saturate, 1) != 0;
      out = 0;
      num::convert(k_.type(operand(0)).dtype, type_.dtype, mode, &in, &out, 1);
    }
    ++folded_;
    return constant(out);
  }

  // x op neutral = x, and the like. Floats only where it holds for -0, Inf and NaN as well.
  std::optional<ValueId> identity() {
    DType t = k_.type(o_.operands.back()).dtype;
    bool same = o_.operands.size() == 2 && operand(0) == operand(1);
    uint64_t all = ones(t), minus_zero = is_float(t) ? uint64_t{1} << (bit_width(t) - 1) : 0;
    switch (o_.kind) {
      case OpKind::AddI: case OpKind::Or: case OpKind::Xor:
        if (is(1, 0)) return operand(0);
        if (is(0, 0)) return operand(1);
        if (o_.kind == OpKind::Or && (is(0, all) || is(1, all))) return constant(all);
        if (o_.kind == OpKind::Or && same) return operand(0);
        if (o_.kind == OpKind::Xor && same) return constant(0);
        break;
      case OpKind::And:
        if (is(1, all) || same) return operand(0);
        if (is(0, all)) return operand(1);
        if (is(0, 0) || is(1, 0)) return constant(0);
        break;
      case OpKind::SubI:
        if (is(1, 0)) return operand(0);
        if (same) return constant(0);
        break;
      case OpKind::MulI:
        if (is(1, 1)) return operand(0);
        if (is(0, 1)) return operand(1);
        if (is(0, 0) || is(1, 0)) return constant(0);
        break;
      case OpKind::DivS: case OpKind::DivU:
        if (is(1, 1)) return operand(0);
        break;
      case OpKind::RemS: case OpKind::RemU:
        if (is(1, 1)) return constant(0);
        break;
      case OpKind::Shl: case OpKind::ShrS: case OpKind::ShrU:
        if (is(1, 0)) return operand(0);
        break;
      case OpKind::MinS: case OpKind::MinU: case OpKind::MaxS: case OpKind::MaxU:
        if (same) return operand(0);
        break;
      case OpKind::AddF:
        if (is(1, minus_zero)) return operand(0);
        if (is(0, minus_zero)) return operand(1);
        break;
      case OpKind::SubF:
        if (is(1, 0)) return operand(0);
        break;
      case OpKind::MulF:
        if (is(1, float_one(t))) return operand(0);
        if (is(0, float_one(t))) return operand(1);
        break;
      case OpKind::DivF:
        if (is(1, float_one(t))) return operand(0);
        break;
      case OpKind::NegF: case OpKind::NegI: case OpKind::Not:
        if (const Op* d = k_.def(operand(0)); d && d->kind == o_.kind) return d->operands[0];
        break;
      case OpKind::EqI: case OpKind::LeS: case OpKind::LeU: case OpKind::GeS: case OpKind::GeU:
        if (same) return constant(1);
        break;
      case OpKind::NeI: case OpKind::LtS: case OpKind::LtU: case OpKind::GtS: case OpKind::GtU:
        if (same) return constant(0);
        break;
      case OpKind::Where:
        if (auto c = bits(0)) return operand(*c != 0 ? 1 : 2);
        if (operand(1) == operand(2)) return operand(1);
        break;
      default: break;
    }
    return std::nullopt;
  }

  // The scalar that a tile repeats, if it repeats one.
  std::optional<ValueId> scalar_of(ValueId v) {
    const Op* d = k_.def(v);
    if (d && d->kind == OpKind::Splat) return d->operands[0];
    if (d && d->kind == OpKind::Constant) return before().constant(k_.type(v).with_shape({}), d->get_bits(AttrKey::Value));
    return std::nullopt;
  }

  // f(splat x, splat y) = splat f(x, y).
  std::optional<ValueId> scalars() {
    if (type_.shape.rank() == 0) return std::nullopt;
    bool any_splat = false;
    for (ValueId v : o_.operands) {
      const Op* d = k_.def(v);
      if (!d || (d->kind != OpKind::Splat && d->kind != OpKind::Constant)) return std::nullopt;
      any_splat |= d->kind == OpKind::Splat;
    }
    if (!any_splat) return std::nullopt;
    std::vector<ValueId> operands;
    for (ValueId v : o_.operands) operands.push_back(*scalar_of(v));
    Builder b = before();
    return b.splat(b.make(o_.kind, operands, type_.with_shape({}), o_.attrs), type_.shape);
  }

  std::optional<ValueId> shape() {
    const Type& from = k_.type(operand(0));
    if (from == type_ && o_.kind != OpKind::Trans) return operand(0);
    if (bits(0)) return constant(*bits(0));
    const Op* d = k_.def(operand(0));
    if (!d || o_.kind == OpKind::Splat) return std::nullopt;
    if (d->kind == OpKind::Splat) return before().splat(ValueId(d->operands[0]), type_.shape);
    if (d->kind == OpKind::Reshape && o_.kind == OpKind::Reshape) return before().make(OpKind::Reshape, {ValueId(d->operands[0])}, type_);
    if (o_.kind != OpKind::Trans) return std::nullopt;
    std::vector<int64_t> perm = o_.get_ints(AttrKey::Perm);
    bool identity = true;
    for (size_t i = 0; i < perm.size(); ++i) identity &= perm[i] == static_cast<int64_t>(i);
    if (identity) return operand(0);
    if (d->kind != OpKind::Trans) return std::nullopt;
    std::vector<int64_t> inner = d->get_ints(AttrKey::Perm);
    for (int64_t& p : perm) p = inner[static_cast<size_t>(p)];
    return before().make(OpKind::Trans, {ValueId(d->operands[0])}, type_, {{AttrKey::Perm, perm}});
  }

  Kernel& k_;
  OpId id_;
  Op o_;
  Type type_;
  unsigned& folded_;
};

}  // namespace

std::optional<ValueId> fold_op(Kernel& k, OpId o, unsigned& folded) { return Folder(k, o, folded).run(); }

}  // namespace tile::passes
