#pragma once
// Flow of control, program ids, printing, assertions.
#include <string>
#include <vector>

#include "interpreter/tile/code.h"

namespace tile::interp {

// The number of iterations is found once, at the start.
struct ForLoop {
  Ref low, high, step, iv;
  Ref count;  // u64: iterations that remain
  DType dtype = DType::I32;
  size_t body = 0, exit = 0;  // instruction indices
};
void run_for_init(Worker& w, const void* payload);
void run_for_next(Worker& w, const void* payload);

struct Jump {
  Ref cond;  // of run_jump_unless: a bool
  size_t target = 0;
};
void run_jump(Worker& w, const void* payload);
void run_jump_unless(Worker& w, const void* payload);

struct GridValue {
  Ref dst;
  unsigned axis = 0;
  bool extent = false;  // num_programs
};
void run_grid_value(Worker& w, const void* payload);

struct PrintValues {
  std::string text;
  std::vector<Ref> values;
  std::vector<ir::Type> types;
};
void run_print(Worker& w, const void* payload);

struct Assert {
  std::string text;
  Ref cond;
  int64_t elements = 1;
  bool is_tile = false;
};
void run_assert(Worker& w, const void* payload);

// Prints the value that an operation has computed (CompileOptions::trace).
struct Trace {
  ir::ValueId value;  // invalid after a store
  Ref ref;
};
void run_trace(Worker& w, const void* payload);
// Stops Worker::step with this value.
void run_observe(Worker& w, const void* payload);

}  // namespace tile::interp
