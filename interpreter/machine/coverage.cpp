#include "interpreter/machine/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "interpreter/machine/disassembler.h"
#include "interpreter/machine/inst.h"

namespace tile::sim {
namespace {

constexpr uint32_t v(uint32_t n) { return 256 + n; }   // a VGPR as a 9-bit source

struct Scan {
  Disassembler& dis;
  std::vector<CoverageRow> rows;
  std::set<std::string> seen;   // opcode names

  void add(std::array<uint32_t, 4> words) {
    llvm::MCInst mc;
    uint64_t size = 0;
    if (!dis.decode(llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t*>(words.data()), 16), 0, mc, size)) return;
    const std::string full = dis.opcode_name(mc);
    if (!seen.insert(full).second) return;
    CoverageRow r;
    r.mnemonic = base_mnemonic(full);
    r.known = find_op(r.mnemonic) != nullptr;
    r.words.assign(words.begin(), words.begin() + int64_t(size / 4));
    r.text = dis.text(mc);
    r.family = family(r.mnemonic);
    rows.push_back(std::move(r));
  }

  static std::string family(const std::string& m) {
    auto starts = [&](const char* p) { return m.rfind(p, 0) == 0; };
    if (starts("V_MFMA")) return "MFMA";
    if (starts("V_SMFMAC")) return "SMFMAC";
    if (starts("V_")) return "VALU";
    if (starts("DS_")) return "DS";
    if (starts("BUFFER_")) return "MUBUF";
    if (starts("TBUFFER_")) return "MTBUF";
    if (starts("GLOBAL_") || starts("FLAT_") || starts("SCRATCH_")) return "FLAT";
    for (const char* p : {"S_LOAD", "S_STORE", "S_BUFFER", "S_SCRATCH", "S_ATOMIC", "S_DCACHE", "S_MEM", "S_ATC"})
      if (starts(p)) return "SMEM";
    return "SALU";
  }

