#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "dsl/num/convert_scalar.h"
#include "dsl/num/kernel_table.h"
#include "dsl/num/kernels.h"

namespace tile::num {

// Defined by the same sources, compiled with other flags.
namespace isa_avx2 {
KernelTable kernel_table();
}
namespace isa_avx512 {
KernelTable kernel_table();
}

namespace {

const KernelTable& table_of(HostIsa isa) {
  static const KernelTable tables[] = {isa_base::kernel_table(), isa_avx2::kernel_table(), isa_avx512::kernel_table()};
  return tables[static_cast<unsigned>(isa)];
}

HostIsa initial_host_isa() {
  const char* wanted = std::getenv("TILE_HOST_ISA");
  HostIsa isa = best_host_isa();
  if (wanted != nullptr && std::string_view(wanted) == "base") isa = HostIsa::Base;
  if (wanted != nullptr && std::string_view(wanted) == "avx2") isa = std::min(isa, HostIsa::Avx2);
  return isa;
}

std::atomic<HostIsa>& current_isa() {
  static std::atomic<HostIsa> isa = initial_host_isa();
  return isa;
}

const KernelTable& current_table() { return table_of(host_isa()); }

Carrier carrier_of(DType t) {
  return visit_dtype(t, []<DType T>() {
    using C = carrier_t<T>;
    if constexpr (std::is_same_v<C, int32_t>) return Carrier::I32;
    else if constexpr (std::is_same_v<C, int64_t>) return Carrier::I64;
    else if constexpr (std::is_same_v<C, uint64_t>) return Carrier::U64;
    else if constexpr (std::is_same_v<C, float>) return Carrier::F32;
    else return Carrier::F64;
  });
}

// Roundings other than to nearest are rare: one scalar loop.
template <class C>
void encode_rounded(DType to, ConvertMode mode, const void* carrier, const uint32_t* random, void* dst, size_t n) {
  visit_dtype(to, [&]<DType T>() {
    for (size_t i = 0; i < n; i++)
      static_cast<storage_t<T>*>(dst)[i] = from_carrier<T>(static_cast<const C*>(carrier)[i], mode, random != nullptr ? random[i] : 0);
  });
}

void encode(Carrier from, DType to, ConvertMode mode, const void* carrier, const uint32_t* random, void* dst, size_t n) {
  if (mode.rounding == Rounding::NearestEven) return current_table().encode(from, to)(mode.saturate, carrier, dst, n);
  switch (from) {
    case Carrier::I32: return encode_rounded<int32_t>(to, mode, carrier, random, dst, n);
    case Carrier::I64: return encode_rounded<int64_t>(to, mode, carrier, random, dst, n);
    case Carrier::U64: return encode_rounded<uint64_t>(to, mode, carrier, random, dst, n);
    case Carrier::F32: return encode_rounded<float>(to, mode, carrier, random, dst, n);
    case Carrier::F64: return encode_rounded<double>(to, mode, carrier, random, dst, n);
  }
}

void convert_array(DType from, DType to, ConvertMode mode, const void* src, const uint32_t* random, void* dst, size_t n) {
  if (from == to) {
    if (dst != src && n != 0) std::memcpy(dst, src, n * buffer_bytes(to));
    return;
  }
  Carrier carrier = carrier_of(from);
  auto decode = current_table().decode(from);
  if (decode == nullptr) return encode(carrier, to, mode, src, random, dst, n);
  constexpr size_t block = 512;
  alignas(64) unsigned char buffer[block * sizeof(double)];
  for (size_t i = 0; i < n; i += block) {
    size_t count = std::min(block, n - i);
    decode(static_cast<const char*>(src) + i * buffer_bytes(from), buffer, count);
    encode(carrier, to, mode, buffer, random != nullptr ? random + i : nullptr, static_cast<char*>(dst) + i * buffer_bytes(to), count);
  }
}

}  // namespace

HostIsa best_host_isa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("fma"))
    return HostIsa::Avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return HostIsa::Avx2;
#endif
  return HostIsa::Base;
}

HostIsa host_isa() { return current_isa().load(std::memory_order_relaxed); }
void set_host_isa(HostIsa isa) { current_isa() = std::min(isa, best_host_isa()); }

ElementwiseKernel elementwise_kernel(OpKind op, DType t) {
  ElementwiseKernel k = current_table().integer(op, t);
  return k != nullptr ? k : current_table().floating(op, t);
}

void convert(DType from, DType to, ConvertMode mode, const void* src, void* dst, size_t n) {
  convert_array(from, to, mode, src, nullptr, dst, n);
}

void convert_stochastic(DType from, DType to, bool saturate, const void* src, const uint32_t* random, void* dst, size_t n) {
  convert_array(from, to, {Rounding::Stochastic, saturate}, src, random, dst, n);
}

}  // namespace tile::num
