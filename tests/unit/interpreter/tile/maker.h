#pragma once
// Builds small kernels for tests: parameters first, then operations on them.
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "dsl/ir/ir.h"
#include "interpreter/tile/interpreter.h"

namespace tile::interp::test {

using ir::Shape;
using ir::Type;
using ir::ValueId;

struct Maker {
  ir::Kernel kernel;
  ir::Builder b;

  explicit Maker(Arch arch = Arch::Gfx942) : b(start(kernel, arch), kernel.body) {}
  Maker(const Maker&) = delete;

  ValueId pointer(const std::string& name, DType t) {
    ir::Param p;
    p.name = name;
    p.dtype = t;
    return kernel.add_param(p, Type::ptr(t));
  }
  ValueId scalar(const std::string& name, DType t) {
    ir::Param p;
    p.name = name;
    p.dtype = t;
    return kernel.add_param(p, Type::scalar(t));
  }
  ValueId i32(int64_t x) { return b.constant_int(DType::I32, x); }
  ValueId i64(int64_t x) { return b.constant_int(DType::I64, x); }
  ValueId f32(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    return b.constant(Type::scalar(DType::F32), bits);
  }
  ValueId pid(int64_t axis = 0) { return b.make(OpKind::ProgramId, {}, Type::scalar(DType::I32), {{AttrKey::Axis, axis}}); }
  ValueId arange(int64_t n, int64_t start = 0) {
    return b.make(OpKind::Arange, {}, Type::tile(DType::I32, {n}), {{AttrKey::Start, start}});
  }
  ValueId ew(OpKind kind, std::vector<ValueId> operands) { return b.elementwise(kind, std::move(operands)); }
  // A view with constant extents and strides.
  ValueId view(ValueId pointer, std::vector<int64_t> extents, std::vector<int64_t> strides) {
    std::vector<ValueId> operands{pointer};
    for (int64_t e : extents) operands.push_back(i64(e));
    for (int64_t s : strides) operands.push_back(i64(s));
    return make_view(operands, static_cast<unsigned>(extents.size()));
  }
  ValueId make_view(std::vector<ValueId> operands, unsigned rank) {
    Type t = Type::view(kernel.type(operands[0]).dtype, rank);
    return b.make(OpKind::MakeView, std::move(operands), t);
  }
  ValueId load(ValueId view, std::vector<ValueId> index, Shape shape, ValueId other = {}) {
    std::vector<ValueId> operands{view};
    operands.insert(operands.end(), index.begin(), index.end());
    std::vector<ir::Attr> attrs;
    if (other.valid()) {
      operands.push_back(other);
      attrs.push_back({AttrKey::HasOther, int64_t{1}});
    }
    return b.make(OpKind::LoadView, operands, Type::tile(kernel.type(view).dtype, shape), attrs);
  }
  void store(ValueId view, ValueId value, std::vector<ValueId> index) {
    std::vector<ValueId> operands{view, value};
    operands.insert(operands.end(), index.begin(), index.end());
    b.op(OpKind::StoreView, operands, {});
  }
  // Index tiles of the outer product i[:, None], j[None, :].
  ValueId rows(ValueId i) { return b.expand_dims(i, 1); }
  ValueId columns(ValueId j) { return b.expand_dims(j, 0); }
  // All of a row-major array `pointer` of the shape, by one program.
  std::vector<ValueId> whole_index(const Shape& shape) {
    std::vector<ValueId> index;
    for (unsigned a = 0; a < shape.rank(); ++a) {
      ValueId i = arange(shape[a]);
      for (unsigned x = 0; x < shape.rank(); ++x)
        if (x != a) i = b.expand_dims(i, x);
      index.push_back(i);
    }
    return index;
  }
  ValueId whole_view(ValueId pointer, const Shape& shape) {
    std::vector<int64_t> extents(shape.begin(), shape.end()), strides(shape.rank(), 1);
    for (unsigned a = shape.rank(); a-- > 1;) strides[a - 1] = strides[a] * shape[a];
    return view(pointer, extents, strides);
  }
  ValueId load_all(ValueId pointer, Shape shape) { return load(whole_view(pointer, shape), whole_index(shape), shape); }
  void store_all(ValueId pointer, ValueId value) {
    Shape shape = kernel.type(value).shape;
    if (shape.rank() == 0) {
      ValueId v = view(pointer, {1}, {1});
      store(v, b.splat(value, {1}), {arange(1)});
      return;
    }
    store(whole_view(pointer, shape), value, whole_index(shape));
  }
  void finish() { b.op(OpKind::Return, {}, {}); }

 private:
  static ir::Kernel& start(ir::Kernel& k, Arch arch) {
    k.name = "test";
    k.arch = arch;
    k.body = k.add_block();
    return k;
  }
};

template <class T>
Argument array(std::vector<T>& v) {
  return Argument::array(v.data(), v.size() * sizeof(T));
}
inline Argument number(int64_t x) { return Argument::scalar(static_cast<uint64_t>(x)); }

template <class To, class From>
To as_bits(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To y;
  std::memcpy(&y, &x, sizeof y);
  return y;
}

}  // namespace tile::interp::test
