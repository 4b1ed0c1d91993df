// Reductions by registers, lanes and waves.
#include <fmt/format.h>

#include <cstring>

#include "dsl/layout/tile_ops.h"
#include "dsl/num/float.h"
#include "dsl/num/integer.h"
#include "dsl/passes/scratch.h"
#include "interpreter/tile/faithful_state.h"
#include "interpreter/tile/group.h"
#include "interpreter/tile/reduce.h"

namespace tile::interp {

using ir::ValueId;
using layout::Dim;
using layout::LinearLayout;

namespace {

class Combiner {
 public:
  Combiner(const ir::Op& op, DType t) : t_(t), arg_(op.kind == OpKind::ArgReduce), max_(op.get_text(AttrKey::Combine) == "max") {
    if (arg_) return;
    Result<Combine> c = combine_of(op.get_text(AttrKey::Combine), t);
    if (c) kernel_ = num::elementwise_kernel(c->op, t);
  }
  bool valid() const { return arg_ || kernel_; }
  // The lower index is on the left.
  Partial operator()(const Partial& left, const Partial& right) const {
    if (!left.there) return right;
    if (!right.there) return left;
    if (arg_) return takes_right(left, right) ? right : left;
    Partial p = left;
    kernel_(&left.bits, &right.bits, nullptr, &p.bits, 1);
    return p;
  }

 private:
  bool takes_right(const Partial& left, const Partial& right) const {
    bool take = false;
    num::visit_dtype(t_, [&]<DType T>() {
      using V = num::storage_t<T>;
      V a, b;
      std::memcpy(&a, &left.bits, sizeof a);
      std::memcpy(&b, &right.bits, sizeof b);
      if constexpr (is_arith_float(T)) {
        bool na = num::op::NeF<T>(a, a) != 0, nb = num::op::NeF<T>(b, b) != 0;
        bool better = (max_ ? num::op::GtF<T>(b, a) : num::op::LtF<T>(b, a)) != 0;
        bool same = num::op::EqF<T>(a, b) != 0;
        if (na || nb) take = nb && (!na || right.index < left.index);
        else take = better || (same && right.index < left.index);
      } else {
        take = (max_ ? b > a : b < a) || (a == b && right.index < left.index);
      }
    });
    return take;
  }

  DType t_;
  bool arg_, max_;
  num::ElementwiseKernel kernel_ = nullptr;
};

}  // namespace

// All waves leave their partial results in shared memory, meet, and take those of the others: passes::ReduceScratch says
// where. `partial` is what the places of the operand's layout hold; afterwards it is what was read.
void FaithfulRun::exchange_waves(const ir::Op& op, const Places& p, const std::vector<unsigned>& kept, const std::vector<ir::ReduceStep>& steps,
                                 std::vector<Partial>& partial) {
  auto axis = static_cast<unsigned>(op.get_int(AttrKey::Axis));
  LinearLayout result = layout::slice(layout_of(op.operands[0]), axis);
  passes::ReduceScratch scratch = passes::reduce_scratch(k_, op);
  uint32_t base = 0;
  layout::LdsModel& lds = shared_memory(op, scratch.bytes, base);
  std::vector<unsigned> axis_waves;
  for (const ir::ReduceStep& s : steps)
    if (s.carrier.dim == Dim::Wave) axis_waves.push_back(s.carrier.bit);
  unsigned lane_copies = result.free_mask(Dim::Lane), wave_copies = result.free_mask(Dim::Wave);
  for (unsigned bit : axis_waves) wave_copies &= ~(1u << bit);
  // One value and, of arg_reduce, its index.
  auto transfer = [&](bool store, unsigned w, size_t slot, Partial& value) {
    auto address = base + static_cast<uint32_t>(slot * scratch.elem_bytes);
    auto bytes = reinterpret_cast<uint8_t*>(&value.bits);
    Status s = store ? lds.store(w, lds_op_, address, bytes, scratch.elem_bytes) : lds.load(w, lds_op_, address, bytes, scratch.elem_bytes);
    if (s && op.kind == OpKind::ArgReduce) {
      address = base + static_cast<uint32_t>(scratch.index_offset + slot * 4);
      auto index = reinterpret_cast<uint8_t*>(&value.index);
      s = store ? lds.store(w, lds_op_, address, index, 4) : lds.load(w, lds_op_, address, index, 4);
    }
    if (!s) lds_error(s.error());
  };
  std::vector<Partial> loaded = partial;
  for (bool store : {true, false}) {
    for (unsigned w = 0; w < p.waves; ++w)
      for (unsigned r = 0; r < 1u << kept.size(); ++r) {
        unsigned source = 0;
        for (size_t b = 0; b < kept.size(); ++b) source |= (r >> b & 1) << kept[b];
        ++lds_op_;
        for (unsigned lane = 0; lane < 64 && !stopped(); ++lane) {
          if (store && ((lane & lane_copies) != 0 || (w & wave_copies) != 0)) continue;
          size_t e = result.at(r, lane, w);
          for (unsigned other = 0; other < (store ? 1u : scratch.partials); ++other) {
            unsigned owner = w, number = 0;
            for (size_t i = 0; i < axis_waves.size(); ++i) {
              unsigned mine = w >> axis_waves[i] & 1, bit = store ? mine : other >> i & 1;
              number |= bit << i;
              owner ^= (mine ^ bit) << axis_waves[i];
            }
            Partial value = partial[p.at(owner, lane, source)];
            transfer(store, w, number * scratch.elements + e, value);
            if (!store) loaded[p.at(owner, lane, source)] = value;
          }
        }
      }
    if (store) lds.barrier();
  }
  partial = std::move(loaded);
}

void FaithfulRun::reduce(const ir::Op& op) {
  ValueId x = op.operands[0];
  const ir::Shape& shape = type(x).shape;
  auto axis = static_cast<unsigned>(op.get_int(AttrKey::Axis));
  const LinearLayout& l = layout_of(x);
  Combiner combine(op, type(x).dtype);
  if (!combine.valid()) return diverge(-1, "there is no such reduction");
  auto steps = ir::reduce_steps(l, axis, op.get_ints(AttrKey::Order));
  if (!steps) return diverge(-1, fmt::format("the layout {} can't combine in this order", l.str()));

  const Places& p = places(x);
  size_t size = size_of(x);
  std::vector<Partial> values(p.size());
  std::vector<uint32_t> coordinate(p.size());  // along the axis
  for (unsigned w = 0; w < p.waves; ++w)
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned r = 0; r < p.registers; ++r) {
        size_t at = p.at(w, lane, r);
        coordinate[at] = static_cast<uint32_t>(l.out().get(l.at(r, lane, w), layout::tile_dim(axis)));
        values[at].there = static_cast<int64_t>(coordinate[at]) < shape[axis];
        values[at].index = static_cast<int32_t>(coordinate[at]);
        std::memcpy(&values[at].bits, data(x) + at * size, size);
      }

