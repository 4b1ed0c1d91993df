#include "tests/unit/dsl/prelude/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "dsl/num/kernels.h"
#include "tests/unit/dsl/prelude/inputs.h"
#include "tests/unit/dsl/prelude/math_kernel.h"
#include "tests/unit/dsl/prelude/reference.h"

namespace tile::test {
namespace {

constexpr size_t chunk = 1 << 14;

const Format& format_of(DType type) {
  switch (type) {
    case DType::F16: return f16_format;
    case DType::BF16: return bf16_format;
    case DType::F32: return f32_format;
    default: return f64_format;
  }
}

// One chunk of inputs, given as doubles that the type holds.
class Chunk {
 public:
  Chunk(std::string function, DType type, const MathKernel& kernel) : function_(std::move(function)), type_(type), kernel_(kernel) {
    for (auto* v : {&x_, &y_, &out_}) v->resize(chunk * buffer_bytes(type));
    for (auto* v : {&xd_, &yd_, &got_, &ref_}) v->resize(chunk);
  }
  void add(double x, double y) { xd_[n_] = x, yd_[n_] = y, ++n_; }
  bool full() const { return n_ == chunk; }
  // Adds f32 bit patterns from `first` on, up to `last`, until the chunk is full; the next pattern.
  uint64_t add_patterns(uint64_t first, uint64_t last, uint64_t step) {
    uint32_t* x = reinterpret_cast<uint32_t*>(x_.data());
    for (; n_ < chunk && first <= last; first += step) x[n_++] = static_cast<uint32_t>(first);
    encoded_ = true;
    return first;
  }
  Status judge(Worst& worst) {
    if (!encoded_) {
      convert(xd_, x_, false), convert(yd_, y_, false);
      convert(yd_, y_, true);
    }
    convert(xd_, x_, true);
    if (Status s = kernel_.run(x_.data(), y_.data(), out_.data(), n_); !s) return s;
    convert(got_, out_, true);
    if (type_ == DType::F64) judge_f64(worst);
    else judge_narrow(worst);
    n_ = 0;
    return Unit{};
  }

 private:
  void judge_f64(Worst& worst) {
    for (size_t i = 0; i < n_; ++i) {
      std::optional<double> rough = extended_ulp_error(function_, xd_[i], yd_[i], got_[i]);
      if (rough && *rough + 0.01 < worst.error) continue;
      double e = mpfr_ulp_error(function_, xd_[i], yd_[i], got_[i]);
      if (e > worst.error) worst = {e, xd_[i], yd_[i], got_[i]};
    }
  }
  void judge_narrow(Worst& worst) {
    reference(function_, xd_.data(), yd_.data(), ref_.data(), n_);
    const Format& format = format_of(type_);
    constexpr size_t block = 128;
    for (size_t at = 0; at < n_; at += block) {
      size_t end = std::min(n_, at + block);
      // A unit is more than |ref| 2^-precision: in most blocks none can be the worst one.
      if (all_within(&got_[at], &ref_[at], end - at, worst.error * std::ldexp(1.0, -format.precision))) continue;
      for (size_t i = at; i < end; ++i) {
        double e = ulp_error(got_[i], ref_[i], format);
        if (e > worst.error) worst = {e, xd_[i], yd_[i], got_[i]};
      }
    }
  }
  void convert(std::vector<double>& d, std::vector<unsigned char>& raw, bool to_double) {
    if (to_double) num::convert(type_, DType::F64, {}, raw.data(), d.data(), n_);
    else num::convert(DType::F64, type_, {}, d.data(), raw.data(), n_);
  }
  std::string function_;
  DType type_;
  const MathKernel& kernel_;
  size_t n_ = 0;
  bool encoded_ = false;  // x_ is filled, not xd_
  std::vector<unsigned char> x_, y_, out_;
  std::vector<double> xd_, yd_, got_, ref_;
};

// Of f16 and bf16.
double pattern_value(DType type, uint64_t bits) {
  uint16_t half = static_cast<uint16_t>(bits);
  double d = 0;
  num::convert(type, DType::F64, {}, &half, &d, 1);
  return d;
}

}  // namespace

std::string Worst::where(int arity) const {
  if (arity == 1) return fmt::format("{:a}, which gave {:a}", x, got);
  return fmt::format("({:a}, {:a}), which gave {:a}", x, y, got);
}

Result<Worst> sweep_patterns(const std::string& function, DType type, uint64_t first, uint64_t last, uint64_t step) {
  Result<MathKernel> kernel = MathKernel::make(function, type);
  if (!kernel) return kernel.error();
  Chunk c(function, type, *kernel);
  Worst worst;
  for (uint64_t bits = first; type == DType::F32 && bits <= last;) {
    bits = c.add_patterns(bits, last, step);
    if (Status s = c.judge(worst); !s) return s.error();
  }
  if (type == DType::F32) return worst;
  for (uint64_t bits = first; bits <= last; bits += step) {
    c.add(pattern_value(type, bits), 0);
    if (!c.full()) continue;
    if (Status s = c.judge(worst); !s) return s.error();
  }
  if (Status s = c.judge(worst); !s) return s.error();
  return worst;
}

Result<Worst> sweep_points(const std::string& function, DType type, uint64_t points, uint64_t seed) {
  Result<MathKernel> kernel = MathKernel::make(function, type);
  if (!kernel) return kernel.error();
  Chunk c(function, type, *kernel);
  Worst worst;
  Status status = Unit{};
  auto add = [&](double x, double y) {
    c.add(x, y);
    if (c.full() && status) status = c.judge(worst);
  };
  std::vector<double> edges = edge_values(type);
  for (double x : edges) {
    if (arity(function) == 1) add(x, 0);
    else for (double y : edges) add(x, y);
  }
  RandomInputs random(function, type, seed);
  for (uint64_t i = 0; i < points && status; ++i) {
    double x, y;
    random.next(x, y);
    add(x, y);
  }
  if (status) status = c.judge(worst);
  if (!status) return status.error();
  return worst;
}

}  // namespace tile::test
