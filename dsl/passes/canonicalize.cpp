// One form for one meaning: folds what is known, shares equal values, moves what a loop does not change out of it, drops
// what nobody uses. Values stay the same to the bit.
#include <algorithm>
#include <map>
#include <tuple>

#include "dsl/ir/clone.h"
#include "dsl/passes/fold.h"
#include "dsl/passes/passes.h"

namespace tile::passes {

using namespace ir;

namespace {

bool is_pure(const Kernel& k, OpId o) { return info(k.op(o).kind).effects == Effects::Pure && k.op(o).blocks.empty(); }

class Canonicalizer {
 public:
  explicit Canonicalizer(Kernel& k) : k_(k) {}

  // Number of constants that were computed.
  unsigned run() {
    for (int round = 0; round < 16; ++round) {
      changed_ = false;
      fold();
      branches();
      carried();
      invariants();
      share();
      changed_ |= remove_dead(k_) != 0;
      if (!changed_) break;
    }
    return folded_;
  }

 private:
  std::vector<OpId> ops() const {
    std::vector<OpId> list;
    k_.walk([&](OpId o) { list.push_back(o); });
    return list;
  }

  void replace(ValueId from, ValueId to) {
    if (k_.value(to).name.empty() && k_.value(to).def.valid()) k_.value(to).name = k_.value(from).name;
    k_.replace_all_uses(from, to);
    changed_ = true;
  }

  void fold() {
    for (OpId o : ops()) {
      if (k_.op(o).erased || k_.op(o).results.size() != 1 || !is_pure(k_, o)) continue;
      ValueId old = k_.op(o).results[0];
      std::optional<ValueId> v = fold_op(k_, o, folded_);
      if (!v) continue;
      replace(old, *v);
      k_.erase(o);
    }
  }

  std::vector<ValueId> ends(BlockId b) const { return k_.op(k_.block(b).ops.back()).operands; }

  // Takes the operations of a block before `place`, but not the last one.
  void inline_block(BlockId b, OpId place) {
    std::vector<OpId> list = k_.block(b).ops;
    list.pop_back();
    for (OpId o : list) move_before(k_, o, place);
  }

  // Branches whose condition is known, and loops that run zero times.
  void branches() {
    for (OpId o : ops()) {
      if (k_.op(o).erased) continue;
      if (k_.op(o).kind == OpKind::If) {
        std::optional<int64_t> c = k_.constant_int(k_.op(o).operands[0]);
        if (!c) continue;
        BlockId taken = k_.op(o).blocks[*c != 0 ? 0 : 1];
        std::vector<ValueId> values = ends(taken);
        inline_block(taken, o);
        finish(o, values);
      } else if (k_.op(o).kind == OpKind::For) {
        auto low = k_.constant_int(k_.op(o).operands[0]), high = k_.constant_int(k_.op(o).operands[1]), step = k_.constant_int(k_.op(o).operands[2]);
        bool none = low && high && step && is_signed(k_.type(k_.op(o).operands[0]).dtype) && *step != 0 && (*step > 0 ? *low >= *high : *low <= *high);
        if (none) finish(o, {k_.op(o).operands.begin() + 3, k_.op(o).operands.end()});
      }
    }
  }

  void finish(OpId o, const std::vector<ValueId>& values) {
    std::vector<ValueId> results = k_.op(o).results;
    for (size_t i = 0; i < results.size(); ++i) k_.replace_all_uses(results[i], values[i]);
    k_.erase(o);
    changed_ = true;
  }

  // Values that a for loop carries and never changes, or that nobody reads.
  void carried() {
    for (OpId o : ops()) {
      if (k_.op(o).erased || k_.op(o).kind != OpKind::For) continue;
      for (size_t i = k_.op(o).results.size(); i-- > 0;) {
        BlockId body = k_.op(o).blocks[0];
        ValueId arg = k_.block(body).args[i + 1], init = k_.op(o).operands[i + 3], next = ends(body)[i], result = k_.op(o).results[i];
        if (next == arg || next == init) {
          k_.replace_all_uses(arg, init);
          k_.replace_all_uses(result, init);
        } else if (!only_feeds_itself(arg, result, next, body)) {
          continue;
        }
        drop(o, i);
        if (k_.op(o).erased) break;
      }
    }
  }

