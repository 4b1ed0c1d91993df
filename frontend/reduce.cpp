// reduce and arg_reduce: over registers, then lanes, then waves, in the order that fix_values set.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/passes/scratch.h"
#include "frontend/amdgpu/buffer.h"
#include "frontend/amdgpu/lanes.h"
#include "frontend/lowering.h"

namespace tile::frontend {

using namespace llvm;
using layout::Carrier;
using layout::Dim;

namespace {

uint64_t infinity(DType t, bool negative) {
  const DTypeInfo& row = info(t);
  return (((uint64_t{1} << row.exp_bits) - 1) << row.man_bits) | (negative ? uint64_t{1} << (row.bits - 1) : 0);
}

// What changes nothing when combined: padded positions become that.
uint64_t identity(const std::string& combine, DType t) {
  uint64_t ones = ~uint64_t{0} >> (64 - bit_width(t)), sign = uint64_t{1} << (bit_width(t) - 1);
  bool f = is_float(t);
  uint64_t nan = f ? infinity(t, false) | uint64_t{1} << (info(t).man_bits - 1) : 0;
  if (combine == "sum") return f ? sign : 0;  // -0.0
  if (combine == "prod") return f ? static_cast<uint64_t>(info(t).bias) << info(t).man_bits : 1;
  if (combine == "max") return f ? nan : is_signed(t) ? sign : 0;  // a NaN loses to everything
  if (combine == "min") return f ? nan : is_signed(t) ? ones >> 1 : ones;
  if (combine == "max_nan") return f ? infinity(t, true) : is_signed(t) ? sign : 0;
  if (combine == "min_nan") return f ? infinity(t, false) : is_signed(t) ? ones >> 1 : ones;
  if (combine == "and") return ones;
  return 0;
}

std::optional<OpKind> kind_of(const std::string& combine, DType t) {
  std::string spelling = combine;
  if (combine == "sum") spelling = "add";
  if (combine == "prod") spelling = "mul";
  bool largest = combine == "max" || combine == "max_nan", smallest = combine == "min" || combine == "min_nan";
  if (largest || smallest) {
    if (is_bool(t)) spelling = largest ? "or" : "and";
    else if (!is_float(t)) spelling = largest ? "max" : "min";
  }
  return elementwise_by_spelling(spelling, t);
}

using Parts = SmallVector<Value*, 2>;  // what is combined at one position: a value, or a value and its index

class Reduction {
 public:
  Reduction(Lowering& l, const ir::Op& o)
      : l_(l), o_(o), at_(l.layout(o.operands[0])), axis_(static_cast<unsigned>(o.get_int(AttrKey::Axis))),
        combine_(o.get_text(AttrKey::Combine)), t_(l.dtype(o.operands[0])), arg_(o.kind == OpKind::ArgReduce) {}

  Status run() {
    if (!arg_) {
      kind_ = kind_of(combine_, t_);
      if (!kind_) return l_.failure(o_, fmt::format("no '{}' of {}", combine_, name(t_)));
    }
    auto steps = ir::reduce_steps(at_, axis_, o_.get_ints(AttrKey::Order));
    if (!steps) return l_.failure(o_, "the layout can't combine in this order");
    for (const ir::ReduceStep& s : *steps) carriers_.push_back(s.carrier);
    add_padding_bits();
    load();
    registers();
    lanes();
    if (Status s = waves(); !s) return s;
    finish();
    return Unit{};
  }

 private:
  // Bits of a layout that is larger than the tile hold nothing but identities: combining them as well fills the copies.
  void add_padding_bits() {
    std::vector<std::optional<Carrier>> all = layout::axis_carriers(at_, axis_);
    for (size_t bit = o_.get_ints(AttrKey::Order).size(); bit < all.size(); ++bit)
      if (all[bit]) carriers_.push_back(*all[bit]);
    std::stable_sort(carriers_.begin(), carriers_.end(), [](const Carrier& a, const Carrier& b) { return a.dim < b.dim; });
  }

  void load() {
    int64_t extent = l_.k.type(o_.operands[0]).shape[axis_];
    const Regs& have = l_.regs(o_.operands[0]);
    std::string neutral = arg_ ? combine_ + (is_float(t_) ? "_nan" : "") : combine_;
    for (unsigned r = 0; r < have.size(); ++r) {
      Parts p{have[r]};
      if (arg_) p.push_back(l_.coord(at_, r, axis_));
      if (at_.shape()[axis_] > extent) {
        Value* in = l_.b.CreateICmpULT(l_.coord(at_, r, axis_), l_.i32(extent));
        p[0] = l_.b.CreateSelect(in, p[0], l_.constant(t_, identity(neutral, t_)));
        // An index beyond all others never wins a tie.
        if (arg_) p[1] = l_.b.CreateSelect(in, p[1], l_.i32(0x7fffffff));
      }
      at_register_.push_back(p);
    }
  }

