#include "dsl/passes/hazards.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "dsl/ir/clone.h"
#include "dsl/passes/access.h"
#include "dsl/passes/roots.h"

namespace tile::passes {

using namespace ir;

namespace {

// An access that is not ordered by a barrier yet.
struct Pending {
  OpId op;
  bool earlier_round;  // of a loop, and its addresses differ from round to round
  auto operator<=>(const Pending&) const = default;
};

struct State {
  std::set<Pending> memory;  // load, store, load_view, store_view
  std::set<OpId> shared;     // operations whose scratch another wave may still touch
  bool operator==(const State&) const = default;
  void merge(const State& o) {
    memory.insert(o.memory.begin(), o.memory.end());
    shared.insert(o.shared.begin(), o.shared.end());
  }
};

class Finder {
 public:
  Finder(Kernel& k, bool insert) : k_(k), facts_(k), roots_(k), insert_(insert) {}

  Result<std::vector<Hazard>> run() {
    // One wave's accesses act in order, and a wave kernel's waves are on their own.
    if (k_.is_wave) return std::vector<Hazard>{};
    std::optional<Error> error;
    k_.walk([&](OpId o) {
      auto s = scratch_of(k_, k_.op(o));
      if (!s) error = s.error();
      else if (s->bytes > 0) scratch_[o] = *s;
    });
    if (error) return *error;
    State state;
    block(k_.body, state);
    return std::move(found_);
  }

 private:
  void block(BlockId b, State& s) {
    std::vector<OpId> ops = k_.block(b).ops;
    for (OpId o : ops) op(o, s);
  }

  void op(OpId o, State& s) {
    switch (k_.op(o).kind) {
      case OpKind::Barrier: arrive(s, k_.op(o).get_int(AttrKey::Global) != 0); return;
      case OpKind::For: return loop(o, s, false);
      case OpKind::While: return loop(o, s, true);
      case OpKind::If: {
        State other = s;
        block(k_.op(o).blocks[0], s);
        block(k_.op(o).blocks[1], other);
        s.merge(other);
        return;
      }
      default: break;
    }
    if (is_memory_op(k_.op(o).kind)) memory(o, s);
    else if (scratch_.count(o)) shared(o, s);
  }

  static void arrive(State& s, bool global) {
    s.shared.clear();
    if (global) s.memory.clear();
  }

  // The body may follow itself; states only grow, so a barrier once inserted stays needed.
  void loop(OpId o, State& s, bool first_block_exits) {
    State entry = s;
    for (;;) {
      State round = entry, exit = entry;
      if (first_block_exits) {
        block(k_.op(o).blocks[0], round);
        exit = round;
        block(k_.op(o).blocks[1], round);
      } else {
        block(k_.op(o).blocks[0], round);
        exit.merge(round);
      }
      State next = entry;
      next.shared.insert(round.shared.begin(), round.shared.end());
      for (const Pending& p : round.memory) next.memory.insert({p.op, p.earlier_round || varies_in(p.op, o)});
      if (next == entry) {
        s = exit;
        return;
      }
      entry = next;
    }
  }

  // The addresses of an access depend on what happens inside of the loop.
  bool varies_in(OpId access, OpId loop) const {
    for (ValueId v : address(k_.op(access)))
      if (!defined_outside(k_, v, loop)) return true;
    return false;
  }

  std::vector<ValueId> address(const Op& o) const {
    if (o.kind == OpKind::Load || o.kind == OpKind::Store) return {o.operands[0]};
    auto [first, last] = index_operands(k_, o);
    std::vector<ValueId> list{o.operands[0]};
    list.insert(list.end(), o.operands.begin() + static_cast<ptrdiff_t>(first), o.operands.begin() + static_cast<ptrdiff_t>(last));
    return list;
  }

  void need(OpId before, bool global, State& s, std::string why) {
    arrive(s, global);
    if (done_.insert({before, global}).second) found_.push_back({before, global, std::move(why)});
    if (!insert_) return;
    // One barrier serves both purposes.
    std::vector<OpId>& ops = k_.block(k_.op(before).parent).ops;
    auto at = std::find(ops.begin(), ops.end(), before);
    OpId have = at != ops.begin() ? *(at - 1) : OpId{};
    if (!have.valid() || k_.op(have).kind != OpKind::Barrier) have = Builder::before(k_, before).op(OpKind::Barrier, {}, {});
    if (global) k_.op(have).set(AttrKey::Global, int64_t{1});
  }

