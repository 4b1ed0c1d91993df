#pragma once
// Which parameters a pointer or a view may come from.
#include <set>
#include <vector>

#include "dsl/ir/ir.h"

namespace tile::passes {

class Roots {
 public:
  static constexpr uint32_t anywhere = UINT32_MAX;  // a pointer made of something else
  explicit Roots(const ir::Kernel& k);
  // Value indices of parameters, or `anywhere`.
  const std::set<uint32_t>& of(ir::ValueId v) const { return sets_[v.index]; }
  // Two memory operations (load, store, load_view, store_view) may touch the same bytes: parameters may overlap unless
  // one of them is noalias.
  bool may_alias(const ir::Op& a, const ir::Op& b) const;

 private:
  bool noalias(uint32_t root, const ir::Op& access) const;
  const ir::Kernel& k_;
  std::vector<std::set<uint32_t>> sets_;
};

}  // namespace tile::passes
