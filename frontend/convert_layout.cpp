// convert_layout: a conversion plan, step by step.
#include "dsl/passes/scratch.h"
#include "frontend/amdgpu/buffer.h"
#include "frontend/amdgpu/lanes.h"
#include "frontend/amdgpu/lds.h"
#include "frontend/conversion.h"
#include "frontend/masked_access.h"

namespace tile::frontend {

using namespace llvm;
using layout::ConversionPlan;
using layout::LanePlan;
using layout::LaneStep;

namespace {

// Elements of one register word; words of 8 bytes are two dwords, the others one.
Regs form_word(Lowering& l, const LanePlan& p, const std::vector<uint16_t>& registers, const Regs& source) {
  if (p.elem_bytes == 8 || registers.size() == 1) return to_dwords(l, source[registers[0]]);
  Value* word = nullptr;
  for (size_t i = 0; i < registers.size(); ++i) {
    Value* part = l.b.CreateZExt(source[registers[i]], l.b.getInt32Ty());
    if (i > 0) part = l.b.CreateShl(part, 8 * p.elem_bytes * i);
    word = word ? l.b.CreateOr(word, part) : part;
  }
  return {word};
}

Value* parity(Lowering& l, IRBuilder<>& at, Value* word, uint32_t mask) {
  std::vector<uint32_t> bases;
  for (unsigned i = 0; mask >> i != 0; ++i) bases.push_back(mask >> i & 1);
  return l.combine_bits(at, word, bases);
}

class LaneProgram {
 public:
  LaneProgram(Lowering& l, const LanePlan& p, const Regs& source) : l_(l), p_(p) {
    for (const std::vector<uint16_t>& registers : p.inputs) words_.push_back(form_word(l, p, registers, source));
  }

  Regs run(Type* element) {
    for (const LaneStep& s : p_.steps) step(s);
    Regs out;
    for (const LanePlan::Output& o : p_.outputs) {
      Regs dwords = words_[o.value];
      if (o.elem > 0) dwords[0] = l_.b.CreateLShr(dwords[0], uint64_t{8} * p_.elem_bytes * o.elem);
      out.push_back(from_dwords(l_, dwords, element));
    }
    return out;
  }

 private:
  void step(const LaneStep& s) {
    const Regs a = words_[s.a];
    Regs first(a.size()), second;
    using Op = LaneStep::Op;
    switch (s.op) {
      case Op::Select: {
        IRBuilder<>& at = l_.entry();
        Value* same = at.CreateICmpEQ(parity(l_, at, l_.lane(), s.lane_mask), parity(l_, at, l_.wave(), s.wave_mask));
        for (size_t i = 0; i < a.size(); ++i) first[i] = l_.b.CreateSelect(same, a[i], words_[s.b][i]);
        break;
      }
      case Op::Dpp:
        for (size_t i = 0; i < a.size(); ++i) first[i] = dpp(l_, a[i], s.dpp_ctrl);
        break;
      case Op::Bpermute: {
        IRBuilder<>& at = l_.entry();
        Value* from = at.CreateXor(l_.combine_bits(at, l_.lane(), s.from_bits), at.getInt32(s.from_constant));
        for (size_t i = 0; i < a.size(); ++i) first[i] = bpermute(l_, a[i], from);
        break;
      }
      case Op::Permlane16: case Op::Permlane32:
        second.resize(a.size());
        for (size_t i = 0; i < a.size(); ++i)
          std::tie(first[i], second[i]) = permlane_swap(l_, s.op == Op::Permlane16 ? 16 : 32, a[i], words_[s.b][i]);
        break;
    }
    words_.push_back(std::move(first));
    if (!second.empty()) words_.push_back(std::move(second));
  }

