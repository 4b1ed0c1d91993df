#include "dsl/passes/axis_info.h"

#include <algorithm>
#include <bit>

#include "dsl/ir/layout_rules.h"

namespace tile::passes {

using namespace ir;

uint64_t AxisInfo::divides_all() const {
  for (const AxisFact& f : axes)
    if (f.contiguity == 1) return f.divisibility;
  return 1;
}

namespace {

uint64_t low_bit(int64_t v) {
  return v == 0 ? max_divisibility : std::min<uint64_t>(max_divisibility, static_cast<uint64_t>(v) & (~static_cast<uint64_t>(v) + 1));
}

uint64_t padded(int64_t extent) { return std::bit_ceil(static_cast<uint64_t>(extent)); }

// Divisibility of the first values of groups of `group` positions, which may be shorter than the fact's own.
uint64_t divisibility_at(const AxisFact& f, uint64_t group) {
  return f.contiguity > group ? std::min(f.divisibility, group) : f.divisibility;
}

AxisFact meet(const AxisFact& a, const AxisFact& b) {
  AxisFact f;
  f.contiguity = std::min(a.contiguity, b.contiguity);
  f.divisibility = std::min(divisibility_at(a, f.contiguity), divisibility_at(b, f.contiguity));
  f.constancy = std::min(a.constancy, b.constancy);
  return f;
}

}  // namespace

class AxisSolver {
 public:
  AxisSolver(const Kernel& k, std::vector<AxisInfo>& info) : k_(k), info_(info) {}

  void run() {
    info_.resize(k_.num_values());
    known_.assign(k_.num_values(), false);
    for (const Param& p : k_.params) param(p);
    // Facts about loop-carried values start from their initial ones and only shrink.
    for (int round = 0; round < 24; ++round) {
      changed_ = false;
      block(k_.body);
      if (!changed_) return;
    }
    pessimistic_ = true;
    block(k_.body);
    block(k_.body);
  }

 private:
  AxisInfo bottom(ValueId v) const {
    AxisInfo i;
    i.axes.resize(std::max(1u, k_.type(v).shape.rank()));
    return i;
  }

  void set(ValueId v, AxisInfo i) {
    if (known_[v.index] && info_[v.index] == i) return;
    info_[v.index] = std::move(i);
    known_[v.index] = changed_ = true;
  }

  void param(const Param& p) {
    AxisInfo i = bottom(p.value);
    i.axes[0].divisibility = k_.type(p.value).is_ptr() ? low_bit(std::max<int64_t>(p.align, buffer_bytes(p.dtype))) : low_bit(p.divisor);
    i.non_negative = p.min.value_or(-1) >= 0;
    set(p.value, std::move(i));
  }

  void carry(ValueId to, ValueId init, ValueId next) {
    AxisInfo i = pessimistic_ ? bottom(to) : info_[init.index];
    if (!pessimistic_ && known_[next.index]) {
      for (size_t a = 0; a < i.axes.size(); ++a) i.axes[a] = meet(i.axes[a], info_[next.index].axes[a]);
      i.non_negative &= info_[next.index].non_negative;
    }
    if (!pessimistic_ && known_[to.index]) {  // never grows again
      for (size_t a = 0; a < i.axes.size(); ++a) i.axes[a] = meet(i.axes[a], info_[to.index].axes[a]);
      i.non_negative &= info_[to.index].non_negative;
    }
    set(to, std::move(i));
  }

  std::vector<ValueId> ends(BlockId b) const { return k_.op(k_.block(b).ops.back()).operands; }

  void block(BlockId b) {
    for (OpId o : k_.block(b).ops) op(o);
  }

  void op(OpId id) {
    const Op& o = k_.op(id);
    if (o.kind == OpKind::For) return for_loop(o);
    if (o.kind == OpKind::While) return while_loop(o);
    if (o.kind == OpKind::If) return branch(o);
    for (ValueId r : o.results)
      if (!k_.type(r).is_view()) set(r, transfer(o, r));
  }

