#include "runtime/manifest_of.h"

#include <algorithm>
#include <set>

#include "dsl/target/mfma.h"

namespace tile {
namespace {

// What the kernel does through each parameter's memory.
struct Access {
  bool reads = false, writes = false;
};

// The parameter a view or pointer comes from; invalid when it comes from several (then all are marked).
void find_sources(const ir::Kernel& k, ir::ValueId v, std::set<uint32_t>& params, std::set<uint32_t>& seen) {
  if (!seen.insert(v.index).second) return;
  for (size_t i = 0; i < k.params.size(); ++i)
    if (k.params[i].value == v) params.insert(static_cast<uint32_t>(i));
  if (const ir::Op* d = k.def(v)) {
    for (ir::ValueId operand : d->operands)
      if (!k.type(operand).is_value()) find_sources(k, operand, params, seen);
    for (ir::BlockId b : d->blocks)
      if (!k.block(b).ops.empty())
        for (ir::ValueId operand : k.op(k.block(b).ops.back()).operands)
          if (!k.type(operand).is_value()) find_sources(k, operand, params, seen);
  } else if (ir::BlockId b = k.value(v).block; b.valid()) {
    const ir::Op& holder = k.op(k.block(b).parent);
    for (ir::ValueId operand : holder.operands)
      if (!k.type(operand).is_value()) find_sources(k, operand, params, seen);
    for (ir::BlockId nested : holder.blocks)
      if (!k.block(nested).ops.empty())
        for (ir::ValueId operand : k.op(k.block(nested).ops.back()).operands)
          if (!k.type(operand).is_value()) find_sources(k, operand, params, seen);
  }
}

std::vector<Access> accesses(const ir::Kernel& k) {
  std::vector<Access> list(k.params.size());
  k.walk([&](ir::OpId o) {
    const ir::Op& op = k.op(o);
    bool reads = info(op.kind).effects == Effects::Read;
    bool writes = op.kind == OpKind::Store || op.kind == OpKind::StoreView;
    if ((!reads && !writes) || op.operands.empty()) return;
    std::set<uint32_t> params, seen;
    find_sources(k, op.operands[0], params, seen);
    for (uint32_t p : params) {
      list[p].reads |= reads;
      list[p].writes |= writes;
    }
  });
  return list;
}

}  // namespace

Fidelity fidelity_of(const ir::Kernel& kernel, const ir::Op& op) {
  if (op.kind != OpKind::Dot) return info(op.kind).fidelity;
  std::string chosen = op.get_text(AttrKey::Mfma);
  for (const MfmaInfo& row : mfma_table) {
    if (row.kind != chosen) continue;
    switch (mfma_class_table[static_cast<size_t>(row.cls)].status[static_cast<size_t>(kernel.arch)]) {
      case MfmaStatus::NoInstr:
      case MfmaStatus::Exact: return Fidelity::Exact;
      case MfmaStatus::Modelled: return Fidelity::Modelled;
      case MfmaStatus::Provisional: return Fidelity::Provisional;
    }
  }
  return Fidelity::Exact;
}

KernelManifest manifest_of(const ir::Kernel& kernel, const SourceManager& sources) {
  KernelManifest m;
  m.name = m.symbol = kernel.name;
  m.target = name(kernel.arch);
  if (kernel.range.file != 0) m.source = sources.path(kernel.range.file);
  std::vector<Access> used = accesses(kernel);
  uint32_t offset = 0;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const ir::Param& p = kernel.params[i];
    ManifestArg a;
    a.name = p.name;
    bool pointer = kernel.type(p.value).is_ptr();
    a.kind = !pointer ? ArgKind::Scalar : p.is_view ? ArgKind::View : ArgKind::Pointer;
    a.dtype = name(p.dtype);
    a.size = pointer ? 8 : buffer_bytes(p.dtype);
    offset = (offset + a.size - 1) / a.size * a.size;
    a.offset = offset;
    offset += a.size;
    a.extents = p.extents;
    a.strides = p.strides;
    a.default_value = p.default_value;
    if (pointer) {
      a.align = static_cast<uint32_t>(p.align > 0 ? p.align : p.is_view ? 16 : buffer_bytes(p.dtype));
      a.noalias = p.noalias;
      a.reads = used[i].reads;
      a.writes = used[i].writes;
    }
    m.args.push_back(std::move(a));
  }
  m.kernarg_size = (offset + 7) / 8 * 8;
  for (const auto& [constant, value] : kernel.constants) m.constants[constant] = value;
  m.grid = kernel.grid;
  m.waves = kernel.waves;
  m.lds = static_cast<uint32_t>(kernel.lds_bytes);
  m.requires_ = kernel.requires_exprs;
  Fidelity lowest = Fidelity::Exact;
  kernel.walk([&](ir::OpId o) {
    const ir::Op& op = kernel.op(o);
    Fidelity f = fidelity_of(kernel, op);
    if (f == Fidelity::Exact) return;
    lowest = std::max(lowest, f);
    FidelityUse use{std::string(fidelity_name(f)), std::string(mnemonic(op.kind)), "", 0, 0};
    if (op.kind == OpKind::Dot) use.op += " " + op.get_text(AttrKey::Mfma);
    if (op.range.file != 0) {
      LineColumn at = sources.line_column(op.range.file, op.range.begin);
      use.file = sources.path(op.range.file), use.line = at.line, use.column = at.column;
    }
    for (const FidelityUse& u : m.fidelity_uses)
      if (u.op == use.op && u.line == use.line && u.column == use.column && u.file == use.file) return;
    m.fidelity_uses.push_back(std::move(use));
  });
  m.fidelity = fidelity_name(lowest);
  return m;
}

}  // namespace tile
