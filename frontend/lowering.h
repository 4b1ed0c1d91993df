#pragma once
// The state of lowering one kernel, shared by the families of operations.
//
// A scalar is one LLVM value, the same in all threads of the workgroup. A tile is one LLVM value for each register of
// its layout: this thread's element. Element types: bool is i1, narrow floats are i8 (low bits), bf16 is bfloat, the rest
// as expected; signedness is in the operation.
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/diag/diag.h"
#include "dsl/ir/ir.h"
#include "dsl/ir/layout_rules.h"
#include "dsl/passes/axis_info.h"
#include "dsl/support/result.h"

namespace tile::frontend {

using ir::LinearLayout;
using Regs = std::vector<llvm::Value*>;

inline constexpr unsigned global_space = 1, lds_space = 3, buffer_space = 8;

class Lowering {
 public:
  Lowering(const ir::Kernel& kernel, llvm::Module& module, const SourceManager& sources, Diagnostics* remarks);
  Status run();

  const ir::Kernel& k;
  llvm::Module& module;
  llvm::LLVMContext& context;
  llvm::IRBuilder<> b;  // where code goes
  llvm::Function* function = nullptr;
  const SourceManager& sources;
  Diagnostics* remarks;
  passes::AxisAnalysis facts;

  // --- types and constants
  llvm::Type* type(DType t);
  llvm::IntegerType* int_type(unsigned bits) { return llvm::IntegerType::get(context, bits); }
  llvm::Constant* constant(DType t, uint64_t bits);
  llvm::Constant* i32(int64_t v) { return b.getInt32(static_cast<uint32_t>(v)); }

  // --- values
  // Registers of a tile; of a scalar the one value.
  const Regs& regs(ir::ValueId v) const { return values_[v.index]; }
  llvm::Value* scalar(ir::ValueId v) const { return values_[v.index][0]; }
  void set(ir::ValueId v, Regs r) { values_[v.index] = std::move(r); }
  const LinearLayout& layout(ir::ValueId v) const { return *k.value(v).layout; }
  // 1 for a scalar.
  unsigned num_registers(ir::ValueId v) const;
  DType dtype(ir::ValueId v) const { return k.type(v).dtype; }

  // --- places
  llvm::Value* lane();  // 0 to 63
  llvm::Value* wave();  // in the layout's waves, uniform
  // The part of the coordinate along `axis` that the thread decides: coordinate = thread part ^ register part.
  llvm::Value* thread_coord(const LinearLayout& l, unsigned axis);
  // Bits that the thread part can have.
  static unsigned thread_bits(const LinearLayout& l, unsigned axis);
  static unsigned register_coord(const LinearLayout& l, unsigned reg, unsigned axis);
  llvm::Value* coord(const LinearLayout& l, unsigned reg, unsigned axis);
  // XOR of bases[i] over the bits i of `word`; computed at the kernel's entry when `word` is lane() or wave().
  llvm::Value* combine_bits(llvm::IRBuilder<>& at, llvm::Value* word, const std::vector<uint32_t>& bases);
  // True in the one thread that holds the elements for all its copies; null when every thread does.
  llvm::Value* is_first_copy(const LinearLayout& l);
  llvm::Value* is_first_thread();
  // In the entry block, before everything else.
  llvm::IRBuilder<>& entry() { return entry_; }
  // Uniform value in a scalar register: for what LLVM can't see to be uniform.
  llvm::Value* uniform(llvm::Value* v);

  // --- LDS
  llvm::Value* lds(llvm::Value* byte_offset);  // pointer into the kernel's shared memory
  void wait_lds();
  void barrier_lds();   // all waves, LDS accesses before it are complete; in a wave kernel a wait only
  void barrier_full();  // global memory too

  // --- control
  Status block(ir::BlockId block);
  Status operation(ir::OpId id);
  // A new block behind the current one, not yet entered.
  llvm::BasicBlock* new_block(const char* name);
  // The body of the loop being lowered: its first block, with the phi nodes of what it carries. Null outside of loops.
  llvm::BasicBlock* loop = nullptr;
  // True if v is computed from what the innermost loop carries.
  bool varies_in_loop(llvm::Value* v) const;
  llvm::Value* intrinsic(unsigned id, llvm::ArrayRef<llvm::Type*> types, llvm::ArrayRef<llvm::Value*> args);
  Error failure(const ir::Op& o, const std::string& what) const;

 private:
  void make_function();
  void make_debug_info();
  void locate(Range r);

  llvm::IRBuilder<> entry_;
  std::vector<Regs> values_;
  llvm::Value *thread_ = nullptr, *lane_ = nullptr, *wave_ = nullptr, *wave_in_group_ = nullptr;
  llvm::GlobalVariable* lds_ = nullptr;
  std::vector<std::pair<std::pair<LinearLayout, unsigned>, llvm::Value*>> coords_;
  std::vector<std::pair<LinearLayout, llvm::Value*>> copies_;
  std::unique_ptr<llvm::DIBuilder> debug_;
  llvm::DISubprogram* subprogram_ = nullptr;
  std::map<FileId, llvm::DIFile*> files_;
};

// --- families of operations, one source file each
Status lower_elementwise(Lowering& l, const ir::Op& o);
Status lower_cast(Lowering& l, const ir::Op& o);
Status lower_bitcast(Lowering& l, const ir::Op& o);
Status lower_value(Lowering& l, const ir::Op& o);   // constant, arange, program_id, num_programs
Status lower_shape(Lowering& l, const ir::Op& o);   // splat, broadcast, expand_dims, reshape, trans
Status lower_reduce(Lowering& l, const ir::Op& o);  // reduce, arg_reduce
Status lower_dot(Lowering& l, const ir::Op& o);
Status lower_load_view(Lowering& l, const ir::Op& o);
Status lower_store_view(Lowering& l, const ir::Op& o);
Status lower_in_bounds(Lowering& l, const ir::Op& o);
Status lower_pointer(Lowering& l, const ir::Op& o);  // addptr, load, store
Status lower_for(Lowering& l, const ir::Op& o);
Status lower_while(Lowering& l, const ir::Op& o);
Status lower_if(Lowering& l, const ir::Op& o);
Status lower_convert_layout(Lowering& l, const ir::Op& o);

// The elementwise operation on single elements of type t (the operands' type; of `where` the last two operands').
llvm::Value* emit_elementwise(Lowering& l, OpKind kind, DType t, llvm::ArrayRef<llvm::Value*> args);
// One element to another type.
llvm::Value* emit_cast(Lowering& l, llvm::Value* v, DType from, DType to, bool toward_zero, bool saturate);

// Register of the operand for each register of the result, when the operand has project(result, operand shape).
std::vector<unsigned> projected_registers(const LinearLayout& result, const ir::Shape& operand, const ir::Shape& result_shape);
// Number r without the bits that are not in `kept`.
unsigned kept_bits(unsigned r, const std::vector<unsigned>& kept);

}  // namespace tile::frontend
