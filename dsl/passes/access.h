#pragma once
// How wide and in which direction a memory operation may go.
#include "dsl/passes/axis_info.h"

namespace tile::passes {

// Of a load_view, store_view, load or store of a tile.
struct Access {
  ir::ValueId tile;  // loaded or stored value
  // Axis along which neighbours in the tile are neighbours in memory; nothing if there is none.
  std::optional<unsigned> axis;
  // Along that axis groups of so many elements (a power of two, groups start at multiples of it) are consecutive in
  // memory and each group starts at an address that is a multiple of min(its bytes, 4). At most 16 bytes. 1 without axis.
  unsigned vector = 1;
  // Groups of so many elements along the axis are inside of the view (unmasked) all together or not at all.
  // Raw pointers: the part of `vector` for which the mask is the same. A multiple or a divisor of `vector`.
  unsigned granule = 1;
  // Bytes of an element in memory.
  unsigned bytes = 1;
  // Axes from the fastest in memory on, as far as is known.
  std::vector<unsigned> order;
};

bool is_memory_op(OpKind kind);  // load_view, store_view, load, store
// Index operands of load_view, store_view and in_bounds: [first, last).
std::pair<size_t, size_t> index_operands(const ir::Kernel& k, const ir::Op& o);

Access analyse_access(const ir::Kernel& k, const AxisAnalysis& facts, const ir::Op& o);

}  // namespace tile::passes
