#include "frontend/view.h"

#include <fmt/format.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include <algorithm>

#include "dsl/passes/access.h"
#include "frontend/amdgpu/buffer.h"

namespace tile::frontend {

using namespace llvm;
using layout::tile_dim;

namespace {

// Parameter that a view's base pointer is, if it is one.
const ir::Param* param_of(const ir::Kernel& k, ir::ValueId base) {
  for (const ir::Param& p : k.params)
    if (p.value == base) return &p;
  return nullptr;
}

bool is_small(const Value* v) {
  const auto* c = dyn_cast<ConstantInt>(v);
  return c && !c->isNegative() && c->getZExtValue() < (1u << 20);
}

uint64_t low_bit(uint64_t v) { return v & (~v + 1); }

}  // namespace

ViewAccess::ViewAccess(Lowering& l, const ir::Op& o, ir::ValueId tile) : l_(l), o_(o), tile_(tile) {
  layout_ = l.k.value(tile).layout.get();
  const ir::Op* view = l.k.def(o.operands[0]);
  if (!view || view->kind != OpKind::MakeView) {
    ok_ = l.failure(o, "the view is not made in this kernel");
    return;
  }
  const ir::Type& t = l.k.type(o.operands[0]);
  bytes_ = buffer_bytes(t.dtype);
  base_ = l.scalar(view->operands[0]);
  const ir::Param* param = param_of(l.k, view->operands[0]);
  wide_ = param && param->wide;
  base_align_ = std::max({low_bit(static_cast<uint64_t>(std::max<int64_t>(1, view->get_int(AttrKey::Align, 1)))),
                          l.facts.of(view->operands[0]).axes[0].divisibility});
  if (o.kind != OpKind::InBounds && layout_) axis_ = passes::analyse_access(l.k, l.facts, o).axis;
  unsigned rank = t.view_rank;
  auto [first, last] = passes::index_operands(l.k, o);
  for (unsigned d = 0; d < rank; ++d) {
    ir::ValueId extent = view->operands[1 + d], stride = view->operands[1 + rank + d];
    dims_.push_back({l.scalar(extent), l.scalar(stride), l.dtype(extent), l.dtype(stride), l.k.constant_int(extent), l.k.constant_int(stride)});
    parts_.push_back(split(o.operands[first + d]));
  }
}

IndexPart ViewAccess::split(ir::ValueId v) {
  IndexPart p;
  p.value = v;
  p.dtype = l_.dtype(v);
  if (l_.k.type(v).shape.rank() == 0) {
    p.uniform = l_.scalar(v);
    return p;
  }
  if (split_into(v, p)) return p;
  p.split = false;
  p.axis.reset();
  p.registers = projected_registers(*layout_, l_.k.type(v).shape, l_.k.type(tile_).shape);
  return p;
}

// Sets p.uniform and p.axis for the tile v; p.axis counts dimensions of v. False when v has another form. The sum of the
// uniform parts wraps as the sum of the tiles does.
bool ViewAccess::split_into(ir::ValueId v, IndexPart& p) {
  const ir::Op* o = l_.k.def(v);
  if (!o || bit_width(p.dtype) < 32) return false;
  switch (o->kind) {
    case OpKind::Arange:
      p.uniform = l_.constant(p.dtype, static_cast<uint64_t>(o->get_int(AttrKey::Start)));
      p.axis.reset();
      if (l_.k.type(v).shape[0] != 1) p.axis = 0;
      p.settled = is_small(p.uniform);
      return true;
    case OpKind::Constant:
      p.uniform = l_.constant(p.dtype, o->get_bits(AttrKey::Value));
      p.axis.reset();
      p.settled = is_small(p.uniform);
      return true;
    case OpKind::Splat:
      p.uniform = l_.scalar(o->operands[0]);
      p.axis.reset();
      p.settled = l_.facts.of(o->operands[0]).non_negative;
      return true;
    case OpKind::ConvertLayout: case OpKind::Broadcast: return split_into(o->operands[0], p);
    case OpKind::ExpandDims:
      if (!split_into(o->operands[0], p)) return false;
      if (p.axis && *p.axis >= static_cast<unsigned>(o->get_int(AttrKey::Axis))) ++*p.axis;
      return true;
    case OpKind::Trans: {
      if (!split_into(o->operands[0], p)) return false;
      std::vector<int64_t> perm = o->get_ints(AttrKey::Perm);
      if (p.axis) p.axis = static_cast<unsigned>(std::find(perm.begin(), perm.end(), int64_t{*p.axis}) - perm.begin());
      return true;
    }
    case OpKind::AddI: case OpKind::SubI: {
      IndexPart x = p, y = p;
      if (!split_into(o->operands[0], x) || !split_into(o->operands[1], y)) return false;
      if (y.axis && (x.axis || o->kind == OpKind::SubI)) return false;
      p.uniform = o->kind == OpKind::AddI ? l_.b.CreateAdd(x.uniform, y.uniform) : l_.b.CreateSub(x.uniform, y.uniform);
      p.axis = x.axis ? x.axis : y.axis;
      // A small number added to one that is not negative gives such a one, or wraps to far below zero.
      p.settled = o->kind == OpKind::AddI && x.settled && y.settled && (is_small(x.uniform) || is_small(y.uniform));
      return true;
    }
    default: return false;
  }
}

Value* ViewAccess::to64(Value* v, DType t) {
  if (v->getType()->isIntegerTy(64)) return v;
  return is_signed(t) ? l_.b.CreateSExt(v, l_.b.getInt64Ty()) : l_.b.CreateZExt(v, l_.b.getInt64Ty());
}

Value* ViewAccess::stride64(unsigned d) { return l_.b.CreateMul(to64(dims_[d].stride, dims_[d].stride_type), l_.b.getInt64(bytes_)); }

Value* ViewAccess::stride32(unsigned d) {
  return l_.b.CreateMul(l_.b.CreateZExtOrTrunc(dims_[d].stride, l_.b.getInt32Ty()), l_.i32(bytes_));
}

Value* ViewAccess::index(unsigned d, unsigned reg) {
  const IndexPart& p = parts_[d];
  if (!p.split) return l_.regs(p.value)[p.registers[reg]];
  if (!p.axis) return p.uniform;
  Value* c = l_.b.CreateZExtOrTrunc(l_.coord(*layout_, reg, *p.axis), p.uniform->getType());
  return l_.b.CreateAdd(p.uniform, c);
}

// 0 <= index < extent on the values themselves.
Value* ViewAccess::compare(unsigned d, Value* index) {
  auto& b = l_.b;
  const IndexPart& p = parts_[d];
  const ViewDim& v = dims_[d];
  bool wide = bit_width(p.dtype) > 32 || bit_width(v.extent_type) > 32;
  Type* t = wide ? b.getInt64Ty() : b.getInt32Ty();
  auto extend = [&](Value* x, DType of) { return is_signed(of) ? b.CreateSExt(x, t) : b.CreateZExt(x, t); };
  Value* extent = extend(v.extent, v.extent_type);
  if (is_signed(v.extent_type) && !v.fixed_extent) extent = b.CreateBinaryIntrinsic(Intrinsic::smax, extent, Constant::getNullValue(t));
  // A negative index is beyond every extent when read without sign.
  return b.CreateICmpULT(extend(index, p.dtype), extent);
}

bool ViewAccess::proven(unsigned d) const {
  const IndexPart& p = parts_[d];
  const auto* start = p.split ? dyn_cast<ConstantInt>(p.uniform) : nullptr;
  if (!start || !dims_[d].fixed_extent || start->isNegative()) return false;
  int64_t reach = p.axis ? layout_->shape()[*p.axis] : 1;  // padded positions too
  return start->getSExtValue() + reach <= *dims_[d].fixed_extent;
}

Value* ViewAccess::inside_uniform() {
  Value* all = nullptr;
  for (unsigned d = 0; d < rank(); ++d) {
    if (!parts_[d].split || parts_[d].axis || proven(d)) continue;
    Value* in = compare(d, parts_[d].uniform);
    all = all ? l_.b.CreateAnd(all, in) : in;
  }
  return all;
}

Value* ViewAccess::inside_lanes(unsigned reg) {
  Value* all = nullptr;
  for (unsigned d = 0; d < rank(); ++d) {
    if ((parts_[d].split && !parts_[d].axis) || proven(d)) continue;
    Value* in = compare(d, index(d, reg));
    all = all ? l_.b.CreateAnd(all, in) : in;
  }
  return all;
}

ViewAccess::Masks ViewAccess::masks(unsigned reg) {
  Masks m;
  for (unsigned d = 0; d < rank(); ++d) {
    if ((parts_[d].split && !parts_[d].axis) || proven(d)) continue;
    Value* in = compare(d, index(d, reg));
    bool varies = !parts_[d].split || l_.varies_in_loop(parts_[d].uniform) || l_.varies_in_loop(dims_[d].extent);
    Value*& part = varies ? m.varying : m.steady;
    part = part ? l_.b.CreateAnd(part, in) : in;
  }
  return m;
}

Value* ViewAccess::inside_along_axis(unsigned reg) {
  Value* all = l_.b.getTrue();
  for (unsigned d = 0; d < rank(); ++d)
    if (parts_[d].axis && parts_[d].axis == axis_ && !proven(d)) all = l_.b.CreateAnd(compare(d, index(d, reg)), all);
  return all;
}

Value* ViewAccess::inside(unsigned reg) {
  Value *u = inside_uniform(), *v = inside_lanes(reg);
  return !u ? v : !v ? u : l_.b.CreateAnd(u, v);
}

bool ViewAccess::fits_buffer() const {
  if (wide_) return false;
  int64_t reach = 64;
  for (unsigned d = 0; d < rank(); ++d) {
    if (!parts_[d].split) return false;
    if (!parts_[d].axis) continue;
    // A stride that is not fixed is bounded by the launch contract: see implied_requires().
    int64_t stride = dims_[d].fixed_stride.value_or(1), last = layout_->shape()[*parts_[d].axis] - 1;
    if (stride < 0 || stride > max_records || last > 0x10000) return false;
    reach += last * stride * bytes_;
  }
  return reach <= max_records;
}

bool ViewAccess::bounded_by_records() const {
  std::optional<unsigned> varies;
  for (unsigned d = 0; d < rank(); ++d) {
    if (!parts_[d].axis) continue;
    if (varies) return false;
    varies = d;
  }
  if (!varies) return false;
  const IndexPart& p = parts_[*varies];
  const ViewDim& dim = dims_[*varies];
  // A wrapped i32 index must not reach into a larger extent.
  if (dim.fixed_stride.value_or(0) <= 0 || p.dtype != DType::I32 || dim.extent_type != DType::I32) return false;
  const passes::AxisInfo& facts = l_.facts.of(p.value);
  if (p.settled) return true;
  uint64_t extent = static_cast<uint64_t>(layout_->shape()[*p.axis]);
  const ir::Shape& s = l_.k.type(p.value).shape;
  unsigned axis = std::min(*p.axis, s.rank() - 1);
  return facts.axes[axis].contiguity >= extent && facts.axes[axis].divisibility >= extent;
}

Value* ViewAccess::descriptor(bool records) {
  auto& b = l_.b;
  Value* start = nullptr;
  for (unsigned d = 0; d < rank(); ++d) {
    if (const auto* c = dyn_cast<ConstantInt>(parts_[d].uniform); c && c->isZero()) continue;
    Value* part = b.CreateMul(to64(parts_[d].uniform, parts_[d].dtype), stride64(d));
    start = start ? b.CreateAdd(start, part) : part;
  }
  Value* base = start ? b.CreateGEP(b.getInt8Ty(), base_, start) : base_;
  Value* count = b.getInt32(max_records);
  for (unsigned d = 0; records && d < rank(); ++d) {
    if (!parts_[d].axis) continue;
    // In 32 bits, which scalar registers compare. A clamp at both ends would become v_med3.
    Value *u = parts_[d].uniform, *extent = b.CreateBinaryIntrinsic(Intrinsic::smax, dims_[d].extent, l_.i32(0));
    int64_t step = *dims_[d].fixed_stride * bytes_;
    Value* left = b.CreateBinaryIntrinsic(Intrinsic::umin, b.CreateSub(extent, u), l_.i32(max_records / step));
    count = b.CreateSelect(b.CreateICmpULT(u, extent), b.CreateMul(left, l_.i32(step)), l_.i32(0));
  }
  if (Value* in = inside_uniform()) count = b.CreateSelect(in, count, l_.i32(0));
  return buffer_descriptor(l_, base, b.CreateZExt(count, b.getInt64Ty()));
}

bool ViewAccess::additive(unsigned axis) const {
  unsigned own = 0;
  for (unsigned r = 0; r < registers(); ++r) own |= Lowering::register_coord(*layout_, r, axis);
  return (own & Lowering::thread_bits(*layout_, axis)) == 0;
}

ViewAccess::Offset ViewAccess::offset(unsigned reg) {
  auto& b = l_.b;
  Offset out{nullptr, nullptr, 0};
  auto add = [&](Value*& sum, Value* v) { sum = sum ? b.CreateAdd(sum, v) : v; };
  for (unsigned d = 0; d < rank(); ++d) {
    if (!parts_[d].axis) continue;
    unsigned axis = *parts_[d].axis;
    bool separate = additive(axis);
    unsigned own = separate ? Lowering::register_coord(*layout_, reg, axis) : 0;
    Value* thread = separate ? l_.thread_coord(*layout_, axis) : l_.coord(*layout_, reg, axis);
    add(out.vector, b.CreateMul(thread, stride32(d)));
    if (own == 0) continue;
    if (dims_[d].fixed_stride) out.fixed += own * static_cast<uint32_t>(*dims_[d].fixed_stride) * bytes_;
    else add(out.scalar, b.CreateMul(l_.i32(own), stride32(d)));
  }
  if (!out.vector) out.vector = l_.i32(0);
  if (!out.scalar) out.scalar = l_.i32(0);
  return out;
}

Value* ViewAccess::address(unsigned reg) {
  auto& b = l_.b;
  // Uniform parts first, so that they stay in scalar registers.
  Value *same = nullptr, *own = nullptr;
  auto add = [&](Value*& sum, Value* v) { sum = sum ? b.CreateAdd(sum, v) : v; };
  for (unsigned d = 0; d < rank(); ++d) {
    const IndexPart& p = parts_[d];
    if (!p.split) {
      add(own, b.CreateMul(to64(index(d, reg), p.dtype), stride64(d)));
      continue;
    }
    add(same, b.CreateMul(to64(p.uniform, p.dtype), stride64(d)));
    if (p.axis) add(own, b.CreateMul(b.CreateZExt(l_.coord(*layout_, reg, *p.axis), b.getInt64Ty()), stride64(d)));
  }
  Value* base = same ? b.CreateGEP(b.getInt8Ty(), base_, same) : base_;
  return own ? b.CreateGEP(b.getInt8Ty(), base, own) : base;
}

Value* ViewAccess::element_offset(unsigned reg) {
  Value* sum = l_.b.getInt64(0);
  for (unsigned d = 0; d < rank(); ++d)
    sum = l_.b.CreateAdd(sum, l_.b.CreateMul(to64(index(d, reg), parts_[d].dtype), to64(dims_[d].stride, dims_[d].stride_type)));
  return sum;
}

uint64_t ViewAccess::alignment(unsigned group) const {
  uint64_t align = base_align_;
  const ir::Op& view = *l_.k.def(o_.operands[0]);
  for (unsigned d = 0; d < rank(); ++d) {
    const passes::AxisInfo& facts = l_.facts.of(parts_[d].value);
    const ir::Shape& s = l_.k.type(parts_[d].value).shape;
    uint64_t divides = facts.axes[0].divisibility;  // of every value that a group starts with
    if (s.rank() > 0) {
      const passes::AxisFact& f = facts.axes[*axis_];
      divides = s[*axis_] != 1 && f.contiguity > group ? std::min<uint64_t>(f.divisibility, group) : f.divisibility;
    }
    uint64_t stride = l_.facts.of(view.operands[1 + rank() + d]).axes[0].divisibility;
    constexpr uint64_t enough = 16;  // no access is wider
    align = std::min(align, std::min(divides, enough) * std::min(stride, enough) * bytes_);
  }
  return low_bit(align);
}

}  // namespace tile::frontend
