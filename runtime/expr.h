#pragma once
// The expressions that stand in a kernel's manifest: grids, extents, strides and `requires` clauses, over the values of
// the kernel's scalar parameters. 64-bit signed integers, exact: overflow is an error, not a wrong number.
//
//   or      := and ("||" and)*                      bitor  := bitxor ("|" bitxor)*
//   and     := compare ("&&" compare)*              bitxor := bitand ("^" bitand)*
//   compare := bitor (("=="|"!="|"<"|"<="|">"|">=") bitor)?
//   bitand  := shift ("&" shift)*                   shift  := sum (("<<"|">>") sum)*
//   sum     := product (("+"|"-") product)*         product := unary (("*"|"/"|"%") unary)*
//   unary   := ("-"|"!"|"~")* primary
//   primary := integer (decimal or 0x...) | name | name "(" or ("," or)* ")" | "(" or ")"
// Functions: cdiv(a, b) = a / b rounded up, min(a, ...), max(a, ...), abs(a). `/` and `%` truncate towards zero;
// division by zero and shifts by a negative count or 64 and more are errors. Truth is non-zero; comparisons, `!`, `&&`
// and `||` give 0 or 1, and the last two skip their right side when the left decides.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/support/result.h"

namespace tile {

class Expr {
 public:
  using Values = std::map<std::string, std::int64_t, std::less<>>;

  // Errors name the column (from 1) and what was expected there.
  static Result<Expr> parse(std::string_view text);

  // Errors: a name without a value, overflow, division by zero, a bad shift count; with the expression's text.
  Result<std::int64_t> eval(const Values& values) const;

  // Names in the expression, each once, in order of appearance.
  const std::vector<std::string>& names() const { return names_; }
  const std::string& text() const { return text_; }

  struct Node;  // in expr.cpp

 private:
  std::string text_;
  std::vector<std::string> names_;
  std::shared_ptr<const Node> root_;
};

}  // namespace tile
