#pragma once
// The same source is compiled for several host instruction sets (kernels.cpp.in); each build has its functions in a
// namespace of its own, so that the linker can't take a function with AVX-512 code for one that must run anywhere.
// TILE_NUM_ISA is that namespace. Code outside dsl/num sees `isa_base`, an inline namespace: write num::add<...>.
#include <cstdint>

#ifndef TILE_NUM_ISA
#define TILE_NUM_ISA isa_base
#endif

namespace tile::num {
inline namespace TILE_NUM_ISA {

// std::bit_cast, but of this namespace.
template <class To, class From>
[[gnu::always_inline]] constexpr To bits_as(From x) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, x);
}

}  // namespace TILE_NUM_ISA
}  // namespace tile::num
