#pragma once
// The GPU's own approximations (class *approximate*): modelled as the correctly rounded value. The f32 instructions
// read subnormal inputs and write subnormal results as zeros of the same sign; the f16 ones keep subnormals.
//
// hw_* are the instructions (v_exp, v_log, v_rcp, v_rsq, v_sin, v_cos; simulator and interpreter share them). Inputs and
// results are f32; of f16 instructions the caller widens the input and rounds the result once. The functions named as
// rows of dsl/ops/elementwise.def are the language's operations.
#include "dsl/num/float.h"
#include "dsl/num/storage.h"

namespace tile::num {

// The value in f64, accurate to far below half an f32 ulp; special cases as the instructions have them. sin and cos
// take revolutions: sin(2 pi x). |x| > 256 gives 0 and 1.
double hw_exp2(double x);
double hw_log2(double x);
double hw_rcp(double x);
double hw_rsqrt(double x);
double hw_sin(double revolutions);
double hw_cos(double revolutions);

inline namespace TILE_NUM_ISA {

// x if it is not subnormal, else a zero of its sign.
[[gnu::always_inline]] inline float flush_f32(float x) {
  uint32_t b = bits_as<uint32_t>(x);
  return bits_as<float>((b & 0x7f800000u) == 0 ? b & 0x80000000u : b);
}

// Runs an instruction on a value of T.
template <DType T>
[[gnu::always_inline]] inline storage_t<T> hw_apply(double (*f)(double), storage_t<T> a) {
  static_assert(T == DType::F32 || T == DType::F16);
  if constexpr (T == DType::F32) return flush_f32(static_cast<float>(f(flush_f32(a))));
  else return static_cast<storage_t<T>>(encode_f64<T>(f(widen<T>(a))));
}

namespace op {

template <DType T, class V = storage_t<T>>
inline V FastExp2(V a) { return hw_apply<T>(hw_exp2, a); }
template <DType T, class V = storage_t<T>>
inline V FastLog2(V a) { return hw_apply<T>(hw_log2, a); }
template <DType T, class V = storage_t<T>>
inline V FastRcp(V a) { return hw_apply<T>(hw_rcp, a); }
template <DType T, class V = storage_t<T>>
inline V FastRsqrt(V a) { return hw_apply<T>(hw_rsqrt, a); }
// x / (2 pi) is one rounded multiplication in T by the constant rounded to T (f32: 0.15915494), then the instruction.
template <DType T, class V = storage_t<T>>
inline V FastSin(V a) { return hw_apply<T>(hw_sin, MulF<T>(a, narrow<T>(0.15915494f))); }
template <DType T, class V = storage_t<T>>
inline V FastCos(V a) { return hw_apply<T>(hw_cos, MulF<T>(a, narrow<T>(0.15915494f))); }

}  // namespace op
}  // namespace TILE_NUM_ISA
}  // namespace tile::num
