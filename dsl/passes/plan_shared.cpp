// Places the scratch of conversions, cross-wave reductions and reshapes in shared memory.
//
// An operation's scratch lives only while it runs, so any two may share bytes; insert_barriers then keeps them apart in
// time. Scratch of operations that follow each other, also around a loop, is kept apart in space if it fits, which
// saves those barriers.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/passes/passes.h"
#include "dsl/passes/scratch.h"

namespace tile::passes {

using namespace ir;

namespace {

struct Area {
  OpId op;
  size_t bytes = 0, offset = 0;
  std::vector<size_t> neighbours;  // indices of areas that should not overlap
};

class Placer {
 public:
  explicit Placer(Kernel& k) : k_(k), limit_(shared_memory_limit(k)) {}

  Result<size_t> run() {
    if (Status s = collect(k_.body); !s) return s.error();
    size_t end = 0;
    for (size_t i = 0; i < areas_.size(); ++i) {
      Area& a = areas_[i];
      if (a.bytes > limit_)
        return Error{fmt::format("{} needs {} bytes of shared memory, {} has {}", mnemonic(k_.op(a.op).kind), a.bytes, name(k_.arch), limit_),
                     "use smaller tiles"};
      a.offset = place(i);
      k_.op(a.op).set(AttrKey::LdsOffset, static_cast<int64_t>(a.offset));
      end = std::max(end, a.offset + a.bytes);
    }
    return end;
  }

 private:
  Status collect(BlockId b) {
    size_t first = areas_.size();
    for (OpId o : k_.block(b).ops) {
      k_.op(o).remove(AttrKey::LdsOffset);
      auto s = scratch_of(k_, k_.op(o));
      if (!s) return s.error();
      if (s->bytes > 0) {
        areas_.push_back({o, s->bytes, 0, {}});
        if (areas_.size() > 1) neighbours(areas_.size() - 2, areas_.size() - 1);
      }
      for (BlockId n : k_.op(o).blocks)
        if (Status nested = collect(n); !nested) return nested;
    }
    // The last one of a loop's body is followed by the first.
    bool loop = k_.block(b).parent.valid() && k_.op(k_.block(b).parent).kind != OpKind::If;
    if (loop && areas_.size() > first + 1) neighbours(first, areas_.size() - 1);
    return Unit{};
  }

  void neighbours(size_t a, size_t b) { areas_[b].neighbours.push_back(a); }

  // The lowest place that avoids the neighbours, or 0 if there is none within the limit.
  size_t place(size_t i) const {
    std::vector<std::pair<size_t, size_t>> taken;
    for (size_t n : areas_[i].neighbours) taken.emplace_back(areas_[n].offset, areas_[n].offset + areas_[n].bytes);
    std::sort(taken.begin(), taken.end());
    size_t at = 0;
    for (auto [begin, end] : taken)
      if (at < end && begin < at + areas_[i].bytes) at = end;
    return at + areas_[i].bytes <= limit_ ? at : 0;
  }

  Kernel& k_;
  size_t limit_;
  std::vector<Area> areas_;
};

}  // namespace

Status plan_shared(Kernel& k, PassContext& context) {
  auto bytes = Placer(k).run();
  if (!bytes) return bytes.error();
  k.lds_bytes = static_cast<int64_t>(*bytes) * (k.is_wave ? k.waves : 1);
  // The last bytes are missing.
  if (context.fault && k.lds_bytes > 0) k.lds_bytes -= 16;
  return Unit{};
}

}  // namespace tile::passes
