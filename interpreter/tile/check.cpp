#include "interpreter/tile/check.h"

#include <fmt/format.h>

#include <cstring>

#include "dsl/num/storage.h"

namespace tile::interp {

std::string_view name(CheckKind kind) {
  switch (kind) {
    case CheckKind::DivisionByZero: return "division by zero";
    case CheckKind::DivisionOverflow: return "division overflow";
    case CheckKind::WideShift: return "shift by the width or more";
    case CheckKind::PoisonUsed: return "use of a masked-off lane";
    case CheckKind::UninitialisedRead: return "read of uninitialised memory";
    case CheckKind::ConflictingStores: return "conflicting stores";
    case CheckKind::ReadOfOtherProgram: return "read of another program's store";
  }
  return "";
}

CheckState::CheckState(const MemoryMap& map) {
  for (const Allocation& a : map.all()) {
    Shadow s{a, std::vector<int64_t>(a.end - a.begin, 0), {}};
    if (a.uninitialised) s.defined.assign(a.end - a.begin, 0);
    memory.push_back(std::move(s));
  }
}

CheckState::Shadow* CheckState::find(uint64_t address) {
  for (Shadow& s : memory)
    if (address >= s.range.begin && address < s.range.end) return &s;
  return nullptr;
}

void report_check(Worker& w, CheckKind kind, int64_t element, const std::string& message) {
  ir::OpId op = w.code->instrs[w.pc - 1].op;
  auto [it, fresh] = w.check->index.try_emplace({op.index, kind}, w.check->found.size());
  if (!fresh) {
    ++w.check->found[it->second].count;
    return;
  }
  Range range = op.valid() ? w.code->kernel.op(op).range : Range{};
  w.check->found.push_back({kind, op, range, w.program, element, 1, message});
}

void check_poison(Worker& w, const uint8_t* shadow, int64_t n, const char* what) {
  for (int64_t i = 0; i < n; ++i)
    if (shadow[i]) report_check(w, CheckKind::PoisonUsed, i, fmt::format("{} depends on a masked-off lane of a load without `other`", what));
}

void check_load(Worker& w, uint64_t address, unsigned bytes, int64_t element) {
  CheckState::Shadow* s = w.check->find(address);
  if (!s) return;
  uint64_t at = address - s->range.begin;
  for (uint64_t b = at; b < at + bytes && b < s->writer.size(); ++b) {
    if (!s->defined.empty() && !s->defined[b]) {
      report_check(w, CheckKind::UninitialisedRead, element,
                   fmt::format("byte {} of '{}' is read before anything is stored there", b, w.code->kernel.params[s->range.param].name));
      break;
    }
    if (s->writer[b] != 0 && s->writer[b] != w.program + 1) {
      report_check(w, CheckKind::ReadOfOtherProgram, element,
                   fmt::format("byte {} of '{}' was stored by program {} of the same launch; the order of programs is not defined", b,
                               w.code->kernel.params[s->range.param].name, s->writer[b] - 1));
      break;
    }
  }
}

void check_store(Worker& w, uint64_t address, unsigned bytes, const void* value, int64_t element, bool poison) {
  if (poison)
    report_check(w, CheckKind::PoisonUsed, element, "the stored value depends on a masked-off lane of a load without `other`");
  for (unsigned i = 0; i < bytes; ++i) {
    CheckState::Shadow* s = w.check->find(address + i);
    if (!s) return;
    uint64_t at = address + i - s->range.begin;
    bool other = s->writer[at] != 0 && s->writer[at] != w.program + 1;
    if (other && value && static_cast<const uint8_t*>(value)[i] != *reinterpret_cast<const uint8_t*>(address + i)) {
      report_check(w, CheckKind::ConflictingStores, element,
                   fmt::format("programs {} and {} store different values to byte {} of '{}'", s->writer[at] - 1, w.program, at,
                               w.code->kernel.params[s->range.param].name));
    }
    s->writer[at] = w.program + 1;
    if (!s->defined.empty()) s->defined[at] = 1;
  }
}

namespace {

int64_t elements(const ir::Type& t) { return t.shape.elements(); }

bool any(const uint8_t* p, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    if (p[i]) return true;
  return false;
}

void shadow_elementwise(Worker& w, const ShadowOp& s) {
  uint8_t* out = w.shadow(s.results[0]);
  int64_t n = elements(s.result_types[0]);
  if (s.kind == OpKind::Where) {
    const uint8_t* cond = w.at<uint8_t>(s.operands[0]);
    const uint8_t *c = w.shadow(s.operands[0]), *a = w.shadow(s.operands[1]), *b = w.shadow(s.operands[2]);
    for (int64_t i = 0; i < n; ++i) out[i] = c[i] | (cond[i] ? a[i] : b[i]);
    return;
  }
  std::vector<uint8_t> sum(static_cast<size_t>(n), 0);
  for (const Ref& r : s.operands)
    for (int64_t i = 0; i < n; ++i) sum[static_cast<size_t>(i)] |= w.shadow(r)[i];
  std::copy(sum.begin(), sum.end(), out);
}

// Row-major strides of `from`, 0 on axes of extent 1 that `to` repeats.
void shadow_broadcast(Worker& w, const ShadowOp& s) {
  const ir::Shape &from = s.operand_types[0].shape, &to = s.result_types[0].shape;
  const uint8_t* in = w.shadow(s.operands[0]);
  uint8_t* out = w.shadow(s.results[0]);
  for (int64_t i = 0, n = to.elements(); i < n; ++i) {
    int64_t rest = i, at = 0, stride = 1;
    for (unsigned a = to.rank(); a-- > 0;) {
      int64_t c = rest % to[a];
      rest /= to[a];
      if (from[a] != 1) at += c * stride;
      stride *= from[a];
    }
    out[i] = in[at];
  }
}

void shadow_trans(Worker& w, const ShadowOp& s) {
  const ir::Shape &from = s.operand_types[0].shape, &to = s.result_types[0].shape;
  const uint8_t* in = w.shadow(s.operands[0]);
  uint8_t* out = w.shadow(s.results[0]);
  std::vector<int64_t> stride(from.rank(), 1);
  for (unsigned a = from.rank(); a-- > 1;) stride[a - 1] = stride[a] * from[a];
  for (int64_t i = 0, n = to.elements(); i < n; ++i) {
    int64_t rest = i, at = 0;
    for (unsigned a = to.rank(); a-- > 0;) {
      at += rest % to[a] * stride[static_cast<size_t>(s.perm[a])];
      rest /= to[a];
    }
    out[i] = in[at];
  }
}

void shadow_reduce(Worker& w, const ShadowOp& s) {
  const ir::Shape& from = s.operand_types[0].shape;
  const uint8_t* in = w.shadow(s.operands[0]);
  auto axis = static_cast<unsigned>(s.axis);
  int64_t inner = 1, outer = 1;
  for (unsigned a = 0; a < from.rank(); ++a) (a < axis ? outer : inner) *= a == axis ? 1 : from[a];
  for (const Ref& r : s.results) {
    uint8_t* out = w.shadow(r);
    std::memset(out, 0, static_cast<size_t>(outer * inner));
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t x = 0; x < from[axis]; ++x)
        for (int64_t i = 0; i < inner; ++i) out[o * inner + i] |= in[(o * from[axis] + x) * inner + i];
  }
}

void shadow_dot(Worker& w, const ShadowOp& s) {
  const ir::Shape &a = s.operand_types[0].shape, &b = s.operand_types[1].shape;
  int64_t m = a[0], k = a[1], n = b[1];
  const uint8_t *pa = w.shadow(s.operands[0]), *pb = w.shadow(s.operands[1]), *pc = w.shadow(s.operands[2]);
  std::vector<uint8_t> rows(static_cast<size_t>(m)), columns(static_cast<size_t>(n), 0);
  for (int64_t i = 0; i < m; ++i) rows[static_cast<size_t>(i)] = any(pa + i * k, k);
  for (int64_t x = 0; x < k; ++x)
    for (int64_t j = 0; j < n; ++j) columns[static_cast<size_t>(j)] |= pb[x * n + j];
  uint8_t* out = w.shadow(s.results[0]);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) out[i * n + j] = pc[i * n + j] | rows[static_cast<size_t>(i)] | columns[static_cast<size_t>(j)];
}

