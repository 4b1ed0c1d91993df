#include "codegen/loops.h"

#include <algorithm>
#include <map>
#include <set>

namespace tile::codegen {
namespace {

struct Block {
  std::size_t begin = 0, end = 0;  // instructions [begin, end)
  std::vector<int> successors, predecessors;
};

// Cuts the code at branch targets and after branches.
std::vector<Block> build_blocks(const std::vector<Instruction>& code) {
  std::map<std::uint64_t, std::size_t> index;
  for (std::size_t i = 0; i < code.size(); ++i) index[code[i].address] = i;
  auto target_of = [&](const Instruction& i) { return i.branch_target ? index.find(*i.branch_target) : index.end(); };
  std::set<std::size_t> leaders = {0};
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (auto target = target_of(code[i]); target != index.end()) leaders.insert(target->second);
    if (code[i].branch_target || !code[i].falls_through) leaders.insert(i + 1);
  }
  std::vector<Block> blocks;
  std::map<std::size_t, int> block_at;
  for (auto it = leaders.begin(); it != leaders.end() && *it < code.size(); ++it) {
    block_at[*it] = static_cast<int>(blocks.size());
    const auto next = std::next(it);
    blocks.push_back({*it, next == leaders.end() ? code.size() : std::min(*next, code.size()), {}, {}});
  }
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Instruction& last = code[blocks[b].end - 1];
    auto add = [&](std::size_t instruction) {
      const int successor = block_at.at(instruction);
      blocks[b].successors.push_back(successor);
      blocks[static_cast<std::size_t>(successor)].predecessors.push_back(static_cast<int>(b));
    };
    if (auto target = target_of(last); target != index.end()) add(target->second);
    if (last.falls_through && blocks[b].end < code.size()) add(blocks[b].end);
  }
  return blocks;
}

// Immediate dominators (Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm"); -1 where no path leads.
class Dominators {
 public:
  explicit Dominators(const std::vector<Block>& blocks) : idom_(blocks.size(), -1), number_(blocks.size(), -1) {
    if (blocks.empty()) return;
    const std::vector<int> order = postorder(blocks);
    for (std::size_t i = 0; i < order.size(); ++i) number_[at(order[i])] = static_cast<int>(i);
    idom_[0] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (auto it = order.rbegin(); it != order.rend(); ++it) {
        if (*it == 0) continue;
        int best = -1;
        for (int p : blocks[at(*it)].predecessors)
          if (idom_[at(p)] >= 0) best = best < 0 ? p : meet(best, p);
        if (idom_[at(*it)] != best) idom_[at(*it)] = best, changed = true;
      }
    }
  }
  bool reached(int block) const { return idom_[at(block)] >= 0; }
  bool dominates(int a, int b) const {
    for (;; b = idom_[at(b)]) {
      if (a == b) return true;
      if (b == 0) return false;
    }
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static std::vector<int> postorder(const std::vector<Block>& blocks) {
    std::vector<int> order;
    std::vector<bool> seen(blocks.size());
    std::vector<std::pair<int, std::size_t>> stack = {{0, 0}};
    seen[0] = true;
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      if (next == blocks[at(block)].successors.size()) {
        order.push_back(block);
        stack.pop_back();
        continue;
      }
      const int successor = blocks[at(block)].successors[next++];
      if (!seen[at(successor)]) seen[at(successor)] = true, stack.push_back({successor, 0});
    }
    return order;
  }
  int meet(int a, int b) const {
    while (a != b) {
      while (number_[at(a)] < number_[at(b)]) a = idom_[at(a)];
      while (number_[at(b)] < number_[at(a)]) b = idom_[at(b)];
    }
    return a;
  }
  std::vector<int> idom_, number_;
};

}  // namespace

std::vector<Loop> find_loops(const std::vector<Instruction>& code) {
  if (code.empty()) return {};
  const std::vector<Block> blocks = build_blocks(code);
  const Dominators dominators(blocks);
  std::map<int, std::set<int>> bodies;  // by header
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (!dominators.reached(static_cast<int>(b))) continue;
    for (int header : blocks[b].successors) {
      if (!dominators.dominates(header, static_cast<int>(b))) continue;
      std::set<int>& body = bodies[header];
      body.insert(header);
      std::vector<int> todo = {static_cast<int>(b)};
      while (!todo.empty()) {
        const int block = todo.back();
        todo.pop_back();
        if (!dominators.reached(block) || !body.insert(block).second) continue;
        for (int p : blocks[static_cast<std::size_t>(block)].predecessors) todo.push_back(p);
      }
    }
  }
  std::vector<std::pair<int, const std::set<int>*>> order;
  for (const auto& [header, body] : bodies) order.push_back({header, &body});
  std::vector<Loop> loops;
  for (const auto& [header, body] : order) {
    Loop loop;
    loop.header = blocks[static_cast<std::size_t>(header)].begin;
    for (int b : *body)
      for (std::size_t i = blocks[static_cast<std::size_t>(b)].begin; i < blocks[static_cast<std::size_t>(b)].end; ++i)
        loop.instructions.push_back(i);
    loops.push_back(std::move(loop));
  }
  // Two natural loops with different headers are apart or one inside the other; the parent is the smallest around.
  for (std::size_t i = 0; i < loops.size(); ++i)
    for (std::size_t j = 0; j < loops.size(); ++j) {
      if (i == j || !order[j].second->contains(order[i].first)) continue;
      const int best = loops[i].parent;
      if (best < 0 || loops[j].instructions.size() < loops[static_cast<std::size_t>(best)].instructions.size())
        loops[i].parent = static_cast<int>(j);
    }
  for (Loop& loop : loops)
    for (int p = loop.parent; p >= 0; p = loops[static_cast<std::size_t>(p)].parent) ++loop.depth;
  return loops;
}

}  // namespace tile::codegen
