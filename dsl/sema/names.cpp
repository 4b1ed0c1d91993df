// Scopes and names.
#include <fmt/format.h>

#include <limits>

#include "dsl/prelude/prelude.h"
#include "dsl/sema/evaluator.h"
#include "dsl/syntax/parse.h"

namespace tile::sema {
namespace {

void declare_file(Scope& scope, const std::shared_ptr<Scope>& home, const ast::File& file, bool prelude,
                  bool floats = false) {
  for (const ast::Function& f : file.functions) {
    Variable v;
    v.role = Variable::Role::Function;
    v.range = f.name.range;
    v.value = Value::of(Value::Kind::Function);
    v.value.closure = std::make_shared<Closure>(Closure{&f, home, prelude, floats});
    scope.variables.try_emplace(f.name.text, std::move(v));
  }
  for (const ast::Kernel& k : file.kernels) {
    Variable v;
    v.role = Variable::Role::Kernel;
    v.range = k.name.range;
    scope.variables.try_emplace(k.name.text, std::move(v));
  }
  for (const ast::ConstDecl& c : file.consts) {
    Variable v;
    v.role = Variable::Role::Constant;
    v.range = c.name.range;
    v.lazy = c.value.get();
    scope.variables.try_emplace(c.name.text, std::move(v));
  }
}

// The names that a block declares itself or in nested blocks, in source order.
void find_definition(const ast::Block& block, std::string_view name, std::vector<Range>& found) {
  for (const ast::StmtPtr& s : block) {
    if (s->kind == ast::Stmt::Kind::Let || s->kind == ast::Stmt::Kind::Var || s->kind == ast::Stmt::Kind::For)
      for (const ast::Name& n : s->names)
        if (n.text == name) found.push_back(n.range);
    if (s->kind == ast::Stmt::Kind::Fn && s->function && s->function->name.text == name)
      found.push_back(s->function->name.range);
    find_definition(s->body, name, found);
    find_definition(s->else_body, name, found);
  }
}

// What a Triton user writes, and what it is here.
struct ForeignName {
  std::string_view theirs, hint;
};
constexpr ForeignName foreign_names[] = {
    {"constexpr", "write `const NAME: i32` in the parameter list"},
    {"range_constexpr", "write `static range(...)`"},
    {"static_range", "write `for i in static range(...)`"},
    {"logical_and", "write `&`"},
    {"logical_or", "write `|`"},
    {"logical_not", "write `!`"},
    {"maximum", "write `max(a, b)`"},
    {"minimum", "write `min(a, b)`"},
    {"device_print", "write `print(...)`"},
    {"cast", "write `x as TYPE`"},
    {"None", "leave the argument out"},
    {"True", "write `true`"},
    {"False", "write `false`"},
    {"make_block_ptr", "declare a view parameter: `x: f32[M, N] stride (ld, 1)`"},
    {"make_tensor_descriptor", "declare a view parameter: `x: f32[M, N] stride (ld, 1)`"},
    {"debug_barrier", "leave it out: the compiler places barriers"},
    {"fdiv", "write `a / b`"},
    {"div_rn", "write `a / b`: it rounds to nearest"},
    {"sqrt_rn", "write `sqrt(x)`: it rounds to nearest"},
    {"view", "write `reshape(x, [M, N])`"},
    {"unsqueeze", "write `expand_dims(x, axis)`"},
    {"not", "write `!`"},
    {"int", "write `x as i32`"},
    {"float", "write `x as f32`"},
};

}  // namespace

void Evaluator::build_file_scopes() {
  file_scopes_.clear();
  for (size_t i = 0; i < files_.files.size(); ++i) {
    auto scope = std::make_shared<Scope>();
    scope->boundary = true;
    file_scopes_.push_back(std::move(scope));
  }
  for (size_t i = 0; i < files_.files.size(); ++i) {
    declare_file(*file_scopes_[i], file_scopes_[i], files_.files[i]->ast, false);
    for (size_t import : files_.files[i]->imports)
      declare_file(*file_scopes_[i], file_scopes_[import], files_.files[import]->ast, false);
  }
  // An imported constant is evaluated in its own file.
  for (size_t i = 0; i < files_.files.size(); ++i) {
    for (const ast::ConstDecl& c : files_.files[i]->ast.consts) {
      auto it = file_scopes_[i]->variables.find(c.name.text);
      if (it == file_scopes_[i]->variables.end() || it->second.lazy != c.value.get()) continue;
      scope_ = file_scopes_[i];
      Value v = read(it->second, c.name.range);
      for (size_t user = 0; user < files_.files.size(); ++user) {
        auto other = file_scopes_[user]->variables.find(c.name.text);
        if (other == file_scopes_[user]->variables.end() || other->second.lazy != c.value.get()) continue;
        other->second.value = v;
        other->second.lazy = nullptr;
      }
    }
  }
}

std::shared_ptr<Scope> Evaluator::scope_of_prelude(size_t part) {
  if (auto it = prelude_scopes_.find(part); it != prelude_scopes_.end()) return it->second;
  std::unique_ptr<LoadedFile>& file = files_.prelude[part];
  if (!file) {
    file = std::make_unique<LoadedFile>();
    const prelude::Part& text = prelude::parts()[part];
    file->path = fmt::format("<prelude>/{}", text.name);
    FileId id = files_.sources->add(file->path, std::string(text.text));
    Diagnostics messages;
    file->ast = parse(id, *files_.sources, messages);
    for (const Diagnostic& d : messages.all())
      diags_.emit(DiagKind::InternalError, d.range, "the prelude does not parse: " + d.message);
  }
  auto scope = std::make_shared<Scope>();
  scope->boundary = true;
  prelude_scopes_[part] = scope;
  declare_file(*scope, scope, file->ast, true, prelude::parts()[part].name != "random.tile");
  return scope;
}

std::optional<Value> Evaluator::prelude_function(std::string_view name) {
  std::optional<size_t> part = prelude::part_of(name, !frames_.empty() && frames_.back().prelude);
  if (!part) return std::nullopt;
  std::shared_ptr<Scope> scope = scope_of_prelude(*part);
  auto it = scope->variables.find(name);
  if (it == scope->variables.end()) return std::nullopt;
  return it->second.value;
}

Variable* Evaluator::lookup(std::string_view name, bool* crossed_function) {
  bool crossed = false;
  for (Scope* s = scope_.get(); s; s = s->parent.get()) {
    if (auto it = s->variables.find(name); it != s->variables.end()) {
      if (crossed_function) *crossed_function = crossed;
      return &it->second;
    }
    crossed |= s->boundary;
  }
  return nullptr;
}

Variable* Evaluator::declare(const ast::Name& name, Variable::Role role, Value value) {
  if (Variable* old = lookup(name.text)) {
    error(DiagKind::Redefinition, name.range, fmt::format("'{}' is defined already", name.text),
          old->role == Variable::Role::Var ? "to change it, write an assignment without `let` or `var`"
                                           : "choose another name",
          {{old->range, "the first definition is here"}});
  } else if (is_builtin_name(name.text)) {
    error(DiagKind::Redefinition, name.range, fmt::format("'{}' is a name of the language", name.text),
          "choose another name");
  }
  Variable v;
  v.role = role;
  v.range = name.range;
  v.value = std::move(value);
  if (v.value.is_runtime() && k_.value(v.value.id).name.empty()) k_.value(v.value.id).name = name.text;
  return &(scope_->variables[name.text] = std::move(v));
}

Value Evaluator::read(Variable& variable, Range range) {
  if (!variable.lazy) return variable.value;
  if (variable.evaluating)
    return error(DiagKind::Recursion, range,
                 fmt::format("the constant '{}' is defined by itself", text_of(variable.range)), {},
                 {{variable.range, "it is defined here"}});
  variable.evaluating = true;
  Value v = eval(*variable.lazy);
  variable.evaluating = false;
  if (!v.is_poison() && !known(v) && v.kind != Value::Kind::Type && v.kind != Value::Kind::String && !v.is_bundle())
    v = error(DiagKind::NotConstant, variable.lazy->range, "a `const` needs a value that is known at compile time");
  variable.lazy = nullptr;
  variable.value = v;
  return v;
}

std::vector<std::string> Evaluator::visible_names() const {
  std::vector<std::string> names;
  for (Scope* s = scope_.get(); s; s = s->parent.get())
    for (const auto& [name, v] : s->variables)
      if (v.role != Variable::Role::Hidden) names.push_back(name);
  for (std::string& n : builtin_names()) names.push_back(std::move(n));
  return names;
}

std::optional<Value> Evaluator::named_constant(std::string_view name) const {
  if (name == "inf") return Value::floating(std::numeric_limits<double>::infinity());
  if (name == "nan") return Value::floating(std::numeric_limits<double>::quiet_NaN());
  if (name == "pi") return Value::floating(3.14159265358979323846);
  return std::nullopt;
}

Value Evaluator::unknown_name(const ast::Name& name, bool call) {
  const ast::Block* body = frames_.empty() ? (kernel_ ? &kernel_->body : nullptr) : &frames_.back().function->body;
  std::vector<Range> found;
  if (body) find_definition(*body, name.text, found);
  for (Range r : found) {
    if (r.file == name.range.file && r.begin > name.range.begin)
      return error(DiagKind::UseBeforeDefinition, name.range,
                   fmt::format("'{}' is used before it is defined", name.text), {}, {{r, "it is defined here"}});
    if (r.begin < name.range.begin)
      return error(DiagKind::UseBeforeDefinition, name.range,
                   fmt::format("'{}' is not visible here: it is defined inside of a block", name.text),
                   "define it as a `var` before the block", {{r, "it is defined here"}});
  }
  std::string hint;
  if (name.text.starts_with("tl::")) hint = fmt::format("leave the prefix out: `{}`", name.text.substr(4));
  for (const ForeignName& f : foreign_names)
    if (f.theirs == name.text) hint = f.hint;
  for (const DTypeInfo& t : dtype_table)
    if (!t.triton_name.empty() && t.triton_name == name.text) hint = fmt::format("write `{}`", t.name);
  if (name.text == "tl" || name.text == "triton") hint = "leave the prefix out: functions have no module here";
  if (hint.empty())
    if (std::string near = nearest_name(name.text, visible_names()); !near.empty())
      hint = fmt::format("did you mean `{}`?", near);
  return error(DiagKind::UnknownName, name.range, fmt::format("unknown {} '{}'", call ? "function" : "name", name.text),
               hint);
}

void Evaluator::push_scope(bool boundary) {
  auto s = std::make_shared<Scope>();
  s->parent = scope_;
  s->boundary = boundary;
  scope_ = std::move(s);
}

void Evaluator::pop_scope() { scope_ = scope_->parent; }

}  // namespace tile::sema
