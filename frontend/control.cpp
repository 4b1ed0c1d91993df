// for, while, if: control-flow graphs with phi nodes. Conditions are scalars, hence uniform.
#include <algorithm>
#include <utility>

#include "frontend/amdgpu/buffer.h"
#include "frontend/lowering.h"

namespace tile::frontend {

using namespace llvm;

namespace {

const ir::Op& end_of(Lowering& l, ir::BlockId block) { return l.k.op(l.k.block(block).ops.back()); }

// Neighbouring registers that are one value in the machine are carried round a loop as one, so that they stay in place:
// accumulators of a matrix instruction, what one load brings, and elements that share a dword.
struct Group {
  unsigned count = 1;
  bool dwords = false;  // as integers of 32 bits
};

Group carried_group(Lowering& l, ir::ValueId next) {
  unsigned n = l.num_registers(next), bits = l.k.type(next).is_ptr() ? 64 : bit_width(l.dtype(next));
  const ir::Op* def = l.k.def(next);
  if (def && def->kind == OpKind::Dot)
    if (std::optional<MfmaId> id = ir::mfma_of(*def)) return {d_elements(*id), false};
  if (n == 1 || bits % 8 != 0 || bits > 32) return {};
  unsigned count = std::max(1u, 32 / bits);
  if (def && (def->kind == OpKind::LoadView || def->kind == OpKind::Load))
    count = std::max(count, std::min<unsigned>(16 * 8 / bits, static_cast<unsigned>(def->get_int(AttrKey::Vector, 1))));
  if (count == 1 || n % count != 0) return {};
  return {count, true};
}

// Phi nodes at the start of a block for values that a loop carries.
class Carried {
 public:
  Carried(Lowering& l, const std::vector<ir::ValueId>& next, size_t skip) : l_(l) {
    for (size_t i = skip; i < next.size(); ++i) groups_.push_back(carried_group(l, next[i]));
  }

  // In the current block, with the values `init` from `from`; sets `args`.
  void make(ArrayRef<const Regs*> init, ArrayRef<ir::ValueId> args, BasicBlock* from) {
    std::vector<Regs> out;
    std::vector<Regs> packed;
    for (size_t i = 0; i < args.size(); ++i) packed.push_back(pack(*init[i], groups_[i], from));
    for (size_t i = 0; i < args.size(); ++i) {
      phis_.emplace_back();
      for (Value* v : packed[i]) {
        PHINode* phi = l_.b.CreatePHI(v->getType(), 2);
        phi->addIncoming(v, from);
        phis_.back().push_back(phi);
      }
    }
    std::vector<llvm::Type*> elements;
    for (const Regs* r : init) elements.push_back((*r)[0]->getType());
    for (size_t i = 0; i < args.size(); ++i) l_.set(args[i], unpack(i, elements[i]));
  }

  void close(ArrayRef<const Regs*> next, BasicBlock* from) {
    for (size_t i = 0; i < phis_.size(); ++i) {
      Regs packed = pack(*next[i], groups_[i], from);
      for (size_t r = 0; r < packed.size(); ++r) phis_[i][r]->addIncoming(packed[r], from);
    }
  }

 private:
  // At the end of `from`.
  Regs pack(const Regs& regs, Group group, BasicBlock* from) {
    if (group.count == 1) return regs;
    IRBuilder<>::InsertPointGuard guard(l_.b);
    if (Instruction* end = from->getTerminator()) l_.b.SetInsertPoint(end);
    else l_.b.SetInsertPoint(from);
    Regs out;
    for (size_t r = 0; r < regs.size(); r += group.count) {
      if (group.dwords) {
        Regs raw;
        for (unsigned e = 0; e < group.count; ++e) raw.push_back(to_memory(l_, regs[r + e]));
        out.push_back(pack_elements(l_, raw));
        continue;
      }
      Value* v = PoisonValue::get(FixedVectorType::get(regs[r]->getType(), group.count));
      for (unsigned e = 0; e < group.count; ++e) v = l_.b.CreateInsertElement(v, regs[r + e], uint64_t{e});
      out.push_back(v);
    }
    return out;
  }

  Regs unpack(size_t i, llvm::Type* element) {
    Group group = groups_[i];
    Regs out;
    for (PHINode* phi : phis_[i]) {
      if (group.count == 1) {
        out.push_back(phi);
      } else if (group.dwords) {
        auto bytes = static_cast<unsigned>(element->getPrimitiveSizeInBits().getFixedValue() / 8);
        for (Value* v : unpack_elements(l_, phi, group.count, bytes)) out.push_back(v->getType() == element ? v : l_.b.CreateBitCast(v, element));
      } else {
        for (unsigned e = 0; e < group.count; ++e) out.push_back(l_.b.CreateExtractElement(phi, uint64_t{e}));
      }
    }
    return out;
  }

