#pragma once
// What compile_kernel makes of a kernel, and the state that executes it. Internal to interpreter/tile.
//
// Values live in an arena, one a worker thread. A tile of n elements is an array of n elements in row-major order as
// dsl/num/storage.h has them; pointers are 64-bit host addresses; a scalar is an array of one; a view is a ViewState.
// Elementwise operations on tiles of one size are executed together, a chunk of elements at a time (see group.h), so
// that what they hand to each other stays in the first-level cache.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dsl/num/kernels.h"
#include "interpreter/tile/interpreter.h"
#include "interpreter/tile/memory_map.h"

namespace tile::interp {

struct Worker;
using ExecFn = void (*)(Worker&, const void* payload);

// Where a value is: in the arena of the worker or in the constants of the code.
struct Ref {
  uint64_t offset = 0;
  uint64_t shadow = 0;  // with check: offset of one byte an element, non-zero if it is poison
  bool constant = false;
};

struct Instr {
  ExecFn fn;
  const void* payload;
  ir::OpId op;
};

// A view while a program runs.
struct ViewState {
  static constexpr unsigned max_rank = 8;
  uint64_t base;
  int64_t extent[max_rank], stride[max_rank];  // in elements
};

inline constexpr size_t arena_align = 64;

struct Code {
  ir::Kernel kernel;  // a copy, for messages
  CompileOptions options;
  std::vector<Instr> instrs;
  std::vector<std::shared_ptr<void>> payloads;
  std::vector<std::byte> constants;  // constant_base() is aligned
  std::vector<Ref> params;           // parallel to kernel.params
  uint64_t arena_bytes = 0;
  FidelitySummary fidelity;

  const std::byte* constant_base() const {
    auto p = reinterpret_cast<uintptr_t>(constants.data());
    return reinterpret_cast<const std::byte*>((p + arena_align - 1) / arena_align * arena_align);
  }
};

struct CheckState;  // check.h
struct Trace;       // control.h

// Executes programs one after the other.
struct Worker {
  const Code* code = nullptr;
  const RunOptions* options = nullptr;
  const MemoryMap* memory = nullptr;
  CheckState* check = nullptr;  // null unless checking
  std::byte* arena = nullptr;
  const std::byte* constants = nullptr;
  std::vector<std::byte> storage;
  std::vector<std::byte> scratch;  // grows as operations need it

  Grid grid{};
  Grid position{};
  int64_t program = 0;
  size_t pc = 0;
  uint64_t executed = 0;
  bool failed = false;
  Failure failure;
  std::vector<std::pair<int64_t, std::string>> prints;
  const Trace* observed = nullptr;  // with observe: the value that the last step computed

  Worker(const Code& c, const RunOptions& o, const MemoryMap& m);
  // Sets parameters that the kernel never changes.
  void bind(const std::vector<Argument>& args);
  // False if the program failed; `failure` says why.
  bool run_program(int64_t linear);
  // The same in steps, for code compiled with `observe`: from one observed value to the next.
  void start_program(int64_t linear);
  const Trace* step();  // null at the end of the program and on failure

  template <class T = std::byte>
  T* at(const Ref& r) const {
    const std::byte* base = r.constant ? constants : arena;
    return reinterpret_cast<T*>(const_cast<std::byte*>(base) + r.offset);
  }
  uint8_t* shadow(const Ref& r) const { return reinterpret_cast<uint8_t*>(arena + r.shadow); }
  // At least `bytes` bytes, aligned; valid until the next call.
  std::byte* need_scratch(size_t bytes);
  // Stops the program with a message about the current instruction.
  void fail(std::string message);
};

// An integer scalar, extended by its type's sign.
int64_t read_int(const void* p, DType t);

}  // namespace tile::interp