  void for_loop(const Op& o) {
    const Block& b = k_.block(o.blocks[0]);
    AxisInfo iv = bottom(b.args[0]);
    iv.axes[0].divisibility = std::min(at(o, 0).axes[0].divisibility, at(o, 2).axes[0].divisibility);
    iv.non_negative = at(o, 0).non_negative && at(o, 2).non_negative;
    set(b.args[0], std::move(iv));
    std::vector<ValueId> next = ends(o.blocks[0]);
    for (size_t i = 0; i + 1 < b.args.size(); ++i) carry(b.args[i + 1], o.operands[i + 3], next[i]);
    block(o.blocks[0]);
    for (size_t i = 0; i < o.results.size(); ++i) carry(o.results[i], o.operands[i + 3], next[i]);
  }

  void while_loop(const Op& o) {
    const Block& cond = k_.block(o.blocks[0]);
    const Block& body = k_.block(o.blocks[1]);
    std::vector<ValueId> next = ends(o.blocks[1]), passed = ends(o.blocks[0]);
    for (size_t i = 0; i < cond.args.size(); ++i) carry(cond.args[i], o.operands[i], next[i]);
    block(o.blocks[0]);
    for (size_t i = 0; i < body.args.size(); ++i) {
      set(body.args[i], info_[passed[i + 1].index]);
      set(o.results[i], info_[passed[i + 1].index]);
    }
    block(o.blocks[1]);
  }

  void branch(const Op& o) {
    block(o.blocks[0]);
    block(o.blocks[1]);
    std::vector<ValueId> a = ends(o.blocks[0]), b = ends(o.blocks[1]);
    for (size_t i = 0; i < o.results.size(); ++i) {
      AxisInfo r = info_[a[i].index];
      for (size_t x = 0; x < r.axes.size(); ++x) r.axes[x] = meet(r.axes[x], info_[b[i].index].axes[x]);
      r.non_negative &= info_[b[i].index].non_negative;
      set(o.results[i], std::move(r));
    }
  }

  const AxisInfo& at(const Op& o, size_t i) const { return info_[o.operands[i].index]; }

  // Facts that hold for any elementwise function: equal operands give equal results.
  AxisInfo pointwise(const Op& o, ValueId r) const {
    AxisInfo i = bottom(r);
    for (size_t a = 0; a < i.axes.size(); ++a) {
      uint64_t c = max_divisibility;
      for (ValueId v : o.operands)
        if (k_.type(v).shape == k_.type(r).shape) c = std::min(c, info_[v.index].axes[a].constancy);
      i.axes[a].constancy = k_.type(r).shape.rank() == 0 ? 1 : c;
    }
    return i;
  }

  template <class F>
  AxisInfo per_axis(const Op& o, ValueId r, const F& f) const {
    AxisInfo i = pointwise(o, r);
    for (size_t a = 0; a < i.axes.size(); ++a) f(i.axes[a], at(o, 0).axes[a], at(o, o.operands.size() - 1).axes[a]);
    return i;
  }

  // `scale`: bytes of one unit of the right operand (pointers).
  AxisInfo add(const Op& o, ValueId r, bool minus, uint64_t scale) const {
    return per_axis(o, r, [&](AxisFact& out, const AxisFact& x, const AxisFact& y) {
      out.contiguity = std::min(x.contiguity, y.constancy);
      if (!minus) out.contiguity = std::max(out.contiguity, std::min(x.constancy, y.contiguity));
      uint64_t right = std::min(max_divisibility, divisibility_at(y, out.contiguity) * scale);
      uint64_t left = x.contiguity > out.contiguity ? std::min(x.divisibility, out.contiguity * scale) : x.divisibility;
      out.divisibility = std::min(left, right);
    });
  }

  AxisInfo multiply(const Op& o, ValueId r) const {
    for (size_t side : {size_t{0}, size_t{1}})
      if (k_.constant_int(o.operands[side]) == 1) return at(o, 1 - side);
    AxisInfo i = per_axis(o, r, [&](AxisFact& out, const AxisFact& x, const AxisFact& y) {
      out.divisibility = std::min(max_divisibility, divisibility_at(x, 1) * divisibility_at(y, 1));
    });
    return i;
  }

