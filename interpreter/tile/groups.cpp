// Groups of elementwise operations on tiles of one size.
#include <algorithm>

#include "interpreter/tile/compiler.h"

namespace tile::interp {
namespace {

constexpr uint64_t whole_limit = 1024, chunk_elements = 512;

BroadcastPlan broadcast_plan(const ir::Shape& from, const ir::Shape& to) {
  BroadcastPlan p;
  std::vector<int64_t> shape, stride;
  int64_t step = 1;
  for (unsigned i = to.rank(); i-- > 0;) {
    int64_t s = from[i] == 1 ? 0 : step;
    step *= from[i];
    if (to[i] == 1) continue;
    // Neighbouring axes that move alike are one.
    if (!shape.empty() && ((s == 0 && stride.back() == 0) || (s != 0 && stride.back() != 0 && s == stride.back() * shape.back()))) {
      shape.back() *= to[i];
    } else {
      shape.push_back(to[i]);
      stride.push_back(s);
    }
  }
  p.rank = static_cast<unsigned>(shape.size());
  for (unsigned i = 0; i < p.rank; ++i) {
    p.shape[i] = shape[p.rank - 1 - i];
    p.stride[i] = stride[p.rank - 1 - i];
  }
  return p;
}

num::ConvertMode convert_mode(const ir::Op& op) {
  num::ConvertMode m;
  if (op.get_text(AttrKey::Rounding) == "rtz") m.rounding = num::Rounding::TowardZero;
  m.saturate = op.get_int(AttrKey::Saturate, 1) != 0;
  return m;
}

}  // namespace

// Assembles the instruction of one group.
struct Compiler::GroupBuilder {
  Compiler& c;
  Group& g;
  std::vector<Member> ops;
  std::map<uint32_t, size_t> last_use;       // of values that stay inside, by root
  std::map<uint32_t, uint64_t> local;        // offset of a value's chunk
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> filled;  // (scalar, element bytes): offset of its chunk
  std::map<uint32_t, std::vector<uint64_t>> free_chunks;     // by element bytes: others may not overlap
  uint64_t used = 0;

  uint64_t chunk_bytes(uint32_t size) const { return (g.chunk * size + arena_align - 1) / arena_align * arena_align; }
  uint64_t take(uint32_t size) {
    std::vector<uint64_t>& list = free_chunks[size];
    if (list.empty()) {
      used += chunk_bytes(size);
      return used - chunk_bytes(size);
    }
    uint64_t at = list.back();
    list.pop_back();
    return at;
  }
  void refer(Ref& r, uint64_t offset) {
    r = Ref{offset, 0, false};
    c.local_refs_.push_back(&r);
  }

  // Values that only this group uses need no array of the whole tile.
  void find_local() {
    std::map<uint32_t, uint32_t> inside;
    for (size_t i = 0; i < ops.size(); ++i)
      for (ir::ValueId v : ops[i]->operands) {
        ++inside[c.root(v)];
        last_use[c.root(v)] = i;
      }
    for (Member op : ops) {
      uint32_t r = c.root(op->results[0]);
      bool stays = c.fused() && inside[r] == c.uses_[r] && inside[r] > 0;
      if (!stays) last_use.erase(r);
      else local[r] = UINT64_MAX;
    }
  }

  void operand(StepOperand& o, ir::ValueId v) {
    uint32_t r = c.root(v);
    uint32_t size = held_bytes(c.k_.type(v));
    const std::optional<Uniform>& u = c.uniform_[r];
    if (u && u->constant) {
      o.ref = Ref{c.repeated_constant(u->bits, size, g.chunk), 0, true};
      if (c.options_.check) c.bind(o.ref, r), o.stride = size;
    } else if (u) {
      refer(o.ref, filled.at({u->scalar, size}));
    } else if (auto it = local.find(r); it != local.end()) {
      refer(o.ref, it->second);
    } else {
      c.bind(o.ref, r);
      o.stride = size;
    }
  }

  void result(Step& s, size_t i) {
    Member op = ops[i];
    uint32_t r = c.root(op->results[0]);
    uint32_t size = held_bytes(c.k_.type(op->results[0]));
    // Chunks whose last reader this is may be written by it.
    for (ir::ValueId v : op->operands) {
      uint32_t used_root = c.root(v);
      auto it = local.find(used_root);
      if (it == local.end() || last_use[used_root] != i) continue;
      free_chunks[held_bytes(c.k_.type(v))].push_back(it->second);
      last_use[used_root] = SIZE_MAX;
    }
    if (auto it = local.find(r); it != local.end()) {
      it->second = take(size);
      refer(s.out.ref, it->second);
    } else {
      c.bind(s.out.ref, r);
      s.out.stride = size;
    }
  }

