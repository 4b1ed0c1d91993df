#include "frontend/amdgpu/mfma.h"

#include <llvm/IR/Intrinsics.h>

namespace tile::frontend {

using namespace llvm;

namespace {

Value* vector_of(Lowering& l, ArrayRef<Value*> elements) {
  if (elements.size() == 1) return elements[0];
  Value* v = PoisonValue::get(FixedVectorType::get(elements[0]->getType(), static_cast<unsigned>(elements.size())));
  for (unsigned i = 0; i < elements.size(); ++i) v = l.b.CreateInsertElement(v, elements[i], uint64_t{i});
  return v;
}

// Codes of 4 and 6 bits next to each other, as bits of one wide integer.
Value* pack_bits(Lowering& l, ArrayRef<Value*> codes, unsigned bits) {
  unsigned total = bits * static_cast<unsigned>(codes.size());
  std::vector<Value*> dwords(total / 32, l.i32(0));
  for (unsigned i = 0; i < codes.size(); ++i) {
    Value* c = l.b.CreateZExt(codes[i], l.b.getInt32Ty());
    unsigned at = bits * i, word = at / 32, shift = at % 32;
    dwords[word] = l.b.CreateOr(dwords[word], l.b.CreateShl(c, shift));
    if (shift + bits > 32) dwords[word + 1] = l.b.CreateOr(dwords[word + 1], l.b.CreateLShr(c, 32 - shift));
  }
  return vector_of(l, dwords);
}

// The operand's registers in the form that the intrinsic takes.
Value* operand(Lowering& l, MfmaId id, DType t, ArrayRef<Value*> elements) {
  unsigned bits = bit_width(t), total = bits * static_cast<unsigned>(elements.size());
  if (bits < 8) return pack_bits(l, elements, bits);
  Value* v = vector_of(l, elements);
  switch (t) {
    case DType::BF16:
      // Only the shapes of gfx950 take bfloat.
      if (info(id).cls == MfmaClass::HalfWide) return v;
      return l.b.CreateBitCast(v, FixedVectorType::get(l.b.getInt16Ty(), static_cast<unsigned>(elements.size())));
    case DType::I8: case DType::F8E4M3: case DType::F8E5M2: case DType::F8E4M3FNUZ: case DType::F8E5M2FNUZ:
      if (total <= 64) return l.b.CreateBitCast(v, l.int_type(total));
      return l.b.CreateBitCast(v, FixedVectorType::get(l.b.getInt32Ty(), total / 32));
    default: return v;
  }
}

}  // namespace

Regs emit_mfma(Lowering& l, MfmaId id, DType a_type, DType b_type, ArrayRef<Value*> a, ArrayRef<Value*> b, ArrayRef<Value*> c) {
  const MfmaInfo& row = info(id);
  Value *va = operand(l, id, a_type, a), *vb = operand(l, id, b_type, b), *vc = vector_of(l, c);
  Intrinsic::ID intrinsic = Intrinsic::lookupIntrinsicID(StringRef(row.intrinsic.data(), row.intrinsic.size()));
  Value* d = nullptr;
  if (row.maps == MfmaMaps::Scaled) {
    auto format = [&](DType t) { return l.i32(static_cast<int>(*mfma_format(t))); };
    // Two literal zeros for the scales select the instruction without scales.
    d = l.intrinsic(intrinsic, {va->getType(), vb->getType()},
                    {va, vb, vc, format(a_type), format(b_type), l.i32(0), l.i32(0), l.i32(0), l.i32(0)});
  } else {
    d = l.intrinsic(intrinsic, {}, {va, vb, vc, l.i32(0), l.i32(0), l.i32(0)});
  }
  if (c.size() == 1) return {d};
  Regs out;
  for (unsigned i = 0; i < c.size(); ++i) out.push_back(l.b.CreateExtractElement(d, uint64_t{i}));
  return out;
}

}  // namespace tile::frontend
