#include "frontend/amdgpu/fp8.h"

#include <llvm/IR/IntrinsicsAMDGPU.h>

namespace tile::frontend {

using namespace llvm;

namespace {

bool is_e4m3(DType t) { return t == DType::F8E4M3 || t == DType::F8E4M3FNUZ; }

double largest(DType t) {
  switch (t) {
    case DType::F8E4M3: return 448;
    case DType::F8E4M3FNUZ: return 240;
    default: return 57344;  // both e5m2
  }
}

}  // namespace

bool is_native_fp8(Arch arch, DType t) { return native_fp8(arch) == t || native_bf8(arch) == t; }

Value* decode_fp8(Lowering& l, Value* code, DType t) {
  auto id = is_e4m3(t) ? Intrinsic::amdgcn_cvt_f32_fp8 : Intrinsic::amdgcn_cvt_f32_bf8;
  return l.intrinsic(id, {}, {l.b.CreateZExt(code, l.b.getInt32Ty()), l.i32(0)});
}

Value* encode_fp8(Lowering& l, Value* x, DType t) {
  auto& b = l.b;
  // What the instruction does with values beyond the largest differs between targets and modes: none reaches it.
  Constant* top = ConstantFP::get(b.getFloatTy(), largest(t));
  Value* clamped = l.intrinsic(Intrinsic::amdgcn_fmed3, {b.getFloatTy()}, {x, ConstantFP::get(b.getFloatTy(), -largest(t)), top});
  Value* v = b.CreateSelect(b.CreateFCmpUNO(x, x), x, clamped);
  auto id = is_e4m3(t) ? Intrinsic::amdgcn_cvt_pk_fp8_f32 : Intrinsic::amdgcn_cvt_pk_bf8_f32;
  return b.CreateTrunc(l.intrinsic(id, {}, {v, v, l.i32(0), b.getFalse()}), b.getInt8Ty());
}

}  // namespace tile::frontend