  void step(Step& s, size_t i) {
    const ir::Op& op = *ops[i];
    const ir::Type& type = c.k_.type(op.operands.back());
    size_t arity = std::min<size_t>(op.operands.size(), 3);
    for (size_t a = 0; a < arity; ++a) operand(s.in[a], op.operands[a]);
    if (op.kind == OpKind::Cast) {
      s.kind = Step::Kind::Convert;
      s.from = c.k_.type(op.operands[0]).dtype;
      s.to = c.k_.type(op.results[0]).dtype;
      s.mode = convert_mode(op);
      s.size = buffer_bytes(s.to);
      if (s.from == s.to) s.kind = Step::Kind::Copy;
    } else if (op.kind == OpKind::Broadcast) {
      s.kind = Step::Kind::Broadcast;
      s.size = held_bytes(type);
      s.plan = broadcast_plan(type.shape, c.k_.type(op.results[0]).shape);
      s.in[0].stride = 0;
    } else if (op.kind == OpKind::AddPtr) {
      s.kind = Step::Kind::AddPtr;
      s.from = c.k_.type(op.operands[1]).dtype;
      s.size = buffer_bytes(c.k_.type(op.operands[0]).dtype);
    } else {
      s.kernel = num::elementwise_kernel(op.kind, held_type(type));
    }
    result(s, i);
  }

  void build() {
    find_local();
    g.steps.resize(ops.size());
    for (size_t i = 0; i < ops.size(); ++i) {
      // Chunks of scalars are kept apart from chunks that come and go.
      for (ir::ValueId v : ops[i]->operands) {
        const std::optional<Uniform>& u = c.uniform_[c.root(v)];
        uint32_t size = held_bytes(c.k_.type(v));
        if (u && !u->constant && filled.try_emplace({u->scalar, size}, used).second) used += chunk_bytes(size);
      }
      step(g.steps[i], i);
    }
    g.fills.resize(filled.size());
    size_t at = 0;
    for (const auto& [key, offset] : filled) {
      Fill& f = g.fills[at++];
      c.bind(f.from, key.first);
      refer(f.to, offset);
      f.size = key.second;
      f.count = g.chunk;
    }
    c.local_bytes_ = std::max(c.local_bytes_, used);
  }
};

void Compiler::flush_owner(uint32_t r) {
  if (pending_of_[r] != 0) flush(pending_of_[r]);
}

void Compiler::settle(ir::ValueId v) {
  uint32_t r = root(v);
  flush_owner(r);
  if (uniform_[r] && !uniform_[r]->constant) flush_owner(uniform_[r]->scalar);
}

void Compiler::add_to_group(const ir::Op& op, uint64_t n) {
  for (ir::ValueId v : op.operands) {
    uint32_t r = root(v);
    if (pending_of_[r] != 0 && pending_of_[r] != n) flush_owner(r);
    if (uniform_[r] && !uniform_[r]->constant) flush_owner(uniform_[r]->scalar);
  }
  open_[n].ops.push_back(&op);
  pending_of_[root(op.results[0])] = n;
  if (!fused()) flush(n);
}

void Compiler::flush(uint64_t n) {
  auto it = open_.find(n);
  if (it == open_.end()) return;
  std::vector<Member> ops = std::move(it->second.ops);
  open_.erase(it);
  // What nobody uses is not computed.
  std::vector<Member> live;
  for (size_t i = ops.size(); i-- > 0;) {
    uint32_t r = root(ops[i]->results[0]);
    pending_of_[r] = 0;
    if (uses_[r] == 0 && fused()) {
      for (ir::ValueId v : ops[i]->operands) --uses_[root(v)];
    } else {
      live.push_back(ops[i]);
    }
  }
  if (live.empty()) return;
  std::reverse(live.begin(), live.end());
  Group* g = make<Group>();
  g->n = n;
  g->chunk = n <= whole_limit ? n : chunk_elements;
  GroupBuilder{*this, *g, std::move(live), {}, {}, {}, {}, 0}.build();
  emit(run_group, g);
}

void Compiler::flush_all() {
  while (!open_.empty()) flush(open_.begin()->first);
}

}  // namespace tile::interp
