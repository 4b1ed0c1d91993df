#pragma once
// Machine code back to instructions, each with its class and its line of source.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/code_object.h"

namespace tile::codegen {

// What an instruction keeps busy. One row each in instruction_class.def.
enum class InstructionClass : std::uint8_t {
#define TILE_INSTRUCTION_CLASS(Kind, ...) Kind,
#include "codegen/instruction_class.def"
};
inline constexpr unsigned num_instruction_classes = 0
#define TILE_INSTRUCTION_CLASS(Kind, ...) +1
#include "codegen/instruction_class.def"
    ;
std::string_view name(InstructionClass c);
std::string_view doc(InstructionClass c);

struct Instruction {
  std::uint64_t address = 0;
  std::uint8_t size = 0;  // bytes: 4, 8, 12 or 16
  bool legal = true;      // false: the bytes are no instruction of the target; text then shows them
  InstructionClass cls = InstructionClass::Other;
  std::uint32_t file = 0, line = 0, column = 0;  // file indexes Disassembly::files; line 0: unknown
  // Control flow. A target outside the kernel is kept: it is an address.
  std::optional<std::uint64_t> branch_target;
  bool falls_through = true;  // false after s_branch, s_endpgm, s_setpc
  std::string text;           // as llvm-objdump prints it, without address and bytes
};

struct KernelCode {
  KernelResources resources;
  std::vector<Instruction> instructions;  // by address; ends at the symbol's end
};

struct Disassembly {
  Arch arch{};
  std::vector<std::string> files;  // as named in the line table
  std::vector<KernelCode> kernels;
};

// Errors: not an hsaco, or a GPU that this program does not know. Illegal instructions are not errors here.
Result<Disassembly> disassemble(Bytes hsaco);

// The class of an instruction by its mnemonic ("v_mfma_f32_16x16x16_f16", ...). `lds_dma`: a load from memory to LDS.
InstructionClass classify(std::string_view mnemonic, bool lds_dma);

// Fails when some instruction of a kernel does not decode for the object's own target: names the kernel, the place and
// the bytes.
Status check_encoding(Bytes hsaco);

// The listing of `--emit=asm` from machine code: one instruction a line, a comment where the line of source changes.
std::string listing(const Disassembly& disassembly);

}  // namespace tile::codegen
