#pragma once
// A code object after loading and decoding: what CodeObject holds and the executor reads.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "interpreter/machine/inst.h"
#include "interpreter/machine/machine.h"

namespace tile::sim {

// Where the code object's segments appear in simulated memory.
constexpr uint64_t image_address = uint64_t{0x7d00} << 32;

struct Disassembler;  // LLVM MC objects of one target

struct Program {
  Program();
  ~Program();
  std::string target;
  std::vector<Kernel> kernels;
  std::vector<uint8_t> elf;            // the file
  std::vector<uint8_t> image;          // segments at their addresses, relocated
  uint64_t text_begin = 0, text_end = 0;   // addresses in the image, without image_address
  std::vector<Inst> code;              // in the order of addresses
  std::vector<int32_t> index;          // (address - text_begin) / 4 -> index in `code`, or -1
  std::map<std::string, std::unique_ptr<std::string>> names;
  std::unique_ptr<Disassembler> disassembler;
  struct Lines;
  std::unique_ptr<Lines> lines;
  std::mutex mutex;                    // guards the disassembler and the line table

  const Inst* at(uint64_t pc) const {
    if (pc < text_begin || pc >= text_end || (pc & 3)) return nullptr;
    const int32_t k = index[(pc - text_begin) / 4];
    return k < 0 ? nullptr : &code[size_t(k)];
  }
  std::string text_of(uint64_t pc);
  std::string line_of(uint64_t pc);
};

// Fills `code` and `index` from the text section.
Status decode_program(Program& p);

// Handler of words that do not decode or that no table knows.
void exec_unknown(Wave& w, const Inst& i);

}  // namespace tile::sim
