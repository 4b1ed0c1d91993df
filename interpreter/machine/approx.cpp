#include "interpreter/machine/approx.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace tile::sim {
namespace {

float flush(float x) {
  const uint32_t b = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((b & 0x7f800000u) == 0 ? b & 0x80000000u : b);
}

// The first 1201 bits of 2/pi after the point, most significant first, 32 a word.
constexpr uint32_t two_over_pi[] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0,
    0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4,
    0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
    0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};

}  // namespace

float approx_exp2(float x) { return flush(float(std::exp2(double(flush(x))))); }
float approx_log2(float x) { return flush(float(std::log2(double(flush(x))))); }
float approx_rcp(float x) { return flush(float(1.0 / double(flush(x)))); }
float approx_rsq(float x) { return flush(float(1.0 / std::sqrt(double(flush(x))))); }
float approx_sqrt(float x) { return std::sqrt(flush(x)); }
float approx_sin(float x) { return flush(float(sin_turns(double(flush(x))))); }
float approx_cos(float x) { return flush(float(cos_turns(double(flush(x))))); }
double approx_rsq64(double x) { return 1.0 / std::sqrt(x); }
double sqrt64(double x) { return std::sqrt(x); }
double exp2_64(double x) { return std::exp2(x); }
double log2_64(double x) { return std::log2(x); }

double sin_turns(double x) {
  if (std::isinf(x)) return std::nan("");
  if (std::abs(x) > 256) return 0.0;
  const double r = x - std::rint(x);
  if (r == 0 || std::abs(r) == 0.5) return std::copysign(0.0, x);
  return std::sin(2 * std::numbers::pi * r);
}
double cos_turns(double x) {
  if (std::isinf(x)) return std::nan("");
  if (std::abs(x) > 256) return 1.0;
  const double r = x - std::rint(x);
  if (std::abs(r) == 0.25) return 0.0;
  return std::cos(2 * std::numbers::pi * r);
}

double trig_preop(double x, unsigned segment) {
  const int e = int(std::bit_cast<uint64_t>(x) >> 52) & 2047;
  int shift = int(segment & 31) * 53;
  if (e > 1077) shift += e - 1077;
  uint64_t bits = 0;
  for (int k = 0; k < 53; ++k) {
    const int at = shift + k;
    const uint64_t bit = at < 1201 ? two_over_pi[at / 32] >> (31 - at % 32) & 1 : 0;
    bits = bits << 1 | bit;
  }
  int scale = -53 - shift;
  if (e >= 1968) scale += 128;
  return std::ldexp(double(bits), scale);
}

}  // namespace tile::sim
