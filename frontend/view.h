#pragma once
// Accesses to views. An index tile is taken apart, where that is possible, into a part that is the same in the whole
// workgroup and a coordinate of the tile:
//     index = uniform + coordinate(axis)
// Then the uniform parts move the base of a buffer descriptor, in 64 bits, and a thread's own offset is a small number:
//     address = base + sum(uniform_d * stride_d) + sum(coordinate_d * stride_d)
//               `------- descriptor --------'    `------ voffset, soffset -----'
// A masked-off lane gets the voffset 2^31, which is out of range however the range check is read: num_records is below
// 2^31, soffset too, and 2^31 plus either does not wrap. Indices of another form, and views declared `wide`, use 64-bit
// addresses under an execution mask.
#include <optional>
#include <vector>

#include "frontend/lowering.h"

namespace tile::frontend {

struct IndexPart {
  ir::ValueId value;
  DType dtype = DType::I32;
  bool split = true;              // the form above; else the tile's own registers
  llvm::Value* uniform = nullptr;
  std::optional<unsigned> axis;   // of the accessed tile
  // `uniform` is not negative, or so far below zero that no coordinate makes it positive.
  bool settled = false;
  std::vector<unsigned> registers;  // not split: register of the index tile for each register of the accessed one
};

struct ViewDim {
  llvm::Value *extent = nullptr, *stride = nullptr;
  DType extent_type = DType::I32, stride_type = DType::I32;
  std::optional<int64_t> fixed_extent, fixed_stride;
};

// One load_view, store_view or in_bounds.
class ViewAccess {
 public:
  // `tile` is the value whose elements are accessed (for in_bounds: the mask). Check ok() before anything else.
  ViewAccess(Lowering& l, const ir::Op& o, ir::ValueId tile);
  const Status& ok() const { return ok_; }

  unsigned rank() const { return static_cast<unsigned>(dims_.size()); }
  bool is_scalar() const { return layout_ == nullptr; }
  unsigned registers() const { return layout_ ? layout_->num_registers() : 1; }
  // Whether this thread's register is inside of the view; null when it always is. All dimensions count.
  llvm::Value* inside(unsigned reg);
  // Dimensions whose index is the same everywhere.
  llvm::Value* inside_uniform();
  // Dimensions whose index varies.
  llvm::Value* inside_lanes(unsigned reg);
  // The same in two parts: what stays the same in all rounds of the innermost loop, and the rest. Null: always true.
  struct Masks {
    llvm::Value *steady = nullptr, *varying = nullptr;
  };
  Masks masks(unsigned reg);

  // Dimensions whose index varies along axis(): for groups of neighbours the others are alike. Never null.
  llvm::Value* inside_along_axis(unsigned reg);

  // True when a buffer descriptor reaches every element of the tile with offsets below 2^31.
  bool fits_buffer() const;
  // True when num_records alone bounds the access: one dimension varies, with a fixed stride, and its uniform part is
  // not negative, or so negative that the whole tile is outside.
  bool bounded_by_records() const;
  // `records`: from bounded_by_records(); else the largest descriptor.
  llvm::Value* descriptor(bool records);
  struct Offset {
    llvm::Value* vector;   // of this thread
    llvm::Value* scalar;   // uniform
    uint32_t fixed;        // to be added to `vector`
  };
  Offset offset(unsigned reg);
  // Byte address of a register's element, in 64 bits.
  llvm::Value* address(unsigned reg);
  // From the view's first element, in elements (i64).
  llvm::Value* element_offset(unsigned reg);
  llvm::Value* base() const { return base_; }

  // Bytes that the address of each aligned group of the access (of so many elements, along its axis) is a multiple of.
  uint64_t alignment(unsigned group) const;
  // Axis along which neighbours in the tile are neighbours in memory.
  std::optional<unsigned> axis() const { return axis_; }
  unsigned element_bytes() const { return bytes_; }

 private:
  IndexPart split(ir::ValueId v);
  bool split_into(ir::ValueId v, IndexPart& p);
  llvm::Value* index(unsigned dim, unsigned reg);
  llvm::Value* compare(unsigned dim, llvm::Value* index);
  bool proven(unsigned dim) const;
  llvm::Value* to64(llvm::Value* v, DType t);
  llvm::Value* stride64(unsigned dim);  // in bytes
  llvm::Value* stride32(unsigned dim);
  bool additive(unsigned axis) const;

  Lowering& l_;
  const ir::Op& o_;
  ir::ValueId tile_;
  const LinearLayout* layout_ = nullptr;
  llvm::Value* base_ = nullptr;
  bool wide_ = false;
  std::optional<unsigned> axis_;
  uint64_t base_align_ = 1;
  unsigned bytes_ = 1;
  std::vector<ViewDim> dims_;
  std::vector<IndexPart> parts_;
  Status ok_ = Unit{};
};

}  // namespace tile::frontend
