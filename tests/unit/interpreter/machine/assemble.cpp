#include "tests/unit/interpreter/machine/assemble.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/TargetParser/Triple.h>

#include <cstring>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmParser();
}

namespace tile::sim {

std::vector<uint32_t> assemble(const std::string& cpu, const std::string& text) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmParser();
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> regs(target->createMCRegInfo(triple));
  std::unique_ptr<llvm::MCAsmInfo> info(target->createMCAsmInfo(*regs, triple, options));
  std::unique_ptr<llvm::MCInstrInfo> instructions(target->createMCInstrInfo());
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(target->createMCSubtargetInfo(triple, cpu, ""));
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text), llvm::SMLoc());
  llvm::MCContext context(triple, info.get(), regs.get(), subtarget.get(), &sources);
  std::unique_ptr<llvm::MCObjectFileInfo> files(target->createMCObjectFileInfo(context, true));
  context.setObjectFileInfo(files.get());
  llvm::SmallString<4096> object;
  llvm::raw_svector_ostream os(object);
  std::unique_ptr<llvm::MCAsmBackend> backend(target->createMCAsmBackend(*subtarget, *regs, options));
  auto writer = backend->createObjectWriter(os);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(target->createMCCodeEmitter(*instructions, context));
  std::unique_ptr<llvm::MCStreamer> streamer(target->createMCObjectStreamer(triple, context, std::move(backend), std::move(writer), std::move(emitter), *subtarget));
  std::unique_ptr<llvm::MCAsmParser> parser(llvm::createMCAsmParser(sources, context, *streamer, *info));
  std::unique_ptr<llvm::MCTargetAsmParser> target_parser(target->createMCAsmParser(*subtarget, *parser, *instructions, options));
  parser->setTargetParser(*target_parser);
  if (parser->Run(false)) return {};
  auto elf = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(object.str(), "object"));
  if (!elf) {
    llvm::consumeError(elf.takeError());
    return {};
  }
  for (const auto& section : (*elf)->sections()) {
    auto name = section.getName();
    auto contents = section.getContents();
    if (!name || !contents || *name != ".text") continue;
    std::vector<uint32_t> words(contents->size() / 4);
    std::memcpy(words.data(), contents->data(), 4 * words.size());
    return words;
  }
  return {};
}

}  // namespace tile::sim