  Parts combine(const Parts& x, const Parts& y) {
    if (!arg_) return {emit_elementwise(l_, *kind_, t_, {x[0], y[0]})};
    Value* take = is_better(y, x);
    return {l_.b.CreateSelect(take, y[0], x[0]), l_.b.CreateSelect(take, y[1], x[1])};
  }

  // NaN before everything, then the larger (or smaller), then the lower index.
  Value* is_better(const Parts& y, const Parts& x) {
    auto& b = l_.b;
    bool largest = combine_ == "max";
    Value* earlier = b.CreateICmpSLT(y[1], x[1]);
    Value *wins = nullptr, *ties = nullptr;
    if (is_float(t_)) {
      auto wide = [&](Value* v) { return t_ == DType::BF16 ? b.CreateFPExt(v, b.getFloatTy()) : v; };
      Value *vy = wide(y[0]), *vx = wide(x[0]);
      Value *ny = b.CreateFCmpUNO(vy, vy), *nx = b.CreateFCmpUNO(vx, vx);
      wins = b.CreateOr(largest ? b.CreateFCmpOGT(vy, vx) : b.CreateFCmpOLT(vy, vx), b.CreateAnd(ny, b.CreateNot(nx)));
      ties = b.CreateOr(b.CreateFCmpOEQ(vy, vx), b.CreateAnd(ny, nx));
    } else {
      auto p = largest ? (is_signed(t_) ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT) : (is_signed(t_) ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT);
      wins = b.CreateICmp(p, y[0], x[0]);
      ties = b.CreateICmpEQ(y[0], x[0]);
    }
    return b.CreateOr(wins, b.CreateAnd(ties, earlier));
  }

  void registers() {
    unsigned done = 0;
    for (const Carrier& c : carriers_) {
      if (c.dim != Dim::Register) continue;
      unsigned bit = 1u << c.bit;
      done |= bit;
      for (unsigned r = 0; r < at_register_.size(); ++r)
        if ((r & done) == 0) at_register_[r] = combine(at_register_[r], at_register_[r | bit]);
    }
    // What is left are the registers of the result.
    std::vector<unsigned> kept = layout::kept_registers(at_, axis_);
    std::vector<Parts> left(size_t{1} << kept.size());
    for (unsigned r = 0; r < at_register_.size(); ++r)
      if ((r & done) == 0) left[kept_bits(r, kept)] = at_register_[r];
    for (unsigned r = 0; r < at_register_.size(); ++r)
      if (Parts& p = left[kept_bits(r, kept)]; p.empty()) p = at_register_[r & ~done];
    at_register_ = std::move(left);
  }

  void lanes() {
    for (const Carrier& c : carriers_)
      if (c.dim == Dim::Lane)
        for (Parts& p : at_register_) p = across(p, 1u << c.bit);
  }

  Parts across(const Parts& own, unsigned mask) {
    bool swap = info(l_.k.arch).has_permlane_swap && mask >= 16;
    Parts low, high;
    for (Value* v : own) {
      Regs first, second;
      for (Value* d : to_dwords(l_, v)) {
        if (swap) {
          auto [x, y] = permlane_swap(l_, mask, d, d);
          first.push_back(x), second.push_back(y);
        } else {
          first.push_back(d), second.push_back(from_lane_xor(l_, d, mask));
        }
      }
      low.push_back(swap ? from_dwords(l_, first, v->getType()) : v);
      high.push_back(from_dwords(l_, second, v->getType()));
    }
    return combine(low, high);
  }

