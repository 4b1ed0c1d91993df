// Compiled once per host instruction set; see isa.h.
#include "dsl/num/elementwise_loop.h"

namespace tile::num {
inline namespace TILE_NUM_ISA {

ElementwiseKernel find_integer_kernel(OpKind op, DType t) {
  switch (op) {
#define TILE_EW(Kind, spelling, arity, domain, form, fidelity, recipe, doc)                             \
  case OpKind::Kind:                                                                                    \
    if constexpr (!(Domain::domain == Domain::Float || Domain::domain == Domain::F16F32))             \
      return pick_kernel<Domain::domain, arity, Form::form>(t, []<DType T>(auto... x) [[gnu::always_inline]] { return op::Kind<T>(x...); }); \
    break;
#include "dsl/ops/elementwise.def"
    default: break;
  }
  return nullptr;
}

}  // namespace TILE_NUM_ISA
}  // namespace tile::num
