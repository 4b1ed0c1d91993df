// Values, ranges, precedence and limits.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>

#include "dsl/syntax/hints.h"
#include "dsl/syntax/literal.h"
#include "dsl/syntax/parse.h"
#include "dsl/syntax/token.h"
#include "tests/unit/dsl/syntax/golden.h"

namespace tile {
namespace {

struct Parsed {
  explicit Parsed(std::string text) : file(sources.add("t.tile", std::move(text))), tree(parse(file, sources, diags)) {}
  std::string_view at(Range r) const { return std::string_view(sources.text(file)).substr(r.begin, r.end - r.begin); }
  std::string messages() const { return render(diags, sources); }
  SourceManager sources;
  FileId file;
  Diagnostics diags;
  ast::File tree;
};

// The text of an expression with all brackets that precedence implies.
std::string bracketed(const ast::Expr& e) {
  using Kind = ast::Expr::Kind;
  switch (e.kind) {
    case Kind::NameRef:
      return e.name.text;
    case Kind::Int:
    case Kind::Float:
      return e.text;
    case Kind::Unary:
      return "(" + std::string(e.op) + bracketed(*e.operands[0]) + ")";
    case Kind::Binary:
      return "(" + bracketed(*e.operands[0]) + " " + std::string(e.op) + " " + bracketed(*e.operands[1]) + ")";
    case Kind::Cast:
      return "(" + bracketed(*e.operands[0]) + " as " + e.type.name.text + ")";
    case Kind::Call: {
      std::string s = bracketed(*e.callee);
      for (const auto& t : e.type_args) s += "<" + t.name.text + ">";
      s += "(";
      for (const auto& a : e.args) s += bracketed(*a.value) + ",";
      return s + ")";
    }
    case Kind::Create:
      return bracketed(*e.callee) + "<" + e.type_args[0].name.text + ">[" + bracketed(*e.extents[0]) + "]";
    case Kind::Index:
      return bracketed(*e.operands[0]) + "[" + bracketed(*e.items[0].value) + "]";
    case Kind::Member:
      return bracketed(*e.operands[0]) + "." + e.name.text;
    default:
      return "?";
  }
}

std::string expression(const std::string& text) {
  Parsed p("const X = " + text + ";\n");
  if (p.diags.has_errors() || p.tree.consts.size() != 1) return p.messages();
  return bracketed(*p.tree.consts[0].value);
}

// For each pair of infix operators: the one that binds tighter is applied first, equal ones from the left.
TEST(Precedence, EveryPairOfInfixOperators) {
  for (const auto& a : syntax::infix_table)
    for (const auto& b : syntax::infix_table) {
      if (a.arity != 2 || b.arity != 2) continue;
      std::string first(a.token), second(b.token);
      std::string left = "((x " + first + " y) " + second + " z)", right = "(x " + first + " (y " + second + " z))";
      EXPECT_EQ(expression("x " + first + " y " + second + " z"), a.precedence >= b.precedence ? left : right);
      EXPECT_EQ(expression("x" + first + "y" + second + "z"), a.precedence >= b.precedence ? left : right);
    }
}

TEST(Precedence, EveryPrefixOperatorBindsTighterThanInfixAndCast) {
  for (const auto& u : syntax::infix_table) {
    if (u.arity != 1) continue;
    std::string op(u.token);
    for (const auto& b : syntax::infix_table) {
      if (b.arity != 2) continue;
      EXPECT_EQ(expression(op + "x " + std::string(b.token) + " " + op + "y"),
                "((" + op + "x) " + std::string(b.token) + " (" + op + "y))");
    }
    EXPECT_EQ(expression(op + "x as f16"), "((" + op + "x) as f16)");
    EXPECT_EQ(expression(op + "x[i]"), "(" + op + "x[i])");
    EXPECT_EQ(expression(op + op + "x"), "(" + op + "(" + op + "x))");
  }
}

TEST(Precedence, CastIsLooserThanPostfixAndTighterThanInfix) {
  EXPECT_EQ(expression("a * b.c(d) as f16 + e"), "((a * (b.c(d,) as f16)) + e)");
  EXPECT_EQ(expression("a as f32 as f16 < b"), "(((a as f32) as f16) < b)");
}

TEST(GenericCall, IsNameLessTypesGreaterThenBracket) {
  EXPECT_EQ(expression("f<a>(b)"), "f<a>(b,)");
  EXPECT_EQ(expression("zeros<f32>[n]"), "zeros<f32>[n]");
  EXPECT_EQ(expression("m::f<ptr<a>>(b)"), "m::f<a>(b,)");
  EXPECT_EQ(expression("f < a > b"), "((f < a) > b)");
  EXPECT_EQ(expression("f < a >> (b)"), "(f < (a >> b))");
  EXPECT_EQ(expression("f < 3 > (b)"), "((f < 3) > b)");
  EXPECT_EQ(expression("f < a + b > (c)"), "((f < (a + b)) > c)");
}

TEST(Ranges, CoverTheTextOfTheNode) {
  Parsed p(
      "  kernel  k ( a : f16 [ M , 2 ]  noalias , const T : type = f32 )  grid ( 1 + n ) { /* c */ let (x , y) = ( f ( "
      "a ) "
      "+ b ) * -c [ : , None ] ; }  // end\n");
  ASSERT_EQ(p.messages(), "");
  const ast::Kernel& k = p.tree.kernels.at(0);
  EXPECT_EQ(p.at(k.range).substr(0, 9), "kernel  k");
  EXPECT_EQ(p.at(k.range).back(), '}');
  EXPECT_EQ(p.at(k.header_range).back(), ')');
  EXPECT_EQ(p.at(k.name.range), "k");
  EXPECT_EQ(p.at(k.params[0].range), "a : f16 [ M , 2 ]  noalias");
  EXPECT_EQ(p.at(k.params[0].type->range), "f16 [ M , 2 ]");
  EXPECT_EQ(p.at(k.params[1].range), "const T : type = f32");
  EXPECT_EQ(p.at(k.params[1].default_type.range), "f32");
  EXPECT_EQ(p.at(k.grid[0]->range), "1 + n");
  EXPECT_EQ(p.at(k.grid[0]->op_range), "+");
  const ast::Stmt& s = *k.body.at(0);
  EXPECT_EQ(p.at(s.range), "let (x , y) = ( f ( a ) + b ) * -c [ : , None ] ;");
  EXPECT_EQ(p.at(s.names[1].range), "y");
  EXPECT_EQ(p.at(s.value->range), "( f ( a ) + b ) * -c [ : , None ]");
  EXPECT_EQ(p.at(s.value->operands[0]->range), "( f ( a ) + b )");
  EXPECT_EQ(p.at(s.value->operands[0]->operands[0]->range), "f ( a )");
  EXPECT_EQ(p.at(s.value->operands[1]->range), "-c [ : , None ]");
  EXPECT_EQ(p.at(s.value->operands[1]->operands[0]->items[1].range), "None");
}

TEST(Numbers, HaveTheirValue) {
  auto int_of = [](const char* text) {
    auto n = syntax::read_number(text);
    EXPECT_EQ(n.error, "") << text;
    EXPECT_FALSE(n.is_float) << text;
    return n.int_value;
  };
  auto float_of = [](const char* text) {
    auto n = syntax::read_number(text);
    EXPECT_EQ(n.error, "") << text;
    EXPECT_TRUE(n.is_float) << text;
    return n.float_value;
  };
  EXPECT_EQ(int_of("0"), 0u);
  EXPECT_EQ(int_of("1_000_000"), 1000000u);
  EXPECT_EQ(int_of("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(int_of("0xFFff_0001"), 0xffff0001u);
  EXPECT_EQ(int_of("0x1e"), 0x1eu);
  EXPECT_EQ(int_of("0B1010_1010"), 0xaau);
  EXPECT_EQ(int_of("64KiB"), 65536u);
  EXPECT_EQ(int_of("3MiB"), 3u << 20);
  EXPECT_EQ(int_of("2GiB"), uint64_t{2} << 30);
  EXPECT_EQ(float_of("1.5"), 1.5);
  EXPECT_EQ(float_of("1."), 1.0);
  EXPECT_EQ(float_of(".25"), 0.25);
  EXPECT_EQ(float_of("1e3"), 1000.0);
  EXPECT_EQ(float_of("1_0.5E-1"), 1.05);
  EXPECT_EQ(float_of("0x1.8p+3"), 12.0);
  EXPECT_EQ(float_of("0x1p-1074"), 0x1p-1074);
  EXPECT_EQ(float_of("4.9406564584124654e-324"), 0x1p-1074);
  EXPECT_EQ(float_of("1e-400"), 0.0);
  EXPECT_EQ(float_of("1.7976931348623157e308"), 0x1.fffffffffffffp+1023);
  for (const char* bad : {"18446744073709551616", "1_", "1__0", "0x", "0b2", "0b", "1e400", "1.5KiB", "12f", "0x1.8",
                          "0x1g", "0x1.p", "16777216TiB", "0x1p99999", "0x_1"})
    EXPECT_NE(syntax::read_number(bad).error, "") << bad;
}

TEST(Strings, ResolveEscapes) {
  EXPECT_EQ(syntax::read_string(R"(a\n\t\r\\\"\'\x41)").value, "a\n\t\r\\\"'A");
  EXPECT_EQ(syntax::read_string(R"(\0)").value, std::string(1, '\0'));
  EXPECT_EQ(syntax::read_string(R"(ab\q)").bad_escape, 2u);
  EXPECT_EQ(syntax::read_string(R"(\x4)").bad_escape, 0u);
}

TEST(Hints, KnowTheTypesOfOtherLanguages) {
  EXPECT_EQ(syntax::type_meant("float"), "f32");
  EXPECT_EQ(syntax::type_meant("bfloat16"), "bf16");
  EXPECT_EQ(syntax::type_meant("int64"), "i64");
  EXPECT_EQ(syntax::type_meant("f32"), "");
  EXPECT_EQ(syntax::type_meant(""), "");
}

std::string repeat(std::string_view s, size_t n) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += s;
  return out;
}

// Exactly one message of the limit, wherever the depth comes from, and no exhausted stack.
TEST(Limits, DeepNestingIsOneError) {
  const size_t n = 300000;
  const std::pair<const char*, std::string> texts[] = {
      {"parentheses", "const X = " + repeat("(", n)},
      {"closed parentheses", "const X = " + repeat("(", n) + "1" + repeat(")", n) + ";"},
      {"lists", "const X = " + repeat("[", n) + repeat("]", n) + ";"},
      {"prefix", "const X = " + repeat("-", n) + "1;"},
      {"calls", "const X = " + repeat("f(", n) + "1" + repeat(")", n) + ";"},
      {"indices", "const X = " + repeat("a[", n) + "1" + repeat("]", n) + ";"},
      {"sum", "const X = 1" + repeat(" + 1", n) + ";"},
      {"members", "const X = a" + repeat(".b", n) + ";"},
      {"index chain", "const X = a" + repeat("[0]", n) + ";"},
      {"casts", "const X = a" + repeat(" as f32", n) + ";"},
      {"sums in parentheses", "const X = " + repeat("(", 150) + "1" + repeat(repeat(" + 1", 20) + ")", 150) + ";"},
      {"blocks", "fn f() " + repeat("{", n) + repeat("}", n)},
      {"ifs", "fn f() {" + repeat("if a {", n) + repeat("}", n) + "}"},
      {"else ifs", "fn f() { if a { }" + repeat("else if a { }", n) + "}"},
      {"functions", "fn f() {" + repeat("fn g() {", n) + repeat("}", n) + "}"},
      {"expect errors", "test \"t\" {" + repeat("expect error T0101 ", n) + "}"},
  };
  for (const auto& [name, text] : texts) {
    Parsed p(text);
    size_t limits = 0;
    for (const Diagnostic& d : p.diags.all()) limits += d.kind == DiagKind::NestingTooDeep;
    EXPECT_EQ(limits, 1u) << name << "\n" << p.messages().substr(0, 500);
  }
}

TEST(Limits, UsualSizesAreAccepted) {
  EXPECT_EQ(Parsed("const X = " + repeat("(", 150) + "1" + repeat(")", 150) + ";").messages(), "");
  EXPECT_EQ(Parsed("const X = 1" + repeat(" + 1", 900) + ";").messages(), "");
  EXPECT_EQ(Parsed("const X = [" + repeat("1, ", 100000) + "];").messages(), "");
  EXPECT_EQ(Parsed("fn f() { " + repeat("{ a = 1; } ", 20000) + "}").messages(), "");
  EXPECT_EQ(Parsed("").messages(), "");
}

TEST(Limits, ErrorsAreCountedAndCut) {
  for (const char* piece :
       {"$ ", "\x01 a\n", "fn f( { }\n", "fn f() { let a = ; }\n", "} ", "kernel k() {\n", "( ", "\"\n", "1z "}) {
    Parsed p(repeat(piece, 20000));
    EXPECT_GT(p.diags.error_count(), 0u) << piece;
    EXPECT_LE(p.diags.error_count(), syntax::ErrorLog::max_errors + 1) << piece;
  }
}

TEST(Speed, IsLinear) {
  // Texts that a backtracking parser without care takes exponential or quadratic time for.
  const std::string texts[] = {"fn f() { x = " + repeat("a < b, ", 50000) + "; }",
                               "fn f() { x = f(" + repeat("a<b>c,", 50000) + "); }",
                               "fn f() {" + repeat("if a { ", 150) + repeat("}", 149) + "x",
                               "fn f() {" + repeat("a = b\n", 50000) + "}",
                               repeat("fn f(a: f32 stride (", 20000),
                               repeat("kernel k() grid (1) {\n", 20000),
                               repeat("/* ", 200000)};
  for (const std::string& text : texts) {
    auto begin = std::chrono::steady_clock::now();
    Parsed p(text);
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(took.count(), 5.0) << text.substr(0, 60);
  }
}

// docs/grammar.md names every word and operator, and lists the operators by their precedence.
TEST(Docs, GrammarIsComplete) {
  std::string doc = testing::read_file(std::string(TILE_SOURCE_DIR) + "/docs/grammar.md");
  auto quoted = [&](std::string_view s) { return doc.find("`" + std::string(s) + "`") != std::string::npos; };
  for (std::string_view s : syntax::keywords) EXPECT_TRUE(quoted(s)) << s;
  for (std::string_view s : syntax::words) EXPECT_TRUE(quoted(s)) << s;
  for (std::string_view s : syntax::compound_table) {
    EXPECT_TRUE(s.empty() || doc.find("\"" + std::string(s) + "\"") != std::string::npos) << s;
  }
  for (const auto& row : syntax::infix_table) {
    std::string token;
    for (char c : row.token) token += c == '|' ? "\\|" : std::string(1, c);
    size_t line = doc.find("\n| " + std::to_string(row.precedence) + " |");
    ASSERT_NE(line, std::string::npos) << row.precedence;
    std::string text = doc.substr(line + 1, doc.find('\n', line + 1) - line - 1);
    EXPECT_NE(text.find("`" + token + "`"), std::string::npos) << row.token;
  }
}

}  // namespace
}  // namespace tile