  Lowering& l_;
  std::vector<Group> groups_;
  std::vector<std::vector<PHINode*>> phis_;
};

std::vector<const Regs*> all_regs(Lowering& l, const std::vector<ir::ValueId>& values, size_t skip) {
  std::vector<const Regs*> out;
  for (size_t i = skip; i < values.size(); ++i) out.push_back(&l.regs(values[i]));
  return out;
}

}  // namespace

// The number of iterations is fixed before the first one; counting them cannot overflow, as `low + n * step < high`
// could.
Status lower_for(Lowering& l, const ir::Op& o) {
  const std::vector<ir::ValueId>& args = l.k.block(o.blocks[0]).args;
  Value *low = l.scalar(o.operands[0]), *high = l.scalar(o.operands[1]), *step = l.scalar(o.operands[2]);
  DType t = l.dtype(o.operands[0]);
  bool sign = is_signed(t);
  auto& b = l.b;
  Type* type = low->getType();
  Constant* zero = Constant::getNullValue(type);
  Constant* one = ConstantInt::get(type, 1);
  // |high - low| fits without sign; so does |step|.
  Value* down = sign ? b.CreateICmpSLT(step, zero) : static_cast<Value*>(b.getFalse());
  Value* from = b.CreateSelect(down, high, low);
  Value* to = b.CreateSelect(down, low, high);
  Value* some = b.CreateICmp(sign ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT, from, to);
  Value* size = b.CreateSelect(down, b.CreateNeg(step), step);
  Value* last = b.CreateUDiv(b.CreateSub(b.CreateSub(to, from), one), size);  // index of the last iteration

  BasicBlock* before = b.GetInsertBlock();
  BasicBlock *body = l.new_block("for"), *done = l.new_block("for.end");
  b.CreateCondBr(some, body, done);
  b.SetInsertPoint(body);
  std::vector<ir::ValueId> next = end_of(l, o.blocks[0]).operands;
  PHINode* count = b.CreatePHI(type, 2, "count");
  PHINode* iv = b.CreatePHI(type, 2, l.k.value(args[0]).name);
  count->addIncoming(zero, before);
  iv->addIncoming(low, before);
  l.set(args[0], {iv});
  Carried carried(l, next, 0);
  std::vector<const Regs*> init = all_regs(l, o.operands, 3);
  carried.make(init, ArrayRef<ir::ValueId>(args).drop_front(), before);
  BasicBlock* outer = std::exchange(l.loop, body);
  if (Status s = l.block(o.blocks[0]); !s) return s;
  l.loop = outer;
  BasicBlock* end = b.GetInsertBlock();
  Value* more = b.CreateICmpNE(count, last);
  Value* next_count = b.CreateAdd(count, one);
  Value* next_iv = b.CreateAdd(iv, step);
  b.CreateCondBr(more, body, done);
  std::vector<const Regs*> results = all_regs(l, next, 0);
  carried.close(results, end);
  count->addIncoming(next_count, end);
  iv->addIncoming(next_iv, end);
  b.SetInsertPoint(done);
  // Zero iterations give the initial values.
  Carried out(l, next, 0);
  out.make(init, o.results, before);
  out.close(results, end);
  return Unit{};
}

Status lower_while(Lowering& l, const ir::Op& o) {
  auto& b = l.b;
  BasicBlock* before = b.GetInsertBlock();
  BasicBlock *head = l.new_block("while"), *body = l.new_block("while.body"), *done = l.new_block("while.end");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  std::vector<ir::ValueId> next = end_of(l, o.blocks[1]).operands;
  Carried carried(l, next, 0);
  carried.make(all_regs(l, o.operands, 0), l.k.block(o.blocks[0]).args, before);
  BasicBlock* outer = std::exchange(l.loop, head);
  if (Status s = l.block(o.blocks[0]); !s) return s;
  const ir::Op& condition = end_of(l, o.blocks[0]);
  b.CreateCondBr(l.scalar(condition.operands[0]), body, done);
  const std::vector<ir::ValueId>& inner = l.k.block(o.blocks[1]).args;
  for (size_t i = 0; i < inner.size(); ++i) l.set(inner[i], l.regs(condition.operands[i + 1]));
  b.SetInsertPoint(body);
  if (Status s = l.block(o.blocks[1]); !s) return s;
  l.loop = outer;
  BasicBlock* end = b.GetInsertBlock();
  b.CreateBr(head);
  carried.close(all_regs(l, next, 0), end);
  b.SetInsertPoint(done);
  for (size_t i = 0; i < o.results.size(); ++i) l.set(o.results[i], l.regs(condition.operands[i + 1]));
  return Unit{};
}

Status lower_if(Lowering& l, const ir::Op& o) {
  auto& b = l.b;
  BasicBlock *then = l.new_block("then"), *other = l.new_block("else"), *done = l.new_block("if.end");
  b.CreateCondBr(l.scalar(o.operands[0]), then, other);
  b.SetInsertPoint(then);
  if (Status s = l.block(o.blocks[0]); !s) return s;
  BasicBlock* then_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(other);
  if (Status s = l.block(o.blocks[1]); !s) return s;
  BasicBlock* other_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  const std::vector<ir::ValueId>& yes = end_of(l, o.blocks[0]).operands;
  Carried out(l, yes, 0);
  out.make(all_regs(l, yes, 0), o.results, then_end);
  out.close(all_regs(l, end_of(l, o.blocks[1]).operands, 0), other_end);
  return Unit{};
}

}  // namespace tile::frontend
