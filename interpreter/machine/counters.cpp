#include "interpreter/machine/counters.h"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/machine/checks.h"
#include "interpreter/machine/lane_memory.h"
#include "interpreter/machine/program.h"

namespace tile::sim {

void InstCounter::add(const InstCounter& o) {
  executed += o.executed;
  lanes += o.lanes;
  bank_cycles += o.bank_cycles;
  bank_ideal += o.bank_ideal;
  transactions += o.transactions;
  bytes += o.bytes;
}

InstCounter* counter_of(Wave& w, const Inst& i) {
  if (!w.counters || i.pc < w.program->text_begin || i.pc >= w.program->text_end) return nullptr;
  const int32_t k = w.program->index[(i.pc - w.program->text_begin) / 4];
  return k < 0 ? nullptr : w.counters + k;
}

void count_global(Wave& w, const Inst& i, const uint64_t* address, uint64_t exec, int bytes) {
  if (!w.counters) return;
  std::vector<uint64_t> blocks;
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    for (uint64_t b = address[l] / 64; b <= (address[l] + uint64_t(bytes) - 1) / 64; ++b) blocks.push_back(b);
  }
  std::sort(blocks.begin(), blocks.end());
  const auto n = uint64_t(std::unique(blocks.begin(), blocks.end()) - blocks.begin());
  if (w.cost) w.cost->global_bytes += 64 * n;
  if (InstCounter* c = counter_of(w, i)) {
    c->transactions += n;
    c->bytes += uint64_t(__builtin_popcountll(exec)) * uint64_t(bytes);
  }
}

// 32 banks of 4 bytes; a cycle serves 128 bytes: 32 lanes of a dword, 16 of two, 8 of three or four. Lanes that read
// the same dword share it.
void count_lds(Wave& w, const Inst& i, const uint32_t* address, uint64_t exec, int bytes) {
  if (!w.counters) return;
  const int group = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  uint64_t cycles = 0, ideal = 0;
  for (int base = 0; base < lanes; base += group) {
    std::vector<uint32_t> words[32];
    bool any = false;
    for (int l = base; l < base + group; ++l) {
      if (!(exec >> l & 1)) continue;
      any = true;
      for (uint32_t d = address[l] / 4; d <= (address[l] + uint32_t(bytes) - 1) / 4; ++d) {
        auto& bank = words[d % 32];
        if (std::find(bank.begin(), bank.end(), d) == bank.end()) bank.push_back(d);
      }
    }
    size_t most = 0;
    for (const auto& bank : words) most = std::max(most, bank.size());
    cycles += most;
    ideal += any;
  }
  if (w.cost) w.cost->lds_cycles += cycles;
  if (InstCounter* c = counter_of(w, i)) {
    c->bank_cycles += cycles;
    c->bank_ideal += ideal;
    c->bytes += uint64_t(__builtin_popcountll(exec)) * uint64_t(bytes);
  }
}

void fill_profile(Launch& l, const std::vector<InstCounter>& sums, LaunchStats& stats) {
  for (size_t k = 0; k < sums.size() && k < l.program->code.size(); ++k) {
    if (!sums[k].executed) continue;
    const Inst& i = l.program->code[k];
    InstProfile p;
    p.pc = i.pc;
    p.text = l.program->text_of(i.pc);
    p.line = l.program->line_of(i.pc);
    p.cls = class_name(i.op->cls);
    p.executed = sums[k].executed;
    p.lanes = sums[k].lanes;
    p.bank_cycles = sums[k].bank_cycles;
    p.bank_ideal = sums[k].bank_ideal;
    p.transactions = sums[k].transactions;
    p.bytes = sums[k].bytes;
    stats.by_class[size_t(i.op->cls)] += p.executed;
    stats.profile.push_back(std::move(p));
  }
}

std::string trace_text(Wave& w, const Inst& i) {
  const int lane = w.launch->options->trace_lane;
  std::string out = fmt::format("g{},{},{} w{} {:#x}: {} | exec {:#x}", w.group->id[0], w.group->id[1], w.group->id[2], w.index, i.pc, w.launch->program->text_of(i.pc), w.exec());
  for (const RegUse& u : i.regs) {
    if (!u.def) continue;
    for (int k = 0; k < u.count; ++k) {
      const int r = u.first + k;
      if (!u.vector) {
        if (r < 132) out += fmt::format(" | s{} {:#x}{}", r, w.s[r], w.checks && w.checks->s_undef[r] ? " undef" : "");
        continue;
      }
      if (r >= 512) continue;
      const char file = r < 256 ? 'v' : 'a';
      bool undef = false;
      for (int l = 0; l < lanes; ++l)
        if (w.checks && (lane < 0 ? w.exec() >> l & 1 : l == lane) && w.checks->v_undef[r][l]) undef = true;
      if (lane >= 0 && lane < lanes) {
        out += fmt::format(" | {}{}[{}] {:#x}", file, r & 255, lane, w.v[r][lane]);
      } else {   // FNV-1a over the active lanes
        uint32_t h = 2166136261u;
        for (int l = 0; l < lanes; ++l)
          if (w.exec() >> l & 1) h = (h ^ w.v[r][l]) * 16777619u;
        out += fmt::format(" | {}{} #{:08x}", file, r & 255, h);
      }
      if (undef) out += " undef";
    }
  }
  return out;
}

}  // namespace tile::sim
