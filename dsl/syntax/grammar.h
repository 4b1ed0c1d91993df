#pragma once
// What the grammar files share: the state of a parse, parsers of single tokens, actions that fill tree nodes, and the
// rules that one file defines and another uses. Only the grammar files and their tests include Spirit.
#include <boost/spirit/home/x3.hpp>
#include <optional>
#include <string>
#include <utility>

#include "dsl/syntax/ast.h"
#include "dsl/syntax/state.h"

namespace tile::syntax {

namespace x3 = boost::spirit::x3;

using Iterator = const Token*;
struct state_tag;
using Context = x3::context<state_tag, State>;

template <class C>
State& state(const C& ctx) {
  return x3::get<state_tag>(ctx);
}

// --- Tokens. A parser that fails tells the state what it would have taken, unless it is quiet.

struct SpellingParser : x3::parser<SpellingParser> {
  using attribute_type = x3::unused_type;
  static constexpr bool has_attribute = false;
  SpellingId id;
  bool quiet;
  constexpr SpellingParser(SpellingId i, bool q) : id(i), quiet(q) {}
  template <class C, class R, class A>
  bool parse(Iterator& first, const Iterator&, const C& ctx, R&, A&) const {
    if (first->id == id) return ++first, true;
    if (!quiet) state(ctx).expected(first, {spellings[id], false});
    return false;
  }
};
// A keyword, word or operator. `tok` is for what must come, `opt` for what may come: it is not named in messages.
consteval SpellingParser tok(std::string_view s) { return {spelling_id(s), false}; }
consteval SpellingParser opt(std::string_view s) { return {spelling_id(s), true}; }

// Tokens of one kind with their value.
template <TokenKind kind, class Attribute>
struct KindParser : x3::parser<KindParser<kind, Attribute>> {
  using attribute_type = Attribute;
  static constexpr bool has_attribute = true;
  std::string_view what;
  constexpr explicit KindParser(std::string_view w) : what(w) {}
  template <class C, class R, class A>
  bool parse(Iterator& first, const Iterator&, const C& ctx, R&, A& attr) const {
    if (first->kind != kind) {
      state(ctx).expected(first, {what, true});
      return false;
    }
    if constexpr (!std::is_same_v<std::remove_const_t<A>, x3::unused_type>) state(ctx).read(*first, attr);
    ++first;
    return true;
  }
};
inline constexpr KindParser<TokenKind::Name, ast::Name> name{"a name"};
inline constexpr KindParser<TokenKind::String, std::string> string{"a string"};
inline constexpr KindParser<TokenKind::Int, ast::ExprPtr> integer{"a number"};
inline constexpr KindParser<TokenKind::Float, ast::ExprPtr> floating{"a number"};
inline constexpr KindParser<TokenKind::String, ast::ExprPtr> string_value{"a string"};

// --- Directives.

// Names what `subject` parses: if it fails at its first token, messages say `what` and not its parts.
template <class Subject>
struct Named : x3::unary_parser<Subject, Named<Subject>> {
  using base = x3::unary_parser<Subject, Named<Subject>>;
  static constexpr bool is_pass_through_unary = true;
  std::string_view what;
  constexpr Named(const Subject& s, std::string_view w) : base(s), what(w) {}
  template <class C, class R, class A>
  bool parse(Iterator& first, const Iterator& last, const C& ctx, R& rctx, A& attr) const {
    State& st = state(ctx);
    size_t before = st.expected_count(first);
    if (this->subject.parse(first, last, ctx, rctx, attr)) return true;
    st.replace_expected(first, before, {what, true});
    return false;
  }
};
struct named {
  std::string_view what;
  constexpr explicit named(std::string_view w) : what(w) {}
  template <class S>
  constexpr auto operator[](const S& s) const {
    return Named<typename x3::extension::as_parser<S>::value_type>(x3::as_parser(s), what);
  }
};

// Looks ahead; what fails inside is not told to the state.
template <class Subject>
struct Ahead : x3::unary_parser<Subject, Ahead<Subject>> {
  using base = x3::unary_parser<Subject, Ahead<Subject>>;
  using attribute_type = x3::unused_type;
  static constexpr bool has_attribute = false;
  constexpr explicit Ahead(const Subject& s) : base(s) {}
  template <class C, class R, class A>
  bool parse(Iterator& first, const Iterator& last, const C& ctx, R& rctx, A&) const {
    State& st = state(ctx);
    Iterator it = first;
    ++st.quiet;
    bool ok = this->subject.parse(it, last, ctx, rctx, x3::unused);
    --st.quiet;
    return ok;
  }
};
struct ahead_gen {
  template <class S>
  constexpr auto operator[](const S& s) const {
    return Ahead<typename x3::extension::as_parser<S>::value_type>(x3::as_parser(s));
  }
};
inline constexpr ahead_gen ahead{};

// Counts nesting, so that no input can exhaust the stack.
template <class Subject>
struct Nested : x3::unary_parser<Subject, Nested<Subject>> {
  using base = x3::unary_parser<Subject, Nested<Subject>>;
  static constexpr bool is_pass_through_unary = true;
  constexpr explicit Nested(const Subject& s) : base(s) {}
  template <class C, class R, class A>
  bool parse(Iterator& first, const Iterator& last, const C& ctx, R& rctx, A& attr) const {
    State& st = state(ctx);
    if (!st.enter(first)) return false;
    bool ok = this->subject.parse(first, last, ctx, rctx, attr);
    st.leave();
    return ok;
  }
};
struct nested_gen {
  template <class S>
  constexpr auto operator[](const S& s) const {
    return Nested<typename x3::extension::as_parser<S>::value_type>(x3::as_parser(s));
  }
};
inline constexpr nested_gen nested{};

// A parser from a function `bool f(State&, Iterator& first)`.
template <class F>
struct Custom : x3::parser<Custom<F>> {
  using attribute_type = x3::unused_type;
  static constexpr bool has_attribute = false;
  F f;
  constexpr explicit Custom(F fn) : f(fn) {}
  template <class C, class R, class A>
  bool parse(Iterator& first, const Iterator&, const C& ctx, R&, A&) const {
    return f(state(ctx), first);
  }
};

// --- Actions and ranges. The node that the rule makes is x3::_val.

template <class T>
T& node(T& t) {
  return t;
}
template <class T>
T& node(std::unique_ptr<T>& t) {
  return *t;
}

template <class Owner, class T>
auto set(T Owner::*member) {
  return [member](auto& ctx) { node(x3::_val(ctx)).*member = std::move(x3::_attr(ctx)); };
}
template <class Owner, class T>
auto push(std::vector<T> Owner::*member) {
  return [member](auto& ctx) { (node(x3::_val(ctx)).*member).push_back(std::move(x3::_attr(ctx))); };
}
template <class Owner>
auto flag(bool Owner::*member) {
  return [member](auto& ctx) { node(x3::_val(ctx)).*member = true; };
}
// A new node of one kind.
template <class Kind>
auto start(Kind kind) {
  return [kind](auto& ctx) {
    auto& val = x3::_val(ctx);
    val = std::make_unique<typename std::remove_reference_t<decltype(val)>::element_type>();
    val->kind = kind;
  };
}
inline const auto take = [](auto& ctx) { x3::_val(ctx) = std::move(x3::_attr(ctx)); };

// Gives the node that the rule makes the bytes from the first token of `subject` to its last.
template <class Subject, class Owner>
struct Ranged : x3::unary_parser<Subject, Ranged<Subject, Owner>> {
  using base = x3::unary_parser<Subject, Ranged<Subject, Owner>>;
  static constexpr bool is_pass_through_unary = true;
  Range Owner::*member;
  constexpr Ranged(const Subject& s, Range Owner::*m) : base(s), member(m) {}
  template <class C, class R, class A>
  bool parse(Iterator& first, const Iterator& last, const C& ctx, R& self, A& attr) const {
    Iterator begin = first;
    if (!this->subject.parse(first, last, ctx, self, attr)) return false;
    node(self).*member = {state(ctx).file, begin->begin, first[-1].end};
    return true;
  }
};
template <class Owner>
struct ranged {
  Range Owner::*member;
  constexpr explicit ranged(Range Owner::*m) : member(m) {}
  template <class S>
  constexpr auto operator[](const S& s) const {
    return Ranged<typename x3::extension::as_parser<S>::value_type, Owner>(x3::as_parser(s), member);
  }
};

// --- Rules used by several files.

struct type_id;
struct arg_id;
struct block_id;
struct fn_id;
using expr_rule = x3::rule<struct expression_id, ast::ExprPtr>;
using type_rule = x3::rule<type_id, ast::TypeExpr>;
using args_rule = x3::rule<arg_id, std::vector<ast::Argument>>;
using block_rule = x3::rule<block_id, ast::Block>;
using fn_rule = x3::rule<fn_id, ast::Function>;
inline const expr_rule expr{"expression"};
inline const type_rule type{"type"};
// `(` arguments `)`
inline const args_rule call_args{"arguments"};
// `{` statements `}`
inline const block_rule block{"block"};
// `fn` with its body
inline const fn_rule function{"function"};
BOOST_SPIRIT_DECLARE(expr_rule, type_rule, args_rule, block_rule, fn_rule)

}  // namespace tile::syntax
