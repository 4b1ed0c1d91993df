// Raw pointers: addptr, load, store.
#include "frontend/amdgpu/buffer.h"
#include "frontend/masked_access.h"

namespace tile::frontend {

using namespace llvm;

Regs masked_load(Lowering& l, Value* pointer, unsigned count, unsigned bytes, unsigned align, Value* mask) {
  if (!mask) return plain_load(l, pointer, count, bytes, align);
  BasicBlock* from = l.b.GetInsertBlock();
  BasicBlock *then = l.new_block("load"), *done = l.new_block("loaded");
  l.b.CreateCondBr(mask, then, done);
  l.b.SetInsertPoint(then);
  Regs loaded = plain_load(l, pointer, count, bytes, align);
  l.b.CreateBr(done);
  l.b.SetInsertPoint(done);
  for (Value*& v : loaded) {
    PHINode* phi = l.b.CreatePHI(v->getType(), 2);
    phi->addIncoming(Constant::getNullValue(v->getType()), from);
    phi->addIncoming(v, then);
    v = phi;
  }
  return loaded;
}

void masked_store(Lowering& l, ArrayRef<Value*> elements, Value* pointer, unsigned align, Value* mask) {
  if (!mask) return plain_store(l, elements, pointer, align);
  BasicBlock *then = l.new_block("store"), *done = l.new_block("stored");
  l.b.CreateCondBr(mask, then, done);
  l.b.SetInsertPoint(then);
  plain_store(l, elements, pointer, align);
  l.b.CreateBr(done);
  l.b.SetInsertPoint(done);
}

namespace {

// Of a load or store through pointers.
struct PointerAccess {
  PointerAccess(Lowering& lowering, const ir::Op& op)
      : l(lowering), o(op), tile(op.kind == OpKind::Load ? op.results[0] : op.operands[1]) {
    registers = l.num_registers(tile);
    bytes = buffer_bytes(l.dtype(tile));
    vector = std::min<unsigned>(registers, static_cast<unsigned>(o.get_int(AttrKey::Vector, 1)));
    // What plan_memory relies on: addresses are multiples of the smaller of 4 and the bytes of an access.
    align = vector == 1 ? bytes : std::min(4u, vector * bytes);
    scalar = l.k.type(tile).shape.rank() == 0;
    if (scalar) return;
    // Groups that the tile's own extent cuts through go by element.
    const ir::Shape& shape = l.k.type(tile).shape;
    bool cut = false;
    for (unsigned axis = 0; axis < shape.rank(); ++axis)
      cut |= l.layout(tile).shape()[axis] > shape[axis] && shape[axis] % vector != 0;
    if (cut) vector = 1, align = bytes;
  }

  // The mask that was given, without padded positions.
  Value* mask(size_t operand, unsigned r) const {
    Value* all = nullptr;
    if (o.get_int(AttrKey::HasMask) != 0) {
      const Regs& m = l.regs(o.operands[operand]);
      all = m[m.size() == 1 ? 0 : r];
    }
    if (scalar) return all;
    const ir::Shape& shape = l.k.type(tile).shape;
    const LinearLayout& at = l.layout(tile);
    for (unsigned axis = 0; axis < shape.rank(); ++axis) {
      if (at.shape()[axis] <= shape[axis]) continue;
      Value* in = l.b.CreateICmpULT(l.coord(at, r, axis), l.i32(shape[axis]));
      all = all ? l.b.CreateAnd(all, in) : in;
    }
    return all;
  }

  Lowering& l;
  const ir::Op& o;
  ir::ValueId tile;
  unsigned registers = 1, bytes = 1, vector = 1, align = 1;
  bool scalar = false;
};

Status lower_load(Lowering& l, const ir::Op& o) {
  PointerAccess a(l, o);
  const Regs& pointers = l.regs(o.operands[0]);
  DType t = l.dtype(o.results[0]);
  const Regs* other = o.get_int(AttrKey::HasOther) != 0 ? &l.regs(o.operands.back()) : nullptr;
  Regs out(a.registers);
  for (unsigned r = 0; r < a.registers; r += a.vector) {
    Value* mask = a.mask(1, r);
    Regs loaded = masked_load(l, pointers[r], a.vector, a.bytes, a.align, mask);
    for (unsigned i = 0; i < a.vector; ++i) {
      Value* v = from_memory(l, loaded[i], t);
      if (mask && other) v = l.b.CreateSelect(mask, v, (*other)[other->size() == 1 ? 0 : r + i]);
      out[r + i] = a.scalar ? l.uniform(v) : v;
    }
  }
  l.set(o.results[0], std::move(out));
  return Unit{};
}

Status lower_store(Lowering& l, const ir::Op& o) {
  PointerAccess a(l, o);
  const Regs& pointers = l.regs(o.operands[0]);
  Regs values;
  for (Value* v : l.regs(o.operands[1])) values.push_back(to_memory(l, v));
  Value* once = a.scalar ? l.is_first_thread() : l.is_first_copy(l.layout(a.tile));
  unsigned copies = a.scalar ? 0 : l.layout(a.tile).free_mask(layout::Dim::Register);
  for (unsigned r = 0; r < a.registers; r += a.vector) {
    if ((r & copies) != 0) continue;
    Value* mask = a.mask(2, r);
    if (once) mask = mask ? l.b.CreateAnd(mask, once) : once;
    masked_store(l, ArrayRef<Value*>(values).slice(r, a.vector), pointers[r], a.align, mask);
  }
  return Unit{};
}

Status lower_addptr(Lowering& l, const ir::Op& o) {
  const Regs &pointers = l.regs(o.operands[0]), &offsets = l.regs(o.operands[1]);
  unsigned n = l.num_registers(o.results[0]);
  DType t = l.dtype(o.operands[1]);
  uint64_t bytes = buffer_bytes(l.dtype(o.results[0]));
  Regs out;
  for (unsigned r = 0; r < n; ++r) {
    Value* at = offsets[offsets.size() == 1 ? 0 : r];
    at = is_signed(t) ? l.b.CreateSExt(at, l.b.getInt64Ty()) : l.b.CreateZExt(at, l.b.getInt64Ty());
    out.push_back(l.b.CreateGEP(l.b.getInt8Ty(), pointers[pointers.size() == 1 ? 0 : r], l.b.CreateMul(at, l.b.getInt64(bytes))));
  }
  l.set(o.results[0], std::move(out));
  return Unit{};
}

}  // namespace

Status lower_pointer(Lowering& l, const ir::Op& o) {
  if (o.kind == OpKind::AddPtr) return lower_addptr(l, o);
  return o.kind == OpKind::Load ? lower_load(l, o) : lower_store(l, o);
}

}  // namespace tile::frontend
