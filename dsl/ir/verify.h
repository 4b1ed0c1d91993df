#pragma once
// Parts of the verifier; ir.h has the entry point verify().
#include <fmt/format.h>

#include "dsl/ir/ir.h"

namespace tile::ir {

// Collects violations of one operation after the other.
class Violations {
 public:
  explicit Violations(const Kernel& k) : k_(k) {}
  void at(OpId o) { op_ = o; }
  // Adds a line unless `rule` holds; says whether it does.
  template <class... Args>
  bool check(bool rule, fmt::format_string<Args...> format, Args&&... args) {
    if (!rule) add(fmt::format(format, std::forward<Args>(args)...));
    return rule;
  }
  void add(const std::string& message);
  std::vector<std::string> take() { return std::move(list_); }

 private:
  const Kernel& k_;
  OpId op_;
  std::vector<std::string> list_;
};

// Operands, results, attributes and blocks of one operation, without layouts. The number of operands, results and
// blocks of an operation that passes is what its row says.
void verify_op(const Kernel& k, OpId o, Stage stage, Violations& v);
// Its layouts; called only if verify_op found nothing.
void verify_layouts(const Kernel& k, OpId o, Stage stage, Violations& v);

}  // namespace tile::ir
