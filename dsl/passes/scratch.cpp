#include "dsl/passes/scratch.h"

#include <fmt/format.h>

namespace tile::passes {

using namespace ir;

namespace {

unsigned element_bits(const Type& t) { return t.is_ptr() ? 64 : bit_width(t.dtype); }
unsigned element_bytes(const Type& t) { return t.is_ptr() ? 8 : buffer_bytes(t.dtype); }
size_t align16(size_t n) { return (n + 15) / 16 * 16; }

}  // namespace

size_t shared_memory_limit(const Kernel& k) {
  size_t all = tile::info(k.arch).lds_bytes;
  return k.is_wave ? all / k.waves / 16 * 16 : all;
}

Result<layout::ConversionPlan> conversion_plan(const Kernel& k, const Op& convert) {
  const LinearLayout &from = *k.value(convert.operands[0]).layout, &to = *k.value(convert.results[0]).layout;
  layout::ConversionOptions options;
  options.max_scratch_bytes = std::min<size_t>(options.max_scratch_bytes, shared_memory_limit(k) / 2);
  auto plan = layout::plan_conversion(from, to, element_bits(k.type(convert.results[0])), k.arch, options);
  // Waves that act as another one use its part of the scratch: program order inside of a wave is not enough.
  if (plan.ok() && plan->shared && layout_waves(k) != k.waves && !k.is_wave) plan->shared->wave_local = false;
  return plan;
}

ReduceScratch reduce_scratch(const Kernel& k, const Op& reduce) {
  ReduceScratch s;
  const Type& t = k.type(reduce.operands[0]);
  const LinearLayout& l = *k.value(reduce.operands[0]).layout;
  unsigned axis = static_cast<unsigned>(reduce.get_int(AttrKey::Axis));
  auto steps = reduce_steps(l, axis, reduce.get_ints(AttrKey::Order));
  if (!steps) return s;
  for (const ReduceStep& step : *steps)
    if (step.carrier.dim == layout::Dim::Wave) s.partials *= 2;
  layout::Shape shape = l.shape();
  for (unsigned i = 0; i < shape.size(); ++i)
    if (i != axis) s.elements *= static_cast<size_t>(shape[i]);
  s.elem_bytes = element_bytes(t);
  if (s.partials == 1) return s;
  s.bytes = align16(s.partials * s.elements * s.elem_bytes);
  if (reduce.kind == OpKind::ArgReduce) {
    s.index_offset = s.bytes;
    s.bytes = align16(s.bytes + s.partials * s.elements * 4);
  }
  return s;
}

size_t reshape_scratch(const Kernel& k, const Op& reshape) {
  const Type &from = k.type(reshape.operands[0]), &to = k.type(reshape.results[0]);
  const LinearLayout &l = *k.value(reshape.operands[0]).layout, &result = *k.value(reshape.results[0]).layout;
  if (reshape_is_free(l, from.shape, to.shape) && layout::reshape(l, layout::padded_shape(extents(to.shape))) == result) return 0;
  return align16(static_cast<size_t>(to.shape.elements()) * element_bytes(to));
}

Result<Scratch> scratch_of(const Kernel& k, const Op& o) {
  // With waves that act as others do, program order inside of a wave is not enough.
  bool whole = layout_waves(k) == k.waves || k.is_wave;
  bool single = k.waves == 1 || k.is_wave;
  if (o.kind == OpKind::ConvertLayout) {
    auto plan = conversion_plan(k, o);
    if (!plan) return plan.error();
    return Scratch{align16(plan->scratch_bytes()), plan->shared && plan->shared->wave_local && whole};
  }
  if (o.kind == OpKind::Reduce || o.kind == OpKind::ArgReduce) return Scratch{reduce_scratch(k, o).bytes, single};
  if (o.kind == OpKind::Reshape) return Scratch{reshape_scratch(k, o), single};
  return Scratch{};
}

}  // namespace tile::passes
