#include "dsl/passes/plan_layouts.h"

#include <algorithm>
#include <bit>

namespace tile::passes {

using namespace ir;
using layout::Dim;
using layout::Vec;

namespace {

LayoutPtr share(LinearLayout l) { return std::make_shared<const LinearLayout>(std::move(l)); }
LayoutPtr share(Result<LinearLayout> l) { return l ? share(std::move(*l)) : nullptr; }

bool is_tile_value(const Type& t) { return !t.is_view() && t.shape.rank() > 0; }

unsigned element_bytes(const Type& t) { return t.is_ptr() ? 8 : buffer_bytes(t.dtype); }

std::vector<unsigned> permutation(const Op& o) {
  std::vector<unsigned> perm;
  for (int64_t p : o.get_ints(AttrKey::Perm)) perm.push_back(static_cast<unsigned>(p));
  return perm;
}

std::vector<unsigned> inverse(const std::vector<unsigned>& perm) {
  std::vector<unsigned> out(perm.size());
  for (unsigned i = 0; i < perm.size(); ++i) out[perm[i]] = i;
  return out;
}

}  // namespace

LayoutPtr default_layout(const Kernel& k, const Type& t) {
  unsigned vec = std::max(1u, 16 / element_bytes(t));
  return share(layout::coalesced(extents(t.shape), layout::row_major_order(t.shape.rank()), vec, layout_waves(k)));
}

std::optional<std::vector<int64_t>> natural_order(const LinearLayout& l, unsigned axis, int64_t extent) {
  std::vector<std::optional<layout::Carrier>> carriers = layout::axis_carriers(l, axis);
  std::vector<int64_t> order(axis_bits(extent));
  if (carriers.size() != order.size()) return std::nullopt;
  for (size_t i = 0; i < order.size(); ++i) {
    if (!carriers[i]) return std::nullopt;
    order[i] = static_cast<int64_t>(i);
  }
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const layout::Carrier &x = *carriers[static_cast<size_t>(a)], &y = *carriers[static_cast<size_t>(b)];
    return std::pair(x.dim, x.bit) < std::pair(y.dim, y.bit);
  });
  return order;
}

LayoutPtr layout_for_order(const Kernel& k, const Shape& s, unsigned axis, const std::vector<int64_t>& order) {
  layout::Space out = layout::Space::of_shape(layout::padded_shape(extents(s)));
  // Bits of the other axes, fastest first, then what lanes and waves lack comes from the end of the order.
  std::vector<Vec> others, reg, lane, wave;
  for (unsigned a = s.rank(); a-- > 0;)
    for (unsigned b = 0; a != axis && b < out.bits(layout::tile_dim(a)); ++b) others.push_back(out.put(Vec{1} << b, layout::tile_dim(a)));
  auto bit = [&](int64_t b) { return out.put(Vec{1} << b, layout::tile_dim(axis)); };
  unsigned lanes = 6, waves = static_cast<unsigned>(std::countr_zero(layout_waves(k)));
  size_t take_lane = std::min<size_t>(lanes, others.size()), take_wave = std::min<size_t>(waves, others.size() - take_lane);
  size_t wave_order = std::min(order.size(), waves - take_wave);
  size_t lane_order = std::min(order.size() - wave_order, lanes - take_lane);
  size_t reg_order = order.size() - wave_order - lane_order;
  for (size_t i = 0; i < order.size(); ++i) (i < reg_order ? reg : i < reg_order + lane_order ? lane : wave).push_back(bit(order[i]));
  lane.insert(lane.begin(), others.begin(), others.begin() + static_cast<ptrdiff_t>(take_lane));
  wave.insert(wave.begin(), others.end() - static_cast<ptrdiff_t>(take_wave), others.end());
  reg.insert(reg.end(), others.begin() + static_cast<ptrdiff_t>(take_lane), others.end() - static_cast<ptrdiff_t>(take_wave));
  lane.resize(lanes);
  wave.resize(waves);
  std::vector<Vec> bases = reg;
  bases.insert(bases.end(), lane.begin(), lane.end());
  bases.insert(bases.end(), wave.begin(), wave.end());
  layout::Space in{{Dim::Register, static_cast<unsigned>(reg.size())}, {Dim::Lane, lanes}, {Dim::Wave, waves}};
  return share(LinearLayout(in, out, std::move(bases)));
}

bool is_flexible_op(const Op& o) {
  switch (o.kind) {
    case OpKind::Constant: case OpKind::Arange: case OpKind::Splat: case OpKind::Broadcast: case OpKind::ExpandDims:
    case OpKind::Trans: case OpKind::Cast: case OpKind::Bitcast: case OpKind::AddPtr: case OpKind::InBounds:
      return true;
    default: return is_elementwise(o.kind);
  }
}

