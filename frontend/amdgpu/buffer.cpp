#include "frontend/amdgpu/buffer.h"

#include <llvm/IR/IntrinsicsAMDGPU.h>

namespace tile::frontend {

using namespace llvm;

namespace {

// DATA_FORMAT = 32, NUM_FORMAT = uint: what raw buffers on gfx90a to gfx950 want in the descriptor's last word.
constexpr uint32_t descriptor_flags = 0x27000;

// What moves in one instruction: an integer up to 32 bits, or a vector of dwords. The buffer intrinsics have no other
// form of bytes.
Type* access_type(Lowering& l, unsigned bytes) {
  if (bytes <= 4) return l.int_type(8 * bytes);
  return FixedVectorType::get(l.b.getInt32Ty(), bytes / 4);
}

}  // namespace

Regs unpack_elements(Lowering& l, Value* v, unsigned count, unsigned bytes) {
  Type* element = l.int_type(8 * bytes);
  if (count == 1) return {l.b.CreateBitCast(v, element)};
  Value* list = l.b.CreateBitCast(v, FixedVectorType::get(element, count));
  Regs out;
  for (unsigned i = 0; i < count; ++i) out.push_back(l.b.CreateExtractElement(list, uint64_t{i}));
  return out;
}

Value* pack_elements(Lowering& l, ArrayRef<Value*> elements) {
  unsigned bytes = elements[0]->getType()->getIntegerBitWidth() / 8;
  Type* to = access_type(l, bytes * static_cast<unsigned>(elements.size()));
  if (elements.size() == 1) return l.b.CreateBitCast(elements[0], to);
  Value* list = PoisonValue::get(FixedVectorType::get(elements[0]->getType(), static_cast<unsigned>(elements.size())));
  for (unsigned i = 0; i < elements.size(); ++i) list = l.b.CreateInsertElement(list, elements[i], uint64_t{i});
  return l.b.CreateBitCast(list, to);
}

Value* buffer_descriptor(Lowering& l, Value* base, Value* records) {
  Type* p8 = PointerType::get(l.context, buffer_space);
  return l.intrinsic(Intrinsic::amdgcn_make_buffer_rsrc, {p8, base->getType()},
                     {base, l.b.getInt16(0), records, l.b.getInt32(descriptor_flags)});
}

Regs buffer_load(Lowering& l, Value* descriptor, Value* offset, Value* scalar_offset, unsigned count, unsigned bytes, ArrayRef<Value*> keep) {
  Type* t = access_type(l, count * bytes);
  Value* v = l.intrinsic(Intrinsic::amdgcn_raw_ptr_buffer_load, {t}, {descriptor, offset, scalar_offset, l.i32(0)});
  if (!keep.empty()) {
    // One mask for all groups at the same place of the axis: a few ANDs a group instead of a select an element.
    Regs masks;
    for (Value* k : keep) masks.push_back(l.b.CreateSExt(k, l.int_type(8 * bytes)));
    v = l.b.CreateAnd(v, pack_elements(l, masks));
  }
  return unpack_elements(l, v, count, bytes);
}

void buffer_store(Lowering& l, ArrayRef<Value*> elements, Value* descriptor, Value* offset, Value* scalar_offset) {
  Value* v = pack_elements(l, elements);
  l.intrinsic(Intrinsic::amdgcn_raw_ptr_buffer_store, {v->getType()}, {v, descriptor, offset, scalar_offset, l.i32(0)});
}

Regs plain_load(Lowering& l, Value* pointer, unsigned count, unsigned bytes, unsigned align) {
  return unpack_elements(l, l.b.CreateAlignedLoad(access_type(l, count * bytes), pointer, Align(align)), count, bytes);
}

void plain_store(Lowering& l, ArrayRef<Value*> elements, Value* pointer, unsigned align) {
  l.b.CreateAlignedStore(pack_elements(l, elements), pointer, Align(align));
}

Value* to_memory(Lowering& l, Value* v) {
  Type* t = v->getType();
  if (t->isIntegerTy(1)) return l.b.CreateZExt(v, l.b.getInt8Ty());
  return t->isIntegerTy() ? v : l.b.CreateBitCast(v, l.int_type(static_cast<unsigned>(t->getPrimitiveSizeInBits().getFixedValue())));
}

Value* from_memory(Lowering& l, Value* v, DType t) {
  if (is_bool(t)) return l.b.CreateICmpNE(v, l.b.getInt8(0));
  return v->getType() == l.type(t) ? v : l.b.CreateBitCast(v, l.type(t));
}

}  // namespace tile::frontend
