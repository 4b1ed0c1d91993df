#pragma once
// Words for a syntax error: what was expected and found, where the caret goes, and what was probably meant.
#include <span>
#include <string>
#include <string_view>

#include "dsl/syntax/token.h"

namespace tile::syntax {

// What a parser would have taken: a spelling, or a description such as "a name".
struct Expected {
  std::string_view text;
  bool description = false;
};

// A statement or declaration that does not parse. `begin` is its first token, `fail` the first token that does not fit;
// tokens in front of `begin` exist unless it begins the file, tokens behind `fail` up to one of kind End.
struct Problem {
  std::string_view text;
  const Token* begin;
  const Token* fail;
  std::span<const Expected> expected;  // at `fail`
  bool at_file_level, in_test;

  bool wants(std::string_view token) const;
  std::string_view spelling(const Token& t) const { return text.substr(t.begin, t.end - t.begin); }
};

struct Explanation {
  uint32_t begin, end;  // bytes to point at
  std::string message, hint;
};
Explanation explain(const Problem& p);

// "f32" for `float` and the like, as C, Triton or NumPy write them; "" if `name` is none of them.
std::string_view type_meant(std::string_view name);

}  // namespace tile::syntax
