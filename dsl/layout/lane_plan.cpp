#include "dsl/layout/lane_plan.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <map>

namespace tile::layout {

namespace {

using Vectors = std::vector<Vec>;

// Builds the steps; equal steps are made once, and steps that no output needs are dropped at the end.
class Program {
 public:
  Program(unsigned inputs, unsigned lane_bits, Arch arch)
      : num_inputs_(inputs), next_(inputs), lane_bits_(lane_bits), arch_(arch) {}

  uint32_t select(uint32_t lane_mask, uint32_t wave_mask, uint32_t a, uint32_t b) {
    // A choice by the same condition further in has been made already.
    if (const LaneStep* s = select_by(a, lane_mask, wave_mask)) a = s->a;
    if (const LaneStep* s = select_by(b, lane_mask, wave_mask)) b = s->b;
    if (a == b) return a;
    LaneStep step;
    step.a = a, step.b = b, step.lane_mask = lane_mask, step.wave_mask = wave_mask;
    return add(std::move(step));
  }

  // Lane l gets `a` of lane constant ^ (XOR of bits over l).
  uint32_t move(uint32_t a, const Vectors& bits, Vec constant) {
    std::vector<uint32_t> from(bits.begin(), bits.end());
    bool is_xor = true, in_quads = true;
    for (unsigned i = 0; i < lane_bits_; i++) {
      is_xor &= from[i] == 1u << i;
      in_quads &= i < 2 ? from[i] < 4 : from[i] == 1u << i;
    }
    uint32_t mask = static_cast<uint32_t>(constant);
    if (is_xor) return lane_xor(a, mask, from);
    LaneStep step;
    step.a = a, step.from_bits = from, step.from_constant = mask;
    if (in_quads && mask < 4) {
      step.op = LaneStep::Op::Dpp;
      for (unsigned l = 0; l < 4; l++) step.dpp_ctrl |= step.from(l) << (2 * l);
    } else {
      step.op = LaneStep::Op::Bpermute;
    }
    return add(std::move(step));
  }

  // Exchanges lane bit 4 or 5 of the two values: `a` gets both values' lanes with the bit clear, `b` the others.
  std::pair<uint32_t, uint32_t> swap(LaneStep::Op op, uint32_t a, uint32_t b) {
    LaneStep step;
    step.op = op, step.a = a, step.b = b;
    uint32_t first = add(std::move(step));
    return {first, first + 1};
  }

  // The steps that `outputs` need; renumbers `outputs`.
  std::vector<LaneStep> finish(std::vector<LanePlan::Output>& outputs) const {
    std::vector<bool> live(next_, false);
    for (const LanePlan::Output& o : outputs) live[o.value] = true;
    for (size_t i = steps_.size(); i-- > 0;) {
      const auto& [step, first] = steps_[i];
      if (!live[first] && !(two(step) && live[first + 1])) continue;
      live[step.a] = true;
      if (step.op != LaneStep::Op::Dpp && step.op != LaneStep::Op::Bpermute) live[step.b] = true;
      live[first] = true;
    }
    std::vector<uint32_t> renamed(next_);
    for (uint32_t v = 0; v < num_inputs_; v++) renamed[v] = v;
    uint32_t next = num_inputs_;
    std::vector<LaneStep> out;
    for (const auto& [step, first] : steps_) {
      if (!live[first]) continue;
      renamed[first] = next++;
      if (two(step)) renamed[first + 1] = next++;
      out.push_back(step);
      out.back().a = renamed[step.a];
      out.back().b = renamed[step.b];
    }
    for (LanePlan::Output& o : outputs) o.value = renamed[o.value];
    return out;
  }

 private:
  static bool two(const LaneStep& s) { return s.op == LaneStep::Op::Permlane16 || s.op == LaneStep::Op::Permlane32; }

  const LaneStep* select_by(uint32_t value, uint32_t lane_mask, uint32_t wave_mask) const {
    auto at = step_of_.find(value);
    if (at == step_of_.end()) return nullptr;
    const LaneStep& s = steps_[at->second].first;
    return s.op == LaneStep::Op::Select && s.lane_mask == lane_mask && s.wave_mask == wave_mask ? &s : nullptr;
  }

