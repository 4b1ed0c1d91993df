#include "dsl/syntax/state.h"

#include <fmt/format.h>

#include <algorithm>

namespace tile::syntax {

// --- Limits.

void State::stop(const Token* at, std::string message) {
  if (stopped_) return;
  stopped_ = true;
  log_.add(DiagKind::NestingTooDeep, at->begin, at->end, std::move(message), "split it into several statements");
}

bool State::enter(const Token* at) {
  if (stopped_) return false;
  if (depth_ == max_nesting) {
    stop(at, fmt::format("nesting is deeper than {} levels", max_nesting));
    return false;
  }
  ++depth_;
  return true;
}

void State::measure(ast::Expr& e) {
  unsigned height = 0;
  auto see = [&](const ast::ExprPtr& child) {
    if (child) height = std::max<unsigned>(height, child->height);
  };
  for (const auto& c : e.operands) see(c);
  see(e.callee);
  for (const auto& c : e.extents) see(c);
  for (const auto& a : e.args) see(a.value);
  for (const auto& i : e.items) see(i.value), see(i.begin), see(i.end), see(i.step);
  if (e.comprehension)
    for (const auto& a : e.comprehension->range_args) see(a.value);
  e.height = static_cast<uint16_t>(std::min(height + 1, max_height + 1));
  if (height < max_height || stopped_) return;
  stopped_ = true;
  log_.add(DiagKind::NestingTooDeep, e.range.begin, e.range.end,
           fmt::format("expression has more than {} operators in a row", max_height),
           "split it into several statements");
}

// --- Values of tokens.

void State::read(const Token& t, ast::ExprPtr& out) const {
  using Kind = ast::Expr::Kind;
  out = std::make_unique<ast::Expr>();
  out->range = range(t);
  if (t.kind == TokenKind::String) {
    out->kind = Kind::String, out->text = stream_.strings[t.value];
    return;
  }
  out->text = spelling(t);
  if (t.kind == TokenKind::Int) out->kind = Kind::Int, out->int_value = stream_.ints[t.value];
  else out->kind = Kind::Float, out->float_value = stream_.floats[t.value];
}

// --- Recovery.

namespace {

bool starts_statement(const Token& t) {
  if (!t.first_on_line || t.kind != TokenKind::Keyword) return false;
  for (std::string_view s :
       {"let", "var", "for", "while", "if", "return", "break", "continue", "static", "static_assert", "fn"})
    if (t.is(s)) return true;
  return false;
}

// A `;` inside of brackets has parted them; the closing one is still on this line.
bool rest_of_bracket(const Token* semicolon) {
  for (const Token* t = semicolon + 1; t->kind != TokenKind::End && !t->first_on_line && !t->is("}") && !t->is(";");
       ++t)
    if ((t->is(")") || t->is("]")) && t->match == 0) return true;
  return false;
}

bool starts_declaration(const Token* t) {
  if (!t->first_on_line) return false;
  return t->is("kernel") || t->is("fn") || t->is("import") || t->is("const") || (t->is("wave") && t[1].is("kernel")) ||
         (t->is("test") && t[1].kind == TokenKind::String);
}

}  // namespace

const Token* State::end_of_statement(const Token* begin) const {
  const Token* fail = failure(begin);
  Problem problem{text, begin, fail, {expected_.data(), expected_count(fail)}, false, false};
  bool semicolon_missing = fail > begin && problem.wants(";");
  const Token* t = begin;
  for (; t->kind != TokenKind::End && !t->is("}"); ++t) {
    if (t > begin && t >= fail && starts_statement(*t)) return t;
    if (t == fail && semicolon_missing && t->first_on_line) return t;
    if (t->is(";") && t >= fail && !rest_of_bracket(t)) return t + 1;
    const Token* close = t->is("(") || t->is("[") || t->is("{") ? partner(t) : nullptr;
    if (!close) continue;
    if (t->is("{") && close >= fail && !close[1].is("else")) return close + 1;
    t = close;
  }
  return t;
}

const Token* State::end_of_declaration(const Token* begin) const {
  const Token* fail = failure(begin);
  const Token* t = begin;
  for (; t->kind != TokenKind::End; ++t) {
    if (t > begin && t >= fail && starts_declaration(t)) return t;
    if (t->is(";") && t >= fail) return t + 1;
    if (!t->is("{")) continue;
    const Token* close = partner(t);
    if (!close) continue;
    t = close;
    if (close >= fail) return close + 1;
  }
  return t;
}

bool State::recover_statement(const Token*& first) {
  if (stopped_ || first->kind == TokenKind::End || first->is("}")) return false;
  const Token* end = end_of_statement(first);
  report(first, end, false);
  first = end;
  return true;
}

bool State::recover_to_body(const Token*& first) {
  if (stopped_ || !starts_declaration(first)) return false;
  const Token *fail = failure(first), *end = end_of_declaration(first);
  for (const Token* t = first; t < end; ++t) {
    if (t->is("{") && t >= fail && partner(t)) {
      report(first, t, true);
      in_test = first->is("test");
      first = t;
      return true;
    }
    if (t->is("{") && partner(t)) t = partner(t);
  }
  return false;
}

bool State::recover_declaration(const Token*& first) {
  if (stopped_ || first->kind == TokenKind::End) return false;
  const Token* end = end_of_declaration(first);
  report(first, end, true);
  first = end;
  return true;
}

// --- Messages.

void State::report(const Token* begin, const Token* end, bool at_file_level) {
  const Token* fail = failure(begin);
  // A bad token or a brace put in explains what the grammar makes of the rest.
  uint32_t stop = std::max(end > begin ? end[-1].end : begin->end, fail->begin + 1);
  if (log_.any_in(begin->begin, stop)) return;
  Problem problem{text, begin, fail, {expected_.data(), expected_count(fail)}, at_file_level, in_test};
  Explanation e = explain(problem);
  Diagnostic* d = log_.add(DiagKind::UnexpectedToken, e.begin, e.end, std::move(e.message), std::move(e.hint));
  if (!d || (!problem.wants(")") && !problem.wants("]"))) return;
  // Name the bracket that is still open.
  std::vector<const Token*> open;
  for (const Token* t = begin; t < fail; ++t) {
    if (t->is("(") || t->is("[") || t->is("{")) open.push_back(t);
    if ((t->is(")") || t->is("]") || t->is("}")) && !open.empty()) open.pop_back();
  }
  if (!open.empty() && !partner(open.back()))
    d->notes.push_back({range(*open.back()), fmt::format("this `{}` is not closed", spelling(*open.back()))});
}

}  // namespace tile::syntax
