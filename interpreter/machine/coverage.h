#pragma once
// Which of a target's instructions the simulator knows. The list comes from the encodings: every opcode field of every
// encoding is given to LLVM's disassembler, so nothing that LLVM can emit for the target is missed.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dsl/support/result.h"

namespace tile::sim {

struct CoverageRow {
  std::string mnemonic;              // "V_ADD_F32", without encoding and addressing
  std::string family;                // SALU, SMEM, VALU, MFMA, SMFMAC, DS, FLAT (with GLOBAL and SCRATCH), MUBUF, MTBUF
  bool known = false;
  std::vector<uint32_t> words;       // one instance
  std::string text;                  // its disassembly
};

// One row a mnemonic and encoding form, sorted by family and mnemonic. An Error for an unknown target.
Result<std::vector<CoverageRow>> coverage(const std::string& target);

// A table in Markdown: counts a family and target, then the mnemonics that are not known.
std::string coverage_markdown();

}  // namespace tile::sim
