#pragma once
// Tile IR: a small SSA with structured control flow. A Kernel owns its values, operations, blocks and layouts in
// arrays; everything refers to them by typed index, so side tables are plain vectors. Every nested region is one
// block. An operation's meaning is its row in dsl/ops/*.def and docs/semantics.md.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dsl/diag/diag.h"
#include "dsl/ir/type.h"
#include "dsl/ops/ops.h"
#include "dsl/target/arch.h"

namespace tile::layout {
class LinearLayout;  // dsl/layout/linear_layout.h
}

namespace tile::ir {

template <class Tag>
struct Id {
  uint32_t index = UINT32_MAX;
  bool valid() const { return index != UINT32_MAX; }
  bool operator==(const Id&) const = default;
  auto operator<=>(const Id&) const = default;
};
using ValueId = Id<struct ValueTag>;
using OpId = Id<struct OpTag>;
using BlockId = Id<struct BlockTag>;

// Value of an attribute; the alternative is the AttrType of its key (Int, Ints, Text, Bits).
using AttrValue = std::variant<int64_t, std::vector<int64_t>, std::string, uint64_t>;
struct Attr {
  AttrKey key;
  AttrValue value;
  bool operator==(const Attr&) const = default;
};

struct Value {
  Type type;
  OpId def;        // defining operation; invalid for block arguments and parameters
  BlockId block;   // block of a block argument; invalid otherwise
  std::string name;  // hint from the source, for printing; need not be unique
  // How a tile is spread over (register, lane, wave); absent before layout assignment and for scalars and views. A
  // scalar is uniform in the workgroup. Compare by value, not by pointer.
  std::shared_ptr<const layout::LinearLayout> layout;
};

struct Op {
  OpKind kind = OpKind::Constant;
  std::vector<ValueId> operands, results;
  std::vector<Attr> attrs;
  std::vector<BlockId> blocks;
  BlockId parent;
  Range range;  // place in the source
  bool erased = false;

  const AttrValue* find(AttrKey key) const;
  bool has(AttrKey key) const { return find(key) != nullptr; }
  // Attribute of the key's type, or the default when absent.
  int64_t get_int(AttrKey key, int64_t absent = 0) const;
  std::string get_text(AttrKey key, std::string absent = {}) const;
  std::vector<int64_t> get_ints(AttrKey key) const;
  uint64_t get_bits(AttrKey key) const;
  void set(AttrKey key, AttrValue value);
  void remove(AttrKey key);
};

struct Block {
  std::vector<ValueId> args;
  std::vector<OpId> ops;
  OpId parent;  // invalid for the kernel body
};

// A run-time argument of the kernel, in kernarg order: a pointer (the base of a view or a raw ptr) or a scalar.
struct Param {
  ValueId value;
  std::string name;
  bool is_view = false;           // the base pointer of a view parameter
  bool noalias = false;
  bool wide = false;              // the view may need 64-bit offsets inside one tile
  int64_t align = 0;              // bytes, of a pointer
  int64_t divisor = 1;            // scalars: a known divisor, from `requires lda % 8 == 0`
  std::optional<int64_t> min, max;  // scalars: known bounds, from `requires`
  std::string default_value;        // scalars: the value when a launch gives none, as text; empty if it must
  // View parameters: extents and strides as text over argument names and constants ("n", "lda", "1"), for the manifest.
  std::vector<std::string> extents, strides;
  DType dtype = DType::I32;       // element type (pointers) or type of the scalar
};

// A kernel, specialised for its constants and a target.
class Kernel {
 public:
  std::string name;
  Arch arch = Arch::Gfx942;
  unsigned waves = 4;
  bool is_wave = false;
  std::vector<Param> params;
  BlockId body;
  // Launch contract, as expressions over argument names (constants folded in); see runtime/manifest.h for the grammar.
  std::vector<std::string> grid;
  std::vector<std::string> requires_exprs, expects_exprs;
  bool contract = false;           // a * b + c may become fma, decided by fix_values
  std::vector<std::pair<std::string, std::string>> constants;  // name, value: what the kernel was specialised with
  int64_t lds_bytes = 0;           // set by plan_shared
  Range range;

  // --- access
  Value& value(ValueId v) { return values_[v.index]; }
  const Value& value(ValueId v) const { return values_[v.index]; }
  const Type& type(ValueId v) const { return values_[v.index].type; }
  Op& op(OpId o) { return ops_[o.index]; }
  const Op& op(OpId o) const { return ops_[o.index]; }
  Block& block(BlockId b) { return blocks_[b.index]; }
  const Block& block(BlockId b) const { return blocks_[b.index]; }
  size_t num_values() const { return values_.size(); }
  size_t num_ops() const { return ops_.size(); }
  size_t num_blocks() const { return blocks_.size(); }
  // The operation that defines v, or null for arguments and parameters.
  const Op* def(ValueId v) const { return value(v).def.valid() ? &op(value(v).def) : nullptr; }
  // Raw bits if v is a constant (scalar or tile of one value).
  std::optional<uint64_t> constant_bits(ValueId v) const;
  // Value of an integer constant, sign- or zero-extended by its type.
  std::optional<int64_t> constant_int(ValueId v) const;

