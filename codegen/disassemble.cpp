#include "codegen/disassemble.h"

#include <fmt/format.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrAnalysis.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <map>

#include "codegen/target.h"

namespace tile::codegen {
namespace {

// LLVM's decoder and printer for one architecture.
class Decoder {
 public:
  static Result<std::unique_ptr<Decoder>> create(Arch arch) {
    init();
    std::string why;
    llvm::Triple triple(target_triple);
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, why);
    if (!target) return Error{"this LLVM has no AMDGPU target: " + why, "install libllvm22 from Debian"};
    std::unique_ptr<Decoder> d(new Decoder);
    d->registers_.reset(target->createMCRegInfo(triple));
    d->asm_info_.reset(target->createMCAsmInfo(*d->registers_, triple, llvm::MCTargetOptions()));
    d->instructions_.reset(target->createMCInstrInfo());
    d->subtarget_.reset(target->createMCSubtargetInfo(triple, name(arch), ""));
    d->context_ =
        std::make_unique<llvm::MCContext>(triple, d->asm_info_.get(), d->registers_.get(), d->subtarget_.get());
    d->disassembler_.reset(target->createMCDisassembler(*d->subtarget_, *d->context_));
    d->printer_.reset(target->createMCInstPrinter(triple, 0, *d->asm_info_, *d->instructions_, *d->registers_));
    d->analysis_.reset(target->createMCInstrAnalysis(d->instructions_.get()));
    if (!d->disassembler_ || !d->printer_ || !d->analysis_) return Error{"this LLVM has no AMDGPU disassembler"};
    return d;
  }

  // Decodes the instruction at `address`, whose bytes start `code`. False when there is none.
  bool decode(Bytes code, std::uint64_t address, llvm::MCInst& out, std::uint64_t& size) {
    size = 0;
    llvm::ArrayRef<std::uint8_t> bytes(code.data(), code.size());
    const auto status = disassembler_->getInstruction(out, size, bytes, address, llvm::nulls());
    return status == llvm::MCDisassembler::Success && size != 0 && size <= code.size();
  }

  std::string print(const llvm::MCInst& inst, std::uint64_t address) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    printer_->printInst(&inst, address, "", *subtarget_, stream);
    const std::size_t start = text.find_first_not_of(" \t");
    if (start != std::string::npos) text.erase(0, start);
    for (char& c : text)
      if (c == '\t') c = ' ';
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
  }

  void control_flow(const llvm::MCInst& inst, std::uint64_t address, std::uint64_t size, Instruction& out) {
    const llvm::MCInstrDesc& desc = instructions_->get(inst.getOpcode());
    if (desc.isBranch() && !desc.isIndirectBranch()) {
      std::uint64_t target = 0;
      if (analysis_->evaluateBranch(inst, address, size, target)) out.branch_target = target;
    }
    out.falls_through = !(desc.isBarrier() || desc.isReturn() || desc.isIndirectBranch());
  }

 private:
  Decoder() = default;
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> asm_info_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis_;
};

// Lines of source by address.
class Lines {
 public:
  explicit Lines(const CodeObject& object)
      : dwarf_(llvm::DWARFContext::create(
            object.elf(), llvm::DWARFContext::ProcessDebugRelocations::Process, nullptr, "",
            [](llvm::Error e) { llvm::consumeError(std::move(e)); },
            [](llvm::Error e) { llvm::consumeError(std::move(e)); })),
        section_(object.text_section_index()) {}

  void locate(Instruction& instruction, std::vector<std::string>& files) {
    llvm::DILineInfoSpecifier spec(llvm::DILineInfoSpecifier::FileLineInfoKind::RawValue,
                                   llvm::DILineInfoSpecifier::FunctionNameKind::None);
    std::optional<llvm::DILineInfo> info = dwarf_->getLineInfoForAddress({instruction.address, section_}, spec);
    if (!info || info->Line == 0) return;
    auto [it, fresh] = indices_.try_emplace(info->FileName, static_cast<std::uint32_t>(files.size()));
    if (fresh) files.push_back(info->FileName);
    instruction.file = it->second;
    instruction.line = info->Line;
    instruction.column = info->Column;
  }

 private:
  std::unique_ptr<llvm::DWARFContext> dwarf_;
  std::uint64_t section_;
  std::map<std::string, std::uint32_t> indices_;
};

std::string raw_bytes(Bytes code) {
  std::string text = ".long";
  for (std::size_t i = 0; i + 4 <= code.size() && i < 4; i += 4)
    text += fmt::format(" 0x{:02x}{:02x}{:02x}{:02x}", code[i + 3], code[i + 2], code[i + 1], code[i]);
  return text;
}

