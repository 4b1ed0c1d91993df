#pragma once
// Tokens of tile IR text.
#include <string>
#include <string_view>

#include "dsl/diag/diag.h"

namespace tile::ir {

enum class Tok : uint8_t { End, Word, Value, Symbol, LayoutName, Layout, Number, String, Punct, Bad };

struct Token {
  Tok kind = Tok::End;
  // Word, Number, Punct: the text. Value, Symbol (@name), LayoutName: without the sigil. String: unescaped.
  // Layout: the whole `#layout<...>`.
  std::string text;
  Range range;
  bool line_start = false;  // the first token of its line
};

class Lexer {
 public:
  Lexer(FileId file, std::string_view text) : file_(file), text_(text) {}
  Token next();

 private:
  void skip_blank();
  Token string();
  Token layout();
  Token make(Tok kind, size_t begin, size_t skip) const;

  FileId file_;
  std::string_view text_;
  size_t at_ = 0;
  bool line_start_ = true;
};

}  // namespace tile::ir