template <DType T>
void check_integers(Worker& w, const IntegerCheck& c) {
  using V = num::storage_t<T>;
  if constexpr (std::is_integral_v<V>) {
    const V *a = w.at<V>(c.a), *b = w.at<V>(c.b);
    bool shift = c.kind == OpKind::Shl || c.kind == OpKind::ShrS || c.kind == OpKind::ShrU;
    for (int64_t i = 0; i < c.n; ++i) {
      if (shift) {
        if (static_cast<std::make_unsigned_t<V>>(b[i]) >= 8 * sizeof(V))
          report_check(w, CheckKind::WideShift, i, fmt::format("a value of {} bits is shifted by {}", 8 * sizeof(V), b[i]));
      } else if (b[i] == 0) {
        report_check(w, CheckKind::DivisionByZero, i, fmt::format("{} is divided by zero", a[i]));
      } else if (std::is_signed_v<V> && b[i] == V(-1) && a[i] == std::numeric_limits<V>::min()) {
        report_check(w, CheckKind::DivisionOverflow, i, fmt::format("the quotient of {} and -1 is not representable", a[i]));
      }
    }
  }
}

}  // namespace

void run_shadow(Worker& w, const void* payload) {
  const ShadowOp& s = *static_cast<const ShadowOp*>(payload);
  switch (s.kind) {
    case OpKind::Broadcast: return shadow_broadcast(w, s);
    case OpKind::Trans: return shadow_trans(w, s);
    case OpKind::Reduce:
    case OpKind::ArgReduce: return shadow_reduce(w, s);
    case OpKind::Dot: return shadow_dot(w, s);
    case OpKind::Splat: {
      std::memset(w.shadow(s.results[0]), w.shadow(s.operands[0])[0], static_cast<size_t>(elements(s.result_types[0])));
      return;
    }
    default: return shadow_elementwise(w, s);
  }
}

bool has_integer_check(OpKind kind) {
  switch (kind) {
    case OpKind::DivS: case OpKind::DivU: case OpKind::RemS: case OpKind::RemU:
    case OpKind::Shl: case OpKind::ShrS: case OpKind::ShrU: return true;
    default: return false;
  }
}

void run_integer_check(Worker& w, const void* payload) {
  const IntegerCheck& c = *static_cast<const IntegerCheck*>(payload);
  num::visit_dtype(c.dtype, [&]<DType T>() { check_integers<T>(w, c); });
}

void run_condition_check(Worker& w, const void* payload) {
  const ConditionCheck& c = *static_cast<const ConditionCheck*>(payload);
  check_poison(w, w.shadow(c.value), c.n, "a condition");
}

}  // namespace tile::interp
