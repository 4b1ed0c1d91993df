// Which values share an array, which are uniform, and where each array lives.
#include <algorithm>
#include <cstring>

#include "interpreter/tile/compiler.h"

namespace tile::interp {

Compiler::Compiler(const ir::Kernel& kernel, const CompileOptions& options) : k_(kernel), options_(options), code_(std::make_shared<Code>()) {
  code_->kernel = kernel;
  code_->options = options;
  size_t n = kernel.num_values();
  slots_.resize(n);
  for (uint32_t v = 0; v < n; ++v) {
    const ir::Type& t = kernel.type(ir::ValueId{v});
    slots_[v].bytes = value_bytes(t);
    slots_[v].elements = element_count(t);
  }
  root_.resize(n);
  uniform_.resize(n);
  uses_.assign(n, 0);
  outside_uses_.assign(n, 0);
  pending_of_.assign(n, 0);
}

// True if the result's elements are the operand's in the same order.
bool Compiler::same_order(const ir::Op& op) const {
  const ir::Type& from = k_.type(op.operands[0]);
  switch (op.kind) {
    case OpKind::ExpandDims:
    case OpKind::Reshape:
    case OpKind::ConvertLayout:
    case OpKind::Bitcast: return true;
    case OpKind::Splat:
    case OpKind::Broadcast: return from.shape.elements() == k_.type(op.results[0]).shape.elements();
    case OpKind::Trans: {
      int64_t last = -1;
      for (int64_t axis : op.get_ints(AttrKey::Perm)) {
        if (from.shape[static_cast<unsigned>(axis)] == 1) continue;
        if (axis < last) return false;
        last = axis;
      }
      return true;
    }
    default: return false;
  }
}

void Compiler::find_aliases() {
  for (uint32_t v = 0; v < root_.size(); ++v) root_[v] = v;
  k_.walk([&](ir::OpId id) {
    const ir::Op& op = k_.op(id);
    if (op.kind == OpKind::For || op.kind == OpKind::While) {
      // Results are what the loop's own variables hold at the end: the carried ones, of while those of its body.
      const std::vector<ir::ValueId>& args = k_.block(op.blocks.back()).args;
      size_t skip = op.kind == OpKind::For ? 1 : 0;
      for (size_t i = 0; i < op.results.size(); ++i) root_[op.results[i].index] = args[i + skip].index;
      return;
    }
    if (op.results.size() != 1 || op.kind == OpKind::If) return;
    uint32_t result = op.results[0].index;
    if (op.kind == OpKind::Constant) {
      uniform_[result] = Uniform{true, op.get_bits(AttrKey::Value), 0};
      return;
    }
    if (op.operands.empty()) return;
    uint32_t source = root(op.operands[0]);
    bool moves = op.kind == OpKind::Splat || op.kind == OpKind::Broadcast || op.kind == OpKind::Trans;
    if (same_order(op) || (op.kind == OpKind::Trans && uniform_[source] && fused())) {
      root_[result] = source;
    } else if (moves && uniform_[source] && (fused() || uniform_[source]->constant)) {
      uniform_[result] = uniform_[source];
    } else if (op.kind == OpKind::Splat && fused()) {
      uniform_[result] = Uniform{false, 0, source};
    }
  });
}

bool Compiler::is_group_op(const ir::Op& op) const {
  if (op.results.size() != 1) return false;
  uint32_t r = op.results[0].index;
  if (root_[r] != r || uniform_[r]) return false;
  return is_elementwise(op.kind) || op.kind == OpKind::Cast || op.kind == OpKind::AddPtr || op.kind == OpKind::Broadcast;
}

void Compiler::count_uses() {
  k_.walk([&](ir::OpId id) {
    const ir::Op& op = k_.op(id);
    bool alias = op.results.size() == 1 && op.operands.size() == 1 && root(op.results[0]) != op.results[0].index &&
                 op.kind != OpKind::For && op.kind != OpKind::While;
    if (alias) return;
    bool inside = is_group_op(op) && op.kind != OpKind::Broadcast;
    for (ir::ValueId v : op.operands) {
      ++uses_[root(v)];
      if (!inside) ++outside_uses_[root(v)];
    }
  });
}

uint64_t Compiler::add_constant(const void* bytes, uint64_t size) {
  std::vector<std::byte>& pool = code_->constants;
  uint64_t offset = pool.size();
  pool.resize(offset + (size + arena_align - 1) / arena_align * arena_align);
  if (size) std::memcpy(pool.data() + offset, bytes, size);
  return offset;
}

uint64_t Compiler::repeated_constant(uint64_t bits, uint32_t size, uint64_t count) {
  auto [it, fresh] = repeated_.try_emplace({bits, size, count}, 0);
  if (!fresh) return it->second;
  std::vector<std::byte> data(count * size);
  fill_elements(&bits, data.data(), size, count);
  return it->second = add_constant(data.data(), data.size());
}

uint32_t Compiler::add_slot(uint64_t bytes, uint64_t elements) {
  Slot s;
  s.bytes = bytes;
  s.elements = elements;
  slots_.push_back(s);
  return static_cast<uint32_t>(slots_.size() - 1);
}

void Compiler::bind(Ref& r, uint32_t slot) {
  Slot& s = slots_[slot];
  if (slot < uniform_.size() && uniform_[slot] && uniform_[slot]->constant && !s.constant) {
    s.constant = true;
    s.offset = repeated_constant(uniform_[slot]->bits, static_cast<uint32_t>(s.bytes / s.elements), s.elements);
  }
  bound_.push_back({&r, slot});
  s.first = std::min(s.first, here());
  s.last = std::max(s.last, here());
}

void Compiler::bind(Ref& r, ir::ValueId v) { bind(r, root(v)); }

namespace {

// Hands out ranges of the arena.
class Arena {
 public:
  uint64_t take(uint64_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
    if (best == free_.end()) {
      uint64_t at = end_;
      end_ += bytes;
      return at;
    }
    auto [at, size] = *best;
    free_.erase(best);
    if (size > bytes) free_[at + bytes] = size - bytes;
    return at;
  }
  void give(uint64_t at, uint64_t bytes) {
    auto it = free_.emplace(at, bytes).first;
    auto next = std::next(it);
    if (next != free_.end() && at + bytes == next->first) {
      it->second += next->second;
      free_.erase(next);
    }
    if (it != free_.begin()) {
      auto before = std::prev(it);
      if (before->first + before->second == it->first) {
        before->second += it->second;
        free_.erase(it);
      }
    }
  }
  uint64_t end() const { return end_; }

