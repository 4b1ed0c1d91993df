// Accesses of a layout to LDS and their bank conflicts.
#include <algorithm>
#include <bit>
#include <cassert>

#include "dsl/layout/shared_memory.h"

namespace tile::layout {

namespace {

uint32_t xor_bits(const std::vector<uint32_t>& parts, unsigned x) {
  uint32_t out = 0;
  for (size_t i = 0; i < parts.size(); i++)
    if (x >> i & 1) out ^= parts[i];
  return out;
}

uint32_t low_mask(unsigned bits) { return bits >= 32 ? ~0u : (1u << bits) - 1; }

// For offset bits 0, 1, ... the register (as a mask of register bits) that is that far from register 0, as long as
// there is one, no thread bit disturbs the alignment, and the access stays within 16 bytes.
std::vector<Vec> vector_registers(const LinearLayout& combined, unsigned elem_bytes, Vec free_registers) {
  std::vector<Vec> registers = combined.bases(Dim::Register);
  for (size_t b = 0; b < registers.size(); b++)
    if (free_registers >> b & 1) registers[b] = 0;
  f2::Span span(registers);
  Vec threads = 0;
  for (Dim d : {Dim::Lane, Dim::Wave})
    for (Vec v : combined.bases(d)) threads |= v;
  std::vector<Vec> out;
  while (elem_bytes << out.size() < 16) {
    Vec unit = Vec{1} << out.size();
    std::optional<Vec> reg = span.solve(unit);
    if (!reg || (threads & unit) != 0) break;
    out.push_back(*reg);
  }
  return out;
}

}  // namespace

bool SharedAccess::rounds_by_thread() const {
  auto nonzero = [](uint32_t v) { return v != 0; };
  return std::any_of(lane_round.begin(), lane_round.end(), nonzero) ||
         std::any_of(wave_round.begin(), wave_round.end(), nonzero);
}
uint32_t SharedAccess::thread_offset(unsigned lane, unsigned wave) const {
  return xor_bits(lane_offset, lane) ^ xor_bits(wave_offset, wave);
}
uint32_t SharedAccess::thread_round(unsigned lane, unsigned wave) const {
  return xor_bits(lane_round, lane) ^ xor_bits(wave_round, wave);
}
uint32_t SharedAccess::thread_mask() const {
  uint32_t mask = 0;
  for (uint32_t v : lane_offset) mask |= v;
  for (uint32_t v : wave_offset) mask |= v;
  return mask;
}

unsigned SharedAccess::packing() const {
  const unsigned in_dword = std::min(vec, std::max(4 / elem_bytes, 1u));
  unsigned n = 0;
  for (const Op& op : ops)
    for (unsigned e = 0; e < vec; e += in_dword) {
      bool neighbours = op.registers[e] % in_dword == 0;
      for (unsigned i = 1; i < in_dword; i++) neighbours &= op.registers[e + i] == op.registers[e] + i;
      n += neighbours ? 0 : in_dword - 1;
    }
  return n;
}

SharedAccess plan_access(const LinearLayout& layout, const LinearLayout& memory, unsigned elem_bytes, AccessKind kind,
                         unsigned round_shift) {
  LinearLayout combined = layout.then(memory);
  assert(combined.out().total_bits() <= 32 && std::has_single_bit(elem_bytes) && elem_bytes <= 8);
  Vec free = layout.free_bits(), free_registers = layout.in().get(free, Dim::Register);
  std::vector<Vec> vector = vector_registers(combined, elem_bytes, free_registers);

  SharedAccess access;
  access.kind = kind;
  access.elem_bytes = elem_bytes;
  access.vec = 1u << vector.size();
  auto offset_of = [&](Vec v) { return (static_cast<uint32_t>(v) & low_mask(round_shift)) * elem_bytes; };
  auto round_of = [&](Vec v) { return static_cast<uint32_t>(v >> round_shift); };
  for (Vec v : combined.bases(Dim::Lane)) {
    access.lane_offset.push_back(offset_of(v));
    access.lane_round.push_back(round_of(v));
  }
  for (Vec v : combined.bases(Dim::Wave)) {
    access.wave_offset.push_back(offset_of(v));
    access.wave_round.push_back(round_of(v));
  }
  if (kind == AccessKind::Store) {
    access.free_lanes = static_cast<uint32_t>(layout.in().get(free, Dim::Lane));
    access.free_waves = static_cast<uint32_t>(layout.in().get(free, Dim::Wave));
  }
  // An op starts at each register with an aligned offset.
  for (unsigned r = 0; r < layout.num_registers(); r++) {
    Vec at = combined.at(r, 0, 0);
    if ((r & free_registers) != 0 || (at & (access.vec - 1)) != 0) continue;
    SharedAccess::Op op{{}, offset_of(at), round_of(at)};
    for (unsigned e = 0; e < access.vec; e++) op.registers.push_back(static_cast<uint16_t>(r ^ f2::combine(vector, e)));
    access.ops.push_back(std::move(op));
  }
  std::stable_sort(access.ops.begin(), access.ops.end(),
                   [](const auto& a, const auto& b) { return a.round < b.round; });
  return access;
}

std::vector<unsigned> phase_lanes(Arch arch, AccessKind kind, unsigned bytes) {
  bool wide_lds = info(arch).lds_banks == 64;
  if (bytes == 16 && kind == AccessKind::Load)
    return wide_lds ? std::vector<unsigned>{1, 2, 12, 20} : std::vector<unsigned>{1, 2, 20};
  std::vector<unsigned> lanes;
  unsigned count = info(arch).lds_banks * 4 / std::max(bytes, 4u);
  for (unsigned l = 1; l < std::min(count, wave_size); l *= 2) lanes.push_back(l);
  return lanes;
}

BankConflicts bank_conflicts(const SharedAccess& access, Arch arch) {
  // Lanes of a phase that take part. XOR with the parts of op, wave and phase maps banks to banks, so that one
  // phase stands for all.
  std::vector<Vec> phase, active;
  for (unsigned l : phase_lanes(arch, access.kind, access.bytes())) phase.push_back(l);
  for (unsigned b = 0; b < access.lane_offset.size(); b++)
    if ((access.free_lanes >> b & 1) == 0) active.push_back(Vec{1} << b);
  const unsigned phases = std::max(1u, (1u << access.lane_offset.size()) >> phase.size());
  // The dwords that they touch are a space, too; so many of them share a bank as the map to banks loses dimensions.
  std::vector<Vec> dwords, banks;
  for (Vec lanes : f2::intersection(phase, active))
    dwords.push_back(xor_bits(access.lane_offset, static_cast<unsigned>(lanes)) / 4);
  for (unsigned d = 1; d < access.bytes() / 4; d *= 2) dwords.push_back(d);
  for (Vec v : dwords) banks.push_back(v & (info(arch).lds_banks - 1));
  const unsigned degree = 1u << (f2::rank(dwords) - f2::rank(banks));

  const unsigned ops = static_cast<unsigned>(access.ops.size());
  return {ops * phases * degree, ops * phases};
}

}  // namespace tile::layout