  void scalar() {
    for (uint32_t o = 0; o < 128; ++o) add({0x80000000u | o << 23 | 8 << 16 | 4 << 8 | 2});
    for (uint32_t o = 0; o < 32; ++o) add({0xb0000000u | o << 23 | 8 << 16 | 1, 1});
    for (uint32_t o = 0; o < 256; ++o) add({0xbe800000u | 8 << 16 | o << 8 | 2});
    for (uint32_t o = 0; o < 128; ++o) add({0xbf000000u | o << 16 | 4 << 8 | 2});
    for (uint32_t o = 0; o < 128; ++o) add({0xbf800000u | o << 16});
    for (uint32_t o = 0; o < 256; ++o)
      for (uint32_t form : {1u << 17, 0u, 1u << 14, 1u << 14 | 1u << 17}) add({0xc0000000u | o << 18 | form | 8 << 6 | 2, 16});
  }
  void vector() {
    for (uint32_t o = 0; o < 62; ++o) {
      add({o << 25 | 8 << 17 | 4 << 9 | v(2), 0x3f800000u});
      add({o << 25 | 8 << 17 | 4 << 9 | 249, 0x06060602u});
      add({o << 25 | 8 << 17 | 4 << 9 | 250, 0xff00e402u});
      add({o << 25 | 8 << 17 | 4 << 9 | 250, 0xff015002u});
    }
    for (uint32_t o = 0; o < 256; ++o) {
      add({0x7e000000u | 8 << 17 | o << 9 | v(2)});
      add({0x7e000000u | 8 << 17 | o << 9 | 249, 0x06060602u});
      add({0x7e000000u | 8 << 17 | o << 9 | 250, 0xff00e402u});
      add({0x7e000000u | 8 << 17 | o << 9 | 250, 0xff015002u});
      add({0x7c000000u | o << 17 | 4 << 9 | v(2)});
      add({0x7c000000u | o << 17 | 4 << 9 | 249, 0x06060002u});
    }
    const uint32_t sources[] = {v(16) | v(32) << 9 | v(48) << 18, v(16) | v(32) << 9 | v(48) << 18 | 0x18000000u, 2u | 4u << 9 | 6u << 18, v(2) | 4u << 9 | 6u << 18};
    for (uint32_t o = 0; o < 1024; ++o)
      for (uint32_t w1 : sources) {
        add({0xd0000000u | o << 16 | 8, w1});
        add({0xd0000000u | o << 16 | 8 | 0x8000u | 3 << 11, w1});
      }
    for (uint32_t o : {0x2du, 0x2eu})
      for (uint32_t a = 0; a < 5; ++a)
        for (uint32_t b = 0; b < 5; ++b) {
          const uint32_t w0 = 0xd3800000u | o << 16 | 8 | a << 8, w1 = (v(16) | v(32) << 9 | v(48) << 18) | b << 29;
          add({w0, w1});
          add({0xd3ac0000u, v(60) | v(61) << 9 | 0x18000000u, w0, w1});
        }
  }
  void memory() {
    for (uint32_t o = 0; o < 256; ++o)
      for (uint32_t dst : {0u, 8u << 24})
        for (uint32_t data : {0u, 4u << 8, 4u << 8 | 6u << 16, 6u << 16})
          for (uint32_t addr : {2u, 0u}) add({0xd8000000u | o << 17, addr | data | dst});
    for (uint32_t seg = 0; seg < 3; ++seg)
      for (uint32_t o = 0; o < 128; ++o)
        for (uint32_t bits : {0u, 1u << 16, 1u << 13})
          for (uint32_t saddr : {0x7fu << 16, 4u << 16, 0u})
            for (uint32_t dst : {0u, 8u << 24}) add({0xdc000000u | o << 18 | seg << 14 | bits | 16, 2u | 4u << 8 | saddr | dst});
    for (uint32_t o = 0; o < 128; ++o)
      for (uint32_t mode = 0; mode < 4; ++mode)
        for (uint32_t bits : {0u, 1u << 14, 1u << 16}) {
          add({0xe0000000u | o << 18 | mode << 12 | bits | 16, 2u | 4u << 8 | 1u << 16 | 8u << 24});
          if (o < 16) add({0xe8000000u | o << 15 | mode << 12 | 5u << 19 | 16, 2u | 4u << 8 | 1u << 16 | 8u << 24});
        }
  }
};

}  // namespace

Result<std::vector<CoverageRow>> coverage(const std::string& target) {
  auto dis = Disassembler::create(target);
  if (!dis) return dis.error();
  Scan s{**dis, {}, {}};
  s.scalar();
  s.vector();
  s.memory();
  std::stable_sort(s.rows.begin(), s.rows.end(), [](const CoverageRow& a, const CoverageRow& b) { return std::tie(a.family, a.mnemonic) < std::tie(b.family, b.mnemonic); });
  return std::move(s.rows);
}

std::string coverage_markdown() {
  const char* targets[] = {"gfx90a", "gfx942", "gfx950"};
  std::map<std::string, std::map<std::string, std::pair<int, int>>> counts;   // family, target: known, all
  std::map<std::string, std::set<std::string>> missing;
  for (const char* t : targets) {
    auto rows = coverage(t);
    if (!rows) continue;
    std::set<std::string> done;
    for (const CoverageRow& r : *rows) {
      if (!done.insert(r.mnemonic).second) continue;
      auto& c = counts[r.family][t];
      c.first += r.known;
      ++c.second;
      if (!r.known) missing[r.family].insert(r.mnemonic);
    }
  }
  std::string out = "| family | gfx90a | gfx942 | gfx950 |\n|---|---|---|---|\n";
  for (auto& [family, by_target] : counts) {
    out += "| " + family + " |";
    for (const char* t : targets) out += fmt::format(" {} of {} |", by_target[t].first, by_target[t].second);
    out += "\n";
  }
  out += "\nNot known:\n";
  for (auto& [family, names] : missing) {
    out += "- " + family + ":";
    for (const auto& n : names) out += " " + n;
    out += "\n";
  }
  return out;
}

}  // namespace tile::sim
