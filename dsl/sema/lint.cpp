#include "dsl/sema/lint.h"

#include <fmt/format.h>

#include <map>

namespace tile::sema {
namespace {

struct Local {
  Range range;
  bool is_var = false, read = false, assigned = false;
};

class Linter {
 public:
  explicit Linter(Diagnostics& diags) : diags_(diags) {}

  void body(const ast::Block& b) {
    block(b);
    scopes_.clear();
  }

 private:
  using Expr = ast::Expr;
  using Stmt = ast::Stmt;

  Local* find(const std::string& name) {
    for (size_t i = scopes_.size(); i-- > 0;)
      if (auto it = scopes_[i].find(name); it != scopes_[i].end()) return &it->second;
    return nullptr;
  }

  void read(const std::string& name) {
    if (Local* l = find(name)) l->read = true;
  }

  void type(const ast::TypeExpr& t) {
    read(t.name.text);
    if (size_t dot = t.name.text.find('.'); dot != std::string::npos) read(t.name.text.substr(0, dot));
    for (const ast::ExprPtr& e : t.extents) expr(*e);
  }

  void optional(const ast::ExprPtr& e) {
    if (e) expr(*e);
  }

  void expr(const Expr& e) {
    if (e.kind == Expr::Kind::NameRef) read(e.name.text);
    for (const ast::ExprPtr& o : e.operands) expr(*o);
    optional(e.callee);
    for (const ast::TypeExpr& t : e.type_args) type(t);
    for (const ast::ExprPtr& x : e.extents) expr(*x);
    for (const ast::Argument& a : e.args) optional(a.value);
    if (e.kind == Expr::Kind::Cast) type(e.type);
    for (const ast::IndexItem& i : e.items) {
      optional(i.value);
      optional(i.begin);
      optional(i.end);
      optional(i.step);
    }
    if (e.comprehension)
      for (const ast::Argument& a : e.comprehension->range_args) optional(a.value);
  }

  // The target of an assignment: names are written, not read; the rest is read.
  void target(const Expr& t, bool reads) {
    if (t.kind == Expr::Kind::NameRef) {
      if (Local* l = find(t.name.text)) {
        l->assigned = true;
        l->read = l->read || reads;
      }
    } else if (t.kind == Expr::Kind::Index && t.operands[0]->kind == Expr::Kind::NameRef &&
               find(t.operands[0]->name.text)) {
      Local* l = find(t.operands[0]->name.text);
      l->assigned = true;
      l->read = l->read || !l->is_var;  // a view that is stored to
      for (const ast::IndexItem& i : t.items) optional(i.value);
    } else if (t.kind == Expr::Kind::Tuple) {
      for (const ast::ExprPtr& part : t.operands) target(*part, reads);
    } else {
      expr(t);
    }
  }

  void block(const ast::Block& b) {
    scopes_.emplace_back();
    bool ended = false;
    for (const ast::StmtPtr& s : b) {
      if (ended) {
        diags_.emit(DiagKind::UnreachableCode, s->range, "this is never reached");
        break;
      }
      stmt(*s);
      ended = s->kind == Stmt::Kind::Return || s->kind == Stmt::Kind::Break || s->kind == Stmt::Kind::Continue;
    }
    close();
  }

  void close() {
    for (const auto& [name, l] : scopes_.back()) {
      if (name.starts_with("_")) continue;
      if (!l.read)
        diags_.emit(DiagKind::UnusedVar, l.range, fmt::format("'{}' is never read", name),
                    fmt::format("remove it, or name it `_{}`", name));
      else if (l.is_var && !l.assigned)
        diags_.emit(DiagKind::NeverAssignedVar, l.range, fmt::format("the `var` '{}' is never assigned", name),
                    "write `let`");
    }
    scopes_.pop_back();
  }

  void define(const ast::Name& n, bool is_var) {
    scopes_.back().try_emplace(n.text, Local{n.range, is_var, false, false});
  }

  void stmt(const Stmt& s) {
    switch (s.kind) {
      case Stmt::Kind::Let:
      case Stmt::Kind::Var:
        optional(s.value);
        if (s.type) type(*s.type);
        for (const ast::Name& n : s.names) define(n, s.kind == Stmt::Kind::Var);
        return;
      case Stmt::Kind::Assign:
        optional(s.value);
        target(*s.target, !s.op.empty());
        return;
      case Stmt::Kind::Expression:
        optional(s.value);
        if (s.value && s.value->kind != Expr::Kind::Call)
          diags_.emit(DiagKind::ExpressionUnused, s.value->range, "the value of this expression is not used");
        return;
      case Stmt::Kind::Fn:
        if (s.function) {
          for (const ast::Param& p : s.function->params) optional(p.default_value);
          block(s.function->body);
        }
        return;
      default:
        optional(s.value);
        for (const ast::Argument& a : s.args) optional(a.value);
        optional(s.pipeline);
        if (!s.body.empty()) block(s.body);
        if (!s.else_body.empty()) block(s.else_body);
    }
  }

  Diagnostics& diags_;
  std::vector<std::map<std::string, Local>> scopes_;
};

}  // namespace

void lint(const ast::File& file, Diagnostics& diags) {
  Linter linter(diags);
  for (const ast::Function& f : file.functions) linter.body(f.body);
  for (const ast::Kernel& k : file.kernels) linter.body(k.body);
}

}  // namespace tile::sema