  Lowering& l_;
  const LanePlan& p_;
  std::vector<Regs> words_;
};

Regs through_shared(Lowering& l, const ConversionPlan& plan, const Regs& source, int64_t base) {
  const layout::SharedPlan& p = *plan.shared;
  Regs loaded(plan.dst_registers, PoisonValue::get(source[0]->getType()));
  for (unsigned round = 0; round < p.rounds; ++round) {
    if (round > 0 && !p.wave_local) l.barrier_lds();
    shared_store(l, p.store, round, base, source);
    if (!p.wave_local) l.barrier_lds();
    shared_load(l, p.load, round, base, loaded);
  }
  Regs out;
  for (uint16_t r : p.loaded) out.push_back(loaded[r]);
  return out;
}

}  // namespace

Regs emit_conversion(Lowering& l, const ConversionPlan& plan, const Regs& source, int64_t lds_offset) {
  switch (plan.kind) {
    case ConversionPlan::Kind::None: return source;
    case ConversionPlan::Kind::Registers: {
      Regs out;
      for (uint16_t r : plan.register_map) out.push_back(source[r]);
      return out;
    }
    case ConversionPlan::Kind::Lanes: case ConversionPlan::Kind::Shared: break;
  }
  Regs raw;
  for (Value* v : source) raw.push_back(to_memory(l, v));
  Type* element = source[0]->getType();
  Regs out = plan.kind == ConversionPlan::Kind::Lanes ? LaneProgram(l, *plan.lanes, raw).run(raw[0]->getType())
                                                      : through_shared(l, plan, raw, lds_offset);
  for (Value*& v : out) {
    if (element->isIntegerTy(1)) v = l.b.CreateTrunc(v, element);
    else if (v->getType() != element) v = l.b.CreateBitCast(v, element);
  }
  return out;
}

namespace {

// Row-major index in the true shape of the element at register r, and whether it is one (not padding); null: always.
std::pair<Value*, Value*> element_of(Lowering& l, const LinearLayout& at, const ir::Shape& s, unsigned r) {
  Value *index = l.i32(0), *real = nullptr;
  for (unsigned axis = 0; axis < s.rank(); ++axis) {
    Value* c = l.coord(at, r, axis);
    index = l.b.CreateAdd(l.b.CreateMul(index, l.i32(s[axis])), c);
    if (at.shape()[axis] <= s[axis]) continue;
    Value* in = l.b.CreateICmpULT(c, l.i32(s[axis]));
    real = real ? l.b.CreateAnd(real, in) : in;
  }
  return {index, real};
}

}  // namespace

// Through shared memory, in row-major order (dsl/passes/scratch.h).
Status restage_reshape(Lowering& l, const ir::Op& o) {
  if (!o.has(AttrKey::LdsOffset)) return l.failure(o, "its shared memory has no place");
  ir::ValueId from = o.operands[0], to = o.results[0];
  const LinearLayout &source = l.layout(from), &target = l.layout(to);
  const ir::Shape &from_shape = l.k.type(from).shape, &to_shape = l.k.type(to).shape;
  DType t = l.dtype(from);
  unsigned bytes = buffer_bytes(t);
  auto pointer = [&](Value* index) {
    return l.lds(l.b.CreateAdd(l.b.CreateMul(index, l.i32(bytes)), l.i32(o.get_int(AttrKey::LdsOffset))));
  };
  unsigned copies = source.free_mask(layout::Dim::Register);
  for (unsigned r = 0; r < source.num_registers(); ++r) {
    if ((r & copies) != 0) continue;
    auto [index, real] = element_of(l, source, from_shape, r);
    if (Value* once = l.is_first_copy(source)) real = real ? l.b.CreateAnd(real, once) : once;
    masked_store(l, {to_memory(l, l.regs(from)[r])}, pointer(index), bytes, real);
  }
  if (l.k.waves > 1 && !l.k.is_wave) l.barrier_lds();
  Regs out;
  for (unsigned r = 0; r < target.num_registers(); ++r) {
    auto [index, real] = element_of(l, target, to_shape, r);
    // Padded places read the first element.
    if (real) index = l.b.CreateSelect(real, index, l.i32(0));
    out.push_back(from_memory(l, plain_load(l, pointer(index), 1, bytes, bytes)[0], t));
  }
  l.set(to, std::move(out));
  return Unit{};
}

Status lower_convert_layout(Lowering& l, const ir::Op& o) {
  ir::ValueId from = o.operands[0], to = o.results[0];
  auto plan = passes::conversion_plan(l.k, o);
  if (!plan) return l.failure(o, plan.error().message);
  if (plan->scratch_bytes() > 0 && !o.has(AttrKey::LdsOffset)) return l.failure(o, "its shared memory has no place");
  l.set(to, emit_conversion(l, *plan, l.regs(from), o.get_int(AttrKey::LdsOffset)));
  return Unit{};
}

}  // namespace tile::frontend
