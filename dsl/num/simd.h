#pragma once
// Fixed-size vectors of the host's width (GCC vector extensions) for the matrix kernels. Included by the sources that
// are compiled once per host instruction set. Half* have half the lanes of Vec*, so that a vector of doubles is one
// register.
#include <cstdint>
#include <cstring>

#include "dsl/num/isa.h"

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace tile::num {
inline namespace TILE_NUM_ISA {

#if defined(__AVX512F__)
inline constexpr unsigned lanes = 16;
#elif defined(__AVX2__)
inline constexpr unsigned lanes = 8;
#else
inline constexpr unsigned lanes = 4;
#endif

typedef float VecF __attribute__((vector_size(4 * lanes)));
typedef int32_t VecI __attribute__((vector_size(4 * lanes)));
typedef uint32_t VecU __attribute__((vector_size(4 * lanes)));
typedef double HalfD __attribute__((vector_size(4 * lanes)));
typedef int64_t HalfL __attribute__((vector_size(4 * lanes)));
typedef float HalfF __attribute__((vector_size(2 * lanes)));
typedef int32_t HalfI __attribute__((vector_size(2 * lanes)));

template <class V, class T>
[[gnu::always_inline]] inline V load(const T* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T>
[[gnu::always_inline]] inline void store(T* p, V v) { std::memcpy(p, &v, sizeof v); }

// Sum modulo 2^32.
[[gnu::always_inline]] inline VecI add_wrapping(VecI a, VecI b) { return reinterpret_cast<VecI>(reinterpret_cast<VecU>(a) + reinterpret_cast<VecU>(b)); }
[[gnu::always_inline]] inline VecI max(VecI a, VecI b) { return a > b ? a : b; }
[[gnu::always_inline]] inline VecI min(VecI a, VecI b) { return a < b ? a : b; }
[[gnu::always_inline]] inline bool any(VecI mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(mask), reinterpret_cast<__m512i>(mask)) != 0;
#elif defined(__AVX2__)
  return _mm256_testz_si256(reinterpret_cast<__m256i>(mask), reinterpret_cast<__m256i>(mask)) == 0;
#else
  int32_t r = 0;
  for (unsigned i = 0; i < lanes; i++) r |= mask[i];
  return r != 0;
#endif
}

// Lanes 0.. or lanes/2.. of a vector, and the two put together.
[[gnu::always_inline]] inline HalfI half(VecI v, unsigned which) {
  HalfI r;
  std::memcpy(&r, reinterpret_cast<const char*>(&v) + which * sizeof r, sizeof r);
  return r;
}
[[gnu::always_inline]] inline VecF join(HalfF lo, HalfF hi) {
  VecF r;
  std::memcpy(&r, &lo, sizeof lo);
  std::memcpy(reinterpret_cast<char*>(&r) + sizeof lo, &hi, sizeof hi);
  return r;
}

// floor for |x| < 2^51.
[[gnu::always_inline]] inline HalfD floor(HalfD x) {
#if defined(__AVX512F__)
  return reinterpret_cast<HalfD>(_mm512_floor_pd(reinterpret_cast<__m512d>(x)));
#elif defined(__AVX2__)
  return reinterpret_cast<HalfD>(_mm256_floor_pd(reinterpret_cast<__m256d>(x)));
#else
  HalfD r = (x + 0x1.8p52) - 0x1.8p52;
  return r > x ? r - 1.0 : r;
#endif
}

// a * b + c with one rounding.
[[gnu::always_inline]] inline VecF fma(VecF a, VecF b, VecF c) {
#if defined(__AVX512F__)
  return reinterpret_cast<VecF>(_mm512_fmadd_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
#elif defined(__AVX2__)
  return reinterpret_cast<VecF>(_mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
#else
  for (unsigned i = 0; i < lanes; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
#endif
}

}  // namespace TILE_NUM_ISA
}  // namespace tile::num
