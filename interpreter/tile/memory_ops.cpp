#include "interpreter/tile/memory_ops.h"

#include <fmt/format.h>

#include <cstring>

#include "interpreter/tile/access.h"
#include "interpreter/tile/check.h"
#include "interpreter/tile/group.h"

namespace tile::interp {
namespace {

// a * b + c modulo 2^64.
int64_t wrap_madd(int64_t a, int64_t b, int64_t c) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b) + static_cast<uint64_t>(c));
}

// Index values as int64; a u64 beyond int64 is outside of every view, as is -1.
template <class T>
void widen_indices(const void* src, int64_t stride, int64_t* dst, int64_t n) {
  const T* p = static_cast<const T*>(src);
  for (int64_t i = 0; i < n; ++i) {
    dst[i] = static_cast<int64_t>(p[i * stride]);
    if (sizeof(T) == 8 && !std::is_signed_v<T> && dst[i] < 0) dst[i] = -1;
  }
}

void widen_indices(DType t, const void* src, int64_t stride, int64_t* dst, int64_t n) {
  switch (t) {
    case DType::I8: return widen_indices<int8_t>(src, stride, dst, n);
    case DType::I16: return widen_indices<int16_t>(src, stride, dst, n);
    case DType::I32: return widen_indices<int32_t>(src, stride, dst, n);
    case DType::I64: return widen_indices<int64_t>(src, stride, dst, n);
    case DType::U16: return widen_indices<uint16_t>(src, stride, dst, n);
    case DType::U32: return widen_indices<uint32_t>(src, stride, dst, n);
    case DType::U64: return widen_indices<uint64_t>(src, stride, dst, n);
    default: return widen_indices<uint8_t>(src, stride, dst, n);
  }
}

bool is_consecutive_i32(const int32_t* p, int64_t n) {
  uint32_t wrong = 0, first = static_cast<uint32_t>(p[0]);
  for (int64_t i = 1; i < n; ++i) wrong |= static_cast<uint32_t>(p[i]) ^ (first + static_cast<uint32_t>(i));
  return wrong == 0 && p[0] <= p[n - 1];
}

struct DimList {
  unsigned list[ViewState::max_rank], n = 0;
  void push_back(unsigned d) { list[n++] = d; }
  const unsigned* begin() const { return list; }
  const unsigned* end() const { return list + n; }
  unsigned operator[](unsigned i) const { return list[i]; }
  unsigned size() const { return n; }
};

// Where the elements of one row of the tile (its last axis) are in the view.
struct RowPlan {
  bool regular = true;      // offset = first + j * step, valid in [lo, hi)
  int64_t first = 0, step = 0, lo = 0, hi = 0;
  int64_t* offset = nullptr;  // else: per element
  uint8_t* valid = nullptr;
};

class RowWalker {
 public:
  RowWalker(Worker& w, const ViewAccess& a) : w_(w), a_(a), view_(*w.at<ViewState>(a.view)) {
    length_ = a.rank == 0 ? 1 : a.shape[a.rank - 1];
    for (unsigned d = 0; d < a.index.size(); ++d) {
      const ViewAccess::Index& x = a.index[d];
      bool inner = a.rank > 0 && x.stride[a.rank - 1] != 0;
      (inner ? inner_ : outer_).push_back(d);
      for (unsigned axis = 0; inner && axis + 1 < a.rank; ++axis) depends_ |= x.stride[axis] != 0;
    }
  }

