#include "runtime/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "dsl/num/kernels.h"

namespace tile {
namespace {

// Distance between neighbours of `t` around v (v finite).
double unit_in_last_place(DType t, double v) {
  if (!is_float(t)) return 1;
  const DTypeInfo& row = info(t);
  int exponent = 0;
  std::frexp(v, &exponent);
  int lowest = 1 - row.bias;
  int e = v == 0 ? lowest : std::max(exponent - 1, lowest);
  return std::ldexp(1.0, e - static_cast<int>(row.man_bits));
}

bool matches(const Array& got, const Array& want, int64_t i, const Tolerances& t) {
  if (got.dtype() == want.dtype() && got.bits(i) == want.bits(i)) return true;
  double a = got.value(i), b = want.value(i);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (t.bits) return false;
  bool exact_integers = is_int(got.dtype()) && is_int(want.dtype());
  if (exact_integers && t.atol == 0 && t.rtol == 0 && t.ulp == 0) return a == b && got.bits(i) == want.bits(i);
  if (a == b) return true;
  if (std::isinf(a) || std::isinf(b)) return false;
  double d = std::abs(a - b);
  if (d <= t.atol + t.rtol * std::abs(b)) return true;
  return t.ulp > 0 && d <= t.ulp * std::max(unit_in_last_place(got.dtype(), b), unit_in_last_place(got.dtype(), a));
}

std::string value_text(const Array& a, int64_t i) {
  if (is_int(a.dtype())) {
    uint64_t raw = a.bits(i);
    unsigned unused = 64 - bit_width(a.dtype());
    return is_signed(a.dtype()) ? fmt::format("{}", static_cast<int64_t>(raw << unused) >> unused)
                                : fmt::format("{}", raw);
  }
  if (is_bool(a.dtype())) return a.bits(i) ? "true" : "false";
  if (a.dtype() == DType::F64) return fmt::format("{}", a.value(i));
  return fmt::format("{}", static_cast<float>(a.value(i)));
}

}  // namespace

std::string index_text(const std::vector<int64_t>& shape, int64_t element) {
  std::vector<int64_t> index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    index[i] = element % shape[i];
    element /= shape[i];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::optional<std::string> difference(const Array& got, const Array& want, const Tolerances& t) {
  if (got.shape() != want.shape())
    return fmt::format("the shapes differ: [{}] and [{}]", fmt::join(got.shape(), ", "), fmt::join(want.shape(), ", "));
  if (t.bits && got.dtype() != want.dtype())
    return fmt::format("the element types differ: {} and {}", name(got.dtype()), name(want.dtype()));
  int64_t n = got.elements(), wrong = 0, worst = -1;
  double largest = -1;
  std::string first;
  for (int64_t i = 0; i < n; ++i) {
    if (matches(got, want, i, t)) continue;
    if (wrong < 3)
      first += fmt::format("\n    {}: got {} (0x{:x}), want {}", index_text(got.shape(), i), value_text(got, i),
                           got.bits(i), value_text(want, i));
    ++wrong;
    double d = std::abs(got.value(i) - want.value(i));
    if (d > largest) largest = d, worst = i;
  }
  if (wrong == 0) return std::nullopt;
  std::string text = fmt::format("{} of {} elements differ{}", wrong, n, first);
  if (worst >= 0) text += fmt::format("\n    largest difference {:g} at {}", largest, index_text(got.shape(), worst));
  return text;
}

std::string summary(const std::string& name_, const Array& a) {
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
  int64_t n = a.elements(), nans = 0;
  constexpr int64_t block = 1024;
  double values[block];
  for (int64_t start = 0; start < n; start += block) {
    int64_t count = std::min(block, n - start);
    if (is_packed(a.dtype()) || is_bool(a.dtype())) {
      for (int64_t i = 0; i < count; ++i) values[i] = a.value(start + i);
    } else {
      num::convert(a.dtype(), DType::F64, {}, a.data() + start * buffer_bytes(a.dtype()), values, static_cast<size_t>(count));
    }
    for (int64_t i = 0; i < count; ++i) {
      double v = values[i];
      if (std::isnan(v)) ++nans;
      else low = std::min(low, v), high = std::max(high, v), sum += v;
    }
  }
  std::string text = fmt::format("{}: {}", name_, describe(a));
  if (n > nans) text += fmt::format(" min {:.6g} max {:.6g} mean {:.6g}", low, high, sum / static_cast<double>(n - nans));
  text += fmt::format(" nan {} [", nans);
  for (int64_t i = 0; i < std::min<int64_t>(n, 6); ++i) text += (i ? ", " : "") + value_text(a, i);
  return text + (n > 6 ? ", ...]" : "]");
}

}  // namespace tile
