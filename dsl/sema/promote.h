#pragma once
// The promotion rules of the language (docs/language.md, 'Promotion'), as functions of types alone.
#include <optional>

#include "dsl/types/dtype.h"

namespace tile::sema {

// An operand as the rules see it. Literals are resolved before: they take the other operand's type.
struct Operand {
  DType dtype;
  bool tile;  // false: a scalar
};

// The element type in which an operation on a and b is done, and that both are cast to. Triton's rules:
//   two tiles or two scalars   join(a, b)
//   a tile and a scalar        the tile's type if the scalar's kind (bool < integer < float) is not higher, else join
// and join: equal types stay; floats: f64 if either is, else f32 if either is, else f16 if either is, bf16 only if both
// are, else (bf16 with an integer) f32; integers: the wider, of one width the unsigned one, unsigned also when it is
// the wider. Nothing joins bool with a number, or a float narrower than 16 bits with another type.
std::optional<DType> promote(Operand a, Operand b);

}  // namespace tile::sema
