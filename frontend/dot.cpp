// dot: matrix instructions, or a plain chain of fma, in the order that fix_values set.
#include <fmt/format.h>

#include <map>

#include "frontend/amdgpu/mfma.h"
#include "frontend/lowering.h"

namespace tile::frontend {

using namespace llvm;
using layout::Dim;
using layout::tile_dim;

namespace {

// An operand of a matrix instruction: registers are elements of a step, steps, and repetitions along the other axis.
class Operand {
 public:
  Operand(Lowering& l, ir::ValueId v, unsigned elements, unsigned k_axis) : l_(l), layout_(l.layout(v)), regs_(l.regs(v)), elements_(elements), k_axis_(k_axis) {
    k_ = l.k.type(v).shape[k_axis];
    type_ = l.type(l.dtype(v));
    unsigned first = std::countr_zero(elements);
    while (first + step_bits_ < layout_.in().bits(Dim::Register) && layout_.basis(Dim::Register, first + step_bits_, tile_dim(k_axis)) != 0) ++step_bits_;
    for (unsigned r = 0; r < layout_.num_registers(); r += elements << step_bits_) repetition_[place(r)] = r;
  }

  unsigned steps() const { return 1u << step_bits_; }

  // True if any lane has an element of the tile in that step.
  bool has_elements(unsigned step) const {
    unsigned free = Lowering::thread_bits(layout_, k_axis_);
    for (unsigned e = 0; e < elements_; ++e)
      if (smallest(Lowering::register_coord(layout_, step * elements_ + e, k_axis_), free) < k_) return true;
    return false;
  }

  // Elements of the instruction at coordinate `other` of the other axis, with +0 beyond the tile's K.
  Regs step(unsigned other, unsigned step) const {
    unsigned r = repetition_.at(other) + step * elements_;
    Regs out(regs_.begin() + r, regs_.begin() + r + elements_);
    if (layout_.shape()[k_axis_] == k_) return out;
    for (unsigned e = 0; e < elements_; ++e) {
      Value* in = l_.b.CreateICmpULT(l_.coord(layout_, r + e, k_axis_), l_.i32(k_));
      out[e] = l_.b.CreateSelect(in, out[e], Constant::getNullValue(type_));
    }
    return out;
  }

 private:
  unsigned place(unsigned r) const { return Lowering::register_coord(layout_, r, 1 - k_axis_); }
  // Lanes cover `free` bits of the coordinate, in all combinations.
  static int64_t smallest(unsigned coord, unsigned free) { return coord & ~free; }

  Lowering& l_;
  const LinearLayout& layout_;
  const Regs& regs_;
  unsigned elements_, k_axis_, step_bits_ = 0;
  int64_t k_ = 0;
  Type* type_ = nullptr;
  std::map<unsigned, unsigned> repetition_;  // coordinate of the other axis -> first register
};

Status lower_mfma(Lowering& l, const ir::Op& o, MfmaId id) {
  if (!exists_on(id, l.k.arch)) return l.failure(o, fmt::format("{} does not have {}", name(l.k.arch), info(id).kind));
  Operand a(l, o.operands[0], a_elements(id), 1), b(l, o.operands[1], b_elements(id), 0);
  const LinearLayout& at = l.layout(o.results[0]);
  unsigned n = d_elements(id);
  Regs out = l.regs(o.operands[2]);
  DType a_type = l.dtype(o.operands[0]), b_type = l.dtype(o.operands[1]);
  // Steps outside: neighbouring instructions do not wait for each other.
  for (unsigned step = 0; step < a.steps(); ++step) {
    if (!a.has_elements(step)) continue;
    for (unsigned r = 0; r < at.num_registers(); r += n) {
      Regs d = emit_mfma(l, id, a_type, b_type, a.step(Lowering::register_coord(at, r, 0), step), b.step(Lowering::register_coord(at, r, 1), step),
                         ArrayRef<Value*>(out).slice(r, n));
      std::copy(d.begin(), d.end(), out.begin() + r);
    }
  }
  l.set(o.results[0], std::move(out));
  return Unit{};
}

// The stream of K: numbers in the machine's order to the tile's k.
std::vector<unsigned> chain_order(const ir::Op& o, unsigned k) {
  std::vector<int64_t> bits = o.get_ints(AttrKey::KBits);
  std::vector<unsigned> order;
  unsigned length = bits.empty() ? k : 1u << bits.size();
  for (unsigned s = 0; s < length; ++s) {
    unsigned at = bits.empty() ? s : 0;
    for (size_t i = 0; i < bits.size(); ++i) at |= (s >> i & 1) << bits[i];
    if (at < k) order.push_back(at);
  }
  return order;
}

Status lower_chain(Lowering& l, const ir::Op& o) {
  const LinearLayout& at = l.layout(o.results[0]);
  DType t = l.dtype(o.results[0]), ta = l.dtype(o.operands[0]), tb = l.dtype(o.operands[1]);
  auto k = static_cast<unsigned>(l.k.type(o.operands[0]).shape[1]);
  unsigned k_bits = ir::axis_bits(k);
  auto wide = [&](const Regs& regs, DType from) {
    Regs out;
    for (Value* v : regs) out.push_back(emit_cast(l, v, from, t, false, true));
    return out;
  };
  Regs a = wide(l.regs(o.operands[0]), ta), b = wide(l.regs(o.operands[1]), tb), out = l.regs(o.operands[2]);
  std::vector<unsigned> rows = layout::kept_registers(at, 1), columns = layout::kept_registers(at, 0);
  for (unsigned x : chain_order(o, k)) {
    for (unsigned r = 0; r < out.size(); ++r) {
      Value *va = a[kept_bits(r, rows) << k_bits | x], *vb = b[kept_bits(r, columns) << k_bits | x];
      if (is_float(t)) {
        out[r] = emit_elementwise(l, OpKind::FmaF, t, {va, vb, out[r]});
      } else {
        out[r] = l.b.CreateAdd(out[r], l.b.CreateMul(va, vb));
      }
    }
  }
  l.set(o.results[0], std::move(out));
  return Unit{};
}

}  // namespace

Status lower_dot(Lowering& l, const ir::Op& o) {
  if (std::optional<MfmaId> id = ir::mfma_of(o)) return lower_mfma(l, o, *id);
  return lower_chain(l, o);
}

}  // namespace tile::frontend
