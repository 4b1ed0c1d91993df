#include "codegen/compile.h"

#include <fmt/format.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <mutex>
#include <utility>

#include "codegen/check.h"
#include "codegen/disassemble.h"
#include "codegen/link.h"

namespace tile::codegen {
namespace {

// Collects errors. Without a handler an LLVMContext prints them and exits the process.
struct Collector : llvm::DiagnosticHandler {
  std::string* errors;
  explicit Collector(std::string* errors) : errors(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    if (!errors->empty()) *errors += "\n";
    llvm::raw_string_ostream stream(*errors);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }
};

// Puts a Collector into the module's context for its lifetime.
class DiagnosticScope {
 public:
  DiagnosticScope(llvm::LLVMContext& context, std::string* errors)
      : context_(context), previous_(context.getDiagnosticHandler()) {
    context_.setDiagnosticHandler(std::make_unique<Collector>(errors));
  }
  ~DiagnosticScope() { context_.setDiagnosticHandler(std::move(previous_)); }

 private:
  llvm::LLVMContext& context_;
  std::unique_ptr<llvm::DiagnosticHandler> previous_;
};

// What the code generator works with. After a fatal error in its middle it must not be destroyed: the passes are in no
// state for that.
struct Generator {
  std::unique_ptr<llvm::TargetMachine> machine;
  llvm::SmallVector<char, 0> output;
  llvm::raw_svector_ostream stream{output};
  llvm::legacy::PassManager passes;
};

void keep_forever(std::unique_ptr<Generator> broken) {
  static std::mutex mutex;
  static auto* kept = new std::vector<std::unique_ptr<Generator>>;  // reachable, so that no leak checker complains
  std::lock_guard lock(mutex);
  kept->push_back(std::move(broken));
}

Status check_layout(const llvm::Module& module, const llvm::TargetMachine& machine) {
  if (module.getDataLayout() != machine.createDataLayout() || module.getTargetTriple() != machine.getTargetTriple())
    return Error{"the module was not prepared for the AMDGPU target (prepare_module)"};
  return Unit{};
}

Result<llvm::SmallVector<char, 0>> generate(llvm::Module& module, Arch arch, const CompileOptions& options,
                                            llvm::CodeGenFileType kind) {
  auto generator = std::make_unique<Generator>();
  auto machine = target_machine(arch);
  if (!machine) return machine.error();
  generator->machine = std::move(*machine);
  generator->machine->Options.MCOptions.AsmVerbose = kind == llvm::CodeGenFileType::AssemblyFile;
  if (Status s = check_layout(module, *generator->machine); !s) return s.error();
  if (Status s = check_module(module, arch); !s) return s.error();

  std::string errors;
  DiagnosticScope scope(module.getContext(), &errors);
  bool emits = true;
  Status ran = guard_fatal_errors([&] {
    optimize(module, *generator->machine, options.pipeline);
    emits = !generator->machine->addPassesToEmitFile(generator->passes, generator->stream, nullptr, kind,
                                                     /*DisableVerify=*/true);
    if (emits) generator->passes.run(module);
  });
  if (!ran) {
    keep_forever(std::move(generator));
    if (!errors.empty()) ran.error().message = errors + "\n" + ran.error().message;
    return ran.error();
  }
  if (!emits) return Error{"LLVM can't emit this kind of file for " + std::string(name(arch))};
  if (!errors.empty()) return Error{errors};
  return std::move(generator->output);
}

}  // namespace

Result<HsacoImage> compile(llvm::Module& module, Arch arch, const CompileOptions& options) {
  auto object = generate(module, arch, options, llvm::CodeGenFileType::ObjectFile);
  if (!object) return object.error();
  auto linked = link_hsaco({object->data(), object->size()});
  if (!linked) return linked.error();
  HsacoImage image{arch, std::move(*linked)};
  if (options.check_encoding)
    if (Status s = check_encoding(image.bytes); !s) return s.error();
  return image;
}

Result<std::string> emit_asm(llvm::Module& module, Arch arch, const CompileOptions& options) {
  auto text = generate(module, arch, options, llvm::CodeGenFileType::AssemblyFile);
  if (!text) return text.error();
  return std::string(text->data(), text->size());
}

}  // namespace tile::codegen
