// The tree as text: `label text @line:column-line:column`, children indented below.
#include <fmt/format.h>

#include "dsl/syntax/ast.h"

namespace tile::ast {

namespace {

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else out += c;
  }
  return out + '"';
}

class Dumper {
 public:
  explicit Dumper(const SourceManager& sources) : sources_(sources) {}
  std::string take() { return std::move(out_); }

  void file(const File& f) {
    for (const Import& i : f.imports) line("import " + quoted(i.path), i.range);
    for (const ConstDecl& c : f.consts) {
      line("const " + c.name.text, c.range);
      child("", c.value);
    }
    for (const Function& one : f.functions) function(one);
    for (const Kernel& k : f.kernels) kernel(k);
    for (const Test& t : f.tests) {
      line("test " + quoted(t.title), t.range);
      block("", t.body);
    }
  }

 private:
  struct Indent {
    explicit Indent(Dumper& d) : d_(d) { ++d_.depth_; }
    ~Indent() { --d_.depth_; }
    Dumper& d_;
  };

  void line(std::string_view text, Range r = {}) {
    out_.append(2 * depth_, ' ').append(text);
    if (r.file != 0) {
      LineColumn b = sources_.line_column(r.file, r.begin), e = sources_.line_column(r.file, r.end);
      out_ += fmt::format(" @{}:{}-{}:{}", b.line, b.column, e.line, e.column);
    }
    out_ += '\n';
  }

  // An expression one level down, under its role if it needs one to be told from its siblings.
  void child(std::string_view role, const ExprPtr& e) {
    if (!e) return;
    Indent in(*this);
    if (role.empty()) return expr(*e);
    line(role);
    Indent deeper(*this);
    expr(*e);
  }
  void children(std::string_view role, const std::vector<ExprPtr>& list) {
    if (list.empty()) return;
    Indent in(*this);
    line(role);
    for (const ExprPtr& e : list) child("", e);
  }

  void type(std::string_view role, const TypeExpr& t) {
    Indent in(*this);
    std::string text(role);
    switch (t.kind) {
      case TypeExpr::Kind::Named:
        text += t.name.text;
        break;
      case TypeExpr::Kind::Ptr:
        text += "ptr<" + t.name.text + ">";
        break;
      case TypeExpr::Kind::Type:
        text += "type";
        break;
      case TypeExpr::Kind::Shaped:
        text += t.name.text + "[]";
        break;
    }
    line(text, t.range);
    for (const ExprPtr& e : t.extents) child("", e);
  }

  void args(const std::vector<Argument>& list) {
    Indent in(*this);
    for (const Argument& a : list) {
      if (a.name) line("arg " + a.name->text, a.name->range);
      else line("arg");
      child("", a.value);
    }
  }

  void items(const std::vector<IndexItem>& list) {
    Indent in(*this);
    for (const IndexItem& i : list) {
      switch (i.kind) {
        case IndexItem::Kind::Value:
          line("item", i.range);
          break;
        case IndexItem::Kind::None:
          line("item None", i.range);
          break;
        case IndexItem::Kind::Slice:
          line("item slice", i.range);
          break;
      }
      child("", i.value);
      child("begin", i.begin), child("end", i.end), child("step", i.step);
    }
  }

  static std::string label(const Expr& e) {
    switch (e.kind) {
      case Expr::Kind::Int:
        return fmt::format("int {}", e.int_value);
      case Expr::Kind::Float:
        return fmt::format("float {:a}", e.float_value);
      case Expr::Kind::Bool:
        return e.bool_value ? "bool true" : "bool false";
      case Expr::Kind::String:
        return "string " + quoted(e.text);
      case Expr::Kind::NameRef:
        return "name " + e.name.text;
      case Expr::Kind::Unary:
        return fmt::format("unary {}", e.op);
      case Expr::Kind::Binary:
        return fmt::format("binary {}", e.op);
      case Expr::Kind::Cast:
        return "cast";
      case Expr::Kind::Call:
        return "call";
      case Expr::Kind::Create:
        return "create";
      case Expr::Kind::Index:
        return "index";
      case Expr::Kind::Member:
        return "member " + e.name.text;
      case Expr::Kind::Tuple:
        return "tuple";
      case Expr::Kind::List:
        return "list";
    }
    return "";
  }

