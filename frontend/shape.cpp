// Values made from nothing, and operations that only rename elements.
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "frontend/conversion.h"
#include "frontend/lowering.h"

namespace tile::frontend {

using namespace llvm;

Status lower_value(Lowering& l, const ir::Op& o) {
  ir::ValueId result = o.results[0];
  switch (o.kind) {
    case OpKind::Constant:
      l.set(result, Regs(l.num_registers(result), l.constant(l.dtype(result), o.get_bits(AttrKey::Value))));
      return Unit{};
    case OpKind::Arange: {
      const LinearLayout& at = l.layout(result);
      Regs out;
      for (unsigned r = 0; r < at.num_registers(); ++r)
        out.push_back(l.b.CreateAdd(l.coord(at, r, 0), l.i32(o.get_int(AttrKey::Start))));
      l.set(result, std::move(out));
      return Unit{};
    }
    case OpKind::ProgramId: {
      constexpr Intrinsic::ID ids[] = {Intrinsic::amdgcn_workgroup_id_x, Intrinsic::amdgcn_workgroup_id_y, Intrinsic::amdgcn_workgroup_id_z};
      l.set(result, {l.intrinsic(ids[o.get_int(AttrKey::Axis)], {}, {})});
      return Unit{};
    }
    default: break;
  }
  // The grid's extent in work-items is in the dispatch packet (HSA: grid_size_x at byte 12), and so is the workgroup's.
  for (const char* a : {"amdgpu-no-dispatch-ptr"}) l.function->removeFnAttr(a);
  Value* packet = l.intrinsic(Intrinsic::amdgcn_dispatch_ptr, {}, {});
  auto axis = static_cast<uint64_t>(o.get_int(AttrKey::Axis));
  Value* place = l.b.CreateConstInBoundsGEP1_64(l.b.getInt8Ty(), packet, 12 + 4 * axis);
  LoadInst* items = l.b.CreateAlignedLoad(l.b.getInt32Ty(), place, Align(4));
  items->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(l.context, {}));
  uint64_t threads = axis == 0 ? uint64_t{l.k.waves} * wave_size : 1;
  l.set(result, {l.b.CreateUDiv(items, l.b.getInt32(static_cast<uint32_t>(threads)))});
  return Unit{};
}

Status lower_shape(Lowering& l, const ir::Op& o) {
  ir::ValueId from = o.operands[0], to = o.results[0];
  const Regs& have = l.regs(from);
  unsigned n = l.num_registers(to);
  Regs out(n);
  if (l.k.type(from).shape.rank() == 0) {
    l.set(to, Regs(n, have[0]));
    return Unit{};
  }
  switch (o.kind) {
    case OpKind::Broadcast: {
      std::vector<unsigned> map = projected_registers(l.layout(to), l.k.type(from).shape, l.k.type(to).shape);
      for (unsigned r = 0; r < n; ++r) out[r] = have[map[r]];
      break;
    }
    case OpKind::ExpandDims: {
      std::vector<unsigned> kept = layout::kept_registers(l.layout(to), static_cast<unsigned>(o.get_int(AttrKey::Axis)));
      for (unsigned r = 0; r < n; ++r) out[r] = have[kept_bits(r, kept)];
      break;
    }
    case OpKind::Trans: out = have; break;
    default: {  // reshape
      const ir::Shape &a = l.k.type(from).shape, &b = l.k.type(to).shape;
      bool free = ir::reshape_is_free(l.layout(from), a, b) &&
                  layout::reshape(l.layout(from), layout::padded_shape(ir::extents(b))) == l.layout(to);
      if (!free) return restage_reshape(l, o);
      out = have;
      break;
    }
  }
  l.set(to, std::move(out));
  return Unit{};
}

}  // namespace tile::frontend
