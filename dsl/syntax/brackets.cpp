// Pairs brackets before the grammar runs, so that a missing brace gives one message at the right place.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/syntax/token.h"

namespace tile::syntax {

namespace {

char bracket(const Token& t) {
  return t.kind == TokenKind::Punct && spellings[t.id].size() == 1 ? spellings[t.id][0] : '\0';
}

char closing(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }

class Matcher {
 public:
  Matcher(const std::vector<Token>& in, std::string_view text, ErrorLog& log) : in_(in), text_(text), log_(log) {}

  std::vector<Token> run() {
    out_.reserve(in_.size() + 4);
    for (size_t i = 0; i < in_.size(); ++i) {
      if (starts_declaration(i)) close_blocks(in_[i]);
      char c = bracket(in_[i]);
      if (c == '(' || c == '[' || c == '{') {
        open_.push_back(out_.size());
        out_.push_back(in_[i]);
      } else if (c == ')' || c == ']') {
        close_bracket(in_[i], c);
      } else if (c == '}') {
        close_brace(in_[i]);
      } else {
        if (c == ';' && !in_c_loop()) drop_to_brace();
        if (in_[i].kind == TokenKind::End) close_blocks(in_[i]);
        out_.push_back(in_[i]);
      }
    }
    return std::move(out_);
  }

 private:
  // A declaration that can only stand at file level: the blocks before it must have ended.
  bool starts_declaration(size_t i) const {
    const Token& t = in_[i];
    if (open_.empty() || !t.first_on_line) return false;
    const Token& next = in_[std::min(i + 1, in_.size() - 1)];
    if (t.is("kernel") || t.is("import")) return true;
    if (t.is("wave")) return next.is("kernel");
    bool first_column = t.begin == 0 || text_[t.begin - 1] == '\n';
    return first_column && (t.is("fn") || (t.is("test") && next.kind == TokenKind::String));
  }

  void pair(size_t open, size_t close) {
    out_[open].match = static_cast<uint32_t>(close);
    out_[close].match = static_cast<uint32_t>(open);
  }

  bool top_is_brace() const { return !open_.empty() && bracket(out_[open_.back()]) == '{'; }
  // `for (int i = 0; i < n; ...)`: the grammar says what is wrong with it.
  bool in_c_loop() const {
    return !open_.empty() && open_.back() > 0 && !top_is_brace() && out_[open_.back() - 1].is("for");
  }
  void drop_to_brace() {
    while (!open_.empty() && !top_is_brace()) open_.pop_back();
  }

  void close_bracket(const Token& t, char c) {
    out_.push_back(t);
    for (size_t n = open_.size(); n-- > 0 && bracket(out_[open_[n]]) != '{';) {
      if (closing(bracket(out_[open_[n]])) != c) continue;
      pair(open_[n], out_.size() - 1);
      open_.resize(n);
      return;
    }
  }

  void close_brace(const Token& t) {
    drop_to_brace();
    if (open_.empty()) {
      log_.add(DiagKind::UnexpectedToken, t.begin, t.end, "found `}` without a block that it could end");
      return;
    }
    size_t open = open_.back();
    open_.pop_back();
    out_.push_back(t);
    pair(open, out_.size() - 1);
    if (t.first_on_line && indent(out_[open].begin) != indent(t.begin)) odd_.push_back(open);
  }

  // Width of the white space in front of the line that holds the byte.
  size_t indent(uint32_t at) const {
    size_t line = text_.rfind('\n', at);
    if (at < text_.size() && text_[at] == '\n') line = at == 0 ? std::string_view::npos : text_.rfind('\n', at - 1);
    size_t begin = line == std::string_view::npos ? 0 : line + 1, end = begin;
    while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t')) ++end;
    return end - begin;
  }

  // Reports that blocks are open at `at`, and ends them there.
  void close_blocks(const Token& at) {
    drop_to_brace();
    if (open_.empty()) return;
    // A block whose end stands at another indentation than its beginning has probably taken the `}` of an outer one.
    size_t culprit = open_.front();
    auto odd = std::find_if(odd_.begin(), odd_.end(), [&](size_t o) { return o > open_.front(); });
    if (odd != odd_.end()) culprit = *odd;
    else culprit = open_.back();
    std::string found = at.kind == TokenKind::End ? "the end of the file" : fmt::format("`{}`", spellings[at.id]);
    Diagnostic* d =
        log_.add(DiagKind::UnterminatedBlock, at.begin, at.end, fmt::format("expected `}}`, found {}", found));
    const Token& open = out_[culprit];
    if (d) d->notes.push_back({{log_.file(), open.begin, open.end}, "this `{` is not closed"});
    while (!open_.empty()) {
      if (top_is_brace()) {
        Token t = at;
        t.kind = TokenKind::Punct, t.id = spelling_id("}"), t.synthetic = true;
        t.begin = t.end = out_.back().end;
        out_.push_back(t);
        pair(open_.back(), out_.size() - 1);
      }
      open_.pop_back();
    }
    odd_.clear();
  }

  const std::vector<Token>& in_;
  std::string_view text_;
  ErrorLog& log_;
  std::vector<Token> out_;
  std::vector<size_t> open_;  // indices in out_ of brackets that wait for their partner
  std::vector<size_t> odd_;   // `{` whose `}` has another indentation
};

}  // namespace

void match_brackets(std::vector<Token>& tokens, std::string_view text, ErrorLog& log) {
  tokens = Matcher(tokens, text, log).run();
}

}  // namespace tile::syntax
