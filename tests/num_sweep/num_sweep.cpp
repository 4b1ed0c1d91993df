// num_sweep [TYPE...]: converts all 2^32 f32 values to each type (all floats of at most 16 bits when none is given),
// saturating and not, and compares with a second definition of rounding: the midpoints between neighbouring values,
// which APFloat gives. APFloat itself is asked for every 509th value. Prints a line a type; exits 0 if all agree.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "dsl/num/kernels.h"
#include "tests/unit/dsl/num/apfloat_judge.h"

namespace {

using namespace tile;
using namespace tile::num;

// Codes of non-negative values in ascending order of value are ascending themselves.
struct Boundaries {
  std::vector<double> up;       // from this magnitude on (or just above it, by `tie_up`) the next code
  std::vector<bool> tie_up;     // the midpoint itself goes to the upper neighbour
  uint32_t overflow_code;       // what lies beyond the last boundary
};

Boundaries make_boundaries(DType t, bool saturate) {
  Boundaries b;
  uint32_t max_code = static_cast<uint32_t>(llvm::APFloat::getLargest(judge_semantics(t)).bitcastToAPInt().getZExtValue());
  auto value = [&](uint32_t code) { return judge_value(t, code).convertToDouble(); };
  for (uint32_t code = 0; code < max_code; code++) {
    b.up.push_back((value(code) + value(code + 1)) / 2);
    b.tie_up.push_back(t == DType::F8E8M0 || (code & 1) != 0);
  }
  b.overflow_code = max_code;
  if (!saturate || bit_width(t) > 8) {
    double place = t == DType::F8E8M0 ? value(max_code) : value(max_code) - value(max_code - 1);
    b.up.push_back(value(max_code) + place / 2);
    b.tie_up.push_back(t == DType::F8E8M0 || (max_code & 1) != 0);
    b.overflow_code = static_cast<uint32_t>(judge_convert(DType::F64, t, __builtin_bit_cast(uint64_t, 1e300), false));
  }
  return b;
}

// The first f32 (bits, sign 0) that boundary `i` sends up; one past Inf if none.
uint32_t first_above(const Boundaries& b, size_t i) {
  auto goes_up = [&](uint32_t bits) {
    double x = __builtin_bit_cast(float, bits);
    return x > b.up[i] || (x == b.up[i] && b.tie_up[i]);
  };
  uint32_t lo = 0, hi = 0x7f800001;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (goes_up(mid)) hi = mid;
    else lo = mid + 1;
  }
  return lo;
}

class Sweep {
 public:
  Sweep(DType t, bool saturate) : t_(t), saturate_(saturate), src_(block), dst_(block * buffer_bytes(t)) {}

  // The number of values that differ.
  uint64_t run() {
    Boundaries bounds = make_boundaries(t_, saturate_);
    for (uint32_t sign : {0u, 1u}) {
      sign_ = sign;
      uint32_t start = 0;
      for (size_t code = 0; code <= bounds.up.size(); code++) {
        uint32_t end = code < bounds.up.size() ? first_above(bounds, code) : 0x7f800001;
        bool beyond = code == bounds.up.size();
        check(start, end, code_of(beyond ? bounds.overflow_code : static_cast<uint32_t>(code), beyond));
        start = end;
      }
      check(start, 0x80000000, 0, true);
    }
    return wrong_;
  }

 private:
  static constexpr size_t block = 1 << 15;

  uint64_t code_of(uint32_t magnitude, bool beyond) const {
    bool fnuz = info(t_).nan == NanEncoding::NegZero;
    if (t_ == DType::F8E8M0) return sign_ == 1 ? 255 : magnitude;  // negative values are NaN
    if (fnuz && (magnitude == 0 || (beyond && magnitude == 0x80))) return magnitude;
    return magnitude | uint64_t{sign_} << (bit_width(t_) - 1);
  }

  void report(uint32_t x, uint64_t got, uint64_t want) {
    if (wrong_++ < 5) fmt::print("{}: f32 {:08x} gives {:x}, expected {:x}\n", name(t_), x, got, want);
  }

  // All magnitudes from `start` to `end` give `want`; of NaNs, and of every 509th value, APFloat decides.
  void check(uint64_t start, uint64_t end, uint64_t want, bool nan = false) {
    for (; start < end; start += block) {
      size_t n = std::min<uint64_t>(block, end - start);
      auto first = static_cast<uint32_t>(start) | sign_ << 31;
      for (size_t i = 0; i < n; i++) src_[i] = first + static_cast<uint32_t>(i);
      convert(DType::F32, t_, {Rounding::NearestEven, saturate_}, src_.data(), dst_.data(), n);
      uint64_t different = 0;
      if (bit_width(t_) == 16) {
        auto d = reinterpret_cast<const uint16_t*>(dst_.data());
        for (size_t i = 0; i < n; i++) different |= static_cast<uint64_t>(d[i] ^ want);
      } else {
        for (size_t i = 0; i < n; i++) different |= static_cast<uint64_t>(dst_[i] ^ want);
      }
      size_t step = nan || different != 0 ? 1 : 509;
      for (size_t i = step == 1 ? 0 : (509 - first % 509) % 509; i < n; i += step) {
        uint64_t got = 0;
        std::memcpy(&got, &dst_[i * buffer_bytes(t_)], buffer_bytes(t_));
        uint64_t judge = judge_convert(DType::F32, t_, src_[i], saturate_);
        if (!same_or_nan(t_, got, judge) || (!nan && !(t_ == DType::F8E8M0 && start == 0) && !same_or_nan(t_, got, want))) report(src_[i], got, judge);
      }
    }
  }

  DType t_;
  bool saturate_;
  uint32_t sign_ = 0;
  uint64_t wrong_ = 0;
  std::vector<uint32_t> src_;
  std::vector<unsigned char> dst_;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<DType> types;
  for (int i = 1; i < argc; i++) {
    auto t = parse_dtype(argv[i]);
    if (!t || !is_float(*t) || bit_width(*t) > 16) {
      fmt::print(stderr, "num_sweep: {} is not a float type of at most 16 bits\n", argv[i]);
      return 1;
    }
    types.push_back(*t);
  }
  if (types.empty())
    for (const DTypeInfo& row : dtype_table)
      if (is_float(row.dtype) && row.bits <= 16) types.push_back(row.dtype);
  uint64_t wrong = 0;
  for (DType t : types)
    for (bool saturate : {true, false}) {
      if (bit_width(t) == 16 && !saturate) continue;  // no difference
      uint64_t w = Sweep(t, saturate).run();
      fmt::print("f32 to {}{}: {} of 4294967296 differ\n", name(t), saturate ? "" : " (nosat)", w);
      std::fflush(stdout);
      wrong += w;
    }
  return wrong == 0 ? 0 : 1;
}
