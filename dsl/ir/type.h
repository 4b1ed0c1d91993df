#pragma once
// Types of tile IR values.
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "dsl/types/dtype.h"

namespace tile::ir {

// Extents of a tile, row-major. Rank 0 is a scalar. Extents are positive and need not be powers of two.
class Shape {
 public:
  static constexpr unsigned max_rank = 6;  // the language allows 4; passes may split dimensions
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) {
    for (int64_t d : dims) push_back(d);
  }
  explicit Shape(const std::vector<int64_t>& dims) {
    for (int64_t d : dims) push_back(d);
  }
  unsigned rank() const { return rank_; }
  int64_t operator[](unsigned i) const { return dims_[i]; }
  int64_t& operator[](unsigned i) { return dims_[i]; }
  void push_back(int64_t d) { dims_[rank_++] = d; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : *this) n *= d;
    return n;
  }
  Shape without(unsigned axis) const {
    Shape s;
    for (unsigned i = 0; i < rank_; ++i)
      if (i != axis) s.push_back(dims_[i]);
    return s;
  }
  Shape with_inserted(unsigned axis, int64_t extent) const {
    Shape s;
    for (unsigned i = 0; i <= rank_; ++i) {
      if (i == axis) s.push_back(extent);
      if (i < rank_) s.push_back(dims_[i]);
    }
    return s;
  }
  bool operator==(const Shape& o) const {
    if (rank_ != o.rank_) return false;
    for (unsigned i = 0; i < rank_; ++i)
      if (dims_[i] != o.dims_[i]) return false;
    return true;
  }

 private:
  std::array<int64_t, max_rank> dims_{};
  uint8_t rank_ = 0;
};

enum class TypeKind : uint8_t {
  Value,  // scalar (rank 0) or tile of `dtype`
  Ptr,    // scalar or tile of pointers to `dtype`
  View,   // memory with extents and strides; `view_rank` dimensions of `dtype`
};

struct Type {
  TypeKind kind = TypeKind::Value;
  DType dtype = DType::I32;
  Shape shape;            // Value, Ptr
  uint8_t view_rank = 0;  // View

  static Type scalar(DType t) { return {TypeKind::Value, t, {}, 0}; }
  static Type tile(DType t, Shape s) { return {TypeKind::Value, t, s, 0}; }
  static Type ptr(DType t, Shape s = {}) { return {TypeKind::Ptr, t, s, 0}; }
  static Type view(DType t, unsigned rank) { return {TypeKind::View, t, {}, static_cast<uint8_t>(rank)}; }

  bool is_scalar() const { return kind == TypeKind::Value && shape.rank() == 0; }
  bool is_tile() const { return kind == TypeKind::Value && shape.rank() > 0; }
  bool is_value() const { return kind == TypeKind::Value; }
  bool is_ptr() const { return kind == TypeKind::Ptr; }
  bool is_view() const { return kind == TypeKind::View; }
  Type with_dtype(DType t) const { return {kind, t, shape, view_rank}; }
  Type with_shape(Shape s) const { return {kind, dtype, s, view_rank}; }
  bool operator==(const Type&) const = default;
};

// `f32`, `f32[128, 64]`, `ptr<f32>`, `ptr<f32>[64]`, `view<f16, 2>`.
std::string to_string(const Type& t);
// `[128, 64]`; `[]` for a scalar.
std::string to_string(const Shape& s);

}  // namespace tile::ir
