#include "frontend/lower.h"

#include <fmt/format.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "frontend/lowering.h"

namespace tile::frontend {

using namespace llvm;

Lowering::Lowering(const ir::Kernel& kernel, Module& m, const SourceManager& s, Diagnostics* d)
    : k(kernel), module(m), context(m.getContext()), b(m.getContext()), sources(s), remarks(d), facts(kernel),
      entry_(m.getContext()), values_(kernel.num_values()) {}

Error Lowering::failure(const ir::Op& o, const std::string& what) const {
  std::string where = sources.where(o.range);
  return Error{fmt::format("{}{}{}: {}", where, where.empty() ? "" : ": ", mnemonic(o.kind), what)};
}

void Lowering::make_function() {
  std::vector<Type*> args;
  for (const ir::Param& p : k.params) {
    const ir::Type& t = k.type(p.value);
    // bool travels as a byte.
    args.push_back(t.is_value() ? (is_bool(t.dtype) ? b.getInt8Ty() : type(t.dtype)) : PointerType::get(context, global_space));
  }
  function = Function::Create(FunctionType::get(b.getVoidTy(), args, false), GlobalValue::ExternalLinkage, k.name, module);
  function->setCallingConv(CallingConv::AMDGPU_KERNEL);
  std::string threads = std::to_string(k.waves * wave_size);
  function->addFnAttr("amdgpu-flat-work-group-size", threads + "," + threads);
  function->addFnAttr("uniform-work-group-size", "true");
  for (const char* a : {"amdgpu-no-implicitarg-ptr", "amdgpu-no-workitem-id-y", "amdgpu-no-workitem-id-z", "amdgpu-no-dispatch-ptr",
                        "amdgpu-no-queue-ptr", "amdgpu-no-dispatch-id", "amdgpu-no-lds-kernel-id", "amdgpu-no-completion-action",
                        "amdgpu-no-heap-ptr", "amdgpu-no-hostcall-ptr", "amdgpu-no-multigrid-sync-arg", "amdgpu-no-default-queue",
                        "amdgpu-no-flat-scratch-init"})
    function->addFnAttr(a);
  function->addFnAttr(Attribute::NoUnwind);
  BasicBlock* first = BasicBlock::Create(context, "entry", function);
  BasicBlock* body = BasicBlock::Create(context, "body", function);
  entry_.SetInsertPoint(first);
  Instruction* jump = entry_.CreateBr(body);
  entry_.SetInsertPoint(jump);
  b.SetInsertPoint(body);
  for (size_t i = 0; i < k.params.size(); ++i) {
    const ir::Param& p = k.params[i];
    Argument* a = function->getArg(static_cast<unsigned>(i));
    a->setName(p.name);
    Value* v = a;
    if (k.type(p.value).is_ptr()) {
      if (p.noalias) a->addAttr(Attribute::NoAlias);
    } else if (is_bool(p.dtype)) {
      v = entry_.CreateICmpNE(a, entry_.getInt8(0));
    }
    set(p.value, {v});
  }
  if (k.lds_bytes > 0) {
    auto* array = ArrayType::get(b.getInt8Ty(), static_cast<uint64_t>(k.lds_bytes));
    lds_ = new GlobalVariable(module, array, false, GlobalValue::InternalLinkage, PoisonValue::get(array), k.name + ".lds",
                              nullptr, GlobalValue::NotThreadLocal, lds_space);
    lds_->setAlignment(Align(16));
  }
}

void Lowering::make_debug_info() {
  if (k.range.file == 0) return;
  debug_ = std::make_unique<DIBuilder>(module);
  if (!module.getModuleFlag("Debug Info Version"))
    module.addModuleFlag(Module::Warning, "Debug Info Version", DEBUG_METADATA_VERSION);
  for (FileId f = 1; f < sources.size(); ++f) files_[f] = debug_->createFile(sources.path(f), "");
  DIFile* file = files_[k.range.file];
  DICompileUnit* unit = debug_->createCompileUnit(dwarf::DW_LANG_C11, file, "dsl-compile", true, "", 0, "",
                                                  DICompileUnit::LineTablesOnly);
  unsigned line = sources.line_column(k.range.file, k.range.begin).line;
  subprogram_ = debug_->createFunction(unit, k.name, k.name, file, line, debug_->createSubroutineType(debug_->getOrCreateTypeArray({})),
                                       line, DINode::FlagZero, DISubprogram::SPFlagDefinition | DISubprogram::SPFlagOptimized);
  function->setSubprogram(subprogram_);
  entry_.SetCurrentDebugLocation(DILocation::get(context, line, 1, subprogram_));
}

void Lowering::locate(Range r) {
  if (!subprogram_ || r.file == 0) return;
  LineColumn at = sources.line_column(r.file, r.begin);
  DIScope* scope = subprogram_;
  if (r.file != k.range.file) scope = debug_->createLexicalBlockFile(subprogram_, files_[r.file], 0);
  b.SetCurrentDebugLocation(DILocation::get(context, at.line, at.column, scope));
}

Status Lowering::run() {
  if (!module.getFunction(k.name)) {
    make_function();
  } else {
    return Error{fmt::format("the module has a function '{}' already", k.name)};
  }
  make_debug_info();
  locate(k.range);
  if (Status s = block(k.body); !s) return s;
  if (debug_) debug_->finalize();
  return Unit{};
}

Status Lowering::block(ir::BlockId id) {
  for (ir::OpId o : k.block(id).ops)
    if (!k.op(o).erased)
      if (Status s = operation(o); !s) return s;
  return Unit{};
}

Status Lowering::operation(ir::OpId id) {
  const ir::Op& o = k.op(id);
  locate(o.range);
  switch (o.kind) {
#define TILE_EW(Kind, ...) case OpKind::Kind:
#include "dsl/ops/elementwise.def"
      return lower_elementwise(*this, o);
    case OpKind::Constant: case OpKind::Arange: case OpKind::ProgramId: case OpKind::NumPrograms: return lower_value(*this, o);
    case OpKind::Cast: return lower_cast(*this, o);
    case OpKind::Bitcast: return lower_bitcast(*this, o);
    case OpKind::Splat: case OpKind::Broadcast: case OpKind::ExpandDims: case OpKind::Reshape: case OpKind::Trans:
      return lower_shape(*this, o);
    case OpKind::Reduce: case OpKind::ArgReduce: return lower_reduce(*this, o);
    case OpKind::Dot: return lower_dot(*this, o);
    case OpKind::MakeView: return Unit{};  // its users look at the operands
    case OpKind::LoadView: return lower_load_view(*this, o);
    case OpKind::StoreView: return lower_store_view(*this, o);
    case OpKind::InBounds: return lower_in_bounds(*this, o);
    case OpKind::AddPtr: case OpKind::Load: case OpKind::Store: return lower_pointer(*this, o);
    case OpKind::For: return lower_for(*this, o);
    case OpKind::While: return lower_while(*this, o);
    case OpKind::If: return lower_if(*this, o);
    case OpKind::Yield: case OpKind::Condition: return Unit{};  // the operation that holds the block reads them
    case OpKind::Return: b.CreateRetVoid(); return Unit{};
    case OpKind::Print: case OpKind::DeviceAssert:
      if (remarks) remarks->emit(DiagKind::PrintDropped, o.range, fmt::format("{} has no effect in an hsaco", mnemonic(o.kind)),
                                 "run it with dsl-run to see it");
      return Unit{};
    case OpKind::ConvertLayout: return lower_convert_layout(*this, o);
    case OpKind::Barrier:
      o.get_int(AttrKey::Global) != 0 ? barrier_full() : barrier_lds();
      return Unit{};
  }
  return failure(o, "unknown operation");
}

Status lower(const ir::Kernel& kernel, Module& module, const SourceManager& sources, Diagnostics* remarks) {
  return Lowering(kernel, module, sources, remarks).run();
}

}  // namespace tile::frontend
