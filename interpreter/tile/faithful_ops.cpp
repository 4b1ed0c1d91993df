// Operations on registers, conversions through shared memory, matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "dsl/layout/tile_ops.h"
#include "dsl/passes/scratch.h"
#include "interpreter/tile/control.h"
#include "interpreter/tile/dot.h"
#include "interpreter/tile/faithful_state.h"
#include "interpreter/tile/format.h"
#include "interpreter/tile/group.h"

namespace tile::interp {

using ir::ValueId;
using layout::Dim;
using layout::LinearLayout;

void FaithfulRun::elementwise(const ir::Op& op) {
  ValueId r = op.results[0];
  make(r);
  size_t n = is_tile(r) ? places(r).size() : 1;
  for (ValueId v : op.operands)
    if (is_tile(v) != is_tile(r) || (is_tile(v) && places(v).size() != n)) return diverge(-1, "its tiles are spread over registers in different ways");
  const std::byte* in[3] = {};
  for (size_t i = 0; i < op.operands.size() && i < 3; ++i) in[i] = data(op.operands[i]);
  const ir::Type& t = type(op.operands.back());
  if (op.kind == OpKind::Cast) {
    num::ConvertMode mode;
    if (op.get_text(AttrKey::Rounding) == "rtz") mode.rounding = num::Rounding::TowardZero;
    mode.saturate = op.get_int(AttrKey::Saturate, 1) != 0;
    num::convert(t.dtype, type(r).dtype, mode, in[0], data(r), n);
  } else if (op.kind == OpKind::Bitcast) {
    std::memcpy(data(r), in[0], n * size_of(r));
  } else if (op.kind == OpKind::AddPtr) {
    add_pointers(t.dtype, in[0], in[1], data(r), buffer_bytes(type(op.operands[0]).dtype), n);
  } else {
    num::elementwise_kernel(op.kind, t.is_ptr() ? DType::U64 : t.dtype)(in[0], in[1], in[2], data(r), n);
  }
}

void FaithfulRun::fill(const ir::Op& op) {
  ValueId r = op.results[0];
  std::byte* out = make(r).data();
  size_t size = size_of(r);
  uint64_t bits = 0;
  if (op.kind == OpKind::Constant) bits = op.get_bits(AttrKey::Value);
  if (op.kind == OpKind::Splat) std::memcpy(&bits, data(op.operands[0]), size);
  if (op.kind == OpKind::ProgramId || op.kind == OpKind::NumPrograms) {
    const Grid position{program_ % grid_[0], program_ / grid_[0] % grid_[1], program_ / grid_[0] / grid_[1]};
    auto axis = static_cast<size_t>(op.get_int(AttrKey::Axis));
    bits = static_cast<uint64_t>(op.kind == OpKind::ProgramId ? position[axis] : grid_[axis]);
  }
  if (!is_tile(r)) {
    std::memcpy(out, &bits, size);
    return;
  }
  const Places& p = places(r);
  if (op.kind == OpKind::Arange) {
    int64_t start = op.get_int(AttrKey::Start);
    for (size_t i = 0; i < p.size(); ++i) {
      auto x = static_cast<int32_t>(static_cast<uint64_t>(start) + static_cast<uint64_t>(p.element[i]));
      if (p.element[i] >= 0) std::memcpy(out + i * size, &x, size);
    }
    return;
  }
  fill_elements(&bits, out, size, p.size());
}

std::vector<unsigned> FaithfulRun::projected_registers(const LinearLayout& result, const ir::Shape& operand, const ir::Shape& result_shape) {
  std::vector<unsigned> map(result.num_registers());
  for (unsigned r = 0; r < map.size(); ++r) map[r] = r;
  LinearLayout l = result;
  for (unsigned axis = 0; axis < operand.rank(); ++axis) {
    if (operand[axis] != 1 || (result_shape[axis] == 1 && l.out().bits(layout::tile_dim(axis)) == 0)) continue;
    std::vector<unsigned> kept = layout::kept_registers(l, axis);
    for (unsigned& r : map) {
      unsigned packed = 0;
      for (size_t b = 0; b < kept.size(); ++b) packed |= (r >> kept[b] & 1) << b;
      r = packed;
    }
    l = layout::expand_dims(layout::slice(l, axis), axis);
  }
  return map;
}

void FaithfulRun::shape_op(const ir::Op& op) {
  ValueId from = op.operands[0], r = op.results[0];
  if (!is_tile(r) || !is_tile(from)) {
    // A tile of one element and a scalar.
    Bytes value = collapse(from);
    return stopped() ? void() : spread(r, value);
  }
  const ir::Shape &a = type(from).shape, &b = type(r).shape;
  size_t size = size_of(r);
  if (op.kind == OpKind::Reshape && !(ir::reshape_is_free(layout_of(from), a, b) &&
                                      layout::reshape(layout_of(from), layout::padded_shape(ir::extents(b))) == layout_of(r)))
    return staged_reshape(op);
  std::byte* out = make(r).data();
  const Places &pf = places(from), &pr = places(r);
  std::vector<unsigned> map(pr.registers);
  if (op.kind == OpKind::Broadcast) {
    map = projected_registers(layout_of(r), a, b);
  } else if (op.kind == OpKind::ExpandDims) {
    std::vector<unsigned> kept = layout::kept_registers(layout_of(r), static_cast<unsigned>(op.get_int(AttrKey::Axis)));
    for (unsigned x = 0; x < map.size(); ++x)
      for (size_t bit = 0; bit < kept.size(); ++bit) map[x] |= (x >> kept[bit] & 1) << bit;
  } else {
    for (unsigned x = 0; x < map.size(); ++x) map[x] = x;
  }
  if (pf.waves != pr.waves) return diverge(-1, "operand and result have different numbers of waves");
  for (unsigned x : map)
    if (x >= pf.registers) return diverge(-1, fmt::format("the result needs register {} of an operand that has {}", x, pf.registers));
  for (unsigned w = 0; w < pr.waves; ++w)
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned x = 0; x < pr.registers; ++x) std::memcpy(out + pr.at(w, lane, x) * size, data(from) + pf.at(w, lane, map[x]) * size, size);
}

