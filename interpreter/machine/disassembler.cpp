#include "interpreter/machine/disassembler.h"

#include <llvm/ADT/StringRef.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <mutex>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace tile::sim {

Result<std::unique_ptr<Disassembler>> Disassembler::create(const std::string& cpu) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target) return Error{"LLVM has no AMDGPU target: " + message};
  auto d = std::make_unique<Disassembler>();
  d->regs.reset(target->createMCRegInfo(triple));
  d->asm_info.reset(target->createMCAsmInfo(*d->regs, triple, d->options));
  d->info.reset(target->createMCInstrInfo());
  d->subtarget.reset(target->createMCSubtargetInfo(triple, cpu, ""));
  if (!d->subtarget || !d->subtarget->isCPUStringValid(cpu)) return Error{"unknown processor '" + cpu + "'"};
  d->context = std::make_unique<llvm::MCContext>(triple, d->asm_info.get(), d->regs.get(), d->subtarget.get());
  d->disassembler.reset(target->createMCDisassembler(*d->subtarget, *d->context));
  d->printer.reset(target->createMCInstPrinter(triple, 0, *d->asm_info, *d->info, *d->regs));
  if (!d->disassembler || !d->printer) return Error{"LLVM has no AMDGPU disassembler"};
  return d;
}

bool Disassembler::decode(llvm::ArrayRef<uint8_t> bytes, uint64_t address, llvm::MCInst& inst, uint64_t& size) {
  size = 0;
  return disassembler->getInstruction(inst, size, bytes, address, llvm::nulls()) == llvm::MCDisassembler::Success && size > 0;
}

std::string Disassembler::text(const llvm::MCInst& inst) {
  std::string out;
  llvm::raw_string_ostream os(out);
  printer->printInst(&inst, 0, "", *subtarget, os);
  for (char& c : out)
    if (c == '\t') c = ' ';
  const size_t first = out.find_first_not_of(' ');
  return first == std::string::npos ? out : out.substr(first);
}

std::string base_mnemonic(std::string name) {
  static const char* suffixes[] = {"_vi", "_gfx9", "_gfx90a", "_gfx940", "_gfx950", "_vcd", "_acd", "_e32", "_e64", "_sdwa", "_dpp",
                                   "_opsel", "_alt", "_IMM", "_SGPR", "_OFFSET", "_OFFEN", "_IDXEN", "_BOTHEN", "_SADDR", "_ST",
                                   "_SVS", "_VE", "_SVE", "_LDS_"};
  llvm::StringRef s(name);
  if (const size_t at = s.find("_F8F6F4_"); at != llvm::StringRef::npos) s = s.substr(0, at + 7);
  bool rtn = false;
  for (bool more = true; more;) {
    more = false;
    for (const char* suffix : suffixes) {
      if (s.ends_with(suffix)) {
        s = s.drop_back(std::char_traits<char>::length(suffix));
        more = true;
      }
    }
    // Returning memory atomics have the suffix behind the addressing mode; DS has it inside the name.
    if (s.ends_with("_RTN") && !s.starts_with("DS_")) {
      s = s.drop_back(4);
      rtn = more = true;
    }
  }
  (void)rtn;
  return s.str();
}

}  // namespace tile::sim