  // Calls f(first element of the row, row is inside at all, plan, offset of the row in elements) until it is false.
  template <class F>
  void walk(const F& f) {
    int64_t coord[ir::Shape::max_rank] = {};
    int64_t rows = a_.elements / length_;
    // Offsets and validity of irregular rows, and index values while they are made.
    size_t n = static_cast<size_t>(length_);
    std::byte* room = w_.need_scratch(n * (2 * sizeof(int64_t) + 1));
    plan_.offset = reinterpret_cast<int64_t*>(room);
    values_ = plan_.offset + n;
    plan_.valid = reinterpret_cast<uint8_t*>(values_ + n);
    if (!depends_) make_plan(coord);
    for (int64_t r = 0; r < rows; ++r) {
      bool inside = true;
      int64_t offset = 0;
      for (unsigned d : outer_) {
        int64_t i;
        widen_indices(a_.index[d].dtype, element(d, coord), 1, &i, 1);
        inside &= i >= 0 && i < view_.extent[d];
        offset = wrap_madd(i, view_.stride[d], offset);
      }
      if (depends_) make_plan(coord);
      if (!f(r * length_, inside, plan_, offset)) return;
      for (unsigned axis = a_.rank; axis-- > 0;) {
        if (axis + 1 == a_.rank) continue;
        if (++coord[axis] < a_.shape[axis]) break;
        coord[axis] = 0;
      }
    }
  }

  int64_t length() const { return length_; }
  const ViewState& view() const { return view_; }

 private:
  const std::byte* element(unsigned d, const int64_t* coord) const {
    const ViewAccess::Index& x = a_.index[d];
    int64_t at = 0;
    for (unsigned axis = 0; axis + 1 < a_.rank; ++axis) at += coord[axis] * x.stride[axis];
    return w_.at(x.ref) + at * buffer_bytes(x.dtype);
  }

  void make_plan(const int64_t* coord) {
    plan_.regular = true;
    plan_.first = plan_.step = 0;
    plan_.lo = 0;
    plan_.hi = length_;
    if (inner_.size() == 0) return;
    if (inner_.size() == 1 && consecutive(inner_[0], coord)) return;
    plan_.regular = false;
    std::fill_n(plan_.offset, length_, 0);
    std::fill_n(plan_.valid, length_, 1);
    for (unsigned d : inner_) {
      widen_indices(a_.index[d].dtype, element(d, coord), a_.index[d].stride[a_.rank - 1], values_, length_);
      for (int64_t j = 0; j < length_; ++j) {
        plan_.valid[j] &= values_[j] >= 0 && values_[j] < view_.extent[d];
        plan_.offset[j] = wrap_madd(values_[j], view_.stride[d], plan_.offset[j]);
      }
    }
  }

  bool consecutive(unsigned d, const int64_t* coord) {
    const ViewAccess::Index& x = a_.index[d];
    if (x.stride[a_.rank - 1] != 1) return false;
    const std::byte* p = element(d, coord);
    int64_t first;
    if (x.dtype == DType::I32) {
      if (!is_consecutive_i32(reinterpret_cast<const int32_t*>(p), length_)) return false;
      first = *reinterpret_cast<const int32_t*>(p);
    } else {
      widen_indices(x.dtype, p, 1, values_, length_);
      for (int64_t j = 1; j < length_; ++j)
        if (static_cast<uint64_t>(values_[j]) != static_cast<uint64_t>(values_[0]) + static_cast<uint64_t>(j)) return false;
      first = values_[0];
      if (first > 0 && values_[length_ - 1] < 0) return false;
    }
    plan_.first = wrap_madd(first, view_.stride[d], 0);
    plan_.step = view_.stride[d];
    plan_.hi = 0;
    if (first <= -length_ || first >= view_.extent[d]) return true;
    plan_.lo = first < 0 ? -first : 0;
    plan_.hi = std::min(view_.extent[d] - std::max(first, -length_), length_);
    plan_.lo = std::min(plan_.lo, plan_.hi);
    return true;
  }

  Worker& w_;
  const ViewAccess& a_;
  const ViewState& view_;
  int64_t length_ = 1;
  bool depends_ = false;  // rows differ in more than their offset
  DimList inner_, outer_;
  RowPlan plan_;
  int64_t* values_ = nullptr;
};

