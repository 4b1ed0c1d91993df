#pragma once
// The scalar types of the language, driven by dtype.def.
#include <cstdint>
#include <optional>
#include <string_view>

namespace tile {

enum class DType : uint8_t {
#define TILE_DTYPE(Kind, ...) Kind,
#include "dsl/types/dtype.def"
};

enum class DTypeClass : uint8_t { Bool, Int, UInt, Float };
enum class NanEncoding : uint8_t { None, Ieee, AllOnes, NegZero };

// A row of dtype.def; the columns are explained there.
struct DTypeInfo {
  DType dtype;
  std::string_view name;
  unsigned bits;
  DTypeClass cls;
  unsigned exp_bits, man_bits;
  int bias;
  bool has_inf;
  NanEncoding nan;
  std::string_view triton_name;
};

inline constexpr DTypeInfo dtype_table[] = {
#define TILE_DTYPE(Kind, name, bits, cls, exp, man, bias, inf, nan, triton) \
  {DType::Kind, name, bits, DTypeClass::cls, exp, man, bias, inf != 0, NanEncoding::nan, triton},
#include "dsl/types/dtype.def"
};
inline constexpr unsigned num_dtypes = sizeof(dtype_table) / sizeof(dtype_table[0]);

constexpr const DTypeInfo& info(DType t) { return dtype_table[static_cast<unsigned>(t)]; }
constexpr std::string_view name(DType t) { return info(t).name; }
constexpr unsigned bit_width(DType t) { return info(t).bits; }
// Bytes of one element in a tile buffer of the interpreter and in memory, for types of whole bytes; bool is one
// byte. The packed types f4e2m1, f6e2m3 and f6e3m2 also take one byte an element in a tile buffer (low bits).
constexpr unsigned buffer_bytes(DType t) { return (info(t).bits + 7) / 8; }

constexpr bool is_bool(DType t) { return info(t).cls == DTypeClass::Bool; }
constexpr bool is_int(DType t) { return info(t).cls == DTypeClass::Int || info(t).cls == DTypeClass::UInt; }
constexpr bool is_signed(DType t) { return info(t).cls == DTypeClass::Int; }
constexpr bool is_float(DType t) { return info(t).cls == DTypeClass::Float; }
// f16, bf16, f32 and f64: the floats that have arithmetic. Narrower ones are only stored and converted.
constexpr bool is_arith_float(DType t) { return is_float(t) && info(t).bits >= 16; }
// Types whose elements are not whole bytes in memory.
constexpr bool is_packed(DType t) { return info(t).bits < 8 && !is_bool(t); }

constexpr std::optional<DType> parse_dtype(std::string_view s) {
  for (const DTypeInfo& row : dtype_table)
    if (row.name == s) return row.dtype;
  return std::nullopt;
}

}  // namespace tile