layout::LdsModel& FaithfulRun::shared_memory(const ir::Op& op, size_t bytes, uint32_t& base) {
  if (op.has(AttrKey::LdsOffset) && lds_) {
    base = static_cast<uint32_t>(op.get_int(AttrKey::LdsOffset));
    if (!races_) lds_->barrier();  // barriers are not there yet: each operation has shared memory to itself
    return *lds_;
  }
  base = 0;
  return own_lds_.emplace(bytes);
}

void FaithfulRun::shared_plan(const layout::ConversionPlan& plan, const layout::RegisterFile& src, layout::RegisterFile& loaded, layout::LdsModel& lds,
                              uint32_t base) {
  const layout::SharedPlan& s = *plan.shared;
  auto access = [&](const layout::SharedAccess& a, unsigned wave, unsigned round) {
    uint8_t bytes[16];
    for (const layout::SharedAccess::Op& op : a.ops) {
      ++lds_op_;
      for (unsigned l = 0; l < src.lanes && !stopped(); ++l) {
        if ((op.round ^ a.thread_round(l, wave)) != round || (l & a.free_lanes) != 0 || (wave & a.free_waves) != 0) continue;
        uint32_t address = base + (op.offset ^ a.thread_offset(l, wave));
        bool store = a.kind == layout::AccessKind::Store;
        for (unsigned e = 0; store && e < a.vec; ++e) std::memcpy(bytes + e * a.elem_bytes, src.at(wave, l, op.registers[e]), a.elem_bytes);
        Status done = store ? lds.store(wave, lds_op_, address, bytes, a.bytes()) : lds.load(wave, lds_op_, address, bytes, a.bytes());
        if (!done) return lds_error(done.error());
        for (unsigned e = 0; !store && e < a.vec; ++e) std::memcpy(loaded.at(wave, l, op.registers[e]), bytes + e * a.elem_bytes, a.elem_bytes);
      }
    }
  };
  if (s.wave_local) {
    for (unsigned w = 0; w < src.waves; ++w)
      for (unsigned round = 0; round < s.rounds; ++round)
        for (const layout::SharedAccess* a : {&s.store, &s.load}) access(*a, w, round);
    return;
  }
  for (unsigned round = 0; round < s.rounds; ++round) {
    if (round > 0) lds.barrier();
    for (unsigned w = 0; w < src.waves; ++w) access(s.store, w, round);
    lds.barrier();
    for (unsigned w = 0; w < src.waves; ++w) access(s.load, w, round);
  }
}