  // Division and shift right by a power of two c, rounding down: runs of c that start at a multiple become equal.
  AxisInfo divide(const Op& o, ValueId r, uint64_t c) const {
    return per_axis(o, r, [&](AxisFact& out, const AxisFact& x, const AxisFact&) {
      if (x.contiguity >= c && x.divisibility >= c) out.constancy = std::max(out.constancy, c);
      if (x.contiguity == 1) out.divisibility = std::max<uint64_t>(1, x.divisibility == max_divisibility ? max_divisibility : x.divisibility / c);
    });
  }

  AxisInfo remainder(const Op& o, ValueId r) const {
    return per_axis(o, r, [&](AxisFact& out, const AxisFact& x, const AxisFact& y) {
      // Runs that start at a multiple of their length do not step over a multiple of y.
      uint64_t run = std::min({x.contiguity, x.divisibility, y.constancy, divisibility_at(y, 1)});
      out.contiguity = std::max<uint64_t>(1, run);
      out.divisibility = std::min(divisibility_at(x, out.contiguity), divisibility_at(y, 1));
    });
  }

  // x < y (or x >= y) with ascending x is the same for the whole run if y is a multiple of its length.
  AxisInfo compare(const Op& o, ValueId r, bool swapped) const {
    return per_axis(o, r, [&](AxisFact& out, const AxisFact& left, const AxisFact& right) {
      const AxisFact &x = swapped ? right : left, &y = swapped ? left : right;
      uint64_t run = std::min({x.contiguity, x.divisibility, y.constancy, divisibility_at(y, 1)});
      out.constancy = std::max(out.constancy, run);
    });
  }

  AxisInfo shape_op(const Op& o, ValueId r) const {
    AxisInfo i = bottom(r);
    const Shape& s = k_.type(r).shape;
    const AxisInfo& x = at(o, 0);
    const Shape& from = k_.type(o.operands[0]).shape;
    if (o.kind == OpKind::Splat) {
      for (unsigned a = 0; a < s.rank(); ++a) i.axes[a] = {1, x.axes[0].divisibility, padded(s[a])};
    } else if (o.kind == OpKind::Broadcast) {
      for (unsigned a = 0; a < s.rank(); ++a) i.axes[a] = from[a] == s[a] ? x.axes[a] : AxisFact{1, x.divides_all(), padded(s[a])};
    } else if (o.kind == OpKind::ExpandDims) {
      unsigned axis = static_cast<unsigned>(o.get_int(AttrKey::Axis));
      for (unsigned a = 0; a < s.rank(); ++a) i.axes[a] = a == axis ? AxisFact{1, x.divides_all(), 1} : x.axes[a < axis ? a : a - 1];
    } else if (o.kind == OpKind::Trans) {
      std::vector<int64_t> perm = o.get_ints(AttrKey::Perm);
      for (unsigned a = 0; a < s.rank(); ++a) i.axes[a] = x.axes[static_cast<size_t>(perm[a])];
    } else if (x.divides_all() > 1) {  // reshape
      for (AxisFact& f : i.axes) f.divisibility = x.divides_all();
    }
    return i;
  }

  std::optional<uint64_t> power_of_two(ValueId v) const {
    std::optional<int64_t> c = k_.constant_int(v);
    if (!c || *c <= 0 || !std::has_single_bit(static_cast<uint64_t>(*c))) return std::nullopt;
    return static_cast<uint64_t>(*c);
  }

  AxisInfo cast(const Op& o, ValueId r) const {
    DType from = k_.type(o.operands[0]).dtype, to = k_.type(r).dtype;
    if (!is_int(from) || !is_int(to)) return pointwise(o, r);
    AxisInfo i = at(o, 0);
    if (bit_width(to) <= bit_width(from)) {
      i.non_negative = false;
      return i;
    }
    // A run may have wrapped in the narrow type, unless it starts at a multiple of its length.
    for (AxisFact& f : i.axes) f.contiguity = std::min(f.contiguity, f.divisibility);
    i.non_negative |= !is_signed(from);
    return i;
  }

