#include "interpreter/tile/group.h"

#include <cstring>

namespace tile::interp {
namespace {

template <class T>
void add_typed(const uint64_t* p, const void* offsets, uint64_t* dst, uint64_t size, size_t n) {
  const T* o = static_cast<const T*>(offsets);
  for (size_t i = 0; i < n; ++i) dst[i] = p[i] + static_cast<uint64_t>(static_cast<int64_t>(o[i])) * size;
}

void run_step(Worker& w, const Step& s, uint64_t start, uint64_t n) {
  auto pointer = [&](const StepOperand& o) { return w.at(o.ref) + start * o.stride; };
  std::byte* dst = pointer(s.out);
  switch (s.kind) {
    case Step::Kind::Kernel: return s.kernel(pointer(s.in[0]), pointer(s.in[1]), pointer(s.in[2]), dst, n);
    case Step::Kind::Convert: return num::convert(s.from, s.to, s.mode, pointer(s.in[0]), dst, n);
    case Step::Kind::Broadcast:
      return broadcast_range(s.plan, w.at(s.in[0].ref), dst, s.size, static_cast<int64_t>(start), static_cast<int64_t>(n));
    case Step::Kind::AddPtr: return add_pointers(s.from, pointer(s.in[0]), pointer(s.in[1]), dst, s.size, n);
    case Step::Kind::Copy: std::memcpy(dst, pointer(s.in[0]), n * s.size); return;
  }
}

template <class T>
void fill_typed(const void* src, void* dst, uint64_t count) {
  T x;
  std::memcpy(&x, src, sizeof x);
  std::fill_n(static_cast<T*>(dst), count, x);
}

template <class T>
void gather_row(const T* src, T* dst, int64_t stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dst[i] = src[i * stride];
}

void copy_row(const std::byte* src, std::byte* dst, size_t size, int64_t stride, int64_t n) {
  if (stride == 1) {
    std::memcpy(dst, src, static_cast<size_t>(n) * size);
  } else if (stride == 0) {
    fill_elements(src, dst, size, static_cast<uint64_t>(n));
  } else {
    switch (size) {
      case 1: gather_row(reinterpret_cast<const uint8_t*>(src), reinterpret_cast<uint8_t*>(dst), stride, n); break;
      case 2: gather_row(reinterpret_cast<const uint16_t*>(src), reinterpret_cast<uint16_t*>(dst), stride, n); break;
      case 4: gather_row(reinterpret_cast<const uint32_t*>(src), reinterpret_cast<uint32_t*>(dst), stride, n); break;
      default: gather_row(reinterpret_cast<const uint64_t*>(src), reinterpret_cast<uint64_t*>(dst), stride, n); break;
    }
  }
}

}  // namespace

void add_pointers(DType t, const void* p, const void* offsets, void* dst, uint64_t size, size_t n) {
  auto from = static_cast<const uint64_t*>(p);
  auto to = static_cast<uint64_t*>(dst);
  switch (buffer_bytes(t)) {
    case 1: return is_signed(t) ? add_typed<int8_t>(from, offsets, to, size, n) : add_typed<uint8_t>(from, offsets, to, size, n);
    case 2: return is_signed(t) ? add_typed<int16_t>(from, offsets, to, size, n) : add_typed<uint16_t>(from, offsets, to, size, n);
    case 4: return is_signed(t) ? add_typed<int32_t>(from, offsets, to, size, n) : add_typed<uint32_t>(from, offsets, to, size, n);
    default: return add_typed<int64_t>(from, offsets, to, size, n);
  }
}

void fill_elements(const void* src, void* dst, size_t size, uint64_t count) {
  switch (size) {
    case 1: return fill_typed<uint8_t>(src, dst, count);
    case 2: return fill_typed<uint16_t>(src, dst, count);
    case 4: return fill_typed<uint32_t>(src, dst, count);
    default: return fill_typed<uint64_t>(src, dst, count);
  }
}

void broadcast_range(const BroadcastPlan& p, const void* src, void* dst, size_t size, int64_t start, int64_t n) {
  int64_t row = p.rank == 0 ? 1 : p.shape[p.rank - 1];
  int64_t inner = p.rank == 0 ? 0 : p.stride[p.rank - 1];
  auto from = static_cast<const std::byte*>(src);
  auto to = static_cast<std::byte*>(dst);
  for (int64_t i = start, end = start + n; i < end;) {
    int64_t column = i % row, rest = i / row, offset = column * inner;
    for (unsigned a = p.rank; a-- > 0;) {
      if (a + 1 == p.rank) continue;
      offset += rest % p.shape[a] * p.stride[a];
      rest /= p.shape[a];
    }
    int64_t count = std::min(row - column, end - i);
    copy_row(from + offset * static_cast<int64_t>(size), to, size, inner, count);
    to += static_cast<size_t>(count) * size;
    i += count;
  }
}

void run_group(Worker& w, const void* payload) {
  const Group& g = *static_cast<const Group*>(payload);
  for (const Fill& f : g.fills) fill_elements(w.at(f.from), w.at(f.to), f.size, f.count);
  for (uint64_t start = 0; start < g.n; start += g.chunk) {
    uint64_t n = std::min(g.chunk, g.n - start);
    for (const Step& s : g.steps) run_step(w, s, start, n);
  }
}

void run_fill(Worker& w, const void* payload) {
  const Fill& f = *static_cast<const Fill*>(payload);
  fill_elements(w.at(f.from), w.at(f.to), f.size, f.count);
}

void run_transpose(Worker& w, const void* payload) {
  const Transpose& t = *static_cast<const Transpose*>(payload);
  BroadcastPlan plan;
  plan.rank = t.rank;
  int64_t n = 1;
  for (unsigned i = 0; i < t.rank; ++i) {
    plan.shape[i] = t.shape[i];
    plan.stride[i] = t.stride[i];
    n *= t.shape[i];
  }
  broadcast_range(plan, w.at(t.src), w.at(t.dst), t.size, 0, n);
}

void run_copies(Worker& w, const void* payload) {
  for (const Copy& c : static_cast<const Copies*>(payload)->list) {
    std::memcpy(w.at(c.dst), w.at(c.src), c.bytes);
    if (w.check) std::memcpy(w.shadow(c.dst), w.shadow(c.src), c.elements);
  }
}

}  // namespace tile::interp
