#pragma once
// Natural loops of machine code, from the branches of its disassembly.
#include <cstddef>
#include <vector>

#include "codegen/disassemble.h"

namespace tile::codegen {

// A natural loop: a block (the header) that dominates some branch back to it, and all blocks that reach such a branch
// without passing the header. Loops with the same header are one loop.
struct Loop {
  std::size_t header = 0;                 // index of its first instruction
  int parent = -1;                        // index of the loop around it in the result, -1 for none
  unsigned depth = 1;                     // 1 for an outermost loop
  std::vector<std::size_t> instructions;  // indices, ascending; those of inner loops included
};

// The loops of a kernel, by the address of their headers; an outer loop before the loops inside it. Cycles that have
// two entries are no natural loops and are not found. Code that no path reaches belongs to no loop.
std::vector<Loop> find_loops(const std::vector<Instruction>& code);

}  // namespace tile::codegen