  // --- shared memory: an operation first writes its scratch, ends reading it
  void shared(OpId o, State& s) {
    const Scratch& mine = scratch_.at(o);
    int64_t begin = k_.op(o).get_int(AttrKey::LdsOffset), end = begin + static_cast<int64_t>(mine.bytes);
    for (OpId p : s.shared) {
      const Scratch& other = scratch_.at(p);
      int64_t p_begin = k_.op(p).get_int(AttrKey::LdsOffset), p_end = p_begin + static_cast<int64_t>(other.bytes);
      bool same = p == o && mine.wave_local;
      if (same || p_end <= begin || end <= p_begin || k_.waves == 1) continue;
      need(o, false, s, fmt::format("it writes shared memory that {} (operation {}) reads", mnemonic(k_.op(p).kind), p.index));
      break;
    }
    // Its own barrier, between writing and reading, orders everything before.
    if (!mine.wave_local) s.shared.clear();
    s.shared.insert(o);
  }

  // --- global memory
  static bool writes(const Op& o) { return o.kind == OpKind::Store || o.kind == OpKind::StoreView; }

  void memory(OpId o, State& s) {
    for (const Pending& p : s.memory) {
      const Op &now = k_.op(o), &before = k_.op(p.op);
      if ((!writes(now) && !writes(before)) || !roots_.may_alias(now, before) || same_thread(o, p)) continue;
      need(o, true, s, fmt::format("it may touch what {} (operation {}) of another thread touched", mnemonic(before.kind), p.op.index));
      break;
    }
    s.memory.insert({o, false});
  }

  // Every thread touches only what it touched itself: the same addresses in the same layout, each element in one
  // thread and at an address of its own.
  bool same_thread(OpId o, const Pending& p) const {
    const Op &a = k_.op(o), &b = k_.op(p.op);
    if (p.earlier_round || address(a) != address(b) || layout_waves(k_) != k_.waves) return false;
    ValueId x = tile_of(a), y = tile_of(b);
    const Type& t = k_.type(x);
    if (t.shape.rank() != 1 || !k_.value(x).layout || !k_.value(y).layout) return false;
    const LinearLayout& l = *k_.value(x).layout;
    if (l != *k_.value(y).layout || !l.is_injective()) return false;
    uint64_t whole = uint64_t{1} << axis_bits(t.shape[0]);
    if (a.kind == OpKind::Load || a.kind == OpKind::Store) return facts_.of(a.operands[0]).axes[0].contiguity >= whole;
    const Op* view = k_.def(a.operands[0]);
    auto [first, last] = index_operands(k_, a);
    size_t varying = 0;
    for (size_t i = first; i < last; ++i) {
      if (k_.type(a.operands[i]).shape.rank() == 0) continue;
      ++varying;
      size_t dim = i - first;
      if (!view || k_.constant_int(view->operands[1 + (last - first) + dim]) != 1 || facts_.of(a.operands[i]).axes[0].contiguity < whole) return false;
    }
    return varying == 1;
  }

  static ValueId tile_of(const Op& o) { return writes(o) ? o.operands[1] : o.results[0]; }

  Kernel& k_;
  AxisAnalysis facts_;
  Roots roots_;
  bool insert_;
  std::map<OpId, Scratch> scratch_;
  std::set<std::pair<OpId, bool>> done_;
  std::vector<Hazard> found_;
};

}  // namespace

Result<std::vector<Hazard>> find_hazards(Kernel& k, bool insert) { return Finder(k, insert).run(); }

std::vector<std::string> verify_final(const Kernel& k, bool barriers) {
  std::vector<std::string> list;
  size_t limit = static_cast<size_t>(k.lds_bytes) / (k.is_wave ? k.waves : 1);
  k.walk([&](OpId o) {
    const Op& op = k.op(o);
    auto s = scratch_of(k, op);
    if (!s) {
      list.push_back(fmt::format("{} (operation {}): {}", mnemonic(op.kind), o.index, s.error().message));
      return;
    }
    if (s->bytes == 0) return;
    int64_t at = op.get_int(AttrKey::LdsOffset, -1);
    if (at < 0 || at % 16 != 0 || static_cast<size_t>(at) + s->bytes > limit)
      list.push_back(fmt::format("{} (operation {}): its {} bytes of scratch at {} are not in {} bytes of shared memory", mnemonic(op.kind), o.index, s->bytes, at, limit));
  });
  if (!barriers || !list.empty()) return list;
  Kernel copy = k;
  auto hazards = find_hazards(copy, false);
  if (!hazards) return {hazards.error().message};
  for (const Hazard& h : *hazards)
    list.push_back(fmt::format("{} (operation {}): a barrier is missing, {}", mnemonic(k.op(h.before).kind), h.before.index, h.why));
  return list;
}

}  // namespace tile::passes
