// The grammar of statements and blocks.
#include "dsl/syntax/grammar.h"

namespace tile::syntax {

namespace {

using ast::ExprPtr;
using ast::Stmt;
using ast::StmtPtr;
using Kind = ast::Stmt::Kind;

// --- Actions.

const auto start_expression = [](auto& ctx) {
  start(Kind::Expression)(ctx);
  x3::_val(ctx)->value = std::move(x3::_attr(ctx));
};

bool assignable(const ast::Expr& e) {
  if (e.kind != ast::Expr::Kind::Tuple) return e.kind == ast::Expr::Kind::NameRef || e.kind == ast::Expr::Kind::Index;
  for (const ExprPtr& part : e.operands)
    if (part->kind != ast::Expr::Kind::NameRef) return false;
  return true;
}

const auto become_assignment = [](auto& ctx) {
  Stmt& s = *x3::_val(ctx);
  s.kind = Kind::Assign;
  s.target = std::move(s.value);
  s.op = x3::_attr(ctx);
  if (!assignable(*s.target))
    state(ctx).error(DiagKind::UnexpectedToken, s.target->range,
                     "expected a variable, a tuple of variables or an element `v[i]` to assign to");
};

// `=` or `op=`; the attribute is the operator without `=`.
struct AssignmentParser : x3::parser<AssignmentParser> {
  using attribute_type = std::string;
  static constexpr bool has_attribute = true;
  template <class C, class R>
  bool parse(Iterator& first, const Iterator&, const C&, R&, std::string& attr) const {
    std::string_view s = spellings[first->id];
    if (first->is(">") && first[1].is(">") && first[2].is("=") && first->end == first[1].begin &&
        first[1].end == first[2].begin) {
      attr = ">>", first += 3;
      return true;
    }
    if (first->kind != TokenKind::Punct || !s.ends_with('=') || s == "~=") return false;
    for (const Infix& row : infix_table)
      if (row.token == s) return false;
    attr = s.substr(0, s.size() - 1), ++first;
    return true;
  }
};
const AssignmentParser assignment;

const auto set_block = [](auto& ctx) {
  start(Kind::Block)(ctx);
  x3::_val(ctx)->body = std::move(x3::_attr(ctx));
};
const auto set_function = [](auto& ctx) {
  start(Kind::Fn)(ctx);
  x3::_val(ctx)->function = std::make_unique<ast::Function>(std::move(x3::_attr(ctx)));
};
const auto set_launch = [](auto& ctx) {
  x3::_val(ctx)->launch = std::make_unique<ast::Launch>(std::move(x3::_attr(ctx)));
};
// `expect a == b;` was read as one expression.
const auto split_equality = [](auto& ctx) {
  Stmt& s = *x3::_val(ctx);
  if (s.approximate) return;
  if (s.value->kind != ast::Expr::Kind::Binary || s.value->op != "==") {
    state(ctx).error(DiagKind::UnexpectedToken, s.value->range,
                     "expected a comparison with `==` or `~=` behind `expect`");
    return;
  }
  ExprPtr comparison = std::move(s.value);
  s.value = std::move(comparison->operands[0]);
  s.other = std::move(comparison->operands[1]);
};

// --- Rules of this file.

struct statement_id;
struct if_id;
struct launch_id;
struct tolerance_id;
const x3::rule<statement_id, StmtPtr> statement{"statement"};
const x3::rule<if_id, StmtPtr> if_statement{"if"};
const x3::rule<launch_id, ast::Launch> launch{"launch"};
const x3::rule<tolerance_id, ast::Tolerance> tolerance{"tolerance"};

const auto in_test = Custom([](State& st, Iterator&) { return st.in_test; });
const auto recover = Custom([](State& st, Iterator& first) { return st.recover_statement(first); });
const auto end = tok(";");

const auto binding =
    name[push(&Stmt::names)] | (tok("(")[flag(&Stmt::destructure)] >>
                                name[push(&Stmt::names)] % (tok(",") >> !ahead[tok(")")]) >> -opt(",") >> tok(")"));
const auto definition = binding >> -(opt(":") >> type[set(&Stmt::type)]) >> tok("=") >> expr[set(&Stmt::value)] >> end;
const auto let = opt("let")[start(Kind::Let)] >> definition;
const auto var = opt("var")[start(Kind::Var)] >> definition;

const auto loop = opt("for")[start(Kind::For)] >> name[push(&Stmt::names)] >> tok("in") >>
                  ((in_test >> ahead[tok("(")] >> expr[set(&Stmt::value)]) |
                   (-opt("static")[flag(&Stmt::is_static)] >> tok("range") >> call_args[set(&Stmt::args)])) >>
                  -(opt("pipeline") >> expr[set(&Stmt::pipeline)]) >> block[set(&Stmt::body)];
const auto while_loop = opt("while")[start(Kind::While)] >> expr[set(&Stmt::value)] >> block[set(&Stmt::body)];

const auto if_keyword =
    opt("if")[start(Kind::If)] | (opt("static") >> tok("if")[start(Kind::If)][flag(&Stmt::is_static)]);
const auto if_statement_def = ranged(
    &Stmt::range)[if_keyword >> expr[set(&Stmt::value)] >> block[set(&Stmt::body)] >>
                  -(opt("else")[flag(&Stmt::has_else)] >>
                    named("`{` or `if`")[block[set(&Stmt::else_body)] | nested[if_statement[push(&Stmt::else_body)]]])];

const auto leave = opt("return")[start(Kind::Return)] >> -(!ahead[end] >> expr[set(&Stmt::value)]) >> end;
const auto jump = (opt("break")[start(Kind::Break)] | opt("continue")[start(Kind::Continue)]) >> end;
const auto check = opt("static_assert")[start(Kind::StaticAssert)] >> tok("(") >> expr[set(&Stmt::value)] >>
                   -(tok(",") >> string[set(&Stmt::message)]) >> tok(")") >> end;
const auto nested_function = ahead[tok("fn")] >> function[set_function];
const auto nested_block = ahead[tok("{")] >> block[set_block];

// --- In test blocks.

const auto launch_def =
    ranged(&ast::Launch::range)[name[set(&ast::Launch::kernel)] >> call_args[set(&ast::Launch::args)] >>
                                *((opt("target") >> name[push(&ast::Launch::targets)] % opt(",")) |
                                  (opt("waves") >> expr[set(&ast::Launch::waves)]))];
// In a test `launch` and `expect` begin a statement, unless they are assigned to.
const auto launch_ahead = in_test >> ahead[tok("launch") >> !tok("=")];
const auto expect_ahead = in_test >> ahead[tok("expect") >> !tok("=")];
const auto launch_statement = launch_ahead >> tok("launch")[start(Kind::Launch)] >> launch[set_launch] >> end;

const auto expect_error = in_test >> ahead[tok("expect") >> tok("error") >> name] >>
                          tok("expect")[start(Kind::ExpectError)] >> tok("error") >> name[push(&Stmt::names)] >>
                          (block[set(&Stmt::body)] | nested[statement[push(&Stmt::body)]]);
const auto tolerance_def = name[set(&ast::Tolerance::name)] >> expr[set(&ast::Tolerance::value)];
const auto expect = in_test >> ahead[tok("expect") >> !tok("=")] >>
                    tok("expect")[start(Kind::Expect)] >> expr[set(&Stmt::value)] >>
                    -(tok("~=")[flag(&Stmt::approximate)] >> expr[set(&Stmt::other)] >>
                      -(opt("within") >> tolerance[push(&Stmt::tolerances)] % opt(","))) >>
                    end >> x3::eps[split_equality];

// --- All.

const auto other = !launch_ahead >> !expect_ahead >> expr[start_expression] >>
                   -(assignment[become_assignment] >> expr[set(&Stmt::value)]) >> end;

const auto statement_def = ranged(&Stmt::range)[named(
    "a statement")[let | var | loop | while_loop | if_statement[take] | leave | jump | check | nested_function |
                   nested_block | launch_statement | expect_error | expect | other]];

const auto push_statement = [](auto& ctx) { x3::_val(ctx).push_back(std::move(x3::_attr(ctx))); };
const auto block_def = nested[tok("{") >> *(statement[push_statement] | recover) >> tok("}")];

BOOST_SPIRIT_DEFINE(statement, if_statement, launch, tolerance)

}  // namespace

BOOST_SPIRIT_DEFINE(block)
BOOST_SPIRIT_INSTANTIATE(block_rule, Iterator, Context)

}  // namespace tile::syntax