LinearLayout needed_operand(const Kernel& k, const Op& o, size_t i, const LinearLayout& l) {
  const Shape& s = k.type(o.operands[i]).shape;
  switch (o.kind) {
    case OpKind::ExpandDims: return layout::slice(l, static_cast<unsigned>(o.get_int(AttrKey::Axis)));
    case OpKind::Trans: return layout::permute(l, inverse(permutation(o)));
    case OpKind::Broadcast: return project(l, s, k.type(o.results[0]).shape);
    case OpKind::LoadView:
      if (i >= index_operands(k, o).second) return l;  // `other`
      return project(l, s, k.type(o.results[0]).shape);
    case OpKind::InBounds: return project(l, s, k.type(o.results[0]).shape);
    case OpKind::StoreView: return i == 1 ? l : project(l, s, k.type(o.operands[1]).shape);
    default: return l;
  }
}

class LayoutPlanner {
 public:
  LayoutPlanner(const Kernel& k, const AxisAnalysis& facts) : k_(k), facts_(facts) {}

  Result<LayoutPlan> run() {
    plan_.placements_.resize(k_.num_values());
    plan_.operands_.resize(k_.num_ops());
    wanted_.resize(k_.num_values());
    users_ = k_.users();
    // What loops carry takes its layout from the values that reach it; each sweep knows more.
    for (int sweep = 0; sweep < 200; ++sweep) {
      changed_ = false;
      block(k_.body);
      if (error_) return *error_;
      if (!changed_ && settle_ == Settle::Now) break;
      if (!changed_ || sweep > 20) settle_ = Settle::Now;
    }
    return std::move(plan_);
  }

 private:
  enum class Settle { Wait, Now };

  Placement& at(ValueId v) { return plan_.placements_[v.index]; }
  const Shape& shape(ValueId v) const { return k_.type(v).shape; }
  bool tile(ValueId v) const { return is_tile_value(k_.type(v)); }

  void set(ValueId v, Placement p) {
    Placement& have = at(v);
    bool same = have.origin == p.origin && (have.layout == p.layout || (have.layout && p.layout && *have.layout == *p.layout));
    if (same) return;
    have = std::move(p);
    changed_ = true;
  }

  void block(BlockId b) {
    for (OpId o : k_.block(b).ops) op(o);
  }

  std::vector<ValueId> ends(BlockId b) const { return k_.op(k_.block(b).ops.back()).operands; }

  // A value that must have one layout whoever reaches it. Once it has one it only changes for a costlier origin.
  void carried(ValueId v, std::initializer_list<ValueId> sources) {
    if (!tile(v)) return;
    Placement best = at(v);
    for (ValueId s : sources) {
      const Placement& p = at(s);
      if (p.anchored() && p.origin > best.origin) best = p;
    }
    if (!best.anchored() && settle_ == Settle::Now) {
      LayoutPtr natural = wanted_[v.index];
      for (ValueId s : sources)
        if (!natural) natural = at(s).layout;
      best = {natural ? natural : default_layout(k_, k_.type(v)), Origin::Computed};
    }
    set(v, best);
  }

  void op(OpId id) {
    const Op& o = k_.op(id);
    switch (o.kind) {
      case OpKind::For: {
        const Block& b = k_.block(o.blocks[0]);
        std::vector<ValueId> next = ends(o.blocks[0]);
        for (size_t i = 0; i < o.results.size(); ++i) carried(b.args[i + 1], {o.operands[i + 3], next[i]});
        block(o.blocks[0]);
        for (size_t i = 0; i < o.results.size(); ++i)
          if (tile(o.results[i])) set(o.results[i], at(b.args[i + 1]));
        return;
      }
      case OpKind::While: {
        const Block &c = k_.block(o.blocks[0]), &b = k_.block(o.blocks[1]);
        std::vector<ValueId> passed = ends(o.blocks[0]), next = ends(o.blocks[1]);
        for (size_t i = 0; i < c.args.size(); ++i) carried(c.args[i], {o.operands[i], next[i]});
        block(o.blocks[0]);
        for (size_t i = 0; i < o.results.size(); ++i) {
          carried(o.results[i], {passed[i + 1]});
          if (tile(o.results[i])) set(b.args[i], at(o.results[i]));
        }
        block(o.blocks[1]);
        return;
      }
      case OpKind::If: {
        block(o.blocks[0]);
        block(o.blocks[1]);
        std::vector<ValueId> a = ends(o.blocks[0]), b = ends(o.blocks[1]);
        for (size_t i = 0; i < o.results.size(); ++i) carried(o.results[i], {a[i], b[i]});
        return;
      }
      case OpKind::LoadView: case OpKind::Load: return load(o);
      case OpKind::StoreView: case OpKind::Store: return store(id, o);
      case OpKind::Dot: return dot(o);
      case OpKind::Reduce: case OpKind::ArgReduce: return reduce(id, o);
      case OpKind::Reshape: return reshape(id, o);
      default: break;
    }
    if (!o.results.empty() && tile(o.results[0]) && is_flexible_op(o)) pointwise(o);
  }

