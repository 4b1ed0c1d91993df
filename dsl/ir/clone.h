#pragma once
// Copies and moves of operations.
#include <unordered_map>

#include "dsl/ir/ir.h"

namespace tile::ir {

struct IdHash {
  template <class Tag>
  size_t operator()(Id<Tag> id) const { return id.index; }
};
// What stands for a value in a copy; values that are not in it stand for themselves.
using ValueMap = std::unordered_map<ValueId, ValueId, IdHash>;

ValueId mapped(const ValueMap& map, ValueId v);

// A copy of o, nested blocks included, at the builder's place. Operands go through `map`; results and block arguments
// of the copy (with their names and layouts) are added to it.
OpId clone_op(OpId o, Builder& at, ValueMap& map);

// Copies of the operations of a block without the last (yield, condition), whose mapped operands are returned.
std::vector<ValueId> clone_body(const Kernel& source, BlockId from, Builder& at, ValueMap& map);

// Takes o out of its block and puts it before `place`. Uses and definitions are the caller's business.
void move_before(Kernel& k, OpId o, OpId place);

// The operation of block b that is o or holds o; invalid if o is not inside b.
OpId ancestor_in(const Kernel& k, OpId o, BlockId b);
// True if v is defined outside of the blocks of `holder`.
bool defined_outside(const Kernel& k, ValueId v, OpId holder);
// The block in which v is defined; the body for parameters.
BlockId block_of(const Kernel& k, ValueId v);

// Removes operations without effect whose results are not used, until there are none. Returns how many.
unsigned remove_dead(Kernel& k);

}  // namespace tile::ir
