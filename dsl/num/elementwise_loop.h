#pragma once
// The loop around an elementwise function, and the choice of a kernel from the rows of elementwise.def. Included by the
// sources that are compiled once per host instruction set.
#include "dsl/num/float.h"
#include "dsl/num/fast.h"
#include "dsl/num/integer.h"
#include "dsl/num/kernel_table.h"

namespace tile::num {
inline namespace TILE_NUM_ISA {

// As in_domain of dsl/ops/ops.h (a test compares them).
constexpr bool domain_has(Domain d, DType t) {
  switch (d) {
    case Domain::AnyInt: return is_int(t);
    case Domain::SInt: return is_signed(t);
    case Domain::UInt: return is_int(t) && !is_signed(t);
    case Domain::Float: return is_arith_float(t);
    case Domain::F16F32: return t == DType::F16 || t == DType::F32;
    case Domain::BoolInt: return is_bool(t) || is_int(t);
    case Domain::Any: return true;
  }
  return false;
}

template <DType T, unsigned arity, Form form, class F>
void elementwise_loop(const void* a_ptr, [[maybe_unused]] const void* b_ptr, [[maybe_unused]] const void* c_ptr, void* dst_ptr, size_t n) {
  using V = storage_t<T>;
  using R = std::conditional_t<form == Form::Cmp, uint8_t, V>;
  constexpr F f{};
  R* dst = static_cast<R*>(dst_ptr);
  if constexpr (form == Form::Select) {
    auto a = static_cast<const uint8_t*>(a_ptr);
    auto b = static_cast<const V*>(b_ptr), c = static_cast<const V*>(c_ptr);
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++) dst[i] = f.template operator()<T>(a[i], b[i], c[i]);
  } else {
    auto a = static_cast<const V*>(a_ptr);
    [[maybe_unused]] auto b = static_cast<const V*>(b_ptr), c = static_cast<const V*>(c_ptr);
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++) {
      if constexpr (arity == 1) dst[i] = f.template operator()<T>(a[i]);
      else if constexpr (arity == 2) dst[i] = f.template operator()<T>(a[i], b[i]);
      else dst[i] = f.template operator()<T>(a[i], b[i], c[i]);
    }
  }
}

// The instantiation for `t`, or null when the domain lacks it.
template <Domain domain, unsigned arity, Form form, class F>
ElementwiseKernel pick_kernel(DType t, F) {
  return visit_dtype(t, []<DType T>() -> ElementwiseKernel {
    if constexpr (domain_has(domain, T)) return elementwise_loop<T, arity, form, F>;
    else return nullptr;
  });
}

}  // namespace TILE_NUM_ISA
}  // namespace tile::num
