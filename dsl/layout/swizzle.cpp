// The choice of a memory layout: swizzles by linear algebra.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>

#include "dsl/layout/shared_memory.h"

namespace tile::layout {

namespace {

using Vectors = std::vector<Vec>;

Vectors concat(std::initializer_list<Vectors> parts) {
  Vectors out;
  for (const Vectors& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

// One side of the move: what its threads and registers span in the tile.
struct Side {
  Vectors registers, lanes, waves, threads;

  explicit Side(const LinearLayout& l)
      : registers(l.bases(Dim::Register)),
        lanes(l.bases(Dim::Lane)),
        waves(l.bases(Dim::Wave)),
        threads(concat({lanes, waves})) {}
  // Tile directions among the lanes of one phase; of a store only the lanes that take part.
  Vectors phase(Arch arch, AccessKind kind, unsigned bytes, unsigned free_lanes) const {
    Vectors out;
    for (unsigned l : phase_lanes(arch, kind, bytes))
      if (std::bit_width(l) <= lanes.size() && (l & free_lanes) == 0) out.push_back(f2::combine(lanes, l));
    return f2::independent(out);
  }
};

// A request: 2^store and 2^load elements an access.
struct Widths {
  unsigned store, load;
  unsigned common() const { return std::min(store, load); }
  unsigned wide() const { return std::max(store, load); }
};

class Chooser {
 public:
  Chooser(const LinearLayout& store, const LinearLayout& load, unsigned elem_bytes, Arch arch, unsigned round_bits)
      : store_layout_(store),
        load_layout_(load),
        store_(store),
        load_(load),
        space_(store.out()),
        elem_bytes_(elem_bytes),
        arch_(arch),
        bits_(space_.total_bits()),
        round_bits_(round_bits),
        row_bits_(static_cast<unsigned>(std::countr_zero(info(arch).lds_banks * 4 / elem_bytes))),
        dword_bits_(elem_bytes >= 4 ? 0 : static_cast<unsigned>(std::countr_zero(4 / elem_bytes))),
        all_threads_(concat({store_.threads, load_.threads})) {}

  LinearLayout best() const {
    std::vector<std::pair<double, Widths>> requests;  // with the least cost that they can have
    unsigned max = static_cast<unsigned>(std::countr_zero(16 / elem_bytes_));
    for (unsigned s = 0; s <= max; s++)
      for (unsigned l = 0; l <= max; l++) requests.emplace_back(ideal({s, l}), Widths{s, l});
    std::stable_sort(requests.begin(), requests.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::optional<LinearLayout> out;
    double out_cost = 0;
    for (auto [least, w] : requests) {
      if (out && least >= out_cost) break;
      std::optional<LinearLayout> memory = build(w);
      if (!memory) continue;
      double c = cost(*memory);
      if (!out || c < out_cost) out = std::move(memory), out_cost = c;
    }
    assert(out);  // single elements always can be moved
    return *out;
  }

 private:
  // Cycles of a side's accesses without conflicts, as cost_of() in conversion.h counts them: an access takes its
  // instruction slot, and all waves share LDS.
  double side_ideal(const LinearLayout& l, unsigned width, AccessKind kind) const {
    unsigned bytes = elem_bytes_ << width;
    unsigned phases = wave_size >> phase_lanes(arch_, kind, bytes).size();
    unsigned ops = l.num_registers() >> std::popcount(l.free_mask(Dim::Register));
    return static_cast<double>(std::max(ops >> width, 1u)) * (issue_cycles + phases * store_layout_.num_waves());
  }
  double ideal(Widths w) const {
    return side_ideal(store_layout_, w.store, AccessKind::Store) + side_ideal(load_layout_, w.load, AccessKind::Load);
  }
  double cost(const LinearLayout& memory) const {
    double sum = 0;
    for (AccessKind kind : {AccessKind::Store, AccessKind::Load}) {
      const LinearLayout& l = kind == AccessKind::Store ? store_layout_ : load_layout_;
      SharedAccess a = plan_access(l, memory, elem_bytes_, kind, bits_ - round_bits_);
      // Rounds that differ among threads make every op take part in every round, under a predicate.
      unsigned passes = a.rounds_by_thread() ? 1u << round_bits_ : 1;
      sum += passes * (issue_cycles * static_cast<double>(a.ops.size()) +
                       bank_conflicts(a, arch_).cycles * store_layout_.num_waves()) +
             valu_cycles * a.packing();
    }
    return sum;
  }

  // Directions of the elements inside an access, lowest offset first: those that both sides have in their registers,
  // then those of the side with the wider access. Thread bits must stay independent of them.
  std::optional<Vectors> vector_directions(Widths w) const {
    Vectors out;
    f2::Span threads(all_threads_);
    for (Vec v : common_registers()) {
      if (out.size() == w.common()) break;
      if (threads.add(v)) out.push_back(v);
    }
    if (out.size() < w.common()) return std::nullopt;
    const Side& wide = w.store > w.load ? store_ : load_;
    f2::Span own(wide.threads);
    for (Vec v : out) own.add(v);
    for (Vec v : wide.registers) {
      if (out.size() == w.wide()) break;
      if (own.add(v)) out.push_back(v);
    }
    if (out.size() < w.wide()) return std::nullopt;
    return out;
  }

  // Tile directions that both sides have in their registers; first the loading side's own bases, in their order.
  Vectors common_registers() const {
    f2::Span in_store(store_.registers);
    Vectors out;
    for (Vec v : load_.registers)
      if (v != 0 && in_store.contains(v)) out.push_back(v);
    return f2::independent(concat({out, f2::intersection(store_.registers, load_.registers)}));
  }

  // Directions that count rounds: registers of the storing side that are independent of all threads (and of the
  // vectors), highest first; then threads.
  std::optional<Vectors> round_directions(const Vectors& vector) const {
    Vectors out;
    f2::Span span(all_threads_);
    for (Vec v : vector) span.add(v);
    for (auto v = store_.registers.rbegin(); v != store_.registers.rend() && out.size() < round_bits_; v++)
      if (span.add(*v)) out.push_back(*v);
    f2::Span rest(vector);
    for (Vec v : out) rest.add(v);
    for (const Vectors* more : {&store_.waves, &store_.lanes, &store_.registers})
      for (auto v = more->rbegin(); v != more->rend() && out.size() < round_bits_; v++)
        if (rest.add(*v)) out.push_back(*v);
    if (out.size() < round_bits_) return std::nullopt;
    return out;
  }

  // A basis of the tile that starts with `removed`; project() moves any direction into the span of the other members.
  class Frame {
   public:
    Frame(Vectors removed, const Vectors& others) : removed_(std::move(removed)) {
      // Dependent vectors are left out, so that solve() counts members.
      for (Vec v : concat({removed_, others}))
        if (!basis_.contains(v)) basis_.add(v);
    }
    Vec project(Vec v) const { return v ^ f2::combine(removed_, *basis_.solve(v) & ((Vec{1} << removed_.size()) - 1)); }
    Vectors project(Vectors vectors) const {
      for (Vec& v : vectors) v = project(v);
      return vectors;
    }

   private:
    Vectors removed_;
    f2::Span basis_;
  };

  // The vector and round directions, and a frame that keeps them apart from all others such that accesses stay
  // aligned and threads stay in their round.
  struct Directions {
    Vectors vector, rounds;
    Frame frame;
  };
  std::optional<Directions> directions(Widths w) const {
    std::optional<Vectors> vector = vector_directions(w);
    if (!vector || vector->size() + round_bits_ > bits_) return std::nullopt;
    // Along the common vectors neither side's threads may have a part, along the further ones those of the wide side.
    Vectors shared(vector->begin(), vector->begin() + w.common()), further(vector->begin() + w.common(), vector->end());
    Frame common(shared, concat({all_threads_, further, f2::identity(bits_)}));
    *vector = concat({shared, common.project(further)});
    const Side& wide_side = w.store > w.load ? store_ : load_;
    Vectors rest = common.project(concat({wide_side.threads, all_threads_, f2::identity(bits_)}));
    Frame wide(*vector, rest);
    std::optional<Vectors> rounds = round_directions(*vector);
    if (!rounds) return std::nullopt;
    *rounds = wide.project(*rounds);
    Vectors removed = concat({*vector, *rounds});
    if (f2::rank(removed) != removed.size()) return std::nullopt;
    return Directions{*vector, *rounds, Frame(removed, wide.project(rest))};
  }

  std::optional<LinearLayout> build(Widths w) const {
    std::optional<Directions> d = directions(w);
    if (!d) return std::nullopt;
    unsigned inside = bits_ - round_bits_;
    unsigned num_rows = inside > row_bits_ ? std::min(inside - row_bits_, inside - w.wide()) : 0;
    Vectors rows = row_directions(w, *d, num_rows);

    // Offsets: vector, bank, row, round.
    Vectors order = d->vector;
    f2::Span span(concat({d->vector, d->rounds, rows}));
    for (Vec v : d->frame.project(concat({load_.lanes, store_.lanes, all_threads_, f2::identity(bits_)})))
      if (span.add(v)) order.push_back(v);
    order = concat({order, rows, d->rounds});
    std::optional<Vectors> inverse = f2::inverse(order);
    if (!inverse) return std::nullopt;
    return LinearLayout(space_, {{Dim::Offset, bits_}}, std::move(*inverse));
  }

  // Directions from one row of the banks to others, outside of what a phase of either side spans.
  Vectors row_directions(Widths w, const Directions& d, unsigned count) const {
    f2::Span in_store(phase_space(store_layout_, store_, AccessKind::Store, w.store, d.vector));
    f2::Span in_load(phase_space(load_layout_, load_, AccessKind::Load, w.load, d.vector));
    f2::Span all(concat({d.vector, d.rounds}));
    Vectors rows, candidates;
    for (const Vectors* part :
         {&store_.waves, &load_.waves, &store_.registers, &load_.registers, &store_.lanes, &load_.lanes})
      candidates.insert(candidates.end(), part->rbegin(), part->rend());
    candidates = d.frame.project(concat({candidates, f2::identity(bits_)}));

    auto accept = [&](Vec v) {
      if (in_store.contains(v) || in_load.contains(v) || all.contains(v)) return false;
      in_store.add(v), in_load.add(v), all.add(v);
      rows.push_back(v);
      return true;
    };
    for (Vec v : candidates)
      if (rows.size() < count) accept(v);
    // Sums of a vector outside of the one phase and a vector outside of the other.
    for (Vec x : candidates) {
      if (rows.size() >= count || in_store.contains(x)) continue;
      for (Vec y : candidates)
        if (!in_load.contains(y) && accept(x ^ y)) break;
    }
    // No common complement is left: any direction, at the price of conflicts.
    for (Vec v : candidates) {
      if (rows.size() >= count || !all.add(v)) continue;
      rows.push_back(v);
    }
    return rows;
  }

  // The directions that must stay within a row of the banks: lanes of a phase, elements of an access and of a dword.
  Vectors phase_space(const LinearLayout& layout, const Side& side, AccessKind kind, unsigned width,
                      const Vectors& vector) const {
    unsigned free = kind == AccessKind::Store ? layout.free_mask(Dim::Lane) : 0;
    Vectors out = side.phase(arch_, kind, elem_bytes_ << width, free);
    for (size_t i = 0; i < std::min<size_t>(vector.size(), std::max(width, dword_bits_)); i++) out.push_back(vector[i]);
    return f2::independent(out);
  }

  static constexpr double issue_cycles = 4, valu_cycles = 4;

  const LinearLayout &store_layout_, &load_layout_;
  Side store_, load_;
  Space space_;
  unsigned elem_bytes_;
  Arch arch_;
  unsigned bits_, round_bits_, row_bits_, dword_bits_;
  Vectors all_threads_;
};

}  // namespace

Result<SwizzledMemory> swizzled_memory(const LinearLayout& store, const LinearLayout& load, unsigned elem_bytes,
                                       Arch arch, size_t max_bytes) {
  assert(store.out() == load.out());
  unsigned bits = store.out().total_bits(), rounds = 0;
  while (rounds < bits && elem_bytes << (bits - rounds) > max_bytes) rounds++;
  if (elem_bytes << (bits - rounds) > max_bytes)
    return Error{fmt::format("{} bytes of LDS do not hold one element of {} bytes", max_bytes, elem_bytes)};
  SwizzledMemory out;
  out.layout = Chooser(store, load, elem_bytes, arch, rounds).best();
  out.round_bits = rounds;
  return out;
}

}  // namespace tile::layout