  AxisInfo transfer(const Op& o, ValueId r) const {
    switch (o.kind) {
      case OpKind::Constant: {
        AxisInfo i = bottom(r);
        std::optional<int64_t> c = k_.constant_int(r);
        const Shape& s = k_.type(r).shape;
        for (size_t a = 0; a < i.axes.size(); ++a) i.axes[a] = {1, c ? low_bit(*c) : 1, s.rank() == 0 ? 1 : padded(s[static_cast<unsigned>(a)])};
        i.non_negative = c && *c >= 0;
        return i;
      }
      case OpKind::Arange: {
        AxisInfo i = bottom(r);
        i.axes[0] = {padded(k_.type(r).shape[0]), low_bit(o.get_int(AttrKey::Start)), 1};
        i.non_negative = o.get_int(AttrKey::Start) >= 0;
        return i;
      }
      case OpKind::ProgramId: case OpKind::NumPrograms: {
        AxisInfo i = bottom(r);
        i.non_negative = true;
        return i;
      }
      case OpKind::Splat: case OpKind::Broadcast: case OpKind::ExpandDims: case OpKind::Reshape: case OpKind::Trans: {
        AxisInfo i = shape_op(o, r);
        i.non_negative = at(o, 0).non_negative;
        return i;
      }
      case OpKind::AddI: return add(o, r, false, 1);
      case OpKind::SubI: return add(o, r, true, 1);
      case OpKind::AddPtr: return add(o, r, false, buffer_bytes(k_.type(r).dtype));
      case OpKind::MulI: return multiply(o, r);
      case OpKind::Shl:
        if (auto c = k_.constant_int(o.operands[1]); c && *c >= 0 && *c < 31)
          return per_axis(o, r, [&](AxisFact& out, const AxisFact& x, const AxisFact&) {
            out.divisibility = std::min(max_divisibility, divisibility_at(x, 1) << *c);
          });
        return pointwise(o, r);
      case OpKind::ShrS: case OpKind::ShrU:
        if (auto c = k_.constant_int(o.operands[1]); c && *c >= 0 && *c < 31) return divide(o, r, uint64_t{1} << *c);
        return pointwise(o, r);
      case OpKind::DivS: case OpKind::DivU:
        if (auto c = power_of_two(o.operands[1]); c && (o.kind == OpKind::DivU || at(o, 0).non_negative)) return divide(o, r, *c);
        return pointwise(o, r);
      case OpKind::RemS: case OpKind::RemU:
        if (o.kind == OpKind::RemU || (at(o, 0).non_negative && at(o, 1).non_negative)) return remainder(o, r);
        return pointwise(o, r);
      case OpKind::And: case OpKind::Or: case OpKind::Xor:
        return per_axis(o, r, [&](AxisFact& out, const AxisFact& x, const AxisFact& y) {
          uint64_t a = divisibility_at(x, 1), b = divisibility_at(y, 1);
          out.divisibility = o.kind == OpKind::And ? std::max(a, b) : std::min(a, b);
        });
      case OpKind::MinS: case OpKind::MaxS: case OpKind::MinU: case OpKind::MaxU:
        return per_axis(o, r, [&](AxisFact& out, const AxisFact& x, const AxisFact& y) {
          out.divisibility = std::min(divisibility_at(x, 1), divisibility_at(y, 1));
        });
      case OpKind::LtS: case OpKind::LtU: case OpKind::GeS: case OpKind::GeU: return compare(o, r, false);
      case OpKind::GtS: case OpKind::GtU: case OpKind::LeS: case OpKind::LeU: return compare(o, r, true);
      case OpKind::Cast: return cast(o, r);
      default: return is_elementwise(o.kind) || o.kind == OpKind::Bitcast ? pointwise(o, r) : bottom(r);
    }
  }

  const Kernel& k_;
  std::vector<AxisInfo>& info_;
  std::vector<bool> known_;
  bool changed_ = false, pessimistic_ = false;
};

AxisAnalysis::AxisAnalysis(const Kernel& k) { AxisSolver(k, info_).run(); }

}  // namespace tile::passes