// Keeps accesses inside of the arrays; remembers the last one.
class Guard {
 public:
  Guard(Worker& w, bool write) : w_(w), write_(write) {}
  bool allows(uint64_t address, uint64_t bytes) {
    if (last_ && address >= last_->begin && bytes <= last_->end - last_->begin &&
        address - last_->begin <= last_->end - last_->begin - bytes)
      return true;
    const Allocation* a = w_.memory->find(address, bytes, write_);
    if (!a) {
      w_.fail(fmt::format("{} of {} byte{} at address {:#x} is outside of every argument{}", write_ ? "store" : "load", bytes,
                          bytes == 1 ? "" : "s", address, nearest(address)));
      return false;
    }
    if (write_ && !a->writable) {
      w_.fail(fmt::format("store to argument '{}', which is read-only", w_.code->kernel.params[a->param].name));
      return false;
    }
    last_ = a;
    return true;
  }

 private:
  std::string nearest(uint64_t address) const {
    const Allocation* best = nullptr;
    uint64_t distance = UINT64_MAX;
    for (const Allocation& a : w_.memory->all()) {
      uint64_t d = address < a.begin ? a.begin - address : address - a.end;
      if (address >= a.begin && address < a.end) d = 0;
      if (d < distance) distance = d, best = &a;
    }
    if (!best || distance > 1u << 20) return "";
    auto delta = static_cast<int64_t>(address - best->begin);
    return fmt::format("; it is byte {} of '{}', which has {}", delta, w_.code->kernel.params[best->param].name,
                       best->end - best->begin);
  }

  Worker& w_;
  bool write_;
  const Allocation* last_ = nullptr;
};

// The range of bytes that elements first, first + step, ... (n of them) take, checked as a whole.
bool allow_span(Guard& guard, const ElementAccess& e, uint64_t base, int64_t first, int64_t step, int64_t n) {
  int64_t last = wrap_madd(step, n - 1, first);
  int64_t low = step < 0 ? last : first, high = step < 0 ? first : last;
  uint64_t begin = e.address(base, low), end = e.address(base, high) + e.bytes(high);
  // Elements far apart may have unrelated addresses (modulo 2^64): then one at a time.
  if (end - begin < (uint64_t{1} << 40)) return guard.allows(begin, end - begin);
  for (int64_t j = 0; j < n; ++j) {
    int64_t o = wrap_madd(step, j, first);
    if (!guard.allows(e.address(base, o), e.bytes(o))) return false;
  }
  return true;
}

template <class T>
void copy_strided(const T* src, int64_t src_step, T* dst, int64_t dst_step, int64_t n) {
  for (int64_t j = 0; j < n; ++j) dst[j * dst_step] = src[j * src_step];
}

// n elements of 1, 2, 4 or 8 bytes, each so many elements after the one before.
void copy_strided(unsigned size, const void* src, int64_t src_step, void* dst, int64_t dst_step, int64_t n) {
  switch (size) {
    case 1: return copy_strided(static_cast<const uint8_t*>(src), src_step, static_cast<uint8_t*>(dst), dst_step, n);
    case 2: return copy_strided(static_cast<const uint16_t*>(src), src_step, static_cast<uint16_t*>(dst), dst_step, n);
    case 4: return copy_strided(static_cast<const uint32_t*>(src), src_step, static_cast<uint32_t*>(dst), dst_step, n);
    default: return copy_strided(static_cast<const uint64_t*>(src), src_step, static_cast<uint64_t*>(dst), dst_step, n);
  }
}

// Addresses that are multiples of the element's size take the loops above.
bool is_plain(const ElementAccess& e, uint64_t base) { return !e.packed && base % e.size == 0; }

