#pragma once
// Tokens of a .tile file. The lexer (lex.cpp) makes them from bytes, the grammar reads them through `const Token*`.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/diag/diag.h"

namespace tile::syntax {

enum class TokenKind : uint8_t {
  End,      // behind the last token; the grammar never reads over it
  Name,     // also words that mean something in one place only (`grid`, `launch`)
  Keyword,  // a reserved word
  Int,      // value: index into TokenStream::ints
  Float,    // value: index into TokenStream::floats
  String,   // value: index into TokenStream::strings
  Punct,    // brackets, operators, separators
};

inline constexpr std::string_view keywords[] = {
    "kernel", "fn",    "let",      "var",    "const",  "if",   "else",  "for", "in",           "while",
    "return", "break", "continue", "static", "import", "true", "false", "as",  "static_assert"};
// Names that the grammar knows; elsewhere they are names like any other.
inline constexpr std::string_view words[] = {"wave",   "grid",   "waves",    "requires", "expects", "contract",
                                             "on",     "range",  "pipeline", "stride",   "noalias", "align",
                                             "wide",   "ptr",    "type",     "launch",   "expect",  "error",
                                             "within", "target", "None",     "test",     "dtype"};

// One operator of dsl/ops/infix.def.
struct Infix {
  std::string_view token;
  int precedence, arity;
};
inline constexpr Infix infix_table[] = {
#define TILE_INFIX(token, spelling, precedence, arity) {token, precedence, arity},
#include "dsl/ops/infix.def"
};
// `+=` for each operator that binds tighter than the comparisons.
inline constexpr std::string_view compound_table[] = {
#define TILE_INFIX(token, spelling, precedence, arity) (arity) == 2 && (precedence) > 3 ? token "=" : "",
#include "dsl/ops/infix.def"
};
inline constexpr std::string_view separators[] = {"(", ")",  "[", "]", "{",  "}",  ",", ";",
                                                  ":", "::", ".", "=", "->", "~=", ">"};

// Every fixed spelling has a number: its first place in the lists above, from 1; 0 is no fixed spelling.
using SpellingId = uint8_t;
inline constexpr auto spellings = [] {
  constexpr size_t n = 1 + std::size(keywords) + std::size(words) + std::size(infix_table) + std::size(compound_table) +
                       std::size(separators);
  static_assert(n < 256);
  std::array<std::string_view, n> all{};
  size_t i = 1;
  for (auto s : keywords) all[i++] = s;
  for (auto s : words) all[i++] = s;
  for (const auto& s : infix_table) all[i++] = s.token;
  for (auto s : compound_table) all[i++] = s;
  for (auto s : separators) all[i++] = s;
  return all;
}();
constexpr SpellingId spelling_id(std::string_view s) {
  for (size_t i = 1; i < spellings.size(); ++i)
    if (spellings[i] == s) return static_cast<SpellingId>(i);
  return 0;
}
constexpr bool is_word_id(SpellingId id) { return id != 0 && id <= std::size(keywords) + std::size(words); }
constexpr bool is_keyword_id(SpellingId id) { return id != 0 && id <= std::size(keywords); }

struct Token {
  TokenKind kind = TokenKind::End;
  SpellingId id = 0;
  bool first_on_line = false;
  bool synthetic = false;  // a `}` that the text lacks
  uint32_t begin = 0, end = 0;
  uint32_t value = 0;  // see TokenKind
  uint32_t match = 0;  // of a bracket: index of its partner, 0 if it has none (token 0 can't be a closing bracket's
                       // partner of itself; an opening bracket's partner is never token 0)
  bool is(std::string_view s) const { return id != 0 && spellings[id] == s; }
};

// All tokens of one file, ended by one of kind End.
struct TokenStream {
  std::vector<Token> tokens;
  std::vector<uint64_t> ints;
  std::vector<double> floats;
  std::vector<std::string> strings;
};

// Errors of one file while it is read; they go out sorted by place, at most `max_errors` of them.
class ErrorLog {
 public:
  static constexpr size_t max_errors = 100;
  explicit ErrorLog(FileId file) : file_(file) {}
  // Null when the limit is reached.
  Diagnostic* add(DiagKind kind, uint32_t begin, uint32_t end, std::string message, std::string hint = {});
  bool full() const { return list_.size() >= max_errors; }
  bool any_in(uint32_t begin, uint32_t end) const;
  void flush(Diagnostics& diags);
  FileId file() const { return file_; }

 private:
  FileId file_;
  bool overflow_ = false;
  std::vector<Diagnostic> list_;
};

// Bytes to tokens. Comments and white space go; what is no token is reported and left out.
TokenStream lex(std::string_view text, ErrorLog& log);

// Pairs the brackets and makes the braces balanced: a stray `}` is reported and taken out, a missing one reported and
// put in where the block must have ended. Round and square brackets without partner stay for the grammar to report.
void match_brackets(std::vector<Token>& tokens, std::string_view text, ErrorLog& log);

}  // namespace tile::syntax
