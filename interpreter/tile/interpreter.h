#pragma once
// The fast interpreter of tile IR: one array operation an IR operation, layouts ignored, programs of the grid spread
// over the cores. It executes a kernel at any point of the pipeline; right after fix_values it is the judge of what
// the kernel means (docs/semantics.md). A dot or reduce that carries no order yet is executed in ascending order.
//
// A kernel is compiled once (compile_kernel) into a flat list of instructions on preallocated buffers, then run any
// number of times, also from several threads at a time.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dsl/ir/ir.h"
#include "dsl/support/result.h"

namespace tile::interp {

// The value of one parameter, in the order of Kernel::params.
struct Argument {
  void* data = nullptr;        // pointers: first byte of the array; not owned
  uint64_t bytes = 0;          // pointers: size of the array
  bool writable = true;        // pointers: a store through another one is an error
  bool uninitialised = false;  // pointers: with Options::check, reading a byte that was not stored is reported
  uint64_t bits = 0;           // scalars: raw bits, in the low bits

  static Argument array(void* data, uint64_t bytes, bool writable = true) { return {data, bytes, writable, false, 0}; }
  static Argument scalar(uint64_t bits) { return {nullptr, 0, false, false, bits}; }
};

using Grid = std::array<int64_t, 3>;

struct CompileOptions {
  bool check = false;  // report doubtful operations (see Check); slow, one thread
  bool trace = false;  // a line for every executed operation goes to Options::trace; slow, one thread
  bool observe = false;  // each value can be looked at when it is computed (lockstep.h); slow
};

// What --check found. Each kind is reported once an operation, with the number of times.
enum class CheckKind : uint8_t {
  DivisionByZero,       // x / 0 or x % 0
  DivisionOverflow,     // MIN / -1 or MIN % -1
  WideShift,            // a count of the width or more
  PoisonUsed,           // a value that came from a masked-off lane without `other` decides, addresses or is stored
  UninitialisedRead,    // of an argument that is marked so
  ConflictingStores,    // two programs stored different values to one byte
  ReadOfOtherProgram,   // a program read what another one stored in this launch
};
std::string_view name(CheckKind kind);
struct Check {
  CheckKind kind;
  ir::OpId op;
  Range range;        // of the operation
  int64_t program;    // first program, linear id
  int64_t element;    // first element of the tile, row-major
  uint64_t count;
  std::string message;
};

// One thing that a kernel does which is less than exact.
struct FidelityNote {
  Fidelity fidelity;
  ir::OpId op;
  Range range;
  std::string what;  // "fast::exp2", "v_mfma_f32_16x16x32_bf16 on gfx950", ...
};
struct FidelitySummary {
  Fidelity lowest = Fidelity::Exact;
  std::vector<FidelityNote> notes;
};

// One executed element store, in the order of execution (Options::on_store).
struct StoreEvent {
  int64_t program;
  ir::OpId op;
  int64_t element;      // of the stored tile, row-major
  const void* address;
  unsigned bytes;       // 1 for packed types: the byte that holds the element
};

struct RunOptions {
  unsigned threads = 0;              // 0: all cores
  uint64_t max_instructions = 0;     // a program that executes more is stopped with an error; 0: no limit
  std::function<void(std::string_view line)> trace;      // with CompileOptions::trace
  std::function<void(const StoreEvent&)> on_store;       // makes the run single-threaded
};

struct RunReport {
  int64_t programs = 0;
  uint64_t instructions = 0;        // executed instructions of the flat list
  std::vector<std::string> prints;  // in order of program, then of execution; no line end
  std::vector<Check> checks;
  FidelitySummary fidelity;
};

// Why a run stopped; the first one in order of programs.
struct Failure {
  std::string message;
  ir::OpId op;       // invalid if no operation is to blame
  Range range;       // in the source
  int64_t program = -1;
  bool is_assert = false;  // a device_assert
  std::vector<std::string> prints;  // of the programs up to this one
  // "message" with "path:line:column: " before it where the place is known, and the program.
  std::string text(const SourceManager* sources) const;
};

struct RunResult {
  RunReport report;
  std::optional<Failure> failure;
  bool ok() const { return !failure; }
};

struct Code;  // interpreter/tile/code.h

class Executable {
 public:
  Executable(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  // Runs all programs of the grid; an empty grid does nothing. The arrays of `args` are read and written in place.
  RunResult run(const std::vector<Argument>& args, Grid grid, const RunOptions& options = {}) const;
  const FidelitySummary& fidelity() const;
  const Code& code() const { return *code_; }

 private:
  std::shared_ptr<const Code> code_;
};

// Fails on what cannot be executed, naming the operation. The kernel must be valid (ir::verify) and need not outlive
// the result. Array operations are chosen for the host's instruction set at this point (num::host_isa()).
Result<Executable> compile_kernel(const ir::Kernel& kernel, const CompileOptions& options = {});

// compile_kernel and run.
Result<RunResult> run_kernel(const ir::Kernel& kernel, const std::vector<Argument>& args, Grid grid,
                             const CompileOptions& compile = {}, const RunOptions& options = {});

// The classes of fidelity that a kernel uses, without running it.
FidelitySummary fidelity_of(const ir::Kernel& kernel);

}  // namespace tile::interp
