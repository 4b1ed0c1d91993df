#pragma once
// Elements of every type in memory.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dsl/types/dtype.h"

namespace tile::interp {

// One element of an array in memory. Packed types: their bits, least significant first; bool: any byte but 0 is true.
struct ElementAccess {
  DType t;
  unsigned bits, size;
  bool packed, boolean;
  explicit ElementAccess(DType d) : t(d), bits(bit_width(d)), size(buffer_bytes(d)), packed(is_packed(d)), boolean(is_bool(d)) {}

  // First byte and number of bytes of element `offset` of the array at `base`.
  uint64_t address(uint64_t base, int64_t offset) const {
    if (!packed) return base + static_cast<uint64_t>(offset) * size;
    return base + static_cast<uint64_t>(bit_offset(offset) >> 3);
  }
  unsigned bytes(int64_t offset) const {
    if (!packed) return size;
    return ((bit_offset(offset) & 7) + bits + 7) / 8;
  }
  // Modulo 2^64, as all addresses.
  int64_t bit_offset(int64_t offset) const { return static_cast<int64_t>(static_cast<uint64_t>(offset) * bits); }
  void load(uint64_t base, int64_t offset, std::byte* dst) const {
    auto p = reinterpret_cast<const uint8_t*>(address(base, offset));
    if (packed) {
      unsigned shift = static_cast<unsigned>(bit_offset(offset) & 7), word = p[0];
      if (bytes(offset) == 2) word |= static_cast<unsigned>(p[1]) << 8;
      *dst = static_cast<std::byte>(word >> shift & ((1u << bits) - 1));
    } else if (boolean) {
      *dst = static_cast<std::byte>(*p != 0);
    } else {
      copy(p, dst);
    }
  }
  void store(uint64_t base, int64_t offset, const std::byte* src) const {
    auto p = reinterpret_cast<uint8_t*>(address(base, offset));
    if (packed) {
      unsigned shift = static_cast<unsigned>(bit_offset(offset) & 7), mask = ((1u << bits) - 1) << shift;
      unsigned value = static_cast<unsigned>(*src) << shift;
      p[0] = static_cast<uint8_t>((p[0] & ~mask) | (value & mask));
      if (bytes(offset) == 2) p[1] = static_cast<uint8_t>((p[1] & ~(mask >> 8)) | (value >> 8 & mask >> 8));
    } else {
      copy(src, p);
    }
  }
  void copy(const void* from, void* to) const {
    switch (size) {
      case 1: std::memcpy(to, from, 1); break;
      case 2: std::memcpy(to, from, 2); break;
      case 4: std::memcpy(to, from, 4); break;
      default: std::memcpy(to, from, 8); break;
    }
  }
};

}  // namespace tile::interp
