#pragma once
// Payloads of loads and stores.
#include <vector>

#include "interpreter/tile/code.h"

namespace tile::interp {

// make_view: extents and strides are scalars.
struct MakeView {
  Ref base, dst;
  unsigned rank = 0;
  std::vector<Ref> extents, strides;
  std::vector<DType> extent_types, stride_types;
};
void run_make_view(Worker& w, const void* payload);

// load_view, store_view, in_bounds. Axes of extent 1 of the tile are left out.
struct ViewAccess {
  struct Index {
    Ref ref;
    DType dtype = DType::I32;
    int64_t stride[ir::Shape::max_rank] = {};  // in elements of the index tile; 0 where it is repeated
  };
  Ref view;
  DType dtype = DType::F32;
  unsigned rank = 0;
  int64_t shape[ir::Shape::max_rank] = {};
  int64_t elements = 1;
  std::vector<Index> index;  // one a dimension of the view
  Ref value;                 // what is loaded, stored, or the mask
  bool has_other = false, other_is_tile = false;
  Ref other;
};
void run_load_view(Worker& w, const void* payload);
void run_store_view(Worker& w, const void* payload);
void run_in_bounds(Worker& w, const void* payload);

// load and store through pointers.
struct PointerAccess {
  Ref pointers, value, mask, other;
  DType dtype = DType::F32;
  int64_t elements = 1;
  bool has_mask = false, has_other = false, mask_is_tile = false, other_is_tile = false;
};
void run_load(Worker& w, const void* payload);
void run_store(Worker& w, const void* payload);

}  // namespace tile::interp
