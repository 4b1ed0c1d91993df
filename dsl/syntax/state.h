#pragma once
// The state of a parse beside the position: what was expected at the farthest token, nesting, errors.
#include <array>

#include "dsl/syntax/ast.h"
#include "dsl/syntax/hints.h"
#include "dsl/syntax/token.h"

namespace tile::syntax {

// Nesting of brackets, blocks, operators that the parser descends for; and the height of an expression tree, which
// bounds the recursion of everyone who walks it.
inline constexpr unsigned max_nesting = 200;
inline constexpr unsigned max_height = 1000;

class State {
 public:
  State(FileId f, std::string_view t, const TokenStream& stream, ErrorLog& log)
      : file(f), text(t), stream_(stream), log_(log) {}

  const FileId file;
  const std::string_view text;
  int quiet = 0;         // > 0: failures are not noted
  bool in_test = false;  // inside of a `test` block

  // A parser failed at `at`. The farthest place is where the text is wrong.
  void expected(const Token* at, Expected e) {
    if (quiet || at < farthest_) return;
    if (at > farthest_) farthest_ = at, count_ = 0;
    if (count_ < expected_.size()) expected_[count_++] = e;
  }
  size_t expected_count(const Token* at) const { return at == farthest_ ? count_ : 0; }
  void replace_expected(const Token* at, size_t keep, Expected e) {
    if (quiet || at != farthest_) return;
    count_ = keep;
    expected(at, e);
  }

  // False at the limit; then the error is reported and the rest of the file is not read.
  bool enter(const Token* at);
  void leave() { --depth_; }
  bool stopped() const { return stopped_; }
  // Sets the height of a node whose children are complete, and checks it.
  void measure(ast::Expr& e);

  Range range(const Token& t) const { return {file, t.begin, t.end}; }
  std::string_view spelling(const Token& t) const { return text.substr(t.begin, t.end - t.begin); }
  void read(const Token& t, ast::Name& out) const { out.text = spelling(t), out.range = range(t); }
  void read(const Token& t, std::string& out) const { out = stream_.strings[t.value]; }
  void read(const Token& t, ast::ExprPtr& out) const;

  void error(DiagKind kind, Range range, std::string message, std::string hint = {}) {
    log_.add(kind, range.begin, range.end, std::move(message), std::move(hint));
  }

  // Recovery: each reports the farthest failure of what began at `first`, unless other errors explain it, and moves
  // `first` on. False if there is nothing to recover from (the end of the block or file).
  bool recover_statement(const Token*& first);    // behind the statement
  bool recover_to_body(const Token*& first);      // to the `{` of a declaration whose header is wrong
  bool recover_declaration(const Token*& first);  // behind the declaration

 private:
  void report(const Token* begin, const Token* end, bool at_file_level);
  const Token* end_of_statement(const Token* begin) const;
  const Token* end_of_declaration(const Token* begin) const;
  const Token* partner(const Token* t) const { return t->match ? &stream_.tokens[t->match] : nullptr; }
  const Token* failure(const Token* begin) const { return farthest_ > begin ? farthest_ : begin; }
  void stop(const Token* at, std::string message);

  const TokenStream& stream_;
  ErrorLog& log_;
  const Token* farthest_ = nullptr;
  std::array<Expected, 16> expected_{};
  size_t count_ = 0;
  unsigned depth_ = 0;
  bool stopped_ = false;
};

}  // namespace tile::syntax
