#pragma once
// How one element of each type is held in a tile buffer: integers as themselves, bool as 0 or 1 in a byte, f32 and f64
// as themselves, all other floats as raw bits. sizeof(storage_t<T>) == buffer_bytes(T).
#include <cstdint>

#include "dsl/types/dtype.h"

namespace tile::num {

template <DType T>
struct Storage {
  using type = uint8_t;
};
template <> struct Storage<DType::I8> { using type = int8_t; };
template <> struct Storage<DType::I16> { using type = int16_t; };
template <> struct Storage<DType::I32> { using type = int32_t; };
template <> struct Storage<DType::I64> { using type = int64_t; };
template <> struct Storage<DType::U16> { using type = uint16_t; };
template <> struct Storage<DType::U32> { using type = uint32_t; };
template <> struct Storage<DType::U64> { using type = uint64_t; };
template <> struct Storage<DType::F16> { using type = uint16_t; };
template <> struct Storage<DType::BF16> { using type = uint16_t; };
template <> struct Storage<DType::F32> { using type = float; };
template <> struct Storage<DType::F64> { using type = double; };

template <DType T>
using storage_t = typename Storage<T>::type;

// Calls f.operator()<T>() with the type as a template argument.
template <class F>
decltype(auto) visit_dtype(DType t, F&& f) {
  switch (t) {
#define TILE_DTYPE(Kind, ...) case DType::Kind: return f.template operator()<DType::Kind>();
#include "dsl/types/dtype.def"
  }
  __builtin_unreachable();
}

}  // namespace tile::num
