#pragma once
// Words for a syntax error: what was expected and found, where the caret goes, and what was probably meant.
#include <string>
#include <string_view>

#include "dsl/syntax/token.h"

namespace tile::syntax {

struct Problem {
  std::string_view text;
  const Token* begin;  // first token of the statement or declaration; a token is before it unless it begins the file
  const Token* fail;   // the first token that does not fit
  bool in_test;
  std::string expected;       // "`,` or `)`"
  std::string message, hint;  // set by explain()
  bool wants_semicolon, wants_block;
  Range place{};  // set by explain(); the file is not set
};

void explain(Problem& p);

// "f32" for `float` and the like, as C, Triton or NumPy write them; "" if `name` is none of them.
std::string_view type_meant(std::string_view name);

}  // namespace tile::syntax