  std::vector<unsigned> kept = layout::kept_registers(l, axis);
  bool met = false;
  for (const ir::ReduceStep& step : *steps) {
    std::vector<Partial> next = values;
    unsigned bit = 1u << step.carrier.bit;
    if (step.carrier.dim == Dim::Wave && !met) {
      met = true;
      exchange_waves(op, p, kept, *steps, values);
      next = values;
      if (stopped()) return;
    }
    for (unsigned w = 0; w < p.waves; ++w)
      for (unsigned lane = 0; lane < 64; ++lane)
        for (unsigned r = 0; r < p.registers; ++r) {
          size_t at = p.at(w, lane, r), other = at;
          if (step.carrier.dim == Dim::Register) other = p.at(w, lane, r ^ bit);
          else if (step.carrier.dim == Dim::Lane) other = p.at(w, lane ^ bit, r);
          else other = p.at(w ^ bit, lane, r);
          bool upper = (coordinate[at] >> step.axis_bit & 1) != 0;
          next[at] = upper ? combine(values[other], values[at]) : combine(values[at], values[other]);
        }
    values = std::move(next);
  }

  // Register r of the result is the operand's with the bits of r at the kept places.
  for (size_t result = 0; result < op.results.size(); ++result) {
    ValueId v = op.results[result];
    std::byte* out = make(v).data();
    size_t bytes = size_of(v);
    unsigned registers = 1u << kept.size();
    if (is_tile(v) && places(v).registers != registers) return diverge(-1, "the result has another number of registers");
    for (unsigned w = 0; w < p.waves; ++w)
      for (unsigned lane = 0; lane < 64; ++lane)
        for (unsigned r = 0; r < registers; ++r) {
          unsigned from = 0;
          for (size_t b = 0; b < kept.size(); ++b) from |= (r >> b & 1) << kept[b];
          const Partial& partial = values[p.at(w, lane, from)];
          const void* value = result == 0 ? static_cast<const void*>(&partial.bits) : &partial.index;
          if (is_tile(v)) {
            std::memcpy(out + places(v).at(w, lane, r) * bytes, value, bytes);
          } else if (w == 0 && lane == 0 && r == 0) {
            std::memcpy(out, value, bytes);
          } else if (std::memcmp(out, value, bytes) != 0) {
            return diverge(-1, fmt::format("wave {} lane {} has another result than lane 0", w, lane));
          }
        }
  }
}

}  // namespace tile::interp