  // The layout for memory accesses of the tile, as the access analysis wants it.
  LayoutPtr memory_layout(const Op& o) {
    Access a = analyse_access(k_, facts_, o);
    return share(layout::coalesced(extents(shape(a.tile)), a.order, a.vector, layout_waves(k_)));
  }

  // Pointers, indices and masks that only exist for one access should be made where it wants them.
  void want(ValueId v, const LinearLayout& l) {
    if (!tile(v) || wanted_[v.index]) return;
    wanted_[v.index] = share(l);
    const Op* d = k_.def(v);
    if (!d) return;
    if (d->kind == OpKind::For) {
      for (size_t i = 0; i < d->results.size(); ++i)
        if (d->results[i] == v) want(k_.block(d->blocks[0]).args[i + 1], l);
    } else if (is_flexible_op(*d)) {
      for (size_t i = 0; i < d->operands.size(); ++i)
        if (tile(d->operands[i])) want(d->operands[i], needed_operand(k_, *d, i, l));
    }
  }

  void load(const Op& o) {
    ValueId r = o.results[0];
    if (!tile(r)) return;
    LayoutPtr l = direct_operand(r, analyse_access(k_, facts_, o));
    if (!l) l = memory_layout(o);
    set(r, {l, Origin::Memory});
    for (size_t i = 0; i < o.operands.size(); ++i)
      if (tile(o.operands[i])) want(o.operands[i], needed_operand(k_, o, i, *l));
  }

  // A tile that goes to one dot only may be loaded right where the instruction wants it, if no wave loads what another
  // one loads and lanes get at least 8 bytes in one piece.
  LayoutPtr direct_operand(ValueId r, const Access& a) {
    if (users_[r.index].size() != 1 || !a.axis) return nullptr;
    const Op& d = k_.op(users_[r.index][0]);
    if (d.kind != OpKind::Dot || !mfma_of(d) || d.operands[2] == r || d.operands[0] == d.operands[1]) return nullptr;
    auto want = dot_layouts(k_, d, nullptr);
    if (!want) return nullptr;
    const LinearLayout& l = d.operands[0] == r ? want->a : want->b;
    unsigned run = std::min(layout::contig_registers(l, *a.axis), a.vector);
    return l.free_mask(Dim::Wave) == 0 && l.free_mask(Dim::Lane) == 0 && run * a.bytes >= 8 ? share(l) : nullptr;
  }

  // A store takes its value as it is if each row of lanes writes whole sectors of 64 bytes; else the value is converted.
  void store(OpId id, const Op& o) {
    ValueId v = o.operands[1];
    if (!tile(v)) return;
    const Placement& p = at(v);
    LayoutPtr l = p.anchored() && writes_sectors(*p.layout, analyse_access(k_, facts_, o)) ? p.layout : memory_layout(o);
    plan_.operands_[id.index] = l;
    for (size_t i = 0; i < o.operands.size(); ++i)
      if (tile(o.operands[i])) want(o.operands[i], needed_operand(k_, o, i, *l));
  }

  static bool writes_sectors(const LinearLayout& l, const Access& a) {
    if (!a.axis) return true;
    Dim dim = layout::tile_dim(*a.axis);
    // The span of registers of one access and of lanes along the axis: how many elements in a row start at 0.
    unsigned vector = std::min(layout::contig_registers(l, *a.axis), std::max(a.vector, 1u));
    unsigned run = vector;
    std::vector<Vec> lanes = l.bases(Dim::Lane);
    while (run < l.out().size(dim) && std::find(lanes.begin(), lanes.end(), l.out().put(run, dim)) != lanes.end()) run *= 2;
    return run * a.bytes >= 64 || run >= l.out().size(dim);
  }

