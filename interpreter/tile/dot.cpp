#include "interpreter/tile/dot.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "dsl/num/mfma.h"
#include "interpreter/tile/group.h"

namespace tile::interp {
namespace {

std::optional<MfmaId> find_mfma(std::string_view name) {
  for (const MfmaInfo& row : mfma_table)
    if (row.kind == name || row.intrinsic == name) return row.id;
  return std::nullopt;
}

// Machine positions of K in units of instructions of `step`; an instruction with nothing but padding is not executed.
std::vector<int64_t> stream_of(const std::vector<int64_t>& k_bits, int64_t k, int64_t step) {
  std::vector<int64_t> all;
  if (k_bits.empty()) {
    for (int64_t s = 0; s < (k + step - 1) / step * step; ++s) all.push_back(s < k ? s : -1);
    return all;
  }
  int64_t length = std::max(int64_t{1} << k_bits.size(), step);
  for (int64_t s = 0; s < length; ++s) {
    int64_t at = 0;
    for (size_t bit = 0; bit < k_bits.size(); ++bit) at |= (s >> bit & 1) << k_bits[bit];
    bool beyond = s >> k_bits.size() != 0 || at >= k;
    all.push_back(beyond ? -1 : at);
  }
  std::vector<int64_t> used;
  for (size_t s = 0; s < all.size(); s += static_cast<size_t>(step)) {
    auto first = all.begin() + static_cast<ptrdiff_t>(s), last = first + static_cast<ptrdiff_t>(step);
    if (std::any_of(first, last, [](int64_t x) { return x >= 0; })) used.insert(used.end(), first, last);
  }
  return used;
}

// Columns of a, or rows of b, in the order of the stream.
template <class T>
void gather_columns(const T* src, T* dst, const Dot& d) {
  size_t width = d.stream.size();
  for (int64_t i = 0; i < d.m; ++i)
    for (size_t s = 0; s < width; ++s)
      dst[static_cast<size_t>(i) * width + s] = d.stream[s] < 0 ? T{} : src[i * d.k + d.stream[s]];
}

void gather_columns(const std::byte* src, std::byte* dst, const Dot& d) {
  switch (buffer_bytes(d.a_type)) {
    case 1: return gather_columns(reinterpret_cast<const uint8_t*>(src), reinterpret_cast<uint8_t*>(dst), d);
    case 2: return gather_columns(reinterpret_cast<const uint16_t*>(src), reinterpret_cast<uint16_t*>(dst), d);
    case 4: return gather_columns(reinterpret_cast<const uint32_t*>(src), reinterpret_cast<uint32_t*>(dst), d);
    default: return gather_columns(reinterpret_cast<const uint64_t*>(src), reinterpret_cast<uint64_t*>(dst), d);
  }
}

void gather_rows(const std::byte* src, std::byte* dst, const Dot& d) {
  size_t row = static_cast<size_t>(d.n) * buffer_bytes(d.b_type);
  for (size_t s = 0; s < d.stream.size(); ++s) {
    if (d.stream[s] < 0) std::memset(dst + s * row, 0, row);
    else std::memcpy(dst + s * row, src + static_cast<size_t>(d.stream[s]) * row, row);
  }
}

size_t aligned(size_t bytes) { return (bytes + arena_align - 1) / arena_align * arena_align; }

std::byte* room_for(std::vector<std::byte>& scratch, size_t bytes) {
  if (scratch.size() < bytes + arena_align) scratch.resize(bytes + arena_align);
  return scratch.data() + (arena_align - reinterpret_cast<uintptr_t>(scratch.data()) % arena_align) % arena_align;
}

void run_mfma(const Dot& d, const std::byte* a, const std::byte* b, std::byte* c, std::vector<std::byte>& scratch) {
  size_t k = d.stream.size();
  if (!d.identity) {
    size_t a_bytes = aligned(static_cast<size_t>(d.m) * k * buffer_bytes(d.a_type));
    std::byte* room = room_for(scratch, a_bytes + k * static_cast<size_t>(d.n) * buffer_bytes(d.b_type));
    gather_columns(a, room, d);
    gather_rows(b, room + a_bytes, d);
    a = room;
    b = room + a_bytes;
  }
  num::MfmaDot dot{};
  dot.id = *d.mfma;
  dot.arch = d.arch;
  if (auto f = mfma_format(d.a_type)) dot.a_format = *f;
  if (auto f = mfma_format(d.b_type)) dot.b_format = *f;
  dot.m = static_cast<size_t>(d.m);
  dot.n = static_cast<size_t>(d.n);
  dot.k = k;
  dot.a = a, dot.lda = k;
  dot.b = b, dot.ldb = static_cast<size_t>(d.n);
  dot.c = c, dot.ldc = static_cast<size_t>(d.n);
  num::mfma_dot(dot);
}

// c[i, :] = fma(a[i, k], b[k, :], c[i, :]) along the stream.
void run_chain(const Dot& d, const std::byte* a_in, const std::byte* b_in, std::byte* c, std::vector<std::byte>& scratch) {
  auto n = static_cast<size_t>(d.n), m = static_cast<size_t>(d.m), k = static_cast<size_t>(d.k);
  size_t size = buffer_bytes(d.c_type);
  std::byte* a = room_for(scratch, aligned(m * k * size) + aligned(k * n * size) + 2 * aligned(n * size));
  std::byte* b = a + aligned(m * k * size);
  std::byte* repeated = b + aligned(k * n * size);
  std::byte* product = repeated + aligned(n * size);
  num::convert(d.a_type, d.c_type, {}, a_in, a, m * k);
  num::convert(d.b_type, d.c_type, {}, b_in, b, k * n);
  bool real = is_float(d.c_type);
  num::ElementwiseKernel fma = num::elementwise_kernel(OpKind::FmaF, d.c_type);
  num::ElementwiseKernel mul = num::elementwise_kernel(OpKind::MulI, d.c_type), add = num::elementwise_kernel(OpKind::AddI, d.c_type);
  for (size_t i = 0; i < m; ++i) {
    std::byte* row = c + i * n * size;
    for (int64_t x : d.stream) {
      if (x < 0) continue;
      auto at = static_cast<size_t>(x);
      fill_elements(a + (i * k + at) * size, repeated, size, n);
      if (real) {
        fma(repeated, b + at * n * size, row, row, n);
      } else {
        mul(repeated, b + at * n * size, nullptr, product, n);
        add(row, product, nullptr, row, n);
      }
    }
  }
}

}  // namespace

Status plan_dot(const ir::Op& op, Dot& d) {
  std::string name = op.get_text(AttrKey::Mfma);
  int64_t step = 1;
  if (!name.empty() && name != "fma") {
    d.mfma = find_mfma(name);
    if (!d.mfma) return Error{fmt::format("there is no matrix instruction '{}'", name)};
    if (!exists_on(*d.mfma, d.arch)) return Error{fmt::format("{} does not have the matrix instruction '{}'", tile::name(d.arch), name)};
    const MfmaInfo& row = info(*d.mfma);
    auto fits = [&](MfmaType t, DType have) {
      MfmaFormat f = mfma_format(have).value_or(MfmaFormat::F8E4M3);
      return dtype_of(t, d.arch, f) == have;
    };
    if (!fits(row.a, d.a_type) || !fits(row.b, d.b_type) || !fits(row.cd, d.c_type))
      return Error{fmt::format("operands of {} and {} with a result of {} do not fit the matrix instruction '{}'", tile::name(d.a_type),
                               tile::name(d.b_type), tile::name(d.c_type), name)};
    step = row.k;
  } else if (!is_arith_float(d.c_type) && !is_int(d.c_type)) {
    return Error{fmt::format("no sums of {}", tile::name(d.c_type))};
  }
  std::vector<int64_t> bits = op.get_ints(AttrKey::KBits);
  uint64_t seen = 0;
  for (int64_t b : bits) {
    if (b < 0 || b >= static_cast<int64_t>(bits.size()) || (seen >> b & 1) != 0) return Error{"k_bits is not a permutation"};
    seen |= uint64_t{1} << b;
  }
  if (!bits.empty() && (bits.size() > 30 || int64_t{1} << bits.size() < d.k)) return Error{"k_bits does not cover K"};
  d.stream = stream_of(bits, d.k, step);
  d.identity = static_cast<int64_t>(d.stream.size()) == d.k;
  for (int64_t s = 0; s < d.k && d.identity; ++s) d.identity = d.stream[static_cast<size_t>(s)] == s;
  return Unit{};
}

void run_dot(Worker& w, const void* payload) {
  const Dot& d = *static_cast<const Dot*>(payload);
  std::memcpy(w.at(d.dst), w.at(d.c), static_cast<size_t>(d.m * d.n) * buffer_bytes(d.c_type));
  dot_arrays(d, w.at(d.a), w.at(d.b), w.at(d.dst), w.scratch);
}

void dot_arrays(const Dot& d, const std::byte* a, const std::byte* b, std::byte* c, std::vector<std::byte>& scratch) {
  if (d.mfma) run_mfma(d, a, b, c, scratch);
  else run_chain(d, a, b, c, scratch);
}

}  // namespace tile::interp
