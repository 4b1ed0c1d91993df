// Elementwise operations, from the recipe column of elementwise.def.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "frontend/elementwise.h"
#include "frontend/lowering.h"

namespace tile::frontend {

using namespace llvm;

namespace {

// What a recipe makes of operands of one LLVM type: `t` is the element type. bf16 arithmetic never comes here.
struct Recipe {
  Lowering& l;
  DType t;
  ArrayRef<Value*> a;

  Value* BINOP(Instruction::BinaryOps op) { return l.b.CreateBinOp(op, a[0], a[1]); }
  Value* UNOP(Instruction::UnaryOps op) { return l.b.CreateUnOp(op, a[0]); }
  Value* CMP(CmpInst::Predicate p) { return l.b.CreateCmp(p, a[0], a[1]); }
  Value* INTRIN(Intrinsic::ID id) { return l.b.CreateIntrinsic(id, {a[0]->getType()}, a); }
};

// Operations that only look at or change the sign bit, or select: bf16 needs no detour through f32.
bool works_on_bits(OpKind kind) {
  return kind == OpKind::NegF || kind == OpKind::AbsF || kind == OpKind::CopysignF || kind == OpKind::Where;
}

Value* recipe(Lowering& l, OpKind kind, DType t, ArrayRef<Value*> a) {
  Recipe r{l, t, a};
  switch (kind) {
#define BINOP(x) r.BINOP(Instruction::x)
#define UNOP(x) r.UNOP(Instruction::x)
#define CMP(x) r.CMP(CmpInst::x)
#define INTRIN(x) r.INTRIN(Intrinsic::x)
#define CUSTOM(x) custom::x(l, t, a)
#define TILE_EW(Kind, spelling, arity, domain, form, fidelity, how, doc) \
  case OpKind::Kind: return how;
#include "dsl/ops/elementwise.def"
#define TILE_OP(Kind, mnemonic, effects, blocks, doc) case OpKind::Kind:
#include "dsl/ops/structured.def"
#undef BINOP
#undef UNOP
#undef CMP
#undef INTRIN
#undef CUSTOM
      break;
  }
  return nullptr;
}

}  // namespace

Value* emit_elementwise(Lowering& l, OpKind kind, DType t, ArrayRef<Value*> a) {
  if (t != DType::BF16 || works_on_bits(kind)) return recipe(l, kind, t, a);
  if (kind == OpKind::FmaF) return custom::fma_bf16(l, a);
  // Through f32, then one rounding: f32 has more than twice the precision plus two bits, so rounding twice is rounding once.
  Type* f32 = l.b.getFloatTy();
  SmallVector<Value*, 3> wide;
  for (Value* v : a) wide.push_back(l.b.CreateFPExt(v, f32));
  Value* result = recipe(l, kind, DType::F32, wide);
  if (!result->getType()->isFloatTy()) return result;
  return l.b.CreateFPTrunc(result, l.b.getBFloatTy());
}

namespace {

// Pairs of these go in one instruction (v_pk_*).
bool is_packable(OpKind kind, DType t) {
  switch (kind) {
    case OpKind::AddF: case OpKind::SubF: case OpKind::MulF: case OpKind::FmaF: return t == DType::F32 || t == DType::F16;
    case OpKind::MinF: case OpKind::MaxF: return t == DType::F16;
    default: return false;
  }
}

Value* pair_of(Lowering& l, Value* low, Value* high) {
  Value* v = PoisonValue::get(FixedVectorType::get(low->getType(), 2));
  return l.b.CreateInsertElement(l.b.CreateInsertElement(v, low, uint64_t{0}), high, uint64_t{1});
}

}  // namespace

Status lower_elementwise(Lowering& l, const ir::Op& o) {
  ir::ValueId result = o.results[0];
  unsigned n = l.num_registers(result);
  DType t = l.dtype(o.operands.back());
  Regs out(n);
  SmallVector<Value*, 3> args(o.operands.size());
  auto operand = [&](size_t i, unsigned r) {
    const Regs& have = l.regs(o.operands[i]);
    return have.size() == 1 ? have[0] : have[r];
  };
  if (n % 2 == 0 && is_packable(o.kind, t)) {
    for (unsigned r = 0; r < n; r += 2) {
      for (size_t i = 0; i < args.size(); ++i) args[i] = pair_of(l, operand(i, r), operand(i, r + 1));
      Value* v = emit_elementwise(l, o.kind, t, args);
      out[r] = l.b.CreateExtractElement(v, uint64_t{0});
      out[r + 1] = l.b.CreateExtractElement(v, uint64_t{1});
    }
  } else {
    for (unsigned r = 0; r < n; ++r) {
      for (size_t i = 0; i < args.size(); ++i) args[i] = operand(i, r);
      out[r] = emit_elementwise(l, o.kind, t, args);
    }
  }
  l.set(result, std::move(out));
  return Unit{};
}

}  // namespace tile::frontend
