#pragma once
// What --check watches: doubtful integer operations, values from masked-off lanes ("poison"), memory that was not
// initialised, programs that disturb each other. Every value has a shadow array of one byte an element, non-zero for
// poison; operations hand it on as they hand on values.
#include <map>
#include <vector>

#include "interpreter/tile/code.h"

namespace tile::interp {

struct CheckState {
  struct Shadow {
    Allocation range;
    std::vector<int64_t> writer;   // program + 1 of the last store to each byte; 0: none in this launch
    std::vector<uint8_t> defined;  // per byte; empty if all are
  };
  std::vector<Shadow> memory;
  std::map<std::pair<uint32_t, CheckKind>, size_t> index;  // of (operation, kind) in found
  std::vector<Check> found;

  explicit CheckState(const MemoryMap& map);
  Shadow* find(uint64_t address);
};

// Notes one finding at the worker's current operation.
void report_check(Worker& w, CheckKind kind, int64_t element, const std::string& message);

// Poison among the n elements of a shadow that decide something (`what`: "an index", "a mask", "a condition").
void check_poison(Worker& w, const uint8_t* shadow, int64_t n, const char* what);
void check_load(Worker& w, uint64_t address, unsigned bytes, int64_t element);
// Before the bytes change. `value` may be null when the stored bytes aren't known as such (packed types).
void check_store(Worker& w, uint64_t address, unsigned bytes, const void* value, int64_t element, bool poison);

// An instruction that follows an operation and computes the shadows of its results.
struct ShadowOp {
  OpKind kind;
  std::vector<Ref> operands, results;
  std::vector<ir::Type> operand_types, result_types;
  int64_t axis = 0;
  std::vector<int64_t> perm;
};
void run_shadow(Worker& w, const void* payload);

// An instruction before an integer division or shift.
struct IntegerCheck {
  OpKind kind;
  DType dtype;
  Ref a, b;
  int64_t n = 0;
};
void run_integer_check(Worker& w, const void* payload);
// True for the operations that run_integer_check looks at.
bool has_integer_check(OpKind kind);

// Shadow of a scalar that decides the flow.
struct ConditionCheck {
  Ref value;
  int64_t n = 1;
};
void run_condition_check(Worker& w, const void* payload);

}  // namespace tile::interp
