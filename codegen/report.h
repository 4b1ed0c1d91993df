#pragma once
// What a kernel's machine code is made of: its resources, and the mix of instructions of the whole, of each loop and of
// each line of source. Counts are of instructions in the code, not of executions.
#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "codegen/disassemble.h"

namespace tile::codegen {

struct Mix {
  std::array<std::uint32_t, num_instruction_classes> count{};
  std::uint32_t& operator[](InstructionClass c) { return count[static_cast<unsigned>(c)]; }
  std::uint32_t operator[](InstructionClass c) const { return count[static_cast<unsigned>(c)]; }
  std::uint32_t total() const;
};

struct LineRange {
  std::string file;                   // empty when nothing has a line
  std::uint32_t first = 0, last = 0;  // in the file of the range's first located instruction
};

struct LoopReport {
  std::uint64_t address = 0;  // of its first instruction
  int parent = -1;            // index in KernelReport::loops
  unsigned depth = 1;
  LineRange lines;
  Mix all;  // inner loops included
  Mix own;  // without them
};

struct LineReport {
  std::string file;
  std::uint32_t line = 0;
  Mix mix;
};

struct KernelReport {
  Arch arch{};
  KernelResources resources;
  Mix mix;
  std::vector<LoopReport> loops;  // by address, outer before inner
  std::vector<LineReport> lines;  // by file and line; instructions without a line are left out
};

// One report a kernel. Errors: as disassemble().
Result<std::vector<KernelReport>> report(Bytes hsaco);

// As `dsl-compile --report` prints it: for people, classes with a count of 0 left out.
std::string to_text(const std::vector<KernelReport>& reports);

// {"kernels": [{"name", "target", "resources", "instructions", "loops", "lines"}]}; all classes are there.
nlohmann::json to_json(const std::vector<KernelReport>& reports);

}  // namespace tile::codegen
