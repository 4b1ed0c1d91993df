// The grammar of declarations and files, and the entry point.
#include "dsl/syntax/grammar.h"
#include "dsl/syntax/parse.h"

namespace tile::syntax {

namespace {

using ast::Function;
using ast::Kernel;
using ast::Param;

// --- Actions.

const auto push_part = [](auto& ctx) { x3::_val(ctx).push_back(std::move(x3::_attr(ctx))); };

// A clause that may stand once only: `given` says whether it has been read already.
template <class Given>
auto once(Given given) {
  return [given](auto& ctx) {
    Iterator clause = x3::_where(ctx).begin() - 1;
    State& st = state(ctx);
    if (given(x3::_val(ctx)))
      st.error(DiagKind::BadClause, st.range(*clause),
               "clause `" + std::string(st.spelling(*clause)) + "` is given twice");
  };
}

const auto is_type_parameter = [](auto& ctx) {
  const Param& p = x3::_val(ctx);
  x3::_pass(ctx) = p.type && p.type->kind == ast::TypeExpr::Kind::Type;
};

// --- Parameters and functions.

struct param_id;
struct params_id;
struct results_id;
const x3::rule<param_id, Param> param{"parameter"};
const x3::rule<params_id, std::vector<Param>> params{"parameters"};
const x3::rule<results_id, std::vector<ast::TypeExpr>> results{"results"};

const auto strides = opt("stride")[flag(&Param::has_strides)] >> tok("(") >> expr[push(&Param::strides)] % tok(",") >>
                     tok(")");
const auto align = opt("align") >> tok("(") >> expr[set(&Param::align)] >> tok(")");
const auto attribute = strides | align | opt("noalias")[flag(&Param::noalias)] | opt("wide")[flag(&Param::wide)];
const auto default_value = (x3::eps[is_type_parameter] >> ahead[type >> (tok(",") | tok(")"))] >>
                            type[set(&Param::default_type)] >> x3::eps[flag(&Param::has_default_type)]) |
                           expr[set(&Param::default_value)];
const auto param_def =
    ranged(&Param::range)[named("a parameter")[-opt("const")[flag(&Param::is_const)] >> name[set(&Param::name)]] >>
                          -(opt(":") >> type[set(&Param::type)]) >> *attribute >> -(opt("=") >> default_value)];

const auto no_more = ahead[tok(")")];
const auto params_def = tok("(") >> -(!no_more >> param[push_part] % (tok(",") >> !no_more) >> -opt(",")) >> tok(")");
const auto results_def = opt("->") >> ((opt("(") >> type[push_part] % tok(",") >> tok(")")) | type[push_part]);

const auto function_def =
    ranged(&Function::range)[tok("fn") >> name[set(&Function::name)] >> params[set(&Function::params)] >>
                             -results[set(&Function::results)] >> block[set(&Function::body)]];

// --- Kernels.

struct kernel_id;
struct header_id;
const x3::rule<kernel_id, Kernel> kernel{"kernel"};
const x3::rule<header_id, Kernel> header{"kernel"};

const auto header_def = ranged(&Kernel::header_range)[-opt("wave")[flag(&Kernel::is_wave)] >> tok("kernel") >>
                                                      name[set(&Kernel::name)] >> params[set(&Kernel::params)]];
const auto grid = opt("grid")[once([](const Kernel& k) { return k.has_grid; })][flag(&Kernel::has_grid)] >>
                  tok("(") >> expr[push(&Kernel::grid)] % tok(",") >> tok(")");
const auto waves = opt("waves")[once([](const Kernel& k) { return k.waves != nullptr; })] >> expr[set(&Kernel::waves)];
const auto requires_clause = opt("requires") >> expr[push(&Kernel::requires_clauses)] % opt(",");
const auto expects_clause = opt("expects") >> expr[push(&Kernel::expects_clauses)] % opt(",");
const auto contract = opt("contract")[once([](const Kernel& k) { return k.contract; })] >>
                      tok("on")[flag(&Kernel::contract)];
const auto clause = grid | waves | requires_clause | expects_clause | contract;
const auto take_header = [](auto& ctx) { x3::_val(ctx) = std::move(x3::_attr(ctx)); };
const auto kernel_def = ranged(&Kernel::range)
    [header[take_header] >> *clause >>
     named("a clause (`grid`, `waves`, `requires`, `expects`, `contract on`) or `{`")[block[set(&Kernel::body)]]];

// --- The file.

struct import_id;
struct const_id;
struct test_id;
struct file_id;
const x3::rule<import_id, ast::Import> import{"import"};
const x3::rule<const_id, ast::ConstDecl> constant{"const"};
const x3::rule<test_id, ast::Test> test{"test"};
const x3::rule<file_id, ast::File> file_rule{"file"};

const auto import_def = ranged(&ast::Import::range)[tok("import") >> string[set(&ast::Import::path)] >> tok(";")];
const auto constant_def = ranged(&ast::ConstDecl::range)[tok("const") >> name[set(&ast::ConstDecl::name)] >> tok("=") >>
                                                         expr[set(&ast::ConstDecl::value)] >> tok(";")];
const auto enter_test = Custom([](State& st, Iterator&) { return st.in_test = true; });
const auto test_def = ranged(
    &ast::Test::range)[tok("test") >> string[set(&ast::Test::title)] >> enter_test >> block[set(&ast::Test::body)]];

const auto begin = Custom([](State& st, Iterator&) {
  st.in_test = false;
  return true;
});
// The body of a declaration with a wrong header is read as well, for the errors in it.
const auto recover_to_body = Custom([](State& st, Iterator& first) { return st.recover_to_body(first); });
const auto recover = Custom([](State& st, Iterator& first) { return st.recover_declaration(first); });

const auto declaration = named(
    "`kernel`, `fn`, `test`, `const` or `import`")[kernel[push(&ast::File::kernels)] |
                                                   function[push(&ast::File::functions)] |
                                                   test[push(&ast::File::tests)] | constant[push(&ast::File::consts)] |
                                                   import[push(&ast::File::imports)]];
const auto file_rule_def = *(begin >> (declaration | (recover_to_body >> block) | recover));

BOOST_SPIRIT_DEFINE(param, params, results, kernel, header, import, constant, test, file_rule)

}  // namespace

BOOST_SPIRIT_DEFINE(function)
BOOST_SPIRIT_INSTANTIATE(fn_rule, Iterator, Context)

}  // namespace tile::syntax

namespace tile {

ast::File parse(FileId file, const SourceManager& sources, Diagnostics& diags) {
  using namespace syntax;
  ErrorLog log(file);
  const std::string& text = sources.text(file);
  TokenStream stream = lex(text, log);
  match_brackets(stream.tokens, text, log);
  State st(file, text, stream, log);
  ast::File tree;
  Iterator first = stream.tokens.data(), last = first + stream.tokens.size();
  x3::parse(first, last, x3::with<state_tag>(st)[file_rule], tree);
  tree.file = file;
  log.flush(diags);
  return tree;
}

}  // namespace tile
