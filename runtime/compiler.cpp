#include "runtime/compiler.h"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <bit>
#include <set>

#include "codegen/compile.h"
#include "codegen/disassemble.h"
#include "dsl/passes/access.h"
#include "frontend/lower.h"
#include "runtime/manifest_of.h"

namespace tile {

namespace {

ManifestResources resources_of(const codegen::KernelResources& r) {
  ManifestResources m;
  m.vgprs = r.vgprs;
  m.agprs = r.agprs;
  m.sgprs = r.sgprs;
  m.vgpr_spills = r.vgpr_spills;
  m.sgpr_spills = r.sgpr_spills;
  m.scratch = r.scratch;
  m.occupancy = r.occupancy.waves_per_simd;
  m.code_size = static_cast<uint32_t>(r.code_size);
  return m;
}

// `expects` clauses against the figures. False, with a diagnostic each, where one does not hold.
bool check_expects(const ir::Kernel& k, const codegen::KernelResources& r, Diagnostics& diags) {
  Expr::Values values = {{"spills", int64_t{r.vgpr_spills} + r.sgpr_spills}, {"lds", r.lds}, {"vgprs", r.vgprs}, {"agprs", r.agprs},
                         {"sgprs", r.sgprs}, {"scratch", r.scratch}, {"occupancy", r.occupancy.waves_per_simd},
                         {"code_size", static_cast<int64_t>(r.code_size)}};
  bool good = true;
  for (const std::string& text : k.expects_exprs) {
    Result<Expr> e = Expr::parse(text);
    Result<int64_t> v = e ? e->eval(values) : Result<int64_t>(e.error());
    if (!v) {
      diags.emit(DiagKind::InternalError, k.range, fmt::format("`expects {}`: {}", text, v.error().message));
      good = false;
    } else if (*v == 0) {
      std::string figures;
      for (const std::string& n : e->names()) figures += fmt::format("{}{} is {}", figures.empty() ? "" : ", ", n, values.at(n));
      diags.emit(DiagKind::ResourceExceeded, k.range, fmt::format("`expects {}` does not hold for {}: {}", text, name(k.arch), figures));
      good = false;
    }
  }
  return good;
}

const ir::Param* param_of(const ir::Kernel& k, ir::ValueId v) {
  for (const ir::Param& p : k.params)
    if (p.value == v) return &p;
  return nullptr;
}

}  // namespace

std::vector<std::string> implied_requires(const ir::Kernel& k) {
  std::set<std::string> found;
  k.walk([&](ir::OpId id) {
    const ir::Op& o = k.op(id);
    if (o.kind != OpKind::LoadView && o.kind != OpKind::StoreView) return;
    const ir::Op* view = k.def(o.operands[0]);
    if (!view || view->kind != OpKind::MakeView) return;
    const ir::Param* p = param_of(k, view->operands[0]);
    unsigned rank = k.type(o.operands[0]).view_rank;
    if (!p || p->wide || p->strides.size() != rank) return;
    auto [first, last] = passes::index_operands(k, o);
    std::string sum;
    bool dynamic = false;
    for (unsigned d = 0; d < rank; ++d) {
      int64_t extent = k.type(o.operands[first + d]).shape.elements();
      if (extent <= 1) continue;
      // Padded positions have addresses as well.
      auto reach = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent))) - 1;
      sum += fmt::format("{}{} * ({})", sum.empty() ? "" : " + ", reach, p->strides[d]);
      dynamic |= !k.constant_int(view->operands[1 + rank + d]).has_value();
    }
    if (dynamic) found.insert(fmt::format("({}) * {} < 2147483520", sum, buffer_bytes(p->dtype)));
  });
  return {found.begin(), found.end()};
}

std::optional<CompiledKernel> compile_kernel(const ir::Kernel& fixed, const SourceManager& sources, const CompileFlags& flags,
                                             Diagnostics& diags) {
  CompiledKernel out{fixed, {}, {}, {}, {}, {}};
  ir::Kernel& k = out.kernel;
  passes::PassOptions options;
  options.after = flags.after_pass;
  options.diags = &diags;
#ifdef NDEBUG
  options.verify = false;
#endif
  if (Status s = passes::run_passes_after(k, "fix_values", options); !s) {
    diags.emit(DiagKind::ResourceExceeded, k.range, s.error().message, s.error().hint);
    return std::nullopt;
  }
  out.manifest = manifest_of(k, sources);
  out.manifest.lds = static_cast<uint32_t>(k.lds_bytes);
  for (std::string& e : implied_requires(k)) out.manifest.requires_.push_back(std::move(e));
  if (!flags.code && !flags.keep_llvm && !flags.keep_asm) return out;

  llvm::LLVMContext context;
  llvm::Module module(k.name, context);
  Status s = codegen::prepare_module(module, k.arch);
  if (s) s = frontend::lower(k, module, sources, &diags);
  if (!s) {
    diags.emit(DiagKind::UnsupportedOnTarget, k.range, s.error().message, s.error().hint);
    return std::nullopt;
  }
  if (flags.keep_llvm) {
    llvm::raw_string_ostream stream(out.llvm_ir);
    module.print(stream, nullptr);
  }
  if (!flags.code && !flags.keep_asm) return out;
  auto image = codegen::compile(module, k.arch);
  if (!image) {
    diags.emit(DiagKind::BackendError, k.range, image.error().message, image.error().hint);
    return std::nullopt;
  }
  out.hsaco = std::move(image->bytes);
  auto reports = codegen::report(out.hsaco);
  if (!reports || reports->empty()) {
    diags.emit(DiagKind::BackendError, k.range, reports ? "the code object has no kernel" : reports.error().message);
    return std::nullopt;
  }
  out.report = std::move(reports->front());
  out.manifest.resources = resources_of(out.report.resources);
  if (flags.keep_asm)
    if (auto code = codegen::disassemble(out.hsaco)) out.assembly = codegen::listing(*code);
  if (!check_expects(k, out.report.resources, diags)) return std::nullopt;
  return out;
}

std::optional<CompiledKernel> compile_kernel(Session& session, const SpecializeOptions& options, const CompileFlags& flags,
                                             Diagnostics& diags) {
  auto fixed = session.specialize(options, diags);
  if (!fixed) return std::nullopt;
  return compile_kernel(fixed->kernel, session.sources(), flags, diags);
}

}  // namespace tile
