#pragma once
// Read-modify-write operations of LDS and global memory.
#include <atomic>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "interpreter/machine/scalar_math.h"

namespace tile::sim {

enum class Rmw : uint8_t {
  swap, cmpswap, add, sub, rsub, inc, dec, smin, umin, smax, umax, band, bor, bxor, mskor, fadd, fmin, fmax, fcmpswap, pk_f16, pk_bf16, wrap
};

namespace {

// The new value. `data` is the operand (for compare-and-swap the new value), `cmp` the comparison or second operand.
template <class U> U rmw(Rmw op, U old, U data, U cmp) {
  using S = std::make_signed_t<U>;
  using F = std::conditional_t<sizeof(U) == 4, float, double>;
  const F fo = std::bit_cast<F>(old), fd = std::bit_cast<F>(data);
  switch (op) {
    case Rmw::swap: return data;
    case Rmw::cmpswap: return old == cmp ? data : old;
    case Rmw::fcmpswap: return fo == std::bit_cast<F>(cmp) ? data : old;
    case Rmw::add: return old + data;
    case Rmw::sub: return old - data;
    case Rmw::rsub: return data - old;
    case Rmw::inc: return old >= data ? 0 : old + 1;
    case Rmw::dec: return old == 0 || old > data ? data : old - 1;
    case Rmw::smin: return S(old) < S(data) ? old : data;
    case Rmw::umin: return old < data ? old : data;
    case Rmw::smax: return S(old) > S(data) ? old : data;
    case Rmw::umax: return old > data ? old : data;
    case Rmw::band: return old & data;
    case Rmw::bor: return old | data;
    case Rmw::bxor: return old ^ data;
    case Rmw::mskor: return (old & ~data) | cmp;
    case Rmw::wrap: return old >= data ? old - data : old + cmp;
    case Rmw::fadd: return std::bit_cast<U>(F(fo + fd));
    case Rmw::fmin: return std::bit_cast<U>(fmin_(fo, fd));
    case Rmw::fmax: return std::bit_cast<U>(fmax_(fo, fd));
    case Rmw::pk_f16:
      return U(float_to_half(half_to_float(old & 0xffffu) + half_to_float(data & 0xffffu)) |
               float_to_half(half_to_float(old >> 16 & 0xffffu) + half_to_float(data >> 16 & 0xffffu)) << 16);
    case Rmw::pk_bf16:
      return U(float_to_bf16(bf16_to_float(old & 0xffffu) + bf16_to_float(data & 0xffffu)) |
               float_to_bf16(bf16_to_float(old >> 16 & 0xffffu) + bf16_to_float(data >> 16 & 0xffffu)) << 16);
  }
  return old;
}

// On memory that other workgroups may change at the same time. Returns the old value.
template <class U> U rmw_shared(Rmw op, uint8_t* p, U data, U cmp) {
  std::atomic_ref<U> ref(*reinterpret_cast<U*>(p));
  U old = ref.load(std::memory_order_relaxed);
  while (!ref.compare_exchange_weak(old, rmw<U>(op, old, data, cmp), std::memory_order_relaxed)) {}
  return old;
}

}  // namespace
}  // namespace tile::sim
