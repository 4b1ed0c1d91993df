#include "frontend/amdgpu/lds.h"

#include <functional>

#include "frontend/amdgpu/buffer.h"

namespace tile::frontend {

using namespace llvm;
using layout::SharedAccess;

namespace {

class Access {
 public:
  Access(Lowering& l, const SharedAccess& a, int64_t base) : l_(l), a_(a), base_(base) {
    // The thread's part of addresses, once at the kernel's entry.
    IRBuilder<>& at = l.entry();
    Value* lane = l.combine_bits(at, l.lane(), a.lane_offset);
    Value* wave = l.combine_bits(at, l.wave(), a.wave_offset);
    thread_ = at.CreateXor(lane, wave);
    if (a.rounds_by_thread())
      round_ = at.CreateXor(l.combine_bits(at, l.lane(), a.lane_round), l.combine_bits(at, l.wave(), a.wave_round));
    auto zero = [&](Value* word, uint32_t mask) {
      if (mask == 0) return;
      Value* c = at.CreateICmpEQ(at.CreateAnd(word, mask), at.getInt32(0));
      takes_part_ = takes_part_ ? at.CreateAnd(takes_part_, c) : c;
    };
    if (a.kind == layout::AccessKind::Store) {
      zero(l.lane(), a.free_lanes);
      zero(l.wave(), a.free_waves);
    }
  }

  // Calls f(op) in code that threads reach which do the op in this round.
  void each(unsigned round, const std::function<void(const SharedAccess::Op&)>& f, Regs* merged) {
    std::map<uint32_t, std::vector<const SharedAccess::Op*>> groups;
    for (const SharedAccess::Op& op : a_.ops) groups[op.round].push_back(&op);
    for (auto& [op_round, ops] : groups) {
      Value* condition = takes_part_;
      if (round_) {
        Value* now = l_.b.CreateICmpEQ(round_, l_.i32(op_round ^ round));
        condition = condition ? l_.b.CreateAnd(condition, now) : now;
      } else if (op_round != round) {
        continue;
      }
      guarded(condition, merged, [&, &list = ops] {
        for (const SharedAccess::Op* op : list) f(*op);
      });
    }
  }

  Value* pointer(const SharedAccess::Op& op) {
    bool add = (op.offset & a_.thread_mask()) == 0;
    Value* place = add ? thread_ : l_.b.CreateXor(thread_, l_.i32(op.offset));
    return l_.b.CreateConstGEP1_32(l_.b.getInt8Ty(), l_.lds(place), static_cast<unsigned>(base_ + (add ? op.offset : 0)));
  }

 private:
  void guarded(Value* condition, Regs* merged, const std::function<void()>& body) {
    if (!condition) return body();
    Regs old = merged ? *merged : Regs{};
    BasicBlock *from = l_.b.GetInsertBlock(), *then = l_.new_block("lds"), *done = l_.new_block("lds.end");
    l_.b.CreateCondBr(condition, then, done);
    l_.b.SetInsertPoint(then);
    body();
    l_.b.CreateBr(done);
    l_.b.SetInsertPoint(done);
    if (!merged) return;
    for (size_t r = 0; r < old.size(); ++r) {
      if ((*merged)[r] == old[r]) continue;
      PHINode* phi = l_.b.CreatePHI(old[r]->getType(), 2);
      phi->addIncoming(old[r], from);
      phi->addIncoming((*merged)[r], then);
      (*merged)[r] = phi;
    }
  }

  Lowering& l_;
  const SharedAccess& a_;
  int64_t base_;
  Value *thread_ = nullptr, *round_ = nullptr, *takes_part_ = nullptr;
};

}  // namespace

void shared_store(Lowering& l, const SharedAccess& access, unsigned round, int64_t base, const Regs& registers) {
  Access a(l, access, base);
  a.each(round, [&](const SharedAccess::Op& op) {
    Regs elements;
    for (uint16_t r : op.registers) elements.push_back(registers[r]);
    plain_store(l, elements, a.pointer(op), access.bytes());
  }, nullptr);
}

void shared_load(Lowering& l, const SharedAccess& access, unsigned round, int64_t base, Regs& registers) {
  Access a(l, access, base);
  a.each(round, [&](const SharedAccess::Op& op) {
    Regs elements = plain_load(l, a.pointer(op), access.vec, access.elem_bytes, access.bytes());
    for (size_t i = 0; i < elements.size(); ++i) registers[op.registers[i]] = elements[i];
  }, &registers);
}

}  // namespace tile::frontend
