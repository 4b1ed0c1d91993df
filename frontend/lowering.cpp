// Types, places in the workgroup, shared memory: what all families use.
#include "frontend/lowering.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include <bit>

namespace tile::frontend {

using namespace llvm;
using layout::Dim;

llvm::Type* Lowering::type(DType t) {
  switch (t) {
    case DType::Bool: return int_type(1);
    case DType::I8: case DType::U8: return int_type(8);
    case DType::I16: case DType::U16: return int_type(16);
    case DType::I32: case DType::U32: return int_type(32);
    case DType::I64: case DType::U64: return int_type(64);
    case DType::F16: return Type::getHalfTy(context);
    case DType::BF16: return Type::getBFloatTy(context);
    case DType::F32: return Type::getFloatTy(context);
    case DType::F64: return Type::getDoubleTy(context);
    case DType::F8E4M3: case DType::F8E5M2: case DType::F8E4M3FNUZ: case DType::F8E5M2FNUZ: case DType::F6E2M3:
    case DType::F6E3M2: case DType::F4E2M1: case DType::F8E8M0: return int_type(8);
  }
  return nullptr;
}

llvm::Constant* Lowering::constant(DType t, uint64_t bits) {
  llvm::Type* to = type(t);
  if (to->isIntegerTy()) return ConstantInt::get(to, APInt(to->getIntegerBitWidth(), bits, false, true));
  APInt raw(to->getPrimitiveSizeInBits().getFixedValue(), bits, false, true);
  return ConstantFP::get(context, APFloat(to->getFltSemantics(), raw));
}

unsigned Lowering::num_registers(ir::ValueId v) const {
  return k.value(v).layout ? k.value(v).layout->num_registers() : 1;
}

Value* Lowering::intrinsic(unsigned id, ArrayRef<llvm::Type*> types, ArrayRef<Value*> args) {
  return b.CreateIntrinsic(static_cast<Intrinsic::ID>(id), types, args);
}

Value* Lowering::lane() {
  if (!lane_) {
    thread_ = entry_.CreateIntrinsic(Intrinsic::amdgcn_workitem_id_x, {});
    lane_ = k.waves == 1 ? thread_ : entry_.CreateAnd(thread_, wave_size - 1, "lane");
  }
  return lane_;
}

Value* Lowering::wave() {
  if (!wave_) {
    lane();
    unsigned waves = ir::layout_waves(k);
    wave_in_group_ = k.waves == 1 ? static_cast<Value*>(entry_.getInt32(0))
                                  : entry_.CreateIntrinsic(Intrinsic::amdgcn_readfirstlane, {entry_.getInt32Ty()},
                                                           {entry_.CreateLShr(thread_, 6)});
    wave_ = waves == k.waves ? wave_in_group_ : entry_.CreateAnd(wave_in_group_, waves - 1, "wave");
  }
  return wave_;
}

Value* Lowering::combine_bits(IRBuilder<>& at, Value* word, const std::vector<uint32_t>& bases) {
  // Bits that move by the same distance go together.
  std::map<int, uint32_t> masks;
  for (size_t i = 0; i < bases.size(); ++i)
    for (uint32_t left = bases[i]; left != 0; left &= left - 1)
      masks[std::countr_zero(left) - static_cast<int>(i)] |= 1u << i;
  Value* sum = nullptr;
  for (auto [distance, mask] : masks) {
    Value* part = at.CreateAnd(word, mask);
    if (distance > 0) part = at.CreateShl(part, static_cast<uint64_t>(distance));
    if (distance < 0) part = at.CreateLShr(part, static_cast<uint64_t>(-distance));
    sum = sum ? at.CreateXor(sum, part) : part;
  }
  return sum ? sum : at.getInt32(0);
}

namespace {

std::vector<uint32_t> axis_bases(const LinearLayout& l, Dim d, unsigned axis) {
  std::vector<uint32_t> bases;
  for (unsigned i = 0; i < l.in().bits(d); ++i) bases.push_back(l.basis(d, i, layout::tile_dim(axis)));
  return bases;
}

}  // namespace

unsigned Lowering::thread_bits(const LinearLayout& l, unsigned axis) {
  unsigned bits = 0;
  for (Dim d : {Dim::Lane, Dim::Wave})
    for (uint32_t x : axis_bases(l, d, axis)) bits |= x;
  return bits;
}

unsigned Lowering::register_coord(const LinearLayout& l, unsigned reg, unsigned axis) {
  return static_cast<unsigned>(l.out().get(l.at(reg, 0, 0), layout::tile_dim(axis)));
}

Value* Lowering::thread_coord(const LinearLayout& l, unsigned axis) {
  for (auto& [key, value] : coords_)
    if (key.second == axis && key.first == l) return value;
  Value* sum = combine_bits(entry_, lane(), axis_bases(l, Dim::Lane, axis));
  Value* waves = combine_bits(entry_, wave(), axis_bases(l, Dim::Wave, axis));
  sum = entry_.CreateXor(sum, waves);
  coords_.push_back({{l, axis}, sum});
  return sum;
}

Value* Lowering::coord(const LinearLayout& l, unsigned reg, unsigned axis) {
  Value* thread = thread_coord(l, axis);
  unsigned own = register_coord(l, reg, axis);
  if (own == 0) return thread;
  if ((own & thread_bits(l, axis)) == 0) return b.CreateAdd(thread, i32(own), "", true, true);
  return b.CreateXor(thread, i32(own));
}

Value* Lowering::is_first_copy(const LinearLayout& l) {
  for (auto& [key, value] : copies_)
    if (key == l) return value;
  Value* first = nullptr;
  auto both = [&](Value* c) { first = first ? entry_.CreateAnd(first, c) : c; };
  wave();
  auto zero = [&](Value* word, unsigned mask) {
    if (mask != 0) both(entry_.CreateICmpEQ(entry_.CreateAnd(word, mask), entry_.getInt32(0)));
  };
  zero(lane(), l.free_mask(Dim::Lane));
  zero(wave_, l.free_mask(Dim::Wave));
  if (!k.is_wave && ir::layout_waves(k) != k.waves) both(entry_.CreateICmpULT(wave_in_group_, entry_.getInt32(ir::layout_waves(k))));
  copies_.push_back({l, first});
  return first;
}

Value* Lowering::is_first_thread() {
  return b.CreateICmpEQ(k.is_wave ? lane() : (lane(), thread_), i32(0));
}

Value* Lowering::uniform(Value* v) {
  if (isa<Constant>(v) || isa<Argument>(v)) return v;
  llvm::Type* t = v->getType();
  if (t->isIntegerTy(1) || t->isIntegerTy(8)) {
    Value* wide = b.CreateZExt(v, b.getInt32Ty());
    return b.CreateTrunc(intrinsic(Intrinsic::amdgcn_readfirstlane, {b.getInt32Ty()}, {wide}), t);
  }
  return intrinsic(Intrinsic::amdgcn_readfirstlane, {t}, {v});
}

Value* Lowering::lds(Value* byte_offset) {
  Value* base = lds_;
  if (k.is_wave && k.waves > 1) {  // a frame for each wave
    wave();
    base = b.CreateGEP(b.getInt8Ty(), base, b.CreateMul(wave_in_group_, i32(k.lds_bytes / k.waves)));
  }
  return b.CreateGEP(b.getInt8Ty(), base, byte_offset);
}

namespace {
// s_waitcnt immediates of gfx9: bits 0-3 and 14-15 vmcnt, 4-6 expcnt, 8-11 lgkmcnt; all ones do not wait.
constexpr unsigned wait_lgkm_0 = 0xC07F;
}  // namespace

void Lowering::wait_lds() { intrinsic(Intrinsic::amdgcn_s_waitcnt, {}, {i32(wait_lgkm_0)}); }

void Lowering::barrier_lds() {
  wait_lds();
  if (!k.is_wave) intrinsic(Intrinsic::amdgcn_s_barrier, {}, {});
}

void Lowering::barrier_full() {
  SyncScope::ID scope = context.getOrInsertSyncScopeID("workgroup");
  b.CreateFence(AtomicOrdering::Release, scope);
  intrinsic(Intrinsic::amdgcn_s_barrier, {}, {});
  b.CreateFence(AtomicOrdering::Acquire, scope);
}

BasicBlock* Lowering::new_block(const char* name) {
  BasicBlock* block = BasicBlock::Create(context, name);
  block->insertInto(function);
  return block;
}

bool Lowering::varies_in_loop(Value* v) const {
  if (!loop) return false;
  SmallPtrSet<Value*, 32> seen;
  SmallVector<Value*, 32> work{v};
  while (!work.empty()) {
    auto* i = dyn_cast<Instruction>(work.pop_back_val());
    if (!i || !seen.insert(i).second) continue;
    // Loads inside of the loop may see other values each time, and so may everything that is not plain arithmetic.
    if (i->getParent() == loop && isa<PHINode>(i)) return true;
    if (i->mayReadFromMemory() || seen.size() > 200) return true;
    if (isa<PHINode>(i)) continue;  // of an outer loop, or of a branch
    for (Value* o : i->operands()) work.push_back(o);
  }
  return false;
}

unsigned kept_bits(unsigned r, const std::vector<unsigned>& kept) {
  unsigned out = 0;
  for (size_t i = 0; i < kept.size(); ++i) out |= (r >> kept[i] & 1) << i;
  return out;
}

std::vector<unsigned> projected_registers(const LinearLayout& result, const ir::Shape& operand, const ir::Shape& result_shape) {
  std::vector<unsigned> map(result.num_registers());
  for (unsigned r = 0; r < map.size(); ++r) map[r] = r;
  LinearLayout l = result;
  for (unsigned axis = 0; axis < operand.rank(); ++axis) {
    if (operand[axis] != 1 || (result_shape[axis] == 1 && l.out().bits(layout::tile_dim(axis)) == 0)) continue;
    std::vector<unsigned> kept = layout::kept_registers(l, axis);
    for (unsigned& r : map) r = kept_bits(r, kept);
    l = layout::expand_dims(layout::slice(l, axis), axis);
  }
  return map;
}

}  // namespace tile::frontend
