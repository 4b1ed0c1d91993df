#include "dsl/syntax/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace tile::syntax {

bool Problem::wants(std::string_view token) const {
  return std::any_of(expected.begin(), expected.end(),
                     [&](const Expected& e) { return !e.description && e.text == token; });
}

std::string_view type_meant(std::string_view name) {
  static constexpr struct {
    std::string_view foreign, ours;
  } names[] = {
      {"float", "f32"},
      {"double", "f64"},
      {"half", "f16"},
      {"__half", "f16"},
      {"fp16", "f16"},
      {"fp32", "f32"},
      {"fp64", "f64"},
      {"char", "i8"},
      {"short", "i16"},
      {"int", "i32"},
      {"long", "i64"},
      {"unsigned", "u32"},
      {"uint", "u32"},
      {"size_t", "u64"},
      {"int8_t", "i8"},
      {"int16_t", "i16"},
      {"int32_t", "i32"},
      {"int64_t", "i64"},
      {"uint8_t", "u8"},
      {"uint16_t", "u16"},
      {"uint32_t", "u32"},
      {"uint64_t", "u64"},
      {"float8_e4m3", "f8e4m3"},
      {"float8_e5m2", "f8e5m2"},
      {"float8_e4m3fn", "f8e4m3"},
      {"float8_e4m3fnuz", "f8e4m3fnuz"},
      {"float8_e5m2fnuz", "f8e5m2fnuz"},
#define TILE_DTYPE(Kind, name, bits, cls, exp, man, bias, inf, nan, triton) {triton, name},
#include "dsl/types/dtype.def"
  };
  for (const auto& n : names)
    if (!name.empty() && n.foreign == name) return n.ours;
  return "";
}

namespace {

std::string_view type_of(std::string_view name) {
#define TILE_DTYPE(Kind, spelling, ...) \
  if (name == spelling) return spelling;
#include "dsl/types/dtype.def"
  return type_meant(name);
}

std::string found(const Problem& p, const Token& t) {
  if (t.kind == TokenKind::End) return "the end of the file";
  if (t.kind == TokenKind::String) return "a string";
  return fmt::format("{}`{}`", t.kind == TokenKind::Keyword ? "keyword " : "", p.spelling(t).substr(0, 40));
}

std::string list(std::span<const Expected> expected) {
  std::vector<std::string> parts;
  for (const Expected& e : expected) {
    std::string s = e.description ? std::string(e.text) : fmt::format("`{}`", e.text);
    if (std::find(parts.begin(), parts.end(), s) == parts.end()) parts.push_back(s);
  }
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += i + 1 == parts.size() ? " or " : ", ";
    out += parts[i];
  }
  return out;
}

bool adjacent(const Token& a, const Token& b) { return a.end == b.begin; }

Explanation at(const Problem& p, const Token& from, const Token& to, std::string expected, std::string hint) {
  std::string shown =
      &from == &to ? found(p, from) : fmt::format("`{}`", p.text.substr(from.begin, to.end - from.begin));
  return {from.begin, to.end, fmt::format("expected {}, found {}", expected, shown), std::move(hint)};
}

// --- Habits of other languages. Each function knows one kind of mistake and returns nothing if this is another.
using Answer = std::optional<Explanation>;

// A statement or declaration that begins with a word of another language.
Answer foreign_word(const Problem& p) {
  if (p.fail > p.begin + 1 || p.begin->kind != TokenKind::Name) return {};
  static constexpr struct {
    std::string_view word, hint;
  } words[] = {
      {"elif", "write `else if`"},
      {"elseif", "write `else if`"},
      {"def", "a function is written `fn name(x: f32) -> f32 { ... }`, a kernel `kernel name(...) grid (...) { ... }`"},
      {"func", "a function is written `fn name(x: f32) -> f32 { ... }`"},
      {"function", "a function is written `fn name(x: f32) -> f32 { ... }`"},
      {"void", "a function is written `fn name(x: f32) -> f32 { ... }`"},
      {"__global__", "a kernel is written `kernel name(...) grid (...) { ... }`"},
      {"__device__", "a function is written `fn name(x: f32) -> f32 { ... }`"},
      {"template", "types are parameters: `const T: type = f16`"},
      {"auto", "a variable is introduced by `let x = ...` or `var x = ...`"},
      {"mut", "a variable that changes is introduced by `var x = ...`"},
      {"pass", "an empty block is `{ }`"},
      {"switch", "write `if` and `else if`"},
      {"do", "write `while`"},
      {"from", "a file is imported by `import \"file.tile\";`"},
      {"include", "a file is imported by `import \"file.tile\";`"},
      {"struct", "there are no structures; a function returns several values as a tuple"},
      {"class", "there are no classes"},
      {"assert", "write `static_assert(...)` or `device_assert(...)`"},
  };
  std::string_view word = p.spelling(*p.begin);
  std::string what = p.at_file_level ? "a declaration" : "a statement";
  for (const auto& w : words)
    if (w.word == word) return at(p, *p.begin, *p.begin, what, std::string(w.hint));
  if (p.fail == p.begin + 1 && p.fail->kind == TokenKind::Name && !type_of(word).empty())
    return at(
        p, *p.begin, *p.begin, what,
        fmt::format("a variable is introduced by `let {}: {} = ...` or `var`", p.spelling(*p.fail), type_of(word)));
  if (!p.in_test && p.begin + 1 == p.fail && (p.begin->is("launch") || p.begin->is("expect")))
    return at(p, *p.begin, *p.begin, what, fmt::format("`{}` belongs into a `test \"...\" {{ }}` block", word));
  return {};
}