  uint32_t lane_xor(uint32_t a, uint32_t mask, const std::vector<uint32_t>& identity) {
    if (mask == 0) return a;
    if (mask >= 16 && lane_bits_ == 6 && info(arch_).has_permlane_swap) {
      for (auto [bit, op] : {std::pair{32u, LaneStep::Op::Permlane32}, std::pair{16u, LaneStep::Op::Permlane16}}) {
        if ((mask & bit) == 0) continue;
        auto [clear, set] = swap(op, a, a);
        a = select(bit, 0, set, clear);
      }
      return lane_xor(a, mask & 15, identity);
    }
    LaneStep step;
    step.from_bits = identity;
    if (mask >= 16) {
      step.op = LaneStep::Op::Bpermute;
      step.a = a, step.from_constant = mask;
      return add(std::move(step));
    }
    // quad_perm does XOR by 1, 2, 3, row_half_mirror by 7, row_ror:8 by 8, row_mirror by 15; two of them the others.
    static constexpr std::pair<uint32_t, uint32_t> controls[] = {{1, 0xb1},  {2, 0x4e},  {3, 0x1b},
                                                                 {7, 0x141}, {8, 0x128}, {15, 0x140}};
    auto dpp = [&](uint32_t value, uint32_t by, uint32_t ctrl) {
      LaneStep s;
      s.op = LaneStep::Op::Dpp;
      s.a = value, s.from_bits = identity, s.from_constant = by, s.dpp_ctrl = ctrl;
      return add(std::move(s));
    };
    for (auto [by, ctrl] : controls)
      if (by == mask) return dpp(a, by, ctrl);
    for (auto [by, ctrl] : controls)
      for (auto [by2, ctrl2] : controls)
        if ((by ^ by2) == mask) return dpp(dpp(a, by, ctrl), by2, ctrl2);
    assert(false);
    return a;
  }

  uint32_t add(LaneStep step) {
    auto key = std::tuple(step.op, step.a, step.b, step.lane_mask, step.wave_mask, step.from_constant, step.from_bits);
    auto [at, inserted] = known_.try_emplace(key, next_);
    if (inserted) {
      next_ += two(step) ? 2 : 1;
      step_of_[at->second] = steps_.size();
      steps_.emplace_back(std::move(step), at->second);
    }
    return at->second;
  }

  uint32_t num_inputs_, next_;
  unsigned lane_bits_;
  Arch arch_;
  std::vector<std::pair<LaneStep, uint32_t>> steps_;  // with the first value
  std::map<uint32_t, size_t> step_of_;
  std::map<std::tuple<LaneStep::Op, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, std::vector<uint32_t>>, uint32_t>
      known_;
};

// Reads of values[x ^ shift] where the shift is a linear function of the thread: one stage of selects for each
// independent direction of the shift.
class ShiftedRead {
 public:
  // shift = XOR of by_lane[i] over lane bits, by_wave[i] over wave bits.
  ShiftedRead(Program& program, std::vector<uint32_t> values, const Vectors& by_lane, const Vectors& by_wave)
      : program_(program), values_(std::move(values)) {
    Vectors all = by_lane;
    all.insert(all.end(), by_wave.begin(), by_wave.end());
    directions_ = f2::independent(all);
    f2::Span span(directions_);
    masks_.resize(directions_.size());
    for (size_t i = 0; i < all.size(); i++) {
      Vec parts = *span.solve(all[i]);
      for (size_t d = 0; d < directions_.size(); d++) {
        if ((parts >> d & 1) == 0) continue;
        if (i < by_lane.size()) masks_[d].first |= 1u << i;
        else masks_[d].second |= 1u << (i - by_lane.size());
      }
    }
  }
  uint32_t at(Vec x) { return read(directions_.size(), x); }

