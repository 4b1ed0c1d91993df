#include "dsl/sema/promote.h"

namespace tile::sema {
namespace {

std::optional<DType> join(DType a, DType b) {
  if (a == b) return a;
  if (is_bool(a) || is_bool(b)) return std::nullopt;
  if ((is_float(a) && !is_arith_float(a)) || (is_float(b) && !is_arith_float(b))) return std::nullopt;
  auto either = [&](DType t) { return a == t || b == t; };
  if (is_float(a) || is_float(b)) {
    if (either(DType::F64)) return DType::F64;
    if (either(DType::F32)) return DType::F32;
    if (either(DType::F16)) return DType::F16;
    return DType::F32;  // bf16 with an integer
  }
  if (is_signed(a) == is_signed(b)) return bit_width(a) >= bit_width(b) ? a : b;
  DType u = is_signed(a) ? b : a, s = is_signed(a) ? a : b;
  return bit_width(u) >= bit_width(s) ? u : s;
}

}  // namespace

std::optional<DType> promote(Operand a, Operand b) {
  std::optional<DType> joined = join(a.dtype, b.dtype);
  if (!joined || a.tile == b.tile) return joined;
  const Operand& tile = a.tile ? a : b;
  const Operand& scalar = a.tile ? b : a;
  if (is_float(scalar.dtype) <= is_float(tile.dtype)) return tile.dtype;
  return joined;
}

}  // namespace tile::sema