  // Every wave writes its partial results and reads those of the others, as dsl/passes/scratch.h lays them out: partial
  // result p of element e is number p * elements + e.
  Status waves() {
    std::vector<uint32_t> partial(at_.in().bits(Dim::Wave));
    unsigned steps = 0, used = 0;
    for (const Carrier& c : carriers_)
      if (c.dim == Dim::Wave) partial[c.bit] = 1u << steps++, used |= 1u << c.bit;
    if (steps == 0) return Unit{};
    scratch_ = passes::reduce_scratch(l_.k, o_);
    if (!o_.has(AttrKey::LdsOffset) || scratch_.partials != 1u << steps) return l_.failure(o_, "its shared memory has no place");
    auto& b = l_.b;
    result_ = layout::slice(at_, axis_);
    thread_element_ = b.CreateXor(l_.combine_bits(b, l_.lane(), packed(Dim::Lane)), l_.combine_bits(b, l_.wave(), packed(Dim::Wave)));
    Value* own = b.CreateMul(l_.combine_bits(b, l_.wave(), partial), l_.i32(static_cast<int64_t>(scratch_.elements)));
    // One of the threads that hold the same.
    Value* first = b.CreateAnd(is_zero(l_.lane(), result_.free_mask(Dim::Lane)), is_zero(l_.wave(), result_.free_mask(Dim::Wave) & ~used));
    BasicBlock *then = l_.new_block("partial"), *done = l_.new_block("partials");
    b.CreateCondBr(first, then, done);
    b.SetInsertPoint(then);
    for (unsigned r = 0; r < at_register_.size(); ++r)
      for (size_t i = 0; i < at_register_[r].size(); ++i) {
        Value* v = to_memory(l_, at_register_[r][i]);
        plain_store(l_, {v}, place(r, i, own), v->getType()->getIntegerBitWidth() / 8);
      }
    b.CreateBr(done);
    b.SetInsertPoint(done);
    l_.barrier_lds();
    for (unsigned r = 0; r < at_register_.size(); ++r) {
      std::vector<Parts> list;
      for (unsigned p = 0; p < scratch_.partials; ++p) list.push_back(read(r, l_.i32(static_cast<int64_t>(p * scratch_.elements))));
      for (size_t stride = 1; stride < list.size(); stride *= 2)
        for (size_t p = 0; p < list.size(); p += 2 * stride) list[p] = combine(list[p], list[p + stride]);
      at_register_[r] = list[0];
    }
    return Unit{};
  }

  std::vector<uint32_t> packed(Dim d) const {
    std::vector<uint32_t> out;
    for (unsigned i = 0; i < result_.in().bits(d); ++i) out.push_back(static_cast<uint32_t>(result_.basis(d, i)));
    return out;
  }
  Value* is_zero(Value* word, unsigned mask) {
    return mask == 0 ? static_cast<Value*>(l_.b.getTrue()) : l_.b.CreateICmpEQ(l_.b.CreateAnd(word, mask), l_.i32(0));
  }
  // Of the value (part 0) or the index (part 1) of result register r in the partial result that starts at `first`.
  Value* place(unsigned r, size_t part, Value* first) {
    auto& b = l_.b;
    uint64_t bytes = part == 0 ? scratch_.elem_bytes : 4, start = static_cast<uint64_t>(o_.get_int(AttrKey::LdsOffset)) + (part == 0 ? 0 : scratch_.index_offset);
    Value* number = b.CreateAdd(first, b.CreateXor(thread_element_, l_.i32(static_cast<int64_t>(result_.at(r, 0, 0)))));
    return l_.lds(b.CreateAdd(b.CreateMul(number, l_.i32(static_cast<int64_t>(bytes))), l_.i32(static_cast<int64_t>(start))));
  }
  Parts read(unsigned r, Value* first) {
    Parts p;
    for (size_t i = 0; i < at_register_[r].size(); ++i) {
      DType t = i == 0 ? t_ : DType::I32;
      unsigned bytes = i == 0 ? scratch_.elem_bytes : 4;
      p.push_back(from_memory(l_, plain_load(l_, place(r, i, first), 1, bytes, bytes)[0], t));
    }
    return p;
  }

  void finish() {
    for (size_t i = 0; i < o_.results.size(); ++i) {
      Regs out;
      for (const Parts& p : at_register_) out.push_back(p[i]);
      if (l_.k.type(o_.results[i]).shape.rank() == 0) out = {l_.uniform(out[0])};
      l_.set(o_.results[i], std::move(out));
    }
  }

  Lowering& l_;
  const ir::Op& o_;
  const LinearLayout& at_;
  unsigned axis_;
  std::string combine_;
  DType t_;
  bool arg_;
  std::optional<OpKind> kind_;
  std::vector<Carrier> carriers_;
  std::vector<Parts> at_register_;
  passes::ReduceScratch scratch_;
  LinearLayout result_;
  Value* thread_element_ = nullptr;
};

}  // namespace

Status lower_reduce(Lowering& l, const ir::Op& o) { return Reduction(l, o).run(); }

}  // namespace tile::frontend
