#pragma once
// Payloads of instructions that compute with tiles: groups of elementwise steps, and the shape operations.
#include <vector>

#include "interpreter/tile/code.h"

namespace tile::interp {

// How elements of a broadcast tile come from its source: per axis of the result, in elements.
struct BroadcastPlan {
  unsigned rank = 0;
  int64_t shape[ir::Shape::max_rank] = {}, stride[ir::Shape::max_rank] = {};
};

// An operand of a step. Chunk-local and uniform arrays hold one chunk only: stride 0.
struct StepOperand {
  Ref ref;
  uint32_t stride = 0;  // bytes from one element to the next in an array of the whole tile
};

struct Step {
  enum class Kind : uint8_t { Kernel, Convert, Broadcast, AddPtr, Copy };
  Kind kind = Kind::Kernel;
  num::ElementwiseKernel kernel = nullptr;
  StepOperand in[3], out;
  DType from = DType::I32, to = DType::I32;  // Convert; from: offset type of AddPtr
  num::ConvertMode mode;                     // Convert
  uint32_t size = 0;                         // element bytes of Broadcast, Copy; of what AddPtr's pointers point to
  BroadcastPlan plan;                        // Broadcast
};

// A scalar repeated into a chunk-sized array when the group starts.
struct Fill {
  Ref from, to;
  uint32_t size = 0;
  uint64_t count = 0;
};

struct Group {
  uint64_t n = 0, chunk = 0;
  std::vector<Fill> fills;
  std::vector<Step> steps;
};
void run_group(Worker& w, const void* payload);

// Elements [start, start + n) of a broadcast.
void broadcast_range(const BroadcastPlan& plan, const void* src, void* dst, size_t size, int64_t start, int64_t n);
// `count` elements of `size` bytes (1, 2, 4, 8), each a copy of *src.
void fill_elements(const void* src, void* dst, size_t size, uint64_t count);

// dst[i] = pointers[i] + offsets[i] * size, with offsets of integer type t.
void add_pointers(DType t, const void* pointers, const void* offsets, void* dst, uint64_t size, size_t n);

void run_fill(Worker& w, const void* payload);  // Fill

struct Transpose {
  Ref src, dst;
  uint32_t size = 0;
  unsigned rank = 0;
  int64_t shape[ir::Shape::max_rank] = {}, stride[ir::Shape::max_rank] = {};  // of the result; stride in the source
};
void run_transpose(Worker& w, const void* payload);

struct Copy {
  Ref src, dst;
  uint64_t bytes = 0;
  uint64_t elements = 0;  // for the shadow
};
struct Copies {
  std::vector<Copy> list;
};
void run_copies(Worker& w, const void* payload);

}  // namespace tile::interp