Answer misplaced_keyword(const Problem& p) {
  if (p.fail != p.begin) return {};
  const Token& t = *p.begin;
  if (t.is("else")) return at(p, t, t, "a statement", "`else` follows the `}` of its `if`");
  if (!p.at_file_level) {
    if (t.is("const")) return at(p, t, t, "a statement", "inside of a block a constant is introduced by `let`");
    return {};
  }
  if (t.is("let") || t.is("var"))
    return at(p, t, t, "a declaration", "a constant at file level is written `const N = 4;`");
  if (t.is("@"))
    return at(p, t, t, "a declaration", "there are no decorators; write `kernel name(...) grid (...) { ... }`");
  if (t.kind == TokenKind::Keyword)
    return at(p, t, t, "a declaration", "statements stand in a `kernel`, `fn` or `test`");
  return {};
}

Answer walrus(const Problem& p) {
  const Token* t = p.fail;
  if (!t->is(":") || !t[1].is("=") || !adjacent(t[0], t[1])) return {};
  return at(p, t[0], t[1], "`=`", "a variable is introduced by `let x = ...` and assigned by `x = ...`");
}

Answer python_block(const Problem& p) {
  if (!p.fail->is(":") || !p.wants("{")) return {};
  return at(p, *p.fail, *p.fail, "`{`", "a block is written in braces: `{ ... }`");
}

Answer word_operator(const Problem& p) {
  std::string_view word = p.spelling(*p.fail);
  if (p.fail == p.begin || p.fail->kind != TokenKind::Name) return {};
  if (word == "and") return at(p, *p.fail, *p.fail, list(p.expected), "write `&&`, or `&` between tiles");
  if (word == "or") return at(p, *p.fail, *p.fail, list(p.expected), "write `||`, or `|` between tiles");
  if (word == "is") return at(p, *p.fail, *p.fail, list(p.expected), "write `==`");
  const Token& before = p.fail[-1];
  if (before.kind == TokenKind::Name && p.spelling(before) == "not")
    return at(p, before, before, "an expression", "write `!`");
  if (before.kind == TokenKind::Name && p.spelling(before) == "mut")
    return at(p, before, before, "a name", "a variable that changes is introduced by `var x = ...`");
  return {};
}

Answer assignment_in_condition(const Problem& p) {
  if (!p.fail->is("=") || p.fail == p.begin) return {};
  if (!p.wants("{") && !p.wants(")") && !p.begin->is("expect")) return {};
  return at(p, *p.fail, *p.fail, list(p.expected), "`==` compares, `=` assigns");
}

Answer c_loop(const Problem& p) {
  if (!p.begin->is("for") || p.fail == p.begin) return {};
  constexpr std::string_view how = "write `for i in range(begin, end) { ... }`";
  if (p.fail == p.begin + 1 && p.fail->is("(")) return at(p, *p.fail, *p.fail, "a name", std::string(how));
  if (p.wants("{") && p.fail->kind == TokenKind::Name && p.spelling(*p.fail) == "step")
    return at(p, *p.fail, *p.fail, list(p.expected), "write `for i in range(begin, end, step) { ... }`");
  if (p.fail[-1].is("in") && p.in_test && p.fail->is("["))
    return at(p, *p.fail, *p.fail, "`(` or `range`", "values are listed as `(1, 2, 3)`");
  if (p.fail[-1].is("in")) return at(p, *p.fail, *p.fail, list(p.expected), std::string(how));
  return {};
}

