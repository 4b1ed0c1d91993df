#include "interpreter/tile/reduce.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <limits>

#include "dsl/num/float.h"
#include "dsl/num/integer.h"
#include "interpreter/tile/group.h"

namespace tile::interp {
namespace {

uint64_t infinity_bits(DType t, bool negative) {
  const DTypeInfo& row = info(t);
  uint64_t exponent = ((uint64_t{1} << row.exp_bits) - 1) << row.man_bits;
  return exponent | (negative ? uint64_t{1} << (row.bits - 1) : 0);
}

uint64_t nan_bits(DType t) { return infinity_bits(t, false) | uint64_t{1} << (info(t).man_bits - 1); }

uint64_t all_ones(DType t) { return ~uint64_t{0} >> (64 - (is_bool(t) ? 1 : bit_width(t))); }

uint64_t one(DType t) {
  if (!is_float(t)) return 1;
  return static_cast<uint64_t>(info(t).bias) << info(t).man_bits;
}

uint64_t lowest_int(DType t) { return is_signed(t) ? uint64_t{1} << (bit_width(t) - 1) : 0; }
uint64_t highest_int(DType t) { return is_signed(t) ? all_ones(t) >> 1 : all_ones(t); }

uint64_t identity_of(std::string_view name, DType t) {
  bool f = is_float(t);
  if (name == "sum") return f ? uint64_t{1} << (bit_width(t) - 1) : 0;  // -0.0
  if (name == "prod") return one(t);
  if (name == "max") return f ? nan_bits(t) : lowest_int(t);  // a NaN loses to everything
  if (name == "min") return f ? nan_bits(t) : highest_int(t);
  if (name == "max_nan") return f ? infinity_bits(t, true) : lowest_int(t);
  if (name == "min_nan") return f ? infinity_bits(t, false) : highest_int(t);
  if (name == "and") return all_ones(t);
  return 0;  // or, xor
}

std::string_view spelling_of(std::string_view combine, DType t) {
  if (combine == "sum") return "add";
  if (combine == "prod") return "mul";
  if (combine == "max" || combine == "max_nan") return is_bool(t) ? "or" : is_float(t) ? combine : "max";
  if (combine == "min" || combine == "min_nan") return is_bool(t) ? "and" : is_float(t) ? combine : "min";
  if (combine == "and" || combine == "or" || combine == "xor") return combine;
  return "";
}

template <DType T>
struct Order {
  using V = num::storage_t<T>;
  static bool is_nan(V x) {
    if constexpr (is_arith_float(T)) return num::op::NeF<T>(x, x) != 0;
    else return false;
  }
  static bool greater(V a, V b) {
    if constexpr (is_arith_float(T)) return num::op::GtF<T>(a, b) != 0;
    else return a > b;
  }
};

template <DType T>
void arg_reduce(Worker& w, const ArgReduce& r) {
  using V = num::storage_t<T>;
  using O = Order<T>;
  const V* src = w.at<V>(r.src);
  V* value = w.at<V>(r.value);
  int32_t* index = w.at<int32_t>(r.index);
  for (int64_t o = 0; o < r.outer; ++o)
    for (int64_t i = 0; i < r.inner; ++i) {
      const V* row = src + o * r.extent * r.inner + i;
      V best = row[0];
      int64_t at = 0;
      for (int64_t x = 1; x < r.extent && !O::is_nan(best); ++x) {
        V candidate = row[x * r.inner];
        if (O::is_nan(candidate) || (r.max ? O::greater(candidate, best) : O::greater(best, candidate))) {
          best = candidate;
          at = x;
        }
      }
      value[o * r.inner + i] = best;
      index[o * r.inner + i] = static_cast<int32_t>(at);
    }
}

template <class T>
void gather_places(const Reduce& r, const std::byte* src_bytes, std::byte* dst_bytes, int64_t rows) {
  auto src = reinterpret_cast<const T*>(src_bytes);
  auto dst = reinterpret_cast<T*>(dst_bytes);
  T identity;
  std::memcpy(&identity, &r.identity, sizeof identity);
  for (size_t j = 0; j < r.source.size(); ++j) {
    int64_t x = r.source[j];
    for (int64_t row = 0; row < rows; ++row, dst += r.inner) {
      const T* from = src + (row * r.extent + x) * r.inner;
      if (x >= r.extent) std::fill_n(dst, r.inner, identity);
      else if (r.inner == 1) *dst = *from;
      else std::memcpy(dst, from, static_cast<size_t>(r.inner) * sizeof(T));
    }
  }
}

void gather_places(const Reduce& r, const std::byte* src, std::byte* dst, int64_t rows) {
  switch (r.size) {
    case 1: return gather_places<uint8_t>(r, src, dst, rows);
    case 2: return gather_places<uint16_t>(r, src, dst, rows);
    case 4: return gather_places<uint32_t>(r, src, dst, rows);
    default: return gather_places<uint64_t>(r, src, dst, rows);
  }
}

}  // namespace

Result<Combine> combine_of(std::string_view name, DType t) {
  std::optional<OpKind> op = elementwise_by_spelling(spelling_of(name, t), t);
  if (!op) return Error{fmt::format("reduction '{}' does not exist for {}", name, tile::name(t))};
  return Combine{*op, identity_of(name, t)};
}

Result<std::vector<uint32_t>> reduce_places(const std::vector<int64_t>& order, int64_t extent) {
  auto bits = static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(extent) - 1));
  if (!order.empty() && order.size() != bits)
    return Error{fmt::format("the order of a reduction of {} elements has {} bits instead of {}", extent, order.size(), bits)};
  std::vector<uint32_t> places(size_t{1} << bits, 0);
  uint64_t seen = 0;
  for (unsigned t = 0; t < bits; ++t) {
    int64_t axis_bit = order.empty() ? t : order[t];
    if (axis_bit < 0 || axis_bit >= bits || (seen >> axis_bit & 1) != 0)
      return Error{"the order of a reduction is not a permutation of the bits of its axis"};
    seen |= uint64_t{1} << axis_bit;
    for (size_t j = 0; j < places.size(); ++j)
      if (j >> (bits - 1 - t) & 1) places[j] |= 1u << axis_bit;
  }
  return places;
}

void run_reduce(Worker& w, const void* payload) {
  const Reduce& r = *static_cast<const Reduce*>(payload);
  auto places = static_cast<int64_t>(r.source.size());
  constexpr int64_t block_elements = 4096;
  int64_t block = std::clamp<int64_t>(block_elements / (places * r.inner), 1, r.outer);
  std::byte* work = w.need_scratch(static_cast<size_t>(places * block * r.inner) * r.size);
  const std::byte* src = w.at(r.src);
  std::byte* dst = w.at(r.dst);
  for (int64_t o = 0; o < r.outer; o += block) {
    int64_t rows = std::min(block, r.outer - o);
    int64_t width = rows * r.inner;
    gather_places(r, src + o * r.extent * r.inner * r.size, work, rows);
    for (int64_t half = places / 2; half >= 1; half /= 2)
      r.combine(work, work + half * width * r.size, nullptr, work, static_cast<size_t>(half * width));
    std::memcpy(dst + o * r.inner * r.size, work, static_cast<size_t>(width) * r.size);
  }
}

void run_arg_reduce(Worker& w, const void* payload) {
  const ArgReduce& r = *static_cast<const ArgReduce*>(payload);
  num::visit_dtype(r.dtype, [&]<DType T>() { arg_reduce<T>(w, r); });
}

}  // namespace tile::interp
