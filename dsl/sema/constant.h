#pragma once
// Arithmetic on values known at compile time, by the same functions that the interpreter uses (dsl/num).
#include <optional>
#include <string>
#include <vector>

#include "dsl/ops/ops.h"
#include "dsl/sema/value.h"

namespace tile::sema {

// One element of an elementwise operation on raw bits. `t` is the type of the operands (Where: of the last two). Null
// if the operation does not take the type.
std::optional<uint64_t> fold(OpKind op, DType t, const std::vector<uint64_t>& operands);
// One element converted by the rules of `as`.
uint64_t convert_bits(DType from, DType to, uint64_t bits, bool round_to_zero = false, bool saturate = true);

// The value of an integer or bool constant of that type.
Wide bits_to_wide(DType t, uint64_t bits);
// The value of a float constant, exactly.
double bits_to_double(DType t, uint64_t bits);

// True if the type holds the integer (floats: exactly).
bool holds_integer(DType t, Wide w);
// True if the float type's range holds the number: a finite one does not become Inf.
bool holds_float(DType t, double d);
uint64_t integer_bits(DType t, Wide w);
uint64_t float_bits(DType t, double d);

std::string to_text(Wide w);
// `1024`, `0.5`, `true`, `f16`: a constant as it is written in the language; floats with enough digits to read back.
std::string constant_text(DType t, uint64_t bits);
std::string float_text(double d);

}  // namespace tile::sema