bool is_transcendental(std::string_view m) {
  for (std::string_view op : {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"})
    if (m.starts_with(op) && !m.starts_with("v_exp_legacy")) return true;
  return false;
}

InstructionClass classify_memory(std::string_view m, bool lds_dma) {
  if (m.find("_atomic_") != m.npos) return InstructionClass::VmemAtomic;
  if (lds_dma) return InstructionClass::LdsDma;
  if (m.find("_load") != m.npos) return InstructionClass::VmemLoad;
  if (m.find("_store") != m.npos) return InstructionClass::VmemStore;
  return InstructionClass::Other;  // cache control
}

}  // namespace

std::string_view name(InstructionClass c) {
  switch (c) {
#define TILE_INSTRUCTION_CLASS(Kind, name, doc) \
  case InstructionClass::Kind:                  \
    return name;
#include "codegen/instruction_class.def"
  }
  return "";
}

std::string_view doc(InstructionClass c) {
  switch (c) {
#define TILE_INSTRUCTION_CLASS(Kind, name, doc) \
  case InstructionClass::Kind:                  \
    return doc;
#include "codegen/instruction_class.def"
  }
  return "";
}

InstructionClass classify(std::string_view m, bool lds_dma) {
  using enum InstructionClass;
  auto is = [&](std::initializer_list<std::string_view> prefixes) {
    for (std::string_view p : prefixes)
      if (m.starts_with(p)) return true;
    return false;
  };
  if (is({"v_mfma_", "v_smfmac_"})) return Mfma;
  if (is({"v_accvgpr_"})) return Acc;
  if (is({"v_nop", "s_nop", "s_sleep"})) return Nop;
  if (is_transcendental(m)) return Trans;
  if (is({"v_"})) return Valu;
  if (is({"s_waitcnt"})) return Wait;
  if (is({"s_barrier"})) return Barrier;
  if (is({"s_branch", "s_cbranch", "s_endpgm", "s_setpc", "s_swappc", "s_call"})) return Branch;
  if (is({"s_load_", "s_buffer_", "s_store_", "s_scratch_", "s_memtime", "s_memrealtime", "s_dcache", "s_icache",
          "s_atomic_", "s_atc_"}))
    return Smem;
  if (is({"s_"})) return Salu;
  if (is({"ds_bpermute", "ds_permute", "ds_swizzle"})) return Lanes;
  if (is({"ds_"})) return Lds;
  if (is({"scratch_"})) return Scratch;
  if (is({"buffer_", "global_", "flat_", "tbuffer_"})) return classify_memory(m, lds_dma);
  return Other;
}

namespace {

Result<Disassembly> disassemble_object(const CodeObject& code_object) {
  const CodeObject* object = &code_object;
  auto decoder = Decoder::create(object->arch());
  if (!decoder) return decoder.error();
  Lines lines(*object);
  Disassembly result;
  result.arch = object->arch();
  for (const KernelResources& kernel : object->kernels()) {
    KernelCode code{kernel, {}};
    const Bytes bytes = object->code(kernel);
    for (std::uint64_t offset = 0; offset < bytes.size();) {
      Instruction i;
      i.address = kernel.code_address + offset;
      llvm::MCInst inst;
      std::uint64_t size = 0;
      const Bytes rest = bytes.subspan(offset);
      if ((*decoder)->decode(rest, i.address, inst, size)) {
        i.text = (*decoder)->print(inst, i.address);
        const std::string_view mnemonic = std::string_view(i.text).substr(0, i.text.find(' '));
        const bool to_lds = mnemonic.find("_lds_") != mnemonic.npos || i.text.ends_with(" lds");
        i.cls = classify(mnemonic, to_lds);
        (*decoder)->control_flow(inst, i.address, size, i);
      } else {
        i.legal = false;
        i.text = raw_bytes(rest);
        size = std::min<std::uint64_t>(4, rest.size());
      }
      i.size = static_cast<std::uint8_t>(size);
      lines.locate(i, result.files);
      offset += size;
      code.instructions.push_back(std::move(i));
    }
    result.kernels.push_back(std::move(code));
  }
  return result;
}

}  // namespace

// What LLVM reads from a damaged line table may end in a fatal error, hence the guard.
Result<Disassembly> disassemble(Bytes hsaco) {
  auto object = CodeObject::open(hsaco);
  if (!object) return object.error();
  std::optional<Result<Disassembly>> result;
  if (Status s = guard_fatal_errors([&] { result.emplace(disassemble_object(*object)); }); !s) return s.error();
  return std::move(*result);
}

Status check_encoding(Bytes hsaco) {
  auto object = CodeObject::open(hsaco);
  if (!object) return object.error();
  auto decoder = Decoder::create(object->arch());
  if (!decoder) return decoder.error();
  for (const KernelResources& kernel : object->kernels()) {
    const Bytes bytes = object->code(kernel);
    for (std::uint64_t offset = 0, size = 0; offset < bytes.size(); offset += size) {
      llvm::MCInst inst;
      if ((*decoder)->decode(bytes.subspan(offset), kernel.code_address + offset, inst, size)) continue;
      Instruction at;
      at.address = kernel.code_address + offset;
      std::vector<std::string> files;
      Lines(*object).locate(at, files);
      const std::string place = at.line ? fmt::format(", from {}:{}:{}", files[at.file], at.line, at.column) : "";
      return Error{fmt::format("LLVM encoded an instruction that {} does not have: {} at offset {:#x} of kernel '{}'{}",
                               name(object->arch()), raw_bytes(bytes.subspan(offset)), offset, kernel.name, place)};
    }
  }
  return Unit{};
}

std::string listing(const Disassembly& disassembly) {
  std::string out;
  for (const KernelCode& kernel : disassembly.kernels) {
    out += fmt::format("{}:\n", kernel.resources.name);
    const Instruction* previous = nullptr;
    for (const Instruction& i : kernel.instructions) {
      if (i.line && (!previous || previous->line != i.line || previous->file != i.file))
        out += fmt::format("  ; {}:{}\n", disassembly.files[i.file], i.line);
      out += fmt::format("  {:06x}  {}\n", i.address, i.text);
      previous = &i;
    }
  }
  return out;
}

}  // namespace tile::codegen
