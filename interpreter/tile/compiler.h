#pragma once
// From a kernel to Code. Internal to interpreter/tile.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "interpreter/tile/code.h"
#include "interpreter/tile/group.h"
#include "interpreter/tile/memory_ops.h"

namespace tile::interp {

// A value that the kernel has, or a temporary of the compiler: an array somewhere in the arena or the constants.
struct Slot {
  uint64_t bytes = 0, elements = 0;
  size_t first = SIZE_MAX, last = 0;  // instructions between which it is needed
  uint64_t offset = 0, shadow = 0;
  bool constant = false;  // offset is in the constants
};

// Where all elements of a tile are equal: the raw bits, or the scalar value they come from.
struct Uniform {
  bool constant = false;
  uint64_t bits = 0;
  uint32_t scalar = 0;
};

class Compiler {
 public:
  Compiler(const ir::Kernel& kernel, const CompileOptions& options);
  Result<Executable> run();

 private:
  using Member = const ir::Op*;

  // --- values.cpp: aliases, uniform tiles, uses, constants, liveness
  void find_aliases();
  void count_uses();
  bool same_order(const ir::Op& op) const;
  bool is_group_op(const ir::Op& op) const;
  uint32_t root(ir::ValueId v) const { return root_[v.index]; }
  uint64_t add_constant(const void* bytes, uint64_t size);
  // A constant array of `count` equal elements.
  uint64_t repeated_constant(uint64_t bits, uint32_t size, uint64_t count);
  uint32_t add_slot(uint64_t bytes, uint64_t elements);
  // r refers to a slot; the slot is alive at the next instruction.
  void bind(Ref& r, uint32_t slot);
  void bind(Ref& r, ir::ValueId v);
  void allocate();

  // --- groups.cpp
  struct Pending {
    std::vector<Member> ops;
  };
  void add_to_group(const ir::Op& op, uint64_t n);
  void flush(uint64_t n);
  void flush_all();
  void flush_owner(uint32_t root);
  void settle(ir::ValueId v);  // the instruction that computes v has been emitted
  struct GroupBuilder;

  // --- compile_ops.cpp
  Status compile_block(ir::BlockId block);
  Status compile_op(ir::OpId id);
  Status compile_control(ir::OpId id);
  Status compile_for(const ir::Op& op);
  Status compile_while(const ir::Op& op);
  Status compile_if(const ir::Op& op);
  Status compile_view(const ir::Op& op);
  Status compile_view_access(const ir::Op& op);
  Status compile_pointer_access(const ir::Op& op);
  Status compile_reduce(const ir::Op& op);
  Status compile_dot(const ir::Op& op);
  Status compile_trans(const ir::Op& op);
  Status compile_misc(const ir::Op& op);
  void splat(const ir::Op& op);
  void copy_values(const std::vector<ir::ValueId>& from, const std::vector<ir::ValueId>& to);
  // Checking and tracing around an operation.
  void before(const ir::Op& op);
  void after(const ir::Op& op);
  void check_condition(ir::ValueId v, int64_t n);

  template <class T>
  T* make() {
    auto p = std::make_shared<T>();
    code_->payloads.push_back(p);
    return p.get();
  }
  // Returns the index of the instruction.
  size_t emit(ExecFn fn, const void* payload) {
    code_->instrs.push_back({fn, payload, current_});
    return code_->instrs.size() - 1;
  }
  size_t here() const { return code_->instrs.size(); }
  Error error(const ir::Op& op, const std::string& message) const;
  bool fused() const { return !options_.check && !options_.trace && !options_.observe; }

  const ir::Kernel& k_;
  CompileOptions options_;
  std::shared_ptr<Code> code_;
  ir::OpId current_;

  std::vector<Slot> slots_;  // values by index, then temporaries
  std::vector<uint32_t> root_;
  std::vector<std::optional<Uniform>> uniform_;  // by root
  std::vector<uint32_t> uses_, outside_uses_;    // by root; outside_uses_: by operations that need the whole array
  std::vector<uint64_t> pending_of_;             // by root: the size of the open group that computes it, or 0
  std::map<uint64_t, Pending> open_;
  std::map<std::tuple<uint64_t, uint32_t, uint64_t>, uint64_t> repeated_;
  struct Bound {
    Ref* ref;
    uint32_t slot;
  };
  std::vector<Bound> bound_;
  std::vector<Ref*> local_refs_;  // offsets from the start of the chunk buffers
  uint64_t local_bytes_ = 0;
  std::vector<std::pair<size_t, size_t>> loops_;  // first and last instruction
};

// How elements of a type are held: pointers as u64.
inline DType held_type(const ir::Type& t) { return t.is_ptr() ? DType::U64 : t.dtype; }
inline uint32_t held_bytes(const ir::Type& t) { return t.is_ptr() ? 8 : buffer_bytes(t.dtype); }
inline uint64_t element_count(const ir::Type& t) { return t.is_view() ? 1 : static_cast<uint64_t>(t.shape.elements()); }
inline uint64_t value_bytes(const ir::Type& t) { return t.is_view() ? sizeof(ViewState) : element_count(t) * held_bytes(t); }

}  // namespace tile::interp