 private:
  std::map<uint64_t, uint64_t> free_;  // offset, size
  uint64_t end_ = 0;
};

uint64_t rounded(uint64_t bytes) { return std::max<uint64_t>((bytes + arena_align - 1) / arena_align * arena_align, arena_align); }

}  // namespace

void Compiler::allocate() {
  // What is alive when a loop starts and used in it stays until its end.
  std::sort(loops_.begin(), loops_.end(), [](auto& x, auto& y) { return x.second < y.second; });
  for (auto [start, end] : loops_)
    for (Slot& s : slots_)
      if (s.first < start && s.last >= start && s.last < end) s.last = end;

  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].first != SIZE_MAX && !slots_[i].constant) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) { return slots_[x].first < slots_[y].first; });
  Arena arena;
  std::multimap<size_t, uint32_t> active;  // by last use
  for (uint32_t i : order) {
    Slot& s = slots_[i];
    // Debugging wants to see everything at the end; otherwise an array is free after its last use.
    while (!active.empty() && active.begin()->first < s.first && fused()) {
      Slot& old = slots_[active.begin()->second];
      arena.give(old.offset, rounded(old.bytes));
      active.erase(active.begin());
    }
    s.offset = arena.take(rounded(s.bytes));
    active.emplace(s.last, i);
  }
  uint64_t end = arena.end();
  for (Ref* r : local_refs_) r->offset += end;
  end += local_bytes_;
  if (options_.check) {
    uint64_t zeros = end, most = 1;
    for (Slot& s : slots_) most = std::max(most, s.elements);
    end += rounded(most);
    for (Slot& s : slots_) {
      s.shadow = zeros;
      if (s.constant || s.first == SIZE_MAX) continue;
      s.shadow = end;
      end += rounded(s.elements);
    }
  }
  for (const Bound& b : bound_) {
    const Slot& s = slots_[b.slot];
    *b.ref = Ref{s.offset, s.shadow, s.constant};
  }
  code_->arena_bytes = end;
  // From here on the constants begin at an aligned address.
  std::vector<std::byte>& pool = code_->constants;
  size_t size = pool.size();
  pool.resize(size + arena_align);
  std::memmove(const_cast<std::byte*>(code_->constant_base()), pool.data(), size);
}

}  // namespace tile::interp
