// Compiled once per host instruction set; see isa.h.
#include "dsl/num/convert_scalar.h"
#include "dsl/num/kernel_table.h"

namespace tile::num {
inline namespace TILE_NUM_ISA {
namespace {

using Decode = void (*)(const void* src, void* carrier, size_t n);
using Encode = void (*)(bool saturate, const void* carrier, void* dst, size_t n);

template <DType T>
void decode_loop(const void* src_ptr, void* dst_ptr, size_t n) {
  auto src = static_cast<const storage_t<T>*>(src_ptr);
  auto dst = static_cast<carrier_t<T>*>(dst_ptr);
#pragma GCC ivdep
  for (size_t i = 0; i < n; i++) dst[i] = to_carrier<T>(src[i]);
}

Decode find_decode(DType from) {
  return visit_dtype(from, []<DType T>() -> Decode {
    if constexpr (std::is_same_v<storage_t<T>, carrier_t<T>>) return nullptr;
    else return decode_loop<T>;
  });
}

template <DType T, class C>
void encode_loop(bool saturate, const void* src_ptr, void* dst_ptr, size_t n) {
  auto src = static_cast<const C*>(src_ptr);
  auto dst = static_cast<storage_t<T>*>(dst_ptr);
  if (!saturate && is_float(T) && bit_width(T) <= 8) {
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++) dst[i] = from_carrier<T>(src[i], {Rounding::NearestEven, false}, 0);
  } else {
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++) dst[i] = from_carrier<T>(src[i], {Rounding::NearestEven, true}, 0);
  }
}

template <class C>
Encode encode_from(DType to) {
  return visit_dtype(to, []<DType T>() -> Encode { return encode_loop<T, C>; });
}

Encode find_encode(Carrier from, DType to) {
  switch (from) {
    case Carrier::I32: return encode_from<int32_t>(to);
    case Carrier::I64: return encode_from<int64_t>(to);
    case Carrier::U64: return encode_from<uint64_t>(to);
    case Carrier::F32: return encode_from<float>(to);
    case Carrier::F64: return encode_from<double>(to);
  }
  return nullptr;
}

}  // namespace

KernelTable kernel_table() { return {find_integer_kernel, find_float_kernel, find_decode, find_encode}; }

}  // namespace TILE_NUM_ISA
}  // namespace tile::num