  void dot(const Op& o) {
    LayoutPtr result = mfma_of(o) ? nullptr : at(o.operands[2]).layout;
    if (!mfma_of(o) && !result) result = default_layout(k_, k_.type(o.results[0]));
    auto l = dot_layouts(k_, o, result.get());
    if (!l) {
      error_ = l.error();
      return;
    }
    set(o.results[0], {share(l->c), Origin::Dot});
  }

  void reduce(OpId id, const Op& o) {
    ValueId v = o.operands[0];
    unsigned axis = static_cast<unsigned>(o.get_int(AttrKey::Axis));
    Placement p = at(v);
    if (!p.layout) p.layout = default_layout(k_, k_.type(v));
    std::vector<int64_t> order = o.get_ints(AttrKey::Order);
    bool fits;
    if (o.has(AttrKey::Order) && matters(o)) {
      fits = reduce_steps(*p.layout, axis, order).has_value();
    } else {
      auto natural = natural_order(*p.layout, axis, shape(v)[axis]);
      fits = natural.has_value();
      if (order.empty()) {
        order.resize(axis_bits(shape(v)[axis]));
        for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
      }
    }
    if (!fits) p.layout = layout_for_order(k_, shape(v), axis, order);
    plan_.operands_[id.index] = p.layout;
    Placement result{shape(v).rank() > 1 ? share(layout::slice(*p.layout, axis)) : nullptr, std::max(p.origin, Origin::Computed)};
    for (ValueId r : o.results)
      if (tile(r)) set(r, result);
  }

  bool matters(const Op& o) const {
    return o.kind == OpKind::Reduce && order_matters(o.get_text(AttrKey::Combine), k_.type(o.operands[0]).dtype);
  }

  // A reshape takes its operand so that no value moves, if that can be; else it stages through shared memory.
  void reshape(OpId id, const Op& o) {
    ValueId v = o.operands[0], r = o.results[0];
    Placement p = at(v);
    if (p.layout && reshape_is_free(*p.layout, shape(v), shape(r))) {
      plan_.operands_[id.index] = p.layout;
      LayoutPtr l = share(layout::reshape(*p.layout, layout::padded_shape(extents(shape(r)))));
      set(r, {l, std::max(p.origin, Origin::Computed)});
      return;
    }
    LayoutPtr l = default_layout(k_, k_.type(r));
    if (reshape_is_free(*l, shape(r), shape(v)))
      plan_.operands_[id.index] = share(layout::reshape(*l, layout::padded_shape(extents(shape(v)))));
    else
      plan_.operands_[id.index] = p.layout ? p.layout : default_layout(k_, k_.type(v));
    set(r, {l, Origin::Computed});
  }

  // Elementwise and shape operations: the costliest anchored operand decides; without one the result is flexible.
  void pointwise(const Op& o) {
    ValueId r = o.results[0];
    Placement best;
    for (ValueId v : o.operands) {
      if (!tile(v)) continue;
      const Placement& p = at(v);
      bool views = o.kind == OpKind::Broadcast || o.kind == OpKind::ExpandDims || o.kind == OpKind::InBounds;
      if (views) {
        if (!best.layout) best.layout = natural(o, v, p);
      } else if (p.origin > best.origin || (!best.layout && p.layout)) {
        best = p;
        if (o.kind == OpKind::Trans) best.layout = share(layout::permute(*p.layout, permutation(o)));
      }
    }
    set(r, best);
  }

  // A layout of the result of a broadcast or expand_dims that takes the operand as it is.
  LayoutPtr natural(const Op& o, ValueId v, const Placement& p) {
    if (!p.layout) return nullptr;
    if (o.kind == OpKind::ExpandDims) return share(layout::expand_dims(*p.layout, static_cast<unsigned>(o.get_int(AttrKey::Axis))));
    if (o.kind == OpKind::InBounds) return shape(v) == shape(o.results[0]) ? p.layout : nullptr;
    layout::Shape to = layout::padded_shape(extents(shape(o.results[0]))), have = p.layout->shape();
    for (size_t i = 0; i < to.size(); ++i) {
      if (have[i] > to[i]) to[i] = have[i];
      if (have[i] != 1 && have[i] != to[i]) return nullptr;
    }
    return share(layout::broadcast_to(*p.layout, to));
  }

  const Kernel& k_;
  const AxisAnalysis& facts_;
  LayoutPlan plan_;
  std::vector<LayoutPtr> wanted_;
  std::vector<std::vector<OpId>> users_;
  std::optional<Error> error_;
  Settle settle_ = Settle::Wait;
  bool changed_ = false;
};

Result<LayoutPlan> plan_layouts(const Kernel& k, const AxisAnalysis& facts) { return LayoutPlanner(k, facts).run(); }

}  // namespace tile::passes
