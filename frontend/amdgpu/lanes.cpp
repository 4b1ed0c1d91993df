#include "frontend/amdgpu/lanes.h"

#include <llvm/IR/IntrinsicsAMDGPU.h>

namespace tile::frontend {

using namespace llvm;

Regs to_dwords(Lowering& l, Value* v) {
  auto& b = l.b;
  unsigned bits = static_cast<unsigned>(v->getType()->getPrimitiveSizeInBits().getFixedValue());
  Value* raw = v->getType()->isIntegerTy() ? v : b.CreateBitCast(v, l.int_type(bits));
  if (bits <= 32) return {b.CreateZExt(raw, b.getInt32Ty())};
  Value* pair = b.CreateBitCast(raw, FixedVectorType::get(b.getInt32Ty(), 2));
  return {b.CreateExtractElement(pair, uint64_t{0}), b.CreateExtractElement(pair, uint64_t{1})};
}

Value* from_dwords(Lowering& l, ArrayRef<Value*> dwords, Type* t) {
  auto& b = l.b;
  unsigned bits = static_cast<unsigned>(t->getPrimitiveSizeInBits().getFixedValue());
  Value* raw = nullptr;
  if (bits <= 32) {
    raw = b.CreateTrunc(dwords[0], l.int_type(bits));
  } else {
    Value* pair = PoisonValue::get(FixedVectorType::get(b.getInt32Ty(), 2));
    pair = b.CreateInsertElement(b.CreateInsertElement(pair, dwords[0], uint64_t{0}), dwords[1], uint64_t{1});
    raw = b.CreateBitCast(pair, b.getInt64Ty());
  }
  return raw->getType() == t ? raw : b.CreateBitCast(raw, t);
}

Value* dpp(Lowering& l, Value* dword, unsigned control) {
  // All rows and banks; no lane reads outside, so the old value does not matter.
  Value* any = PoisonValue::get(dword->getType());
  return l.intrinsic(Intrinsic::amdgcn_update_dpp, {dword->getType()},
                     {any, dword, l.i32(control), l.i32(0xf), l.i32(0xf), l.b.getTrue()});
}

Value* bpermute(Lowering& l, Value* dword, Value* index) {
  return l.intrinsic(Intrinsic::amdgcn_ds_bpermute, {}, {l.b.CreateShl(index, 2), dword});
}

std::pair<Value*, Value*> permlane_swap(Lowering& l, unsigned rows, Value* vdst, Value* src) {
  auto id = rows == 16 ? Intrinsic::amdgcn_permlane16_swap : Intrinsic::amdgcn_permlane32_swap;
  Value* both = l.intrinsic(id, {}, {vdst, src, l.b.getFalse(), l.b.getFalse()});
  return {l.b.CreateExtractValue(both, 0), l.b.CreateExtractValue(both, 1)};
}

namespace {
constexpr unsigned quad_perm(unsigned a, unsigned b, unsigned c, unsigned d) { return a | b << 2 | c << 4 | d << 6; }
constexpr unsigned row_half_mirror = 0x141, row_ror_8 = 0x128;
// ds_swizzle in bit mode: and-mask 0x1f, or-mask 0, xor-mask.
constexpr unsigned swizzle_xor(unsigned mask) { return 0x1f | mask << 10; }
}  // namespace

Value* from_lane_xor(Lowering& l, Value* dword, unsigned mask) {
  switch (mask) {
    case 1: return dpp(l, dword, quad_perm(1, 0, 3, 2));
    case 2: return dpp(l, dword, quad_perm(2, 3, 0, 1));
    case 4: return dpp(l, dpp(l, dword, row_half_mirror), quad_perm(3, 2, 1, 0));  // ^ 7, then ^ 3
    case 8: return dpp(l, dword, row_ror_8);
    case 16: return l.intrinsic(Intrinsic::amdgcn_ds_swizzle, {}, {dword, l.i32(swizzle_xor(16))});
    default: return bpermute(l, dword, l.b.CreateXor(l.lane(), l.i32(32)));
  }
}

}  // namespace tile::frontend
