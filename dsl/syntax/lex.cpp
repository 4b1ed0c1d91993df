// The lexical grammar, in Spirit X3 over bytes.
#include <fmt/format.h>

#include <algorithm>
#include <boost/spirit/home/x3.hpp>

#include "dsl/syntax/literal.h"
#include "dsl/syntax/token.h"

namespace tile::syntax {

namespace {

namespace x3 = boost::spirit::x3;

struct Lexer {
  std::string_view text;
  ErrorLog& log;
  TokenStream out;
  bool line_start = true;

  uint32_t at(const char* p) const { return static_cast<uint32_t>(p - text.data()); }
  Token& add(TokenKind kind, const char* begin, const char* end) {
    Token t;
    t.kind = kind, t.begin = at(begin), t.end = at(end), t.first_on_line = line_start;
    line_start = false;
    return out.tokens.emplace_back(t);
  }
};

struct lexer_tag;

// Spelling to number, for the words and for the operators.
struct SpellingTable : x3::symbols<SpellingId> {
  explicit SpellingTable(bool want_words) {
    for (size_t i = 1; i < spellings.size(); ++i) {
      std::string_view s = spellings[i];
      bool split = s.size() > 1 && s[0] == '>';  // `>>` and `>=` are read as two tokens: `ptr<ptr<f32>>`
      if (!s.empty() && !split && is_word_id(static_cast<SpellingId>(i)) == want_words && !find(s))
        add(s, static_cast<SpellingId>(i));
    }
  }
};
const SpellingTable punct_table(false), word_table(true);

template <class C>
Lexer& lexer(const C& ctx) {
  return x3::get<lexer_tag>(ctx);
}

const auto on_newline = [](auto& ctx) { lexer(ctx).line_start = true; };

const auto on_name = [](auto& ctx) {
  auto r = x3::_attr(ctx);
  Token& t = lexer(ctx).add(TokenKind::Name, r.begin(), r.end());
  if (const SpellingId* id = word_table.find(std::string_view(r.begin(), r.size()))) {
    t.id = *id;
    if (is_keyword_id(*id)) t.kind = TokenKind::Keyword;
  }
};

const auto on_number = [](auto& ctx) {
  auto r = x3::_attr(ctx);
  Lexer& lx = lexer(ctx);
  NumberLiteral n = read_number({r.begin(), r.size()});
  if (!n.error.empty()) lx.log.add(DiagKind::BadNumber, lx.at(r.begin()), lx.at(r.end()), n.error, n.hint);
  Token& t = lx.add(n.is_float ? TokenKind::Float : TokenKind::Int, r.begin(), r.end());
  t.value = static_cast<uint32_t>(n.is_float ? lx.out.floats.size() : lx.out.ints.size());
  if (n.is_float) lx.out.floats.push_back(n.float_value);
  else lx.out.ints.push_back(n.int_value);
};

void add_string(Lexer& lx, const char* begin, const char* end, size_t quotes) {
  StringLiteral s = read_string({begin + 1, static_cast<size_t>(end - begin) - quotes});
  if (s.bad_escape != std::string_view::npos) {
    uint32_t at = lx.at(begin) + 1 + static_cast<uint32_t>(s.bad_escape);
    lx.log.add(DiagKind::BadCharacter, at, std::min(at + 2, lx.at(end)), "unknown escape in a string",
               "escapes are \\n \\t \\r \\0 \\\\ \\\" \\' \\xNN");
  }
  lx.add(TokenKind::String, begin, end).value = static_cast<uint32_t>(lx.out.strings.size());
  lx.out.strings.push_back(std::move(s.value));
}

const auto on_string = [](auto& ctx) {
  auto r = x3::_attr(ctx);
  add_string(lexer(ctx), r.begin(), r.end(), 2);
};

const auto on_open_string = [](auto& ctx) {
  auto r = x3::_attr(ctx);
  Lexer& lx = lexer(ctx);
  lx.log.add(DiagKind::UnterminatedString, lx.at(r.begin()), lx.at(r.end()), "string has no closing `\"` on its line",
             "a line break inside a string is written `\\n`");
  lx.add(TokenKind::String, r.begin(), r.end()).value = static_cast<uint32_t>(lx.out.strings.size());
  lx.out.strings.emplace_back();
};

const auto on_punct = [](auto& ctx) {
  auto r = x3::_attr(ctx);
  lexer(ctx).add(TokenKind::Punct, r.begin(), r.end()).id = *punct_table.find(std::string_view(r.begin(), r.size()));
};

const auto on_open_comment = [](auto& ctx) {
  auto r = x3::_attr(ctx);
  Lexer& lx = lexer(ctx);
  uint32_t begin = lx.at(r.begin());
  lx.log.add(DiagKind::UnterminatedComment, begin, begin + 2, "block comment has no closing `*/`");
};

const auto on_hash = [](auto& ctx) {
  auto r = x3::_attr(ctx);
  Lexer& lx = lexer(ctx);
  uint32_t begin = lx.at(r.begin());
  lx.log.add(DiagKind::BadCharacter, begin, begin + 1, "`#` starts no token", "a comment starts with `//`");
};

std::string show_bytes(std::string_view bytes) {
  std::string out;
  constexpr size_t most = 4;
  for (size_t i = 0; i < bytes.size() && i < most; ++i)
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[i]));
  return bytes.size() > most ? out + "..." : out;
}

