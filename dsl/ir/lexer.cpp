#include "dsl/ir/lexer.h"

#include <cctype>

namespace tile::ir {
namespace {

bool name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }
bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

int hex(char c) {
  if (digit(c)) return c - '0';
  c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

void Lexer::skip_blank() {
  line_start_ = at_ == 0;
  while (at_ < text_.size()) {
    if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
      line_start_ |= text_[at_] == '\n';
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else {
      return;
    }
  }
}

Token Lexer::make(Tok kind, size_t begin, size_t skip) const {
  return {kind, std::string(text_.substr(begin + skip, at_ - begin - skip)),
          {file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(at_)}, line_start_};
}

Token Lexer::string() {
  size_t begin = at_++;
  std::string out;
  while (at_ < text_.size() && text_[at_] != '"') {
    char c = text_[at_++];
    if (c == '\n') return make(Tok::Bad, begin, 0);
    if (c != '\\') {
      out += c;
      continue;
    }
    char e = at_ < text_.size() ? text_[at_++] : '\0';
    if (e == '"' || e == '\\') out += e;
    else if (e == 'n') out += '\n';
    else if (e == 'x' && at_ + 1 < text_.size() && hex(text_[at_]) >= 0 && hex(text_[at_ + 1]) >= 0) {
      out += static_cast<char>(hex(text_[at_]) * 16 + hex(text_[at_ + 1]));
      at_ += 2;
    } else {
      return make(Tok::Bad, begin, 0);
    }
  }
  if (at_ == text_.size()) return make(Tok::Bad, begin, 0);
  ++at_;
  Token t = make(Tok::String, begin, 0);
  t.text = std::move(out);
  return t;
}

Token Lexer::layout() {
  size_t begin = at_++;
  size_t name = at_;
  while (at_ < text_.size() && name_char(text_[at_])) ++at_;
  if (text_.substr(name, at_ - name) != "layout") return make(Tok::LayoutName, begin, 1);
  // Up to the `>` that is not part of `->`.
  while (at_ < text_.size() && text_[at_] != '\n' && (text_[at_] != '>' || text_[at_ - 1] == '-')) ++at_;
  if (at_ == text_.size() || text_[at_] == '\n') return make(Tok::Bad, begin, 0);
  ++at_;
  return make(Tok::Layout, begin, 0);
}

Token Lexer::next() {
  skip_blank();
  size_t begin = at_;
  if (at_ == text_.size()) return make(Tok::End, begin, 0);
  char c = text_[at_];
  if (c == '"') return string();
  if (c == '#') return layout();
  if (c == '%' || c == '@') {
    ++at_;
    while (at_ < text_.size() && name_char(text_[at_])) ++at_;
    return make(c == '%' ? Tok::Value : Tok::Symbol, begin, 1);
  }
  if (digit(c) || (c == '-' && at_ + 1 < text_.size() && digit(text_[at_ + 1]))) {
    ++at_;
    while (at_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at_]))) ++at_;
    return make(Tok::Number, begin, 0);
  }
  if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') {
    while (at_ < text_.size() && name_char(text_[at_])) ++at_;
    return make(Tok::Word, begin, 0);
  }
  ++at_;
  return make(std::string_view("(){}[]<>,=:").find(c) == std::string_view::npos ? Tok::Bad : Tok::Punct, begin, 0);
}

}  // namespace tile::ir
