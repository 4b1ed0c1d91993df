#pragma once
// LLVM's machine-code layer for one AMDGPU target.
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>

#include <memory>
#include <string>

#include "dsl/support/result.h"

namespace tile::sim {

struct Disassembler {
  // An Error when LLVM does not know `cpu`.
  static Result<std::unique_ptr<Disassembler>> create(const std::string& cpu);
  // Decodes one instruction; false when the bytes are none. `size` is its length.
  bool decode(llvm::ArrayRef<uint8_t> bytes, uint64_t address, llvm::MCInst& inst, uint64_t& size);
  std::string text(const llvm::MCInst& inst);
  std::string opcode_name(const llvm::MCInst& inst) const { return info->getName(inst.getOpcode()).str(); }

  std::unique_ptr<llvm::MCRegisterInfo> regs;
  std::unique_ptr<llvm::MCAsmInfo> asm_info;
  std::unique_ptr<llvm::MCInstrInfo> info;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

// "V_ADD_F32_e32_vi" -> "V_ADD_F32": the mnemonic without encoding, addressing and target suffixes.
std::string base_mnemonic(std::string opcode_name);

}  // namespace tile::sim
