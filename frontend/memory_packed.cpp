#include "frontend/memory_packed.h"

#include <llvm/IR/Intrinsics.h>

#include "dsl/layout/tile_ops.h"
#include "frontend/amdgpu/buffer.h"
#include "frontend/masked_access.h"

namespace tile::frontend {

using namespace llvm;

namespace {

Value* byte(Lowering& l, ViewAccess& a, Value* number, Value* mask) {
  Value* pointer = l.b.CreateGEP(l.b.getInt8Ty(), a.base(), number);
  return l.b.CreateZExt(masked_load(l, pointer, 1, 1, 1, mask)[0], l.b.getInt32Ty());
}

}  // namespace

Regs packed_load(Lowering& l, const ir::Op& o, ViewAccess& a) {
  auto& b = l.b;
  DType t = l.dtype(o.results[0]);
  unsigned bits = bit_width(t);
  const Regs* other = o.get_int(AttrKey::HasOther) != 0 ? &l.regs(o.operands.back()) : nullptr;
  Regs out;
  for (unsigned r = 0; r < a.registers(); ++r) {
    Value* mask = a.inside(r);
    Value* first = b.CreateMul(a.element_offset(r), b.getInt64(bits));  // in bits
    Value* number = b.CreateLShr(first, 3);
    Value* shift = b.CreateTrunc(b.CreateAnd(first, 7), b.getInt32Ty());
    Value* code = b.CreateLShr(byte(l, a, number, mask), shift);
    if (bits == 6) {
      // Codes that start at bit 4 or 6 go on in the next byte.
      Value* split = b.CreateICmpUGT(shift, l.i32(2));
      Value* next = byte(l, a, b.CreateAdd(number, b.getInt64(1)), mask ? b.CreateAnd(mask, split) : split);
      code = b.CreateOr(code, b.CreateShl(next, b.CreateAnd(b.CreateSub(l.i32(8), shift), 7)));
    }
    Value* v = b.CreateTrunc(b.CreateAnd(code, (1u << bits) - 1), b.getInt8Ty());
    if (other && mask) v = b.CreateSelect(mask, v, (*other)[other->size() == 1 ? 0 : r]);
    out.push_back(a.is_scalar() ? l.uniform(v) : v);
  }
  return out;
}

Status packed_store(Lowering& l, const ir::Op& o, ViewAccess& a) {
  auto& b = l.b;
  DType t = l.dtype(o.operands[1]);
  unsigned bits = bit_width(t), group = bits == 4 ? 2 : 4;  // elements of whole bytes
  const ir::Shape& s = l.k.type(o.operands[1]).shape;
  if (a.is_scalar() || !a.axis()) return l.failure(o, "single elements of a packed type share their byte with others");
  const LinearLayout& at = l.layout(o.operands[1]);
  if (layout::contig_registers(at, *a.axis()) < group || s[*a.axis()] % group != 0)
    return l.failure(o, "elements that share a byte are in different threads; store more neighbours along the unit-stride dimension");
  const Regs& values = l.regs(o.operands[1]);
  Value* once = l.is_first_copy(at);
  for (unsigned r = 0; r < a.registers(); r += group) {
    if ((r & at.free_mask(layout::Dim::Register)) != 0) continue;
    Value* mask = a.inside(r);
    auto also = [&](Value* m) { mask = mask && m ? b.CreateAnd(mask, m) : m ? m : mask; };
    also(once);
    for (unsigned axis = 0; axis < s.rank(); ++axis)
      if (at.shape()[axis] > s[axis]) also(b.CreateICmpULT(l.coord(at, r, axis), l.i32(s[axis])));
    Value* word = l.i32(0);
    for (unsigned i = 0; i < group; ++i) word = b.CreateOr(word, b.CreateShl(b.CreateZExt(values[r + i], b.getInt32Ty()), bits * i));
    Value* number = b.CreateLShr(b.CreateMul(a.element_offset(r), b.getInt64(bits)), 3);
    for (unsigned i = 0; i < bits * group / 8; ++i) {
      Value* pointer = b.CreateGEP(b.getInt8Ty(), a.base(), b.CreateAdd(number, b.getInt64(i)));
      masked_store(l, {b.CreateTrunc(b.CreateLShr(word, 8 * i), b.getInt8Ty())}, pointer, 1, mask);
    }
  }
  return Unit{};
}

}  // namespace tile::frontend