class ViewLoader {
 public:
  ViewLoader(Worker& w, const ViewAccess& a) : w_(w), a_(a), e_(a.dtype), guard_(w, false), out_(w.at(a.value)) {
    if (a.has_other) other_ = w.at(a.other);
  }
  bool row(int64_t start, bool inside, const RowPlan& p, int64_t offset, int64_t n, uint64_t base) {
    if (!inside) return outside(start, 0, n), true;
    if (!p.regular) return irregular(start, p, offset, n, base);
    outside(start, 0, p.lo);
    outside(start, p.hi, n);
    int64_t count = p.hi - p.lo;
    if (count == 0) return true;
    int64_t first = wrap_madd(p.lo, p.step, wrap_madd(1, offset, p.first));
    if (!allow_span(guard_, e_, base, first, p.step, count)) return false;
    std::byte* dst = out_ + (start + p.lo) * e_.size;
    if (w_.check) note(base, first, p.step, start + p.lo, count);
    if (p.step == 1 && !e_.packed && !e_.boolean) {
      std::memcpy(dst, reinterpret_cast<const void*>(e_.address(base, first)), static_cast<size_t>(count) * e_.size);
    } else if (is_plain(e_, base) && !e_.boolean) {
      copy_strided(e_.size, reinterpret_cast<const void*>(e_.address(base, first)), p.step, dst, 1, count);
    } else {
      for (int64_t j = 0; j < count; ++j) e_.load(base, wrap_madd(j, p.step, first), dst + j * e_.size);
    }
    return true;
  }

 private:
  bool irregular(int64_t start, const RowPlan& p, int64_t offset, int64_t n, uint64_t base) {
    for (int64_t j = 0; j < n; ++j) {
      if (!p.valid[j]) {
        outside(start, j, j + 1);
        continue;
      }
      int64_t at = wrap_madd(1, offset, p.offset[j]);
      if (!guard_.allows(e_.address(base, at), e_.bytes(at))) return false;
      if (w_.check) note(base, at, 1, start + j, 1);
      e_.load(base, at, out_ + (start + j) * e_.size);
    }
    return true;
  }
  void outside(int64_t start, int64_t lo, int64_t hi) {
    if (lo >= hi) return;
    std::byte* dst = out_ + (start + lo) * e_.size;
    size_t bytes = static_cast<size_t>(hi - lo) * e_.size;
    if (!a_.has_other) std::memset(dst, 0, bytes);
    else if (a_.other_is_tile) std::memcpy(dst, other_ + (start + lo) * e_.size, bytes);
    else fill_elements(other_, dst, e_.size, static_cast<uint64_t>(hi - lo));
    if (w_.check) note_other(start, lo, hi);
  }
  void note(uint64_t base, int64_t first, int64_t step, int64_t element, int64_t n) {
    for (int64_t j = 0; j < n; ++j) {
      int64_t at = wrap_madd(j, step, first);
      check_load(w_, e_.address(base, at), e_.bytes(at), element + j);
      w_.shadow(a_.value)[element + j] = 0;
    }
  }
  void note_other(int64_t start, int64_t lo, int64_t hi) {
    for (int64_t j = lo; j < hi; ++j)
      w_.shadow(a_.value)[start + j] = a_.has_other ? w_.shadow(a_.other)[a_.other_is_tile ? start + j : 0] : 0;
  }

  Worker& w_;
  const ViewAccess& a_;
  ElementAccess e_;
  Guard guard_;
  std::byte* out_;
  const std::byte* other_ = nullptr;
};

// Reports stores to whoever watches them; called before the bytes change.
void note_store(Worker& w, const ElementAccess& e, uint64_t base, int64_t at, const std::byte* value, int64_t element, const Ref& ref) {
  uint64_t address = e.address(base, at);
  if (w.check) check_store(w, address, e.bytes(at), e.packed ? nullptr : value, element, w.shadow(ref)[element] != 0);
}