void FaithfulRun::convert_layout(const ir::Op& op) {
  ValueId from = op.operands[0], r = op.results[0];
  auto elem_bytes = static_cast<unsigned>(size_of(r));
  auto found = plans_.find(current_.index);
  if (found == plans_.end()) {
    Result<layout::ConversionPlan> plan = passes::conversion_plan(k_, op);
    if (!plan) return diverge(-1, "there is no plan for it: " + plan.error().message);
    found = plans_.emplace(current_.index, std::move(*plan)).first;
  }
  const layout::ConversionPlan& plan = found->second;
  const Places& pf = places(from);
  layout::RegisterFile src(pf.waves, 64, pf.registers, elem_bytes);
  std::memcpy(src.bytes.data(), data(from), src.bytes.size());
  std::byte* out = make(r).data();
  if (plan.kind != layout::ConversionPlan::Kind::Shared) {
    Result<layout::RegisterFile> dst = layout::execute(plan, src);
    if (!dst) return diverge(-1, dst.error().message);
    std::memcpy(out, dst->bytes.data(), dst->bytes.size());
    return;
  }
  uint32_t base = 0;
  layout::LdsModel& lds = shared_memory(op, plan.scratch_bytes(), base);
  layout::RegisterFile loaded(plan.num_waves, 64, plan.dst_registers, elem_bytes);
  shared_plan(plan, src, loaded, lds, base);
  const Places& pr = places(r);
  for (unsigned w = 0; w < pr.waves; ++w)
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned x = 0; x < pr.registers; ++x)
        std::memcpy(out + pr.at(w, lane, x) * elem_bytes, loaded.at(w, lane, plan.shared->loaded[x]), elem_bytes);
}

// Through shared memory, where the tile lies in row-major order without padding.
void FaithfulRun::staged_reshape(const ir::Op& op) {
  ValueId from = op.operands[0], r = op.results[0];
  size_t size = size_of(r);
  uint32_t base = 0;
  layout::LdsModel& lds = shared_memory(op, passes::reshape_scratch(k_, op), base);
  std::byte* out = make(r).data();
  for (bool store : {true, false}) {
    const Places& p = places(store ? from : r);
    for (unsigned w = 0; w < p.waves; ++w)
      for (unsigned x = 0; x < p.registers; ++x) {
        ++lds_op_;
        for (unsigned lane = 0; lane < 64; ++lane) {
          size_t at = p.at(w, lane, x);
          if (p.element[at] < 0 || (store && !p.primary[at])) continue;
          uint32_t address = base + static_cast<uint32_t>(static_cast<size_t>(p.element[at]) * size);
          Status s = store ? lds.store(w, lds_op_, address, reinterpret_cast<const uint8_t*>(data(from) + at * size), static_cast<unsigned>(size))
                           : lds.load(w, lds_op_, address, reinterpret_cast<uint8_t*>(out + at * size), static_cast<unsigned>(size));
          if (!s) return lds_error(s.error());
        }
      }
    if (store) lds.barrier();
  }
}

namespace {

// The rows (axis 0) or columns (axis 1) that a wave holds any element of, ascending.
std::vector<int32_t> held_by_wave(const Places& p, unsigned wave, int64_t columns, bool want_columns, int64_t extent) {
  std::vector<uint8_t> seen(static_cast<size_t>(extent));
  for (size_t i = p.at(wave, 0, 0); i < p.at(wave, 0, 0) + size_t{64} * p.registers; ++i)
    if (p.element[i] >= 0) seen[static_cast<size_t>(want_columns ? p.element[i] % columns : p.element[i] / columns)] = 1;
  std::vector<int32_t> list;
  for (size_t x = 0; x < seen.size(); ++x)
    if (seen[x]) list.push_back(static_cast<int32_t>(x));
  return list;
}

}  // namespace

