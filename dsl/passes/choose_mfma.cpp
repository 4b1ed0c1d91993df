#include "dsl/passes/choose_mfma.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "dsl/layout/construct.h"

namespace tile::passes {
namespace {

bool takes(Arch arch, MfmaType m, DType t) {
  switch (m) {
    case MfmaType::F32: return t == DType::F32;
    case MfmaType::F64: return t == DType::F64;
    case MfmaType::F16: return t == DType::F16;
    case MfmaType::BF16: return t == DType::BF16;
    case MfmaType::I8: return t == DType::I8;
    case MfmaType::I32: return t == DType::I32;
    case MfmaType::Fp8: return native_fp8(arch) == t;
    case MfmaType::Bf8: return native_bf8(arch) == t;
    case MfmaType::Xf32: return false;    // drops bits of f32
    case MfmaType::F8F6F4: return false;  // scaled: dot_scaled asks for it
  }
  return false;
}

std::vector<const MfmaInfo*> candidates(Arch arch, DType a, DType b, DType c) {
  std::vector<const MfmaInfo*> list;
  for (const MfmaInfo& row : mfma_table)
    if (row.blocks == 1 && exists_on(row.id, arch) && takes(arch, row.a, a) && takes(arch, row.b, b) && takes(arch, row.cd, c))
      list.push_back(&row);
  return list;
}

int64_t padded(int64_t n) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))); }

std::pair<unsigned, unsigned> split_waves(int64_t m, int64_t n, unsigned size, unsigned waves, bool rows_first) {
  if (rows_first) {
    unsigned wm = static_cast<unsigned>(std::clamp<int64_t>(padded(m) / size, 1, waves));
    return {wm, waves / wm};
  }
  std::pair<unsigned, unsigned> best{waves, 1};
  std::pair<int64_t, int64_t> best_cost{INT64_MAX, 0};
  for (unsigned wm = waves; wm >= 1; wm /= 2) {
    // Rows and columns of a wave, at least those of the instruction.
    int64_t rows = std::max<int64_t>(padded(m) / wm, size), cols = std::max<int64_t>(padded(n) / (waves / wm), size);
    std::pair<int64_t, int64_t> cost{rows * cols, rows + cols};
    if (cost < best_cost) {
      best = {wm, waves / wm};
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace

Result<std::optional<DType>> operand_cast(Arch arch, DType a, DType b, DType c) {
  if (!candidates(arch, a, b, c).empty()) return std::optional<DType>{};
  Error none{fmt::format("{} has no matrix instruction for {} and {} into {}", name(arch), name(a), name(b), name(c))};
  if (!is_float(a) || !is_float(b) || a == DType::F8E8M0 || b == DType::F8E8M0) return none;
  auto narrow = [](DType t) { return bit_width(t) <= 8 || t == DType::F16; };
  for (DType to : {DType::F16, DType::F32, DType::F64}) {
    bool exact = to == DType::F64 || (to == DType::F32 && bit_width(a) <= 32 && bit_width(b) <= 32) || (narrow(a) && narrow(b));
    if (exact && !candidates(arch, to, to, c).empty()) return std::optional<DType>{to};
  }
  return none;
}

DotChoice choose_dot(Arch arch, DType a, DType b, DType c, int64_t m, int64_t n, int64_t k, unsigned waves, bool rows_first) {
  std::vector<const MfmaInfo*> list = candidates(arch, a, b, c);
  auto [wm, wn] = split_waves(m, n, 16, waves, rows_first);
  bool big = m >= 64 && n >= 64 && padded(m) / wm >= 32 && padded(n) / wn >= 32;
  unsigned size = big && std::any_of(list.begin(), list.end(), [](const MfmaInfo* r) { return r->m == 32; }) ? 32 : 16;
  const MfmaInfo* best = nullptr;
  for (const MfmaInfo* row : list) {
    if (row->m != size) continue;
    bool fills = row->k <= padded(k), best_fills = best && best->k <= padded(k);
    if (!best || (fills ? !best_fills || row->k > best->k : !best_fills && row->k < best->k)) best = row;
  }
  DotChoice choice{best->id, wm, wn, {}};
  unsigned run = std::max(1u, 16 / buffer_bytes(a));
  for (unsigned bit : layout::kpack_bits(best->id, layout::MfmaOperand::A, k, run)) choice.k_bits.push_back(bit);
  return choice;
}

}  // namespace tile::passes