class ViewStorer {
 public:
  ViewStorer(Worker& w, const ViewAccess& a)
      : w_(w), a_(a), e_(a.dtype), guard_(w, true), in_(w.at(a.value)), watched_(w.check || w.options->on_store) {}
  bool row(int64_t start, bool inside, const RowPlan& p, int64_t offset, int64_t n, uint64_t base) {
    if (!inside) return true;
    if (!p.regular) {
      for (int64_t j = 0; j < n; ++j)
        if (p.valid[j] && !one(base, wrap_madd(1, offset, p.offset[j]), start + j)) return false;
      return true;
    }
    int64_t count = p.hi - p.lo;
    if (count == 0) return true;
    int64_t first = wrap_madd(p.lo, p.step, wrap_madd(1, offset, p.first));
    if (!allow_span(guard_, e_, base, first, p.step, count)) return false;
    const std::byte* src = in_ + (start + p.lo) * e_.size;
    if (p.step == 1 && !e_.packed && !watched_) {
      std::memcpy(reinterpret_cast<void*>(e_.address(base, first)), src, static_cast<size_t>(count) * e_.size);
      return true;
    }
    if (is_plain(e_, base) && !watched_) {
      copy_strided(e_.size, src, 1, reinterpret_cast<void*>(e_.address(base, first)), p.step, count);
      return true;
    }
    for (int64_t j = 0; j < count; ++j)
      if (!one(base, wrap_madd(j, p.step, first), start + p.lo + j)) return false;
    return true;
  }
  bool one(uint64_t base, int64_t at, int64_t element) {
    if (!guard_.allows(e_.address(base, at), e_.bytes(at))) return false;
    const std::byte* src = in_ + element * e_.size;
    if (w_.check) note_store(w_, e_, base, at, src, element, a_.value);
    e_.store(base, at, src);
    if (w_.options->on_store)
      w_.options->on_store({w_.program, w_.code->instrs[w_.pc - 1].op, element,
                            reinterpret_cast<const void*>(e_.address(base, at)), e_.bytes(at)});
    return true;
  }

 private:
  Worker& w_;
  const ViewAccess& a_;
  ElementAccess e_;
  Guard guard_;
  const std::byte* in_;
  bool watched_;
};

// Poisoned indices are reported once a load or store.
void check_indices(Worker& w, const ViewAccess& a) {
  for (const ViewAccess::Index& x : a.index) {
    int64_t n = 1;
    for (unsigned axis = 0; axis < a.rank; ++axis)
      if (x.stride[axis] != 0) n *= a.shape[axis];
    check_poison(w, w.shadow(x.ref), n, "an index");
  }
}

bool all_consecutive(const uint64_t* p, int64_t n, uint64_t size) {
  uint64_t wrong = 0;
  for (int64_t i = 1; i < n; ++i) wrong |= p[i] ^ (p[0] + static_cast<uint64_t>(i) * size);
  return wrong == 0;
}

bool all_true(const uint8_t* mask, int64_t n) { return std::memchr(mask, 0, static_cast<size_t>(n)) == nullptr; }

}  // namespace

void run_make_view(Worker& w, const void* payload) {
  const MakeView& m = *static_cast<const MakeView*>(payload);
  ViewState v{};
  v.base = *w.at<uint64_t>(m.base);
  for (unsigned d = 0; d < m.rank; ++d) {
    v.extent[d] = read_int(w.at(m.extents[d]), m.extent_types[d]);
    v.stride[d] = read_int(w.at(m.strides[d]), m.stride_types[d]);
  }
  std::memcpy(w.at(m.dst), &v, sizeof v);
}

void run_load_view(Worker& w, const void* payload) {
  const ViewAccess& a = *static_cast<const ViewAccess*>(payload);
  if (w.check) check_indices(w, a);
  RowWalker walker(w, a);
  ViewLoader loader(w, a);
  walker.walk([&](int64_t start, bool inside, const RowPlan& p, int64_t offset) {
    return loader.row(start, inside, p, offset, walker.length(), walker.view().base);
  });
}

void run_store_view(Worker& w, const void* payload) {
  const ViewAccess& a = *static_cast<const ViewAccess*>(payload);
  if (w.check) check_indices(w, a);
  RowWalker walker(w, a);
  ViewStorer storer(w, a);
  walker.walk([&](int64_t start, bool inside, const RowPlan& p, int64_t offset) {
    return storer.row(start, inside, p, offset, walker.length(), walker.view().base);
  });
}