// Each wave multiplies what it holds.
void FaithfulRun::dot(const ir::Op& op) {
  ValueId a = op.operands[0], b = op.operands[1], c = op.operands[2], r = op.results[0];
  int64_t n = type(b).shape[1], k = type(a).shape[1];
  Dot d;
  d.a_type = type(a).dtype, d.b_type = type(b).dtype, d.c_type = type(c).dtype;
  d.m = type(a).shape[0], d.n = n, d.k = k;
  d.arch = k_.arch;
  if (Status s = plan_dot(op, d); !s) return diverge(-1, s.error().message);
  const Places &pa = places(a), &pb = places(b), &pc = places(c), &pr = places(r);
  if (pc.size() != pr.size() || pc.element != pr.element) return diverge(-1, "the result is spread in another way than the sum it starts from");
  size_t sa = size_of(a), sb = size_of(b), sc = size_of(c);
  std::byte* out = make(r).data();
  for (unsigned w = 0; w < pr.waves; ++w) {
    std::vector<int32_t> rows = held_by_wave(pr, w, n, false, type(a).shape[0]), columns = held_by_wave(pr, w, n, true, n);
    if (rows.empty()) continue;
    std::vector<int32_t> row_at(static_cast<size_t>(type(a).shape[0]), -1), column_at(static_cast<size_t>(n), -1);
    for (size_t i = 0; i < rows.size(); ++i) row_at[static_cast<size_t>(rows[i])] = static_cast<int32_t>(i);
    for (size_t i = 0; i < columns.size(); ++i) column_at[static_cast<size_t>(columns[i])] = static_cast<int32_t>(i);
    auto width = static_cast<int64_t>(columns.size());
    Bytes va(rows.size() * static_cast<size_t>(k) * sa), vb(static_cast<size_t>(k) * columns.size() * sb), vc(rows.size() * columns.size() * sc);
    std::vector<uint8_t> have_a(rows.size() * static_cast<size_t>(k)), have_b(static_cast<size_t>(k) * columns.size());
    for (size_t i = pa.at(w, 0, 0); i < pa.at(w, 0, 0) + size_t{64} * pa.registers; ++i) {
      if (pa.element[i] < 0 || row_at[static_cast<size_t>(pa.element[i] / k)] < 0) continue;
      auto at = static_cast<size_t>(row_at[static_cast<size_t>(pa.element[i] / k)] * k + pa.element[i] % k);
      std::memcpy(va.data() + at * sa, data(a) + i * sa, sa);
      have_a[at] = 1;
    }
    for (size_t i = pb.at(w, 0, 0); i < pb.at(w, 0, 0) + size_t{64} * pb.registers; ++i) {
      if (pb.element[i] < 0 || column_at[static_cast<size_t>(pb.element[i] % n)] < 0) continue;
      auto at = static_cast<size_t>(pb.element[i] / n * width + column_at[static_cast<size_t>(pb.element[i] % n)]);
      std::memcpy(vb.data() + at * sb, data(b) + i * sb, sb);
      have_b[at] = 1;
    }
    if (std::count(have_a.begin(), have_a.end(), 0) || std::count(have_b.begin(), have_b.end(), 0))
      return diverge(-1, fmt::format("wave {} lacks elements of an operand for its part of the result", w));
    auto place = [&](int32_t e) { return static_cast<size_t>(row_at[static_cast<size_t>(e / n)] * width + column_at[static_cast<size_t>(e % n)]); };
    for (size_t i = pc.at(w, 0, 0); i < pc.at(w, 0, 0) + size_t{64} * pc.registers; ++i)
      if (pc.element[i] >= 0) std::memcpy(vc.data() + place(pc.element[i]) * sc, data(c) + i * sc, sc);
    Dot part = d;
    part.m = static_cast<int64_t>(rows.size());
    part.n = width;
    dot_arrays(part, va.data(), vb.data(), vc.data(), scratch_);
    for (size_t i = pr.at(w, 0, 0); i < pr.at(w, 0, 0) + size_t{64} * pr.registers; ++i)
      if (pr.element[i] >= 0) std::memcpy(out + i * sc, vc.data() + place(pr.element[i]) * sc, sc);
  }
}

void FaithfulRun::output(const ir::Op& op) {
  if (op.kind == OpKind::Print) {
    for (ValueId v : op.operands) collapse(v);
    return;
  }
  Bytes cond = collapse(op.operands[0]);
  for (std::byte b : cond)
    if (b == std::byte{0}) return fail(fmt::format("device_assert does not hold: {}", op.get_text(AttrKey::Text)), true);
}

}  // namespace tile::interp