  // --- construction
  BlockId add_block(OpId parent = {});
  ValueId add_block_arg(BlockId b, Type t, std::string name = {});
  ValueId add_param(Param p, Type t);  // p.value is set
  // A new operation at the end of b (or before position `at`), with one result a type.
  OpId add_op(BlockId b, OpKind kind, std::vector<ValueId> operands, const std::vector<Type>& result_types,
              std::vector<Attr> attrs = {}, Range range = {}, size_t at = SIZE_MAX);
  ValueId add_result(OpId o, Type t);
  // Takes o out of its block and marks it erased; its results must have no uses left.
  void erase(OpId o);
  // Every use of `from` in live operations becomes `to`.
  void replace_all_uses(ValueId from, ValueId to);

  // --- traversal
  // Calls f(OpId) for each live operation in program order, nested ones after the operation that holds them. f may add
  // operations to or remove them from blocks: the lists are copied before they are walked.
  template <class F>
  void walk(BlockId b, const F& f) const {
    std::vector<OpId> list = block(b).ops;
    for (OpId o : list) {
      if (op(o).erased) continue;
      f(o);
      std::vector<BlockId> nested = op(o).blocks;
      if (op(o).erased) continue;
      for (BlockId n : nested) walk(n, f);
    }
  }
  template <class F>
  void walk(const F& f) const { walk(body, f); }
  // Users of every value, indexed by ValueId::index; an operation that uses a value twice stands twice.
  std::vector<std::vector<OpId>> users() const;

 private:
  std::vector<Value> values_;
  std::vector<Op> ops_;
  std::vector<Block> blocks_;
};

// Inserts operations at one place.
class Builder {
 public:
  Builder(Kernel& k, BlockId b) : k_(&k), block_(b) {}
  // Before the operation at position `at` of the block; the place moves on with each insertion.
  Builder(Kernel& k, BlockId b, size_t at) : k_(&k), block_(b), at_(at) {}
  static Builder before(Kernel& k, OpId o);
  static Builder after(Kernel& k, OpId o);

  Range range;  // given to every new operation
  Kernel& kernel() { return *k_; }
  BlockId block() const { return block_; }
  void set_block(BlockId b) { block_ = b, at_ = SIZE_MAX; }

  OpId op(OpKind kind, std::vector<ValueId> operands, const std::vector<Type>& results, std::vector<Attr> attrs = {});
  // First result of op(...).
  ValueId make(OpKind kind, std::vector<ValueId> operands, Type result, std::vector<Attr> attrs = {});
  // Elementwise: the result type follows from the row's form; operands must already have one shape and dtype.
  ValueId elementwise(OpKind kind, std::vector<ValueId> operands);
  ValueId constant(Type t, uint64_t bits);
  ValueId constant_int(DType t, int64_t v) { return constant(Type::scalar(t), static_cast<uint64_t>(v)); }
  ValueId cast(ValueId v, DType to, std::string rounding = {}, bool saturate = true);
  ValueId splat(ValueId scalar, Shape s);          // the operand itself when s has rank 0
  ValueId broadcast(ValueId v, Shape s);           // scalar, or tile of the same rank with extents of 1
  ValueId expand_dims(ValueId v, unsigned axis);

 private:
  Kernel* k_;
  BlockId block_;
  size_t at_ = SIZE_MAX;
};

// --- text
// Text form; parse(print(k)) gives an equal kernel and the same text. docs/tile_ir.md has the grammar.
std::string print(const Kernel& k, const SourceManager* lines = nullptr);
// `path` names the text in messages.
std::optional<Kernel> parse_ir(FileId file, const SourceManager& sources, Diagnostics& diags);

// --- validity
// Every rule of structured.def and elementwise.def on operands, results, attributes, blocks, dominance, and, where
// layouts are present, on layouts. Returns one line a violation, empty if the kernel is valid. `stage` says which
// attributes must be there already.
enum class Stage : uint8_t {
  Sema,    // out of sema
  Fixed,   // after fix_values: dot and reduce carry their orders
  Layout,  // after assign_layouts: every tile has a layout and operands agree
  Final,   // after plan_shared: scratch offsets and barriers are there
};
std::vector<std::string> verify(const Kernel& k, Stage stage);

}  // namespace tile::ir