void run_in_bounds(Worker& w, const void* payload) {
  const ViewAccess& a = *static_cast<const ViewAccess*>(payload);
  RowWalker walker(w, a);
  uint8_t* out = w.at<uint8_t>(a.value);
  int64_t n = walker.length();
  walker.walk([&](int64_t start, bool inside, const RowPlan& p, int64_t) {
    for (int64_t j = 0; j < n; ++j) out[start + j] = inside && (p.regular ? j >= p.lo && j < p.hi : p.valid[j] != 0);
    return true;
  });
  if (w.check) std::memset(w.shadow(a.value), 0, static_cast<size_t>(a.elements));
}

void run_load(Worker& w, const void* payload) {
  const PointerAccess& a = *static_cast<const PointerAccess*>(payload);
  ElementAccess e(a.dtype);
  Guard guard(w, false);
  const uint64_t* p = w.at<uint64_t>(a.pointers);
  const uint8_t* mask = a.has_mask ? w.at<uint8_t>(a.mask) : nullptr;
  std::byte* out = w.at(a.value);
  if (!w.check && !e.boolean && (!mask || (a.mask_is_tile ? all_true(mask, a.elements) : mask[0] != 0)) &&
      all_consecutive(p, a.elements, e.size)) {
    uint64_t bytes = static_cast<uint64_t>(a.elements) * e.size;
    if (guard.allows(p[0], bytes)) std::memcpy(out, reinterpret_cast<const void*>(p[0]), bytes);
    return;
  }
  for (int64_t i = 0; i < a.elements; ++i) {
    std::byte* dst = out + i * e.size;
    uint8_t poison = 0;
    if (mask && mask[a.mask_is_tile ? i : 0] == 0) {
      if (a.has_other) e.copy(w.at(a.other) + (a.other_is_tile ? i : 0) * e.size, dst);
      else std::memset(dst, 0, e.size);
      if (w.check) poison = a.has_other ? w.shadow(a.other)[a.other_is_tile ? i : 0] : 1;
    } else {
      if (w.check) {
        check_poison(w, w.shadow(a.pointers) + i, 1, "an address");
        if (mask) check_poison(w, w.shadow(a.mask) + (a.mask_is_tile ? i : 0), 1, "a mask");
      }
      if (!guard.allows(p[i], e.size)) return;
      if (w.check) check_load(w, p[i], e.size, i);
      e.load(p[i], 0, dst);
    }
    if (w.check) w.shadow(a.value)[i] = poison;
  }
}

void run_store(Worker& w, const void* payload) {
  const PointerAccess& a = *static_cast<const PointerAccess*>(payload);
  ElementAccess e(a.dtype);
  Guard guard(w, true);
  const uint64_t* p = w.at<uint64_t>(a.pointers);
  const uint8_t* mask = a.has_mask ? w.at<uint8_t>(a.mask) : nullptr;
  const std::byte* in = w.at(a.value);
  bool watched = w.check || w.options->on_store;
  if (!watched && (!mask || (a.mask_is_tile ? all_true(mask, a.elements) : mask[0] != 0)) &&
      all_consecutive(p, a.elements, e.size)) {
    uint64_t bytes = static_cast<uint64_t>(a.elements) * e.size;
    if (guard.allows(p[0], bytes)) std::memcpy(reinterpret_cast<void*>(p[0]), in, bytes);
    return;
  }
  for (int64_t i = 0; i < a.elements; ++i) {
    if (w.check && mask) check_poison(w, w.shadow(a.mask) + (a.mask_is_tile ? i : 0), 1, "a mask");
    if (mask && mask[a.mask_is_tile ? i : 0] == 0) continue;
    if (w.check) check_poison(w, w.shadow(a.pointers) + i, 1, "an address");
    if (!guard.allows(p[i], e.size)) return;
    const std::byte* src = in + i * e.size;
    if (w.check) note_store(w, e, p[i], 0, src, i, a.value);
    e.store(p[i], 0, src);
    if (w.options->on_store)
      w.options->on_store({w.program, w.code->instrs[w.pc - 1].op, i, reinterpret_cast<const void*>(p[i]), e.size});
  }
}

}  // namespace tile::interp