  // Used by nothing but the pure chain that makes its own next value.
  bool only_feeds_itself(ValueId arg, ValueId result, ValueId next, BlockId body) const {
    std::vector<std::vector<OpId>> users = k_.users();
    if (!users[result.index].empty()) return false;
    OpId yield = k_.block(body).ops.back();
    std::vector<ValueId> work{arg};
    std::vector<bool> seen(k_.num_values());
    while (!work.empty()) {
      ValueId v = work.back();
      work.pop_back();
      if (seen[v.index]) continue;
      seen[v.index] = true;
      for (OpId u : users[v.index]) {
        if (u == yield) {
          size_t times = static_cast<size_t>(std::count(k_.op(yield).operands.begin(), k_.op(yield).operands.end(), v));
          if (v != next || times != 1) return false;
          continue;
        }
        if (!is_pure(k_, u)) return false;
        work.insert(work.end(), k_.op(u).results.begin(), k_.op(u).results.end());
      }
    }
    return true;
  }

  // Takes carried value i out of the loop; its result has no use.
  void drop(OpId loop, size_t i) {
    BlockId body = k_.op(loop).blocks[0];
    auto cut = [](std::vector<ValueId>& list, size_t at) { list.erase(list.begin() + static_cast<ptrdiff_t>(at)); };
    cut(k_.op(k_.block(body).ops.back()).operands, i);
    remove_dead(k_);  // what the argument was used for
    changed_ = true;
    if (k_.op(loop).erased) return;
    cut(k_.block(body).args, i + 1);
    cut(k_.op(loop).operands, i + 3);
    cut(k_.op(loop).results, i);
  }

  // Inner loops first, so that what they release can move on.
  void invariants() {
    std::vector<OpId> list = ops();
    for (auto it = list.rbegin(); it != list.rend(); ++it) {
      OpKind kind = k_.op(*it).kind;
      if (k_.op(*it).erased || (kind != OpKind::For && kind != OpKind::While)) continue;
      for (BlockId b : k_.op(*it).blocks) {
        std::vector<OpId> body = k_.block(b).ops;
        for (OpId o : body) {
          const std::vector<ValueId>& operands = k_.op(o).operands;
          if (!is_pure(k_, o) || !std::all_of(operands.begin(), operands.end(), [&](ValueId v) { return defined_outside(k_, v, *it); })) continue;
          move_before(k_, o, *it);
          changed_ = true;
        }
      }
    }
  }

  using Key = std::tuple<OpKind, std::vector<ValueId>, std::vector<Attr>, std::string>;
  struct Less {
    bool operator()(const Key& a, const Key& b) const {
      if (std::get<0>(a) != std::get<0>(b)) return std::get<0>(a) < std::get<0>(b);
      if (std::get<1>(a) != std::get<1>(b)) return std::get<1>(a) < std::get<1>(b);
      if (std::get<3>(a) != std::get<3>(b)) return std::get<3>(a) < std::get<3>(b);
      const auto &x = std::get<2>(a), &y = std::get<2>(b);
      return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(), [](const Attr& p, const Attr& q) {
        return p.key != q.key ? p.key < q.key : p.value < q.value;
      });
    }
  };
  using Known = std::map<Key, OpId, Less>;

  void share() { share(k_.body, {}); }
  // `known`: what is computed before, in this block or one around it.
  void share(BlockId b, Known known) {
    std::vector<OpId> list = k_.block(b).ops;
    for (OpId o : list) {
      for (BlockId n : k_.op(o).blocks) share(n, known);
      if (!is_pure(k_, o) || k_.op(o).results.empty()) continue;
      Op& op = k_.op(o);
      std::vector<Attr> attrs = op.attrs;
      std::sort(attrs.begin(), attrs.end(), [](const Attr& x, const Attr& y) { return x.key < y.key; });
      std::string types;
      for (ValueId r : op.results) types += to_string(k_.type(r)) + ";";
      auto [it, fresh] = known.emplace(Key{op.kind, op.operands, attrs, types}, o);
      if (fresh) continue;
      std::vector<ValueId> results = op.results, same = k_.op(it->second).results;
      for (size_t i = 0; i < results.size(); ++i) replace(results[i], same[i]);
      k_.erase(o);
    }
  }

  Kernel& k_;
  unsigned folded_ = 0;
  bool changed_ = false;
};

// A constant of another value: the first that can be.
void plant_fault(Kernel& k) {
  bool done = false;
  k.walk([&](OpId o) {
    Op& op = k.op(o);
    if (done || op.kind != OpKind::Arange) return;
    op.set(AttrKey::Start, op.get_int(AttrKey::Start) + 1);
    done = true;
  });
}

}  // namespace

Status canonicalize(Kernel& k, PassContext& context) {
  Canonicalizer(k).run();
  if (context.fault) plant_fault(k);
  return Unit{};
}

}  // namespace tile::passes