std::string bad_hint(char c) {
  switch (c) {
    case '\'':
      return "strings are written in double quotes";
    case '?':
      return "there is no `? :`; write `where(condition, a, b)` or `if`";
    default:
      return c < 0 ? "only strings and comments may hold other characters than ASCII" : "";
  }
}

const auto on_bad = [](auto& ctx) {
  auto r = x3::_attr(ctx);
  Lexer& lx = lexer(ctx);
  std::string_view bytes(r.begin(), r.size());
  bool printable = bytes[0] > ' ' && bytes[0] < 0x7f;
  std::string shown = printable ? std::string(1, bytes[0]) : show_bytes(bytes);
  lx.log.add(
      DiagKind::BadCharacter, lx.at(r.begin()), lx.at(r.end()),
      fmt::format("{} `{}` starts no token", bytes.size() > 1 && !printable ? "byte sequence" : "character", shown),
      bad_hint(bytes[0]));
};

using x3::char_;
using x3::lit;
using x3::raw;

const auto letter = char_("a-zA-Z_");
const auto name_char = char_("a-zA-Z0-9_");
const auto digit = char_("0-9");
const auto digits = char_("0-9_");
const auto sign = char_("+-");
const auto hex_digits = char_("0-9a-fA-F_");

const auto blank = +char_(" \t\r\v\f");
const auto newline = +lit('\n');
const auto line_comment = "//" >> *(char_ - '\n');
const auto block_comment = "/*" >> *(char_ - "*/") >> "*/";
const auto open_comment = "/*" >> *char_;
const auto hash_comment = '#' >> *(char_ - '\n');

const auto name = letter >> *name_char;
const auto exponent = char_("eE") >> -sign >> &digit >> +digits;
const auto hex_exponent = char_("pP") >> -sign >> +digits;
const auto hex_number = '0' >> char_("xX") >> *hex_digits >> -('.' >> *hex_digits) >> -hex_exponent >> *name_char;
const auto decimal = +digits >> -('.' >> !(letter | '.') >> *digits) >> -exponent >> *name_char;
const auto fraction = '.' >> &digit >> +digits >> -exponent >> *name_char;
const auto number = &digit >> (hex_number | decimal) | fraction;
const auto string = '"' >> *(('\\' >> (char_ - '\n')) | (char_ - (lit('"') | '\n' | '\\'))) >> '"';
const auto open_string = '"' >> *(char_ - '\n');
const auto quoted = ('\'' >> *(char_ - (lit('\'') | '\n')) >> '\'') | ('`' >> *(char_ - (lit('`') | '\n')) >> '`');
const auto bad = quoted | +(char_('\x80', '\xff') | char_('\0', '\x1f')) | char_;

const auto token = blank | newline[on_newline] | raw[name][on_name] | raw[number][on_number] | line_comment |
                   block_comment | raw[open_comment][on_open_comment] | raw[punct_table][on_punct] |
                   raw[string][on_string] | raw[open_string][on_open_string] | raw[hash_comment][on_hash] |
                   raw[bad][on_bad];

}  // namespace

TokenStream lex(std::string_view text, ErrorLog& log) {
  Lexer lx{text, log, {}};
  lx.out.tokens.reserve(text.size() / 3 + 2);
  const char *p = text.data(), *end = p + text.size();
  if (text.starts_with("\xef\xbb\xbf")) p += 3;
  x3::parse(p, end, x3::with<lexer_tag>(lx)[*token]);
  end = lx.out.tokens.empty() ? text.data() : text.data() + lx.out.tokens.back().end;
  lx.add(TokenKind::End, end, end);
  return std::move(lx.out);
}

}  // namespace tile::syntax
