#include "dsl/sema/constant.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dsl/num/kernels.h"

namespace tile::sema {
namespace {

// One element of a tile buffer, aligned for every type.
struct alignas(8) Element {
  uint8_t bytes[8] = {};
  explicit Element(uint64_t bits) { std::memcpy(bytes, &bits, 8); }
  Element() = default;
  uint64_t bits(DType t) const {
    uint64_t b = 0;
    std::memcpy(&b, bytes, buffer_bytes(t));
    return b;
  }
};

}  // namespace

std::optional<uint64_t> fold(OpKind op, DType t, const std::vector<uint64_t>& operands) {
  num::ElementwiseKernel kernel = num::elementwise_kernel(op, t);
  if (!kernel) return std::nullopt;
  Element e[3], result;
  for (size_t i = 0; i < operands.size() && i < 3; ++i) e[i] = Element(operands[i]);
  kernel(&e[0], &e[1], &e[2], &result, 1);
  return result.bits(info(op).form == Form::Cmp ? DType::Bool : t);
}

uint64_t convert_bits(DType from, DType to, uint64_t bits, bool round_to_zero, bool saturate) {
  Element in(bits), out;
  num::ConvertMode mode;
  mode.rounding = round_to_zero ? num::Rounding::TowardZero : num::Rounding::NearestEven;
  mode.saturate = saturate;
  num::convert(from, to, mode, &in, &out, 1);
  return out.bits(to);
}

Wide bits_to_wide(DType t, uint64_t bits) {
  unsigned unused = 64 - bit_width(t);
  if (is_signed(t)) return static_cast<int64_t>(bits << unused) >> unused;
  return static_cast<Wide>(bits << unused >> unused);
}

double bits_to_double(DType t, uint64_t bits) {
  uint64_t wide = convert_bits(t, DType::F64, bits);
  double d;
  std::memcpy(&d, &wide, 8);
  return d;
}

uint64_t float_bits(DType t, double d) {
  uint64_t bits;
  std::memcpy(&bits, &d, 8);
  return convert_bits(DType::F64, t, bits, false, false);
}

uint64_t integer_bits(DType t, Wide w) {
  if (is_float(t)) return float_bits(t, static_cast<double>(w));
  if (is_bool(t)) return w != 0;
  uint64_t bits = static_cast<uint64_t>(w);
  return bit_width(t) == 64 ? bits : bits & ((uint64_t{1} << bit_width(t)) - 1);
}

bool holds_integer(DType t, Wide w) {
  if (is_bool(t)) return false;
  if (is_float(t)) {
    double d = static_cast<double>(w);
    return static_cast<Wide>(d) == w && bits_to_double(t, float_bits(t, d)) == d;
  }
  Wide one = 1;
  if (is_signed(t)) return w >= -(one << (bit_width(t) - 1)) && w < one << (bit_width(t) - 1);
  return w >= 0 && w < one << bit_width(t);
}

bool holds_float(DType t, double d) {
  if (!is_float(t)) return false;
  double back = bits_to_double(t, float_bits(t, d));
  if (std::isnan(d)) return info(t).nan != NanEncoding::None;
  if (std::isinf(d)) return info(t).has_inf;
  return std::isfinite(back);
}

std::string to_text(Wide w) {
  bool negative = w < 0;
  __extension__ unsigned __int128 u = negative ? -static_cast<unsigned __int128>(w) : static_cast<unsigned __int128>(w);
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(u % 10));
    u /= 10;
  } while (u != 0);
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string float_text(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d > 0 ? "inf" : "-inf";
  std::string s = fmt::format("{}", d);
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

std::string constant_text(DType t, uint64_t bits) {
  if (is_bool(t)) return bits != 0 ? "true" : "false";
  if (!is_float(t)) return to_text(bits_to_wide(t, bits));
  return float_text(bits_to_double(t, bits));
}

}  // namespace tile::sema
