#pragma once
// State of the faithful interpreter. Internal to interpreter/tile.
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "dsl/ir/layout_rules.h"
#include "dsl/layout/conversion.h"
#include "dsl/layout/execute.h"
#include "interpreter/tile/code.h"
#include "interpreter/tile/faithful.h"

namespace tile::interp {

// The places of a layout for a tile of certain extents; place (w * 64 + lane) * registers + r.
struct Places {
  unsigned waves = 1, registers = 1;
  std::vector<int32_t> element;  // row-major index, or -1: padding
  std::vector<uint8_t> primary;  // free bits are 0: the copy that stores
  size_t size() const { return element.size(); }
  size_t at(unsigned wave, unsigned lane, unsigned reg) const { return (size_t{wave} * 64 + lane) * registers + reg; }
};

// The arrays of a launch, copied, so that two executors run side by side. Arrays that overlap do so in the copy.
class ArrayCopies {
 public:
  ArrayCopies(const ir::Kernel& k, const std::vector<Argument>& originals);
  const std::vector<Argument>& args() const { return args_; }
  const MemoryMap& memory() const { return memory_; }
  // Argument and byte offset of an address inside of the copies.
  std::optional<std::pair<unsigned, uint64_t>> place(uint64_t address) const;

 private:
  std::vector<std::vector<std::byte>> storage_;
  std::vector<Argument> args_;  // at the copies, aligned as the originals are (modulo 256)
  MemoryMap memory_;
};

// Equal bits, or both NaN.
bool same_element(const ir::Type& t, const std::byte* a, const std::byte* b, size_t size);

// A byte that a program stored.
struct ByteStore {
  unsigned param;
  uint64_t offset;
  uint8_t value;
  int64_t element;
  bool operator<(const ByteStore& o) const { return std::pair(param, offset) < std::pair(o.param, o.offset); }
};

// A value on its way through a reduction: the element, its position for arg_reduce, and whether there is one at all.
struct Partial {
  uint64_t bits = 0;
  int32_t index = 0;
  bool there = false;
};

// Which waves touched an element of memory since the last barrier that orders memory.
struct MemoryState {
  static constexpr int none = -1, many = -2;
  int writer = none, reader = none;
};

class FaithfulRun {
 public:
  using Bytes = std::vector<std::byte>;

  FaithfulRun(const ir::Kernel& k, const Code& reference, const std::vector<Argument>& args, Grid grid, bool races);
  // False if something was found: divergence() or failure().
  bool run_program(int64_t linear);
  const std::optional<Divergence>& divergence() const { return divergence_; }
  const std::optional<Failure>& failure() const { return failure_; }
  uint64_t operations() const { return operations_; }

 private:
  // --- faithful.cpp: flow, comparing
  std::vector<ir::ValueId> run_block(ir::BlockId b);
  void run_op(const ir::Op& op);
  void run_control(const ir::Op& op);
  void run_for(const ir::Op& op);
  void copy_values(const std::vector<ir::ValueId>& from, size_t skip_from, const std::vector<ir::ValueId>& to, size_t skip_to);
  void compare(ir::ValueId v);  // with the fast interpreter's next value
  void compare_stores();
  void diverge(int64_t element, std::string message);
  void fail(std::string message, bool is_assert = false);
  bool stopped() const { return divergence_ || failure_; }

  // --- faithful_ops.cpp: registers
  void elementwise(const ir::Op& op);
  void fill(const ir::Op& op);
  void shape_op(const ir::Op& op);
  void convert_layout(const ir::Op& op);
  void staged_reshape(const ir::Op& op);
  void shared_plan(const layout::ConversionPlan& plan, const layout::RegisterFile& src, layout::RegisterFile& loaded, layout::LdsModel& lds, uint32_t base);
  void dot(const ir::Op& op);
  void output(const ir::Op& op);

  // --- faithful_reduce.cpp
  void reduce(const ir::Op& op);
  void exchange_waves(const ir::Op& op, const Places& p, const std::vector<unsigned>& kept, const std::vector<ir::ReduceStep>& steps,
                      std::vector<Partial>& partial);

  // --- faithful_memory.cpp
  void make_view(const ir::Op& op);
  void view_access(const ir::Op& op);
  void pointer_access(const ir::Op& op);
  void note_load(uint64_t address, unsigned wave, int64_t element);
  void note_store(uint64_t address, unsigned bytes, unsigned wave, int64_t element);

  // --- values
  const ir::Type& type(ir::ValueId v) const { return k_.type(v); }
  bool is_tile(ir::ValueId v) const { return !type(v).is_view() && type(v).shape.rank() > 0; }
  const layout::LinearLayout& layout_of(ir::ValueId v) const { return *k_.value(v).layout; }
  size_t size_of(ir::ValueId v) const { return type(v).is_ptr() ? 8 : buffer_bytes(type(v).dtype); }
  const Places& places(ir::ValueId v);
  const Places& places(const layout::LinearLayout& l, const ir::Shape& shape);
  // Room for a value; tiles are filled with junk.
  Bytes& make(ir::ValueId v);
  std::byte* data(ir::ValueId v) { return values_[v.index].data(); }
  int64_t integer(ir::ValueId scalar) { return read_int(data(scalar), type(scalar).dtype); }
  // Row-major elements; a difference between copies of one element is found here.
  Bytes collapse(ir::ValueId v);
  void spread(ir::ValueId v, const Bytes& row_major);
  // For each register of a tile with layout `result`, the register of an operand that is repeated to its shape.
  std::vector<unsigned> projected_registers(const layout::LinearLayout& result, const ir::Shape& operand, const ir::Shape& result_shape);
  // The shared memory that an operation with lds_offset uses, or an area of its own of `bytes` bytes.
  layout::LdsModel& shared_memory(const ir::Op& op, size_t bytes, uint32_t& base);
  void lds_error(const Error& e) { diverge(-1, e.message); }

  const ir::Kernel& k_;
  ArrayCopies mine_, theirs_;
  RunOptions options_;
  Worker reference_;
  Grid grid_;
  int64_t program_ = 0;
  ir::OpId current_;
  std::vector<Bytes> values_;
  std::map<std::pair<const layout::LinearLayout*, std::vector<int64_t>>, Places> places_;
  std::map<uint32_t, layout::ConversionPlan> plans_;  // by operation
  bool races_;
  std::optional<layout::LdsModel> lds_, own_lds_;
  std::unordered_map<uint64_t, MemoryState> touched_;  // by address of the element
  uint64_t lds_op_ = 0;
  std::vector<ByteStore> stores_, reference_stores_;
  std::vector<std::byte> scratch_;
  std::optional<Divergence> divergence_;
  std::optional<Failure> failure_;
  uint64_t operations_ = 0;
};

}  // namespace tile::interp