Answer doubled_operator(const Problem& p) {
  if (p.fail == p.begin) return {};
  const Token &t = *p.fail, &before = p.fail[-1];
  if (t.is("+") && before.is("+") && adjacent(before, t)) return at(p, before, t, "an operator", "write `x += 1`");
  if (t.is("*") && before.is("*") && adjacent(before, t)) return at(p, before, t, "an operator", "write `pow(a, b)`");
  if (t.is("=") && before.is("==") && adjacent(before, t)) return at(p, before, t, "an operator", "write `==`");
  if (t.is(">") && before.is("<") && adjacent(before, t)) return at(p, before, t, "an operator", "write `!=`");
  if (p.fail - p.begin >= 2 && before.is("-") && p.fail[-2].is("-") && adjacent(p.fail[-2], before))
    return at(p, p.fail[-2], before, "an operator", "write `x -= 1`");
  return {};
}

Answer missing_parentheses(const Problem& p) {
  if (!p.fail->is(",") || p.fail == p.begin) return {};
  if (p.begin->is("return") && p.wants(";")) return at(p, *p.fail, *p.fail, "`;`", "a tuple is written `(a, b)`");
  if (p.wants("{") && !p.wants(")") && p.at_file_level)
    return at(p, *p.fail, *p.fail, list(p.expected), "several results are written `-> (f32, f32)`");
  if ((p.begin->is("let") || p.begin->is("var")) && p.wants("="))
    return at(p, *p.fail, *p.fail, "`=`", "a tuple is taken apart by `let (a, b) = ...`");
  return {};
}

Answer conditional_expression(const Problem& p) {
  if (!p.fail->is("if") || p.fail->first_on_line || !p.wants(";")) return {};
  return at(p, *p.fail, *p.fail, "`;`", "write `where(condition, a, b)`");
}

Answer pointer_star(const Problem& p) {
  if (!p.fail->is("*") || p.fail == p.begin || !p.wants(",") || p.fail[-1].kind != TokenKind::Name) return {};
  std::string_view type = type_of(p.spelling(p.fail[-1]));
  if (type.empty()) return {};
  return at(p, *p.fail, *p.fail, list(p.expected), fmt::format("a pointer is written `ptr<{}>`", type));
}

Answer missing_semicolon(const Problem& p) {
  const Token& t = *p.fail;
  if (!p.wants(";") || p.fail == p.begin) return {};
  if (!t.first_on_line && !t.is("}") && t.kind != TokenKind::End) return {};
  uint32_t end = p.fail[-1].end;
  return Explanation{end, end,
                     fmt::format("expected `;` at the end of the {}, found {}",
                                 p.at_file_level ? "declaration" : "statement", found(p, t)),
                     ""};
}

// The place where a bracket should have been closed is the end of the line, not the beginning of the next one.
Answer missing_bracket(const Problem& p) {
  if (p.fail == p.begin || !p.fail->first_on_line || (!p.wants(")") && !p.wants("]"))) return {};
  Explanation e = at(p, *p.fail, *p.fail, list(p.expected), "");
  e.begin = e.end = p.fail[-1].end;
  return e;
}

Answer incomplete_generic(const Problem& p) {
  if (p.fail - p.begin < 4 || !p.fail[-1].is(">") || !p.fail[-3].is("<")) return {};
  if (p.fail[-2].kind != TokenKind::Name || p.fail[-4].kind != TokenKind::Name) return {};
  std::string_view call = p.text.substr(p.fail[-4].begin, p.fail[-1].end - p.fail[-4].begin);
  return at(p, *p.fail, *p.fail, "`(` or `[`", fmt::format("write `{0}[extents]` or `{0}(arguments)`", call));
}

Answer reserved_name(const Problem& p) {
  if (p.fail->kind != TokenKind::Keyword) return {};
  bool wants_name = std::any_of(p.expected.begin(), p.expected.end(),
                                [](const Expected& e) { return e.description && e.text == "a name"; });
  if (!wants_name) return {};
  return at(p, *p.fail, *p.fail, list(p.expected), fmt::format("`{}` is a reserved word", p.spelling(*p.fail)));
}

}  // namespace

Explanation explain(const Problem& p) {
  for (auto rule : {foreign_word, misplaced_keyword, walrus, python_block, word_operator, assignment_in_condition,
                    c_loop, doubled_operator, missing_parentheses, conditional_expression, pointer_star,
                    missing_semicolon, missing_bracket, incomplete_generic, reserved_name})
    if (Answer a = rule(p)) return *std::move(a);
  return at(p, *p.fail, *p.fail, list(p.expected), "");
}

}  // namespace tile::syntax