  void expr(const Expr& e) {
    std::string text = label(e);
    if (e.op_range.file != 0)
      text += fmt::format(" ({})", sources_.line_column(e.op_range.file, e.op_range.begin).column);
    line(text, e.range);
    child("", e.callee);
    for (const ExprPtr& o : e.operands) child("", o);
    if (e.kind == Expr::Kind::Cast) {
      std::string options;
      for (const Name& n : e.cast_options) options += n.text + " ";
      type(options, e.type);
    }
    for (const TypeExpr& t : e.type_args) type("of ", t);
    children("extents", e.extents);
    args(e.args);
    items(e.items);
    if (!e.comprehension) return;
    Indent in(*this);
    line("for " + e.comprehension->name.text, e.comprehension->name.range);
    args(e.comprehension->range_args);
  }

  void block(std::string_view role, const Block& b) {
    Indent in(*this);
    if (!role.empty()) {
      line(role);
      return block("", b);
    }
    for (const StmtPtr& s : b) stmt(*s);
  }

  void names(const Stmt& s, std::string& text) {
    text += s.destructure ? " (" : " ";
    for (size_t i = 0; i < s.names.size(); ++i) text += (i ? ", " : "") + s.names[i].text;
    if (s.destructure) text += ")";
  }

  std::string label(const Stmt& s) {
    std::string text;
    switch (s.kind) {
      case Stmt::Kind::Let:
        text = "let";
        break;
      case Stmt::Kind::Var:
        text = "var";
        break;
      case Stmt::Kind::Assign:
        return "assign " + s.op + "=";
      case Stmt::Kind::Expression:
        return "expression";
      case Stmt::Kind::For:
        text = s.is_static ? "static for" : "for";
        break;
      case Stmt::Kind::While:
        return "while";
      case Stmt::Kind::If:
        return s.is_static ? "static if" : "if";
      case Stmt::Kind::Return:
        return "return";
      case Stmt::Kind::Break:
        return "break";
      case Stmt::Kind::Continue:
        return "continue";
      case Stmt::Kind::StaticAssert:
        return s.message.empty() ? "static_assert" : "static_assert " + quoted(s.message);
      case Stmt::Kind::Fn:
        return "nested fn";
      case Stmt::Kind::Block:
        return "block";
      case Stmt::Kind::Launch:
        return "launch " + s.launch->kernel.text;
      case Stmt::Kind::Expect:
        return s.approximate ? "expect ~=" : "expect ==";
      case Stmt::Kind::ExpectError:
        text = "expect error";
        break;
    }
    names(s, text);
    return text;
  }

  void stmt(const Stmt& s) {
    line(label(s), s.range);
    if (s.type) type("type ", *s.type);
    child("target", s.target);
    child("", s.value);
    child("", s.other);
    args(s.args);
    child("pipeline", s.pipeline);
    for (const Tolerance& t : s.tolerances) child("within " + t.name.text, t.value);
    if (s.launch) launch(*s.launch);
    if (s.function) {
      Indent in(*this);
      function(*s.function);
    }
    block("", s.body);
    if (s.has_else) block("else", s.else_body);
  }

  void launch(const Launch& l) {
    args(l.args);
    Indent in(*this);
    for (const Name& n : l.targets) line("target " + n.text, n.range);
    if (l.waves) line("waves"), child("", l.waves);
  }

  void param(const Param& p) {
    Indent in(*this);
    std::string text = p.is_const ? "param const " : "param ";
    text += p.name.text;
    if (p.noalias) text += " noalias";
    if (p.wide) text += " wide";
    line(text, p.range);
    if (p.type) type("type ", *p.type);
    children("stride", p.strides);
    child("align", p.align);
    child("default", p.default_value);
    if (p.has_default_type) type("default ", p.default_type);
  }

  void function(const Function& f) {
    line("fn " + f.name.text, f.range);
    for (const Param& p : f.params) param(p);
    for (const TypeExpr& t : f.results) type("result ", t);
    block("body", f.body);
  }

  void kernel(const Kernel& k) {
    line((k.is_wave ? "wave kernel " : "kernel ") + k.name.text, k.range);
    for (const Param& p : k.params) param(p);
    children("grid", k.grid);
    child("waves", k.waves);
    children("requires", k.requires_clauses);
    children("expects", k.expects_clauses);
    if (k.contract) {
      Indent in(*this);
      line("contract on");
    }
    block("body", k.body);
  }

  const SourceManager& sources_;
  std::string out_;
  size_t depth_ = 0;
};

}  // namespace

std::string dump(const File& file, const SourceManager& sources) {
  Dumper d(sources);
  d.file(file);
  return d.take();
}

}  // namespace tile::ast