 private:
  uint32_t read(size_t stage, Vec x) {
    if (stage == 0) return values_[x];
    auto [at, inserted] = memo_.try_emplace({stage, x}, 0);
    if (!inserted) return at->second;
    auto [lanes, waves] = masks_[stage - 1];
    uint32_t v = program_.select(lanes, waves, read(stage - 1, x), read(stage - 1, x ^ directions_[stage - 1]));
    return memo_[{stage, x}] = v;
  }
  Program& program_;
  std::vector<uint32_t> values_;
  Vectors directions_;
  std::vector<std::pair<uint32_t, uint32_t>> masks_;
  std::map<std::pair<size_t, Vec>, uint32_t> memo_;
};

// The columns of the map: for destination registers (of words), lanes and waves the source register and lane.
struct Columns {
  Vectors reg_to_reg, reg_to_lane, lane_to_reg, lane_to_lane, wave_to_reg;
  unsigned source_bits = 0;  // of words

  // How much registers and lanes are mixed, for judging exchanges.
  unsigned mixing() const {
    unsigned m = f2::rank(lane_to_reg) + f2::rank(reg_to_lane);
    for (size_t i = 0; i < lane_to_lane.size(); i++) m += lane_to_lane[i] != Vec{1} << i;
    return m;
  }
  // The map after an exchange of source register bit `reg` and lane bit `lane`.
  Columns exchanged(unsigned reg, unsigned lane) const {
    Columns out = *this;
    for (auto [regs, lanes] :
         {std::pair{&out.reg_to_reg, &out.reg_to_lane}, std::pair{&out.lane_to_reg, &out.lane_to_lane}})
      for (size_t i = 0; i < regs->size(); i++) {
        Vec &r = (*regs)[i], &l = (*lanes)[i], differ = (r >> reg ^ l >> lane) & 1;
        r ^= differ << reg;
        l ^= differ << lane;
      }
    return out;
  }
};

// In one round every lane receives one word. Lane l receives the destination register round ^ receive(l); all words
// that one lane must send in a round have to be the same. Chooses `receive` (a column for each lane bit), such that
// words come from the own lane in round 0 where possible.
std::optional<Vectors> choose_receive(const Columns& c) {
  f2::Span reach(c.reg_to_lane);
  const size_t regs = c.reg_to_lane.size();
  Vectors chosen, lanes, sources;
  auto consistent = [&] {
    for (Vec k : f2::kernel(lanes))
      if (f2::combine(sources, k) != 0) return false;
    return true;
  };
  for (size_t j = 0; j < c.lane_to_lane.size(); j++) {
    Vectors candidates;
    if (std::optional<Vec> own = reach.solve(c.lane_to_lane[j] ^ Vec{1} << j)) candidates.push_back(*own);
    for (Vec q = 0; q < Vec{1} << std::min<size_t>(regs, 8); q++) candidates.push_back(q);
    bool found = false;
    for (Vec q : candidates) {
      lanes.push_back(c.lane_to_lane[j] ^ f2::combine(c.reg_to_lane, q));
      sources.push_back(c.lane_to_reg[j] ^ f2::combine(c.reg_to_reg, q));
      chosen.push_back(q);
      found = consistent();
      if (found) break;
      lanes.pop_back(), sources.pop_back(), chosen.pop_back();
    }
    if (!found) return std::nullopt;
  }
  return chosen;
}

// The values of all destination words.
std::optional<std::vector<uint32_t>> emit_rounds(Program& program, const Columns& c,
                                                 const std::vector<uint32_t>& inputs) {
  std::optional<Vectors> receive = choose_receive(c);
  if (!receive) return std::nullopt;
  const size_t lane_bits = c.lane_to_lane.size(), regs = c.reg_to_reg.size();
  Vectors from(lane_bits), source(lane_bits);
  for (size_t j = 0; j < lane_bits; j++) {
    from[j] = c.lane_to_lane[j] ^ f2::combine(c.reg_to_lane, (*receive)[j]);
    source[j] = c.lane_to_reg[j] ^ f2::combine(c.reg_to_reg, (*receive)[j]);
  }
  // The word to send as a function of the sending lane: send(from(l)) = source(l).
  f2::Span span(from);
  for (unsigned i = 0; i < lane_bits; i++) span.add(Vec{1} << i);
  Vectors send(lane_bits);
  for (size_t i = 0; i < lane_bits; i++)
    send[i] = f2::combine(source, *span.solve(Vec{1} << i) & ((Vec{1} << lane_bits) - 1));

  ShiftedRead words(program, inputs, send, c.wave_to_reg);
  std::vector<uint32_t> received;
  for (Vec round = 0; round < Vec{1} << regs; round++) {
    Vec shift = f2::combine(c.reg_to_lane, round);
    uint32_t sent = words.at(f2::combine(c.reg_to_reg, round) ^ f2::combine(send, shift));
    received.push_back(program.move(sent, from, shift));
  }
  ShiftedRead result(program, received, *receive, {});
  std::vector<uint32_t> out;
  for (Vec r = 0; r < Vec{1} << regs; r++) out.push_back(result.at(r));
  return out;
}

// With permlane swaps, exchanges of a register bit with lane bit 5 or 4 that make the rest simpler.
std::vector<uint32_t> emit_exchanges(Program& program, Columns& c, std::vector<uint32_t> words) {
  for (auto [lane, op] : {std::pair{5u, LaneStep::Op::Permlane32}, std::pair{4u, LaneStep::Op::Permlane16}}) {
    std::optional<unsigned> best;
    for (unsigned reg = 0; reg < c.source_bits; reg++) {
      bool by_wave = false;
      for (Vec v : c.wave_to_reg) by_wave |= (v >> reg & 1) != 0;
      if (by_wave || c.exchanged(reg, lane).mixing() >= c.mixing()) continue;
      if (!best || c.exchanged(reg, lane).mixing() < c.exchanged(*best, lane).mixing()) best = reg;
    }
    if (!best) continue;
    for (uint32_t w = 0; w < words.size(); w++)
      if ((w >> *best & 1) == 0)
        std::tie(words[w], words[w | 1u << *best]) = program.swap(op, words[w], words[w | 1u << *best]);
    c = c.exchanged(*best, lane);
  }
  return words;
}

unsigned spread(unsigned packed, const std::vector<unsigned>& bits) {
  unsigned out = 0;
  for (size_t i = 0; i < bits.size(); i++) out |= (packed >> i & 1) << bits[i];
  return out;
}
Vec gather(Vec v, const std::vector<unsigned>& bits) {
  Vec out = 0;
  for (size_t i = 0; i < bits.size(); i++) out |= (v >> bits[i] & 1) << i;
  return out;
}

}  // namespace

uint32_t LaneStep::from(unsigned lane) const {
  uint32_t out = from_constant;
  for (size_t i = 0; i < from_bits.size(); i++)
    if (lane >> i & 1) out ^= from_bits[i];
  return out;
}

unsigned LanePlan::count(LaneStep::Op op) const {
  unsigned n = 0;
  for (const LaneStep& s : steps) n += s.op == op;
  return n * (elem_bytes == 8 ? 2 : 1);
}

LinearLayout source_places(const LinearLayout& src, const LinearLayout& dst) {
  // The span uses the earliest bits that suffice: registers, then lanes, then waves.
  f2::Span span(src.bases());
  std::vector<Vec> bases;
  for (Dim d : dst.in().dims())
    for (unsigned b = 0; b < dst.in().bits(d); b++) {
      // For lanes and waves: the same lane or wave, and a way from its element to the wanted one.
      bool same = d != Dim::Register && b < src.in().bits(d);
      Vec start = same ? src.in().put(Vec{1} << b, d) : 0;
      std::optional<Vec> way = span.solve(dst.basis(d, b) ^ src.apply(start));
      assert(way);
      bases.push_back(start ^ *way);
    }
  return LinearLayout(dst.in(), src.in(), std::move(bases));
}

std::optional<LanePlan> plan_lanes(const LinearLayout& places, unsigned elem_bytes, Arch arch) {
  const Space &to = places.in(), &from = places.out();
  for (Dim d : {Dim::Register, Dim::Lane, Dim::Wave})
    for (unsigned b = 0; b < to.bits(d); b++)
      if (places.basis(d, b, Dim::Wave) != (d == Dim::Wave ? 1u << b : 0u) ||
          (d == Dim::Wave && places.basis(d, b, Dim::Lane) != 0))
        return std::nullopt;
  if (from.bits(Dim::Register) > 10 || to.bits(Dim::Register) > 10 || from.bits(Dim::Lane) != to.bits(Dim::Lane))
    return std::nullopt;

  // Destination register bits that hold something new, and of those the ones that stay inside a word: they are one
  // source register bit, which nothing else touches.
  f2::Span regs;
  std::vector<unsigned> kept, packed_to, packed_from, word_to, word_from;
  for (unsigned b = 0; b < to.bits(Dim::Register); b++)
    if (regs.add(places.basis(Dim::Register, b))) kept.push_back(b);
  for (unsigned b : kept) {
    Vec v = places.basis(Dim::Register, b);
    unsigned touching = 0;
    for (unsigned k : kept) touching += (places.basis(Dim::Register, k) & v) != 0;
    for (Dim d : {Dim::Lane, Dim::Wave})
      for (Vec other : places.bases(d)) touching += (other & v) != 0;
    bool pack = std::has_single_bit(v) && (v & from.mask(Dim::Register)) != 0 && touching == 1 &&
                elem_bytes << (packed_to.size() + 1) <= 4;
    (pack ? packed_to : word_to).push_back(b);
    if (pack) packed_from.push_back(static_cast<unsigned>(std::countr_zero(v)));
  }
  for (unsigned b = 0; b < from.bits(Dim::Register); b++)
    if (std::find(packed_from.begin(), packed_from.end(), b) == packed_from.end()) word_from.push_back(b);

  Columns c;
  c.source_bits = static_cast<unsigned>(word_from.size());
  for (unsigned b : word_to) {
    c.reg_to_reg.push_back(gather(places.basis(Dim::Register, b, Dim::Register), word_from));
    c.reg_to_lane.push_back(places.basis(Dim::Register, b, Dim::Lane));
  }
  for (Vec v : places.bases(Dim::Lane)) {
    c.lane_to_reg.push_back(gather(from.get(v, Dim::Register), word_from));
    c.lane_to_lane.push_back(from.get(v, Dim::Lane));
  }
  for (Vec v : places.bases(Dim::Wave)) c.wave_to_reg.push_back(gather(from.get(v, Dim::Register), word_from));

  LanePlan plan;
  plan.elem_bytes = elem_bytes;
  plan.word_elems = 1u << packed_to.size();
  std::vector<uint32_t> inputs;
  for (unsigned w = 0; w < 1u << word_from.size(); w++) {
    inputs.push_back(w);
    plan.inputs.emplace_back();
    for (unsigned e = 0; e < plan.word_elems; e++)
      plan.inputs.back().push_back(static_cast<uint16_t>(spread(w, word_from) | spread(e, packed_from)));
  }
  Program program(static_cast<unsigned>(inputs.size()), from.bits(Dim::Lane), arch);
  if (info(arch).has_permlane_swap && from.bits(Dim::Lane) == 6) inputs = emit_exchanges(program, c, inputs);
  std::optional<std::vector<uint32_t>> words = emit_rounds(program, c, inputs);
  if (!words) return std::nullopt;

  // A destination register is a sum of kept bits in what it holds.
  Vectors kept_places;
  for (unsigned b : kept) kept_places.push_back(places.basis(Dim::Register, b));
  f2::Span kept_span(kept_places);
  for (unsigned r = 0; r < to.size(Dim::Register); r++) {
    unsigned same = spread(static_cast<unsigned>(*kept_span.solve(places.at(r, 0, 0))), kept);
    plan.outputs.push_back({(*words)[gather(same, word_to)], static_cast<uint32_t>(gather(same, packed_to))});
  }
  plan.steps = program.finish(plan.outputs);
  return plan;
}

}  // namespace tile::layout
