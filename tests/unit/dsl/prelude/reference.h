#pragma once
// What a math function should return, and how far a result is from it.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tile::test {

// Names of math_functions.def in order, with one or two arguments.
const std::vector<std::string_view>& math_functions(int arguments);
// 1 or 2; 0 for an unknown name.
int arity(std::string_view function);

// ref[i] = function(x[i], y[i]) by the C library in double: far more than an f32 result needs. Vectorised where the C
// library is. y is ignored for one argument.
void reference(std::string_view function, const double* x, const double* y, double* ref, size_t n);

// A binary floating-point format: bits of the significand with the leading one, and the exponents of the largest and of
// the smallest normal binade.
struct Format {
  int precision, max_exponent, min_exponent;
};
inline constexpr Format f16_format{11, 15, -14}, bf16_format{8, 127, -126}, f32_format{24, 127, -126}, f64_format{53, 1023, -1022};

// True if for every i |got[i] - ref[i]| < limit |ref[i]|, or the two have the same bits, or both are NaN. Fast.
bool all_within(const double* got, const double* ref, size_t n, double limit);

// |got - ref| in units in the last place of the format at ref; the smallest subnormal's below the normal numbers. An
// infinity counts as the power of two above the largest finite number. `wrong` where no distance makes sense: one of the
// two is NaN, ref is infinite and got is not, or a zero has the wrong sign.
inline constexpr double wrong = 1e30;
double ulp_error(double got, double ref, const Format& format);

// The same for f64, by the C library in long double, which is right to 0.01 units of f64: enough to see that a result is not
// the worst one. Null for results that are not plain numbers, and where long double has fewer than 64 bits.
std::optional<double> extended_ulp_error(std::string_view function, double x, double y, double got);

// The same for f64 against MPFR with 160 bits.
double mpfr_ulp_error(std::string_view function, double x, double y, double got);

}  // namespace tile::test
