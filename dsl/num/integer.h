#pragma once
// Elementwise operations on integers and bool, one function a row of dsl/ops/elementwise.def and named as the row.
// Nothing is undefined: arithmetic wraps, division and shifts have a result for every operand.
#include <limits>
#include <type_traits>

#include "dsl/num/isa.h"
#include "dsl/num/storage.h"

namespace tile::num {
inline namespace TILE_NUM_ISA {

// C++ promotes narrow integers to int and makes overflow of signed ones undefined; arithmetic is done on this type.
// At least 32 bits wide, since the product of two uint16_t would be an int.
template <class V>
using wrap_t = std::conditional_t<(sizeof(V) < 4), uint32_t, std::make_unsigned_t<V>>;

namespace op {

#define TILE_NUM_BODY [[gnu::always_inline]] constexpr

template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V AddI(V a, V b) { return static_cast<V>(static_cast<wrap_t<V>>(a) + static_cast<wrap_t<V>>(b)); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V SubI(V a, V b) { return static_cast<V>(static_cast<wrap_t<V>>(a) - static_cast<wrap_t<V>>(b)); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V MulI(V a, V b) { return static_cast<V>(static_cast<wrap_t<V>>(a) * static_cast<wrap_t<V>>(b)); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V NegI(V a) { return static_cast<V>(wrap_t<V>{0} - static_cast<wrap_t<V>>(a)); }

template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V DivS(V a, V b) {
  if (b == 0) return V(-1);
  if (b == V(-1)) return NegI<T>(a);
  return static_cast<V>(a / b);
}
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V DivU(V a, V b) { return b == 0 ? std::numeric_limits<V>::max() : static_cast<V>(a / b); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V RemS(V a, V b) {
  if (b == 0) return a;
  if (b == V(-1)) return 0;
  return static_cast<V>(a % b);
}
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V RemU(V a, V b) { return b == 0 ? a : static_cast<V>(a % b); }

template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V AbsS(V a) { return a < 0 ? NegI<T>(a) : a; }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V AbsU(V a) { return a; }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V MinS(V a, V b) { return b < a ? b : a; }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V MinU(V a, V b) { return b < a ? b : a; }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V MaxS(V a, V b) { return b > a ? b : a; }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V MaxU(V a, V b) { return b > a ? b : a; }

template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V And(V a, V b) { return static_cast<V>(a & b); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V Or(V a, V b) { return static_cast<V>(a | b); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V Xor(V a, V b) { return static_cast<V>(a ^ b); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V Not(V a) { return static_cast<V>(T == DType::Bool ? a ^ 1 : ~a); }

// The count is taken as an unsigned number of the operands' type.
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V Shl(V a, V b) {
  constexpr unsigned width = 8 * sizeof(V);
  auto count = static_cast<std::make_unsigned_t<V>>(b);
  return static_cast<V>(count < width ? static_cast<wrap_t<V>>(a) << (count & (width - 1)) : 0);
}
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V ShrU(V a, V b) {
  constexpr unsigned width = 8 * sizeof(V);
  return static_cast<V>(b < width ? a >> (b & (width - 1)) : 0);
}
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V ShrS(V a, V b) {
  constexpr unsigned width = 8 * sizeof(V);
  auto count = static_cast<std::make_unsigned_t<V>>(b);
  return static_cast<V>(a >> (count < width ? count & (width - 1) : width - 1));
}

template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V MulhiU(V a, V b) {
  using U = std::make_unsigned_t<V>;
  if constexpr (sizeof(V) == 8) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<V>(static_cast<Wide>(static_cast<U>(a)) * static_cast<U>(b) >> 64);
  } else if constexpr (sizeof(V) == 4) {
    return static_cast<V>(static_cast<uint64_t>(static_cast<U>(a)) * static_cast<U>(b) >> 32);
  } else {
    // Not in 64 bits: g++ 12 vectorises that for int16_t as a signed high product (found by kernels_test).
    return static_cast<V>(static_cast<uint32_t>(static_cast<U>(a)) * static_cast<U>(b) >> (8 * sizeof(V)));
  }
}
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V MulhiS(V a, V b) { return MulhiU<T>(a, b); }

template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V Popcount(V a) { return static_cast<V>(__builtin_popcountll(static_cast<std::make_unsigned_t<V>>(a))); }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V Ctlz(V a) {
  auto u = static_cast<std::make_unsigned_t<V>>(a);
  return static_cast<V>(u == 0 ? 8 * sizeof(V) : __builtin_clzll(u) - (64 - 8 * sizeof(V)));
}
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V Cttz(V a) {
  auto u = static_cast<std::make_unsigned_t<V>>(a);
  return static_cast<V>(u == 0 ? 8 * sizeof(V) : __builtin_ctzll(u));
}

template <DType T, class V = storage_t<T>>
TILE_NUM_BODY uint8_t EqI(V a, V b) { return a == b; }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY uint8_t NeI(V a, V b) { return a != b; }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY uint8_t LtS(V a, V b) { return a < b; }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY uint8_t LtU(V a, V b) { return a < b; }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY uint8_t LeS(V a, V b) { return a <= b; }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY uint8_t LeU(V a, V b) { return a <= b; }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY uint8_t GtS(V a, V b) { return a > b; }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY uint8_t GtU(V a, V b) { return a > b; }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY uint8_t GeS(V a, V b) { return a >= b; }
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY uint8_t GeU(V a, V b) { return a >= b; }

// Of any type: the bits of one of the operands.
template <DType T, class V = storage_t<T>>
TILE_NUM_BODY V Where(uint8_t c, V a, V b) { return c != 0 ? a : b; }

#undef TILE_NUM_BODY

}  // namespace op
}  // namespace TILE_NUM_ISA
}  // namespace tile::num
