#pragma once
// The faithful interpreter: one workgroup with its tiles spread over (wave, lane, register) as their layouts say.
//
// Elementwise operations act on registers; convert_layout does layout::plan_conversion's plan, lane by lane, through the
// modelled shared memory at its lds_offset; reductions combine registers, then lanes, then waves through shared
// memory; a dot is done by each wave from the operands that this wave holds; vector accesses move what the `vector` and
// `granule` attributes say. docs/passes.md has the rules that it shares with the lowering. Padded positions hold junk, so
// that what depends on them shows.
//
// Shared memory knows which wave touched which byte since the last barrier: an access to a byte that another wave
// wrote, or a write to a byte that another wave read, is an error.
//
// Beside it runs the fast interpreter on the same kernel with copies of the arrays. Every value of every operation and
// every store are compared to the bit, so a difference is found at the operation that makes it.
#include <optional>
#include <string>
#include <vector>

#include "interpreter/tile/interpreter.h"

namespace tile::interp {

// Where and how the faithful run differs from what the operations mean.
struct Divergence {
  ir::OpId op;
  Range range;
  int64_t program = 0;
  int64_t element = -1;  // of the value or stored tile, row-major; -1: not about one element
  std::string message;
};

struct FaithfulOptions {
  int64_t max_programs = 0;  // run no more than so many, evenly spread over the grid; 0: all
  bool races = true;         // find missing barriers; false before the pass that inserts them
};

struct FaithfulResult {
  std::optional<Divergence> divergence;
  std::optional<Failure> failure;  // the kernel fails by itself (device_assert, access outside of the arguments)
  int64_t programs = 0;
  uint64_t operations = 0;  // compared
};

// Every tile of the kernel has a layout (ir::Stage::Layout or later). The arrays of `args` are read, not written. An
// Error: the kernel cannot be executed.
Result<FaithfulResult> run_faithful(const ir::Kernel& kernel, const std::vector<Argument>& args, Grid grid,
                                    const FaithfulOptions& options = {});

}  // namespace tile::interp
