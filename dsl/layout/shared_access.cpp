// Accesses of a layout to LDS and their bank conflicts.
#include <algorithm>
#include <bit>
#include <cassert>
#include <map>
#include <set>

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
  return std::any_of(lane_round.begin(), lane_round.end(), nonzero) || std::any_of(wave_round.begin(), wave_round.end(), nonzero);
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
  std::stable_sort(access.ops.begin(), access.ops.end(), [](const auto& a, const auto& b) { return a.round < b.round; });
  return access;
}

std::vector<unsigned> phase_lanes(Arch arch, AccessKind kind, unsigned bytes) {
  bool wide_lds = info(arch).lds_banks == 64;
  if (bytes == 16 && kind == AccessKind::Load) return wide_lds ? std::vector<unsigned>{1, 2, 12, 20} : std::vector<unsigned>{1, 2, 20};
  std::vector<unsigned> lanes;
  unsigned count = info(arch).lds_banks * 4 / std::max(bytes, 4u);
  for (unsigned l = 1; l < std::min(count, wave_size); l *= 2) lanes.push_back(l);
  return lanes;
}

BankConflicts bank_conflicts(const SharedAccess& access, Arch arch) {
  const unsigned lanes = 1u << access.lane_offset.size(), banks = info(arch).lds_banks;
  std::vector<Vec> basis;
  for (unsigned l : phase_lanes(arch, access.kind, access.bytes())) basis.push_back(l);
  f2::Span phase(basis);
  // XOR with the op's and the wave's part maps banks to banks, so that one wave and op stand for all.
  std::map<Vec, std::map<unsigned, std::set<uint32_t>>> touched;  // phase -> bank -> dwords
  for (unsigned lane = 0; lane < lanes; lane++) {
    auto& in_phase = touched[phase.reduce(lane)];
    if ((lane & access.free_lanes) != 0) continue;
    uint32_t first = access.thread_offset(lane, 0);
    for (uint32_t byte = first & ~3u; byte < first + access.bytes(); byte += 4) in_phase[byte / 4 % banks].insert(byte / 4);
  }
  BankConflicts out;
  for (const auto& [id, by_bank] : touched) {
    size_t worst = 1;
    for (const auto& [bank, dwords] : by_bank) worst = std::max(worst, dwords.size());
    out.cycles += static_cast<unsigned>(worst);
    out.ideal++;
  }
  out.cycles *= static_cast<unsigned>(access.ops.size());
  out.ideal *= static_cast<unsigned>(access.ops.size());
  return out;
}

}  // namespace tile::layout
