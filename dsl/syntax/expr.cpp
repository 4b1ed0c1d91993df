// The grammar of expressions and types.
#include "dsl/syntax/grammar.h"

namespace tile::syntax {

namespace {

using ast::Expr;
using ast::ExprPtr;
using Kind = ast::Expr::Kind;

// --- Operators, from dsl/ops/infix.def.

struct Operator {
  const Infix* row = nullptr;
  Range range;
};

const Infix* find_operator(std::string_view token, int arity) {
  for (const Infix& row : infix_table)
    if (row.token == token && row.arity == arity) return &row;
  return nullptr;
}

// The row of each spelling, or null.
template <int arity>
const auto operator_rows = [] {
  std::array<const Infix*, spellings.size()> rows{};
  for (size_t i = 1; i < spellings.size(); ++i)
    rows[i] = spellings[i].empty() ? nullptr : find_operator(spellings[i], arity);
  return rows;
}();

bool adjacent(Iterator a, std::string_view next) { return a[1].is(next) && a->end == a[1].begin; }

// One operator of the table. `>>` and `>=` come as two tokens, because `ptr<ptr<f32>>` closes two brackets.
template <int arity>
struct OperatorParser : x3::parser<OperatorParser<arity>> {
  using attribute_type = Operator;
  static constexpr bool has_attribute = true;
  template <class C, class R>
  bool parse(Iterator& first, const Iterator&, const C& ctx, R&, Operator& attr) const {
    const Infix* row = first->kind == TokenKind::Punct ? operator_rows<arity>[first->id] : nullptr;
    if (!row) return false;
    Iterator last = first;
    if (first->is(">")) {
      if (adjacent(first, "=")) row = find_operator(">=", 2), ++last;
      else if (adjacent(first, ">")) row = find_operator(">>", 2), ++last;
      if (last != first && last->is(">") && adjacent(last, "=")) return false;  // `>>=`
    }
    attr = {row, {state(ctx).file, first->begin, last->end}};
    first = last + 1;
    return true;
  }
};
const OperatorParser<2> infix_operator;
const OperatorParser<1> prefix_operator;

// `a + b * c - d` as read; folded into a tree by precedence.
struct Chain {
  ExprPtr first;
  std::vector<Operator> operators;
  std::vector<ExprPtr> operands;
};

ExprPtr binary(State& st, ExprPtr left, const Operator& op, ExprPtr right) {
  if (st.stopped()) return left;  // the tree is too high already
  auto e = std::make_unique<Expr>();
  e->kind = Kind::Binary;
  e->op = op.row->token, e->op_range = op.range;
  e->range = {st.file, left->range.begin, right->range.end};
  e->operands.push_back(std::move(left));
  e->operands.push_back(std::move(right));
  st.measure(*e);
  return e;
}

// An operand waits on a stack until an operator that does not bind tighter than the one before it has been seen.
ExprPtr fold(State& st, Chain& chain) {
  std::vector<ExprPtr> operands;
  std::vector<Operator> waiting;
  auto reduce = [&] {
    ExprPtr right = std::move(operands.back());
    operands.pop_back();
    operands.back() = binary(st, std::move(operands.back()), waiting.back(), std::move(right));
    waiting.pop_back();
  };
  operands.push_back(std::move(chain.first));
  for (size_t i = 0; i < chain.operands.size(); ++i) {
    const Operator& op = chain.operators[i];
    while (!waiting.empty() && waiting.back().row->precedence >= op.row->precedence) reduce();
    waiting.push_back(op);
    operands.push_back(std::move(chain.operands[i]));
  }
  while (!waiting.empty()) reduce();
  return std::move(operands.front());
}

// --- Actions.

template <class C>
Iterator last_token(const C& ctx) {
  return x3::_where(ctx).begin() - 1;
}

// Makes the expression read so far the operand (for a call: the callee) of a new one of `kind`.
auto wrap(Kind kind) {
  return [kind](auto& ctx) {
    ExprPtr& val = x3::_val(ctx);
    auto outer = std::make_unique<Expr>();
    outer->kind = kind;
    outer->range = val->range;
    if (kind == Kind::Call) outer->callee = std::move(val);
    else outer->operands.push_back(std::move(val));
    val = std::move(outer);
  };
}

// The node is complete with the last token read.
const auto close = [](auto& ctx) {
  Expr& e = *x3::_val(ctx);
  e.range.end = last_token(ctx)->end;
  state(ctx).measure(e);
};

// A node that begins at the token just read.
auto start_here(Kind kind) {
  return [kind](auto& ctx) {
    ExprPtr& val = x3::_val(ctx);
    val = std::make_unique<Expr>();
    val->kind = kind;
    val->range = state(ctx).range(*last_token(ctx));
  };
}

// A node that begins with the name just read: a reference, or the callee of a generic call.
const auto start_reference = [](auto& ctx) {
  auto e = std::make_unique<Expr>();
  e->kind = Kind::NameRef;
  e->name = std::move(x3::_attr(ctx));
  e->range = e->name.range;
  x3::_val(ctx) = std::move(e);
};

const auto start_unary = [](auto& ctx) {
  auto e = std::make_unique<Expr>();
  const Operator& op = x3::_attr(ctx);
  e->kind = Kind::Unary;
  e->op = op.row->token, e->op_range = e->range = op.range;
  x3::_val(ctx) = std::move(e);
};

const auto become_create = [](auto& ctx) { x3::_val(ctx)->kind = Kind::Create; };
const auto set_args = [](auto& ctx) { x3::_val(ctx)->args = std::move(x3::_attr(ctx)); };
auto set_bool(bool value) {
  return [value](auto& ctx) { x3::_val(ctx)->bool_value = value; };
}
// `(a)` is a with wider range; `(a, b)` and `(a,)` stay tuples.
const auto unwrap_parentheses = [](auto& ctx) {
  ExprPtr& val = x3::_val(ctx);
  ExprPtr inner = std::move(val->operands.front());
  inner->range.begin = val->range.begin;
  inner->range.end = last_token(ctx)->end;
  val = std::move(inner);
};

// --- Rules of this file.

struct chain_id;
struct operand_rule_id;
struct unary_id;
struct postfix_id;
struct primary_id;
struct qualified_id;
struct scalar_type_id;
struct argument_id;
struct item_id;
struct comprehension_id;

const x3::rule<chain_id, Chain> chain{"expression"};
const x3::rule<operand_rule_id, ExprPtr> operand{"operand"};
const x3::rule<unary_id, ExprPtr> unary{"operand"};
const x3::rule<postfix_id, ExprPtr> postfix{"operand"};
const x3::rule<primary_id, ExprPtr> primary{"operand"};
const x3::rule<qualified_id, ast::Name> qualified{"name"};
const x3::rule<scalar_type_id, ast::TypeExpr> scalar_type{"type"};
const x3::rule<argument_id, ast::Argument> argument{"argument"};
const x3::rule<item_id, ast::IndexItem> item{"index"};
const x3::rule<comprehension_id, ast::Comprehension> comprehension{"comprehension"};

// `fast::exp2`. In an index `a::b` is one name as well; a slice is written `a : : b`.
const auto start_name = [](auto& ctx) { x3::_val(ctx) = std::move(x3::_attr(ctx)); };
const auto extend_name = [](auto& ctx) {
  ast::Name& val = x3::_val(ctx);
  val.text += "::";
  val.text += x3::_attr(ctx).text;
  val.range.end = x3::_attr(ctx).range.end;
};
const auto qualified_def = name[start_name] >> *(opt("::") >> name[extend_name]);

// --- Types.

const auto set_type_kind = [](ast::TypeExpr::Kind kind) { return [kind](auto& ctx) { x3::_val(ctx).kind = kind; }; };
const auto take_scalar = [](auto& ctx) { x3::_val(ctx) = std::move(x3::_attr(ctx)); };

// `x.dtype`: the element type of a variable.
const auto dtype_ahead = ahead[tok(".") >> tok("dtype")];
const auto extend_type = [](auto& ctx) {
  ast::Name& type_name = x3::_val(ctx).name;
  type_name.text += ".dtype";
  type_name.range.end = x3::_attr(ctx).range.end;
};

const auto scalar_type_def =
    ranged(&ast::TypeExpr::range)[(tok("ptr") >> tok("<") >> name[set(&ast::TypeExpr::name)] >>
                                   tok(">")[set_type_kind(ast::TypeExpr::Kind::Ptr)]) |
                                  (name[set(&ast::TypeExpr::name)] >> -(dtype_ahead >> tok(".") >> name[extend_type]))];
const auto shape = opt("[")[set_type_kind(ast::TypeExpr::Kind::Shaped)] >>
                   expr[push(&ast::TypeExpr::extents)] % tok(",") >> tok("]");
const auto type_def = ranged(&ast::TypeExpr::range)[named(
    "a type")[opt("type")[set_type_kind(ast::TypeExpr::Kind::Type)] | (scalar_type[take_scalar] >> -shape)]];

// --- Calls and indices.

const auto argument_def = -(ahead[name >> tok("=")] >> name[set(&ast::Argument::name)] >> tok("=")) >>
                          named("an argument")[expr[set(&ast::Argument::value)]];
const auto push_argument = [](auto& ctx) { x3::_val(ctx).push_back(std::move(x3::_attr(ctx))); };
const auto no_more = ahead[tok(")")];
const auto call_args_def = tok("(") >> -(!no_more >> argument[push_argument] >>
                                         *(tok(",") >> !no_more >> argument[push_argument]) >> -opt(",")) >>
                           tok(")");

const auto item_kind = [](ast::IndexItem::Kind kind) { return [kind](auto& ctx) { x3::_val(ctx).kind = kind; }; };
const auto become_slice = [](auto& ctx) {
  ast::IndexItem& val = x3::_val(ctx);
  val.kind = ast::IndexItem::Kind::Slice;
  val.begin = std::move(val.value);
};
using Item = ast::IndexItem;
const auto step = -expr[set(&Item::step)];
const auto slice =
    (opt("::")[become_slice] >> step) | (opt(":")[become_slice] >> -expr[set(&Item::end)] >> -(opt(":") >> step));
const auto item_def = ranged(&Item::range)[(opt("None") >> ahead[tok(",") | tok("]")])[item_kind(Item::Kind::None)] |
                                           named("an index")[slice | (expr[set(&Item::value)] >> -slice)]];

// --- Primaries.

const auto any_type = (tok("ptr") >> tok("<") >> name >> tok(">")) | (name >> -(tok(".") >> tok("dtype")));
// identifier, `<`, types, `>`, then `(` or `[`: a generic call, everything else is a comparison.
const auto generic_ahead =
    ahead[name >> *(tok("::") >> name) >> tok("<") >> any_type % tok(",") >> tok(">") >> (tok("(") | tok("["))];
const auto start_generic = [](auto& ctx) {
  start_reference(ctx);
  wrap(Kind::Call)(ctx);
};
const auto extents = opt("[")[become_create] >> expr[push(&Expr::extents)] % tok(",") >> tok("]") >>
                     -(ahead[tok("(")] >> call_args[set_args]);
const auto generic = qualified[start_generic] >> tok("<") >> scalar_type[push(&Expr::type_args)] % tok(",") >>
                     tok(">") >> (extents | call_args[set_args]) >> x3::eps[close];

const auto set_comprehension = [](auto& ctx) {
  x3::_val(ctx)->comprehension = std::make_unique<ast::Comprehension>(std::move(x3::_attr(ctx)));
};
const auto comprehension_def = opt("for") >> name[set(&ast::Comprehension::name)] >> tok("in") >> -opt("static") >>
                               tok("range") >> call_args[set(&ast::Comprehension::range_args)];

const auto parentheses =
    opt("(")[start_here(Kind::Tuple)] >> expr[push(&Expr::operands)] >>
    (tok(")")[unwrap_parentheses] |
     (tok(",") >> -(!no_more >> expr[push(&Expr::operands)] % (tok(",") >> !no_more) >> -opt(",")) >> tok(")")[close]));
const auto list_end = ahead[tok("]")];
const auto list = opt("[")[start_here(Kind::List)] >>
                  -(!list_end >> expr[push(&Expr::operands)] >>
                    (comprehension[set_comprehension] |
                     (*(tok(",") >> !list_end >> expr[push(&Expr::operands)]) >> -opt(",")))) >>
                  tok("]")[close];

const auto primary_def =
    named("an expression")[integer[take] | floating[take] | string_value[take] |
                           opt("true")[start_here(Kind::Bool)][set_bool(true)] | opt("false")[start_here(Kind::Bool)] |
                           (!generic_ahead >> qualified[start_reference]) | generic | parentheses | list];

// --- Postfix, prefix, cast, binary.

const auto callable = [](auto& ctx) {
  Kind kind = x3::_val(ctx)->kind;
  x3::_pass(ctx) = kind == Kind::NameRef || kind == Kind::Member;
};
const auto suffix =
    (ahead[tok("(")] >> x3::eps[callable] >> x3::eps[wrap(Kind::Call)] >> call_args[set_args] >> x3::eps[close]) |
    (opt("[")[wrap(Kind::Index)] >> item[push(&Expr::items)] % tok(",") >> tok("]")[close]) |
    (opt(".")[wrap(Kind::Member)] >> name[set(&Expr::name)] >> x3::eps[close]);
const auto running = Custom([](State& st, Iterator&) { return !st.stopped(); });
const auto postfix_def = primary[take] >> *(running >> suffix);

const auto unary_def =
    (prefix_operator[start_unary] >> nested[unary[push(&Expr::operands)]] >> x3::eps[close]) | postfix[take];

const auto cast_options = ahead[tok("(")] >> tok("(") >> name[push(&Expr::cast_options)] % tok(",") >> tok(")");
const auto operand_def = unary[take] >>
                         *(running >> opt("as")[wrap(Kind::Cast)] >> named("a type")[scalar_type[set(&Expr::type)]] >>
                           -cast_options >> x3::eps[close]);

const auto chain_def = operand[set(&Chain::first)] >>
                       *(infix_operator[push(&Chain::operators)] >> operand[push(&Chain::operands)]);
const auto fold_chain = [](auto& ctx) {
  Chain& c = x3::_attr(ctx);
  x3::_val(ctx) = c.operands.empty() ? std::move(c.first) : fold(state(ctx), c);
};
const auto expr_def = nested[named("an expression")[chain[fold_chain]]];

BOOST_SPIRIT_DEFINE(chain, operand, unary, postfix, primary, qualified, scalar_type, argument, item, comprehension)

}  // namespace

BOOST_SPIRIT_DEFINE(expr, type, call_args)
BOOST_SPIRIT_INSTANTIATE(expr_rule, Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(type_rule, Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(args_rule, Iterator, Context)

}  // namespace tile::syntax
