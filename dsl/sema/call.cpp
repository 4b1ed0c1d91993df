// Calls: builtins by their rows, elementwise operations by their spelling, functions by inlining.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/sema/evaluator.h"

namespace tile::sema {
namespace {

constexpr size_t max_call_depth = 100;

struct ParamSpec {
  std::string name;
  bool optional = false, syntax = false, named_only = false, rest = false;
};

std::vector<ParamSpec> parse_params(std::string_view text) {
  std::vector<ParamSpec> out;
  while (!text.empty()) {
    size_t space = text.find(' ');
    std::string_view word = text.substr(0, space);
    text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
    ParamSpec p;
    if (word == "...") {
      p.rest = true;
    } else {
      if (word.front() == '&') p.syntax = true, word.remove_prefix(1);
      if (word.front() == '=') p.named_only = true, word.remove_prefix(1);
      if (word.back() == '?') p.optional = true, word.remove_suffix(1);
      p.name = word;
    }
    out.push_back(std::move(p));
  }
  return out;
}

std::string plural(size_t n, std::string_view what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

// "2 arguments", "1 to 3 arguments", "at least 1 argument"
std::string expected_count(size_t least, size_t most) {
  if (least == most) return plural(least, "argument");
  if (most == SIZE_MAX) return "at least " + plural(least, "argument");
  return fmt::format("{} to {} arguments", least, most);
}

}  // namespace

Value Evaluator::eval_call(const ast::Expr& e) {
  const ast::Expr& callee = *e.callee;
  if (callee.kind == ast::Expr::Kind::Member) {
    const std::string& method = callee.name.text;
    const ast::Expr* self = callee.operands[0].get();
    if (self->kind == ast::Expr::Kind::NameRef && (self->name.text == "tl" || self->name.text == "triton") &&
        !lookup(self->name.text))
      return error(DiagKind::UnknownName, self->range, fmt::format("unknown name '{}'", self->name.text),
                   fmt::format("leave the prefix out: `{}(...)`", method));
    if (const BuiltinRow* row = find_builtin(method)) return call_builtin(*row, e, self);
    if (is_elementwise_spelling(method)) return call_elementwise(method, e, self);
    if (std::optional<Value> f = prelude_function(method)) return call_value(*f, e, self, callee.range);
    Value v = eval(*self);
    if (v.is_poison()) return v;
    std::string hint = method == "to" ? "write `x as TYPE`" : "";
    if (Variable* f = lookup(method); f && hint.empty() && f->role == Variable::Role::Function)
      hint = fmt::format("write `{}(x)`", method);
    if (hint.empty())
      if (std::string near = nearest_name(method, builtin_names()); !near.empty())
        hint = fmt::format("did you mean `.{}`?", near);
    return error(DiagKind::UnknownMember, callee.name.range, fmt::format("{} has no method '{}'", describe(v), method),
                 hint);
  }
  if (callee.kind == ast::Expr::Kind::NameRef) {
    if (Variable* v = lookup(callee.name.text)) {
      if (v->role == Variable::Role::Kernel)
        return error(DiagKind::NotCallable, callee.range, fmt::format("the kernel '{}' is called", callee.name.text),
                     "kernels are launched from outside and from test blocks", {{v->range, "it is defined here"}});
      Value f = read(*v, callee.range);
      if (f.is_poison()) return f;
      if (f.kind != Value::Kind::Function && f.kind != Value::Kind::Builtin)
        return error(DiagKind::NotCallable, callee.range,
                     fmt::format("'{}' is no function but {}", callee.name.text, describe(f)), {},
                     {{v->range, "it is defined here"}});
      return call_value(f, e, nullptr, callee.range);
    }
    if (const BuiltinRow* row = find_builtin(callee.name.text)) return call_builtin(*row, e, nullptr);
    if (is_elementwise_spelling(callee.name.text)) return call_elementwise(callee.name.text, e, nullptr);
    if (std::optional<Value> f = prelude_function(callee.name.text)) return call_value(*f, e, nullptr, callee.range);
    for (const ast::Argument& a : e.args) eval(*a.value);
    if (callee.name.text == "zeros" || callee.name.text == "full")
      return error(DiagKind::NotCallable, e.range,
                   fmt::format("{} needs a type and a shape in brackets", callee.name.text),
                   callee.name.text == "zeros" ? "write `zeros<f32>[M, N]`" : "write `full<f32>[M, N](value)`");
    if (callee.name.text == "barrier")
      return error(DiagKind::SharedOutsideWave, e.range, "barrier() in a kernel that is not a wave kernel",
                   "leave it out: the compiler places barriers");
    if (parse_dtype(callee.name.text))
      return error(DiagKind::NotCallable, callee.range, fmt::format("the type {} is called", callee.name.text),
                   fmt::format("write `x as {}`", callee.name.text));
    return unknown_name(callee.name, true);
  }
  Value f = eval(callee);
  return f.is_poison() ? f : call_value(f, e, nullptr, callee.range);
}

Value Evaluator::call_value(const Value& f, const ast::Expr& e, const ast::Expr* self, Range callee) {
  if (f.kind == Value::Kind::Function) return call_function(*f.closure, e, self);
  if (f.kind == Value::Kind::Builtin) {
    if (const BuiltinRow* row = find_builtin(f.text)) return call_builtin(*row, e, self);
    if (is_elementwise_spelling(f.text)) return call_elementwise(f.text, e, self);
  }
  return error(DiagKind::NotCallable, callee, fmt::format("this is no function but {}", describe(f)));
}

bool Evaluator::bind_builtin(const BuiltinRow& row, const ast::Expr& e, const ast::Expr* self, CallArgs& out) {
  std::vector<ParamSpec> params = parse_params(row.params);
  size_t positional = 0, least = 0;
  bool takes_rest = false;
  for (const ParamSpec& p : params) {
    takes_rest |= p.rest;
    if (p.rest || p.named_only) continue;
    ++positional;
    least += !p.optional;
  }
  out.call = &e;
  out.name = row.name;
  out.method = self != nullptr;
  std::vector<size_t> slots;  // of positional parameters in `params` without the rest
  std::vector<std::string> names;
  for (const ParamSpec& p : params) {
    if (p.rest) continue;
    if (!p.named_only) slots.push_back(names.size());
    names.push_back(p.name);
  }
  out.args.resize(names.size());
  auto spec_of = [&](size_t slot) -> const ParamSpec& {
    for (const ParamSpec& p : params)
      if (p.name == names[slot]) return p;
    return params[0];
  };
  bool good = true;
  size_t given = 0;
  auto put = [&](CallArgs::Arg& arg, const ast::Expr& x, bool syntax) {
    arg.given = true, arg.expr = &x, arg.range = x.range;
    if (!syntax) {
      arg.value = eval(x);
      good = good && !arg.value.is_poison();
    }
  };
  auto put_positional = [&](const ast::Expr& x) {
    if (given < positional) {
      put(out.args[slots[given]], x, spec_of(slots[given]).syntax);
    } else if (takes_rest) {
      put(out.rest.emplace_back(), x, false);
    } else {
      eval(x);
    }
    ++given;
  };
  if (self) put_positional(*self);
  bool named_seen = false;
  for (const ast::Argument& a : e.args) {
    if (!a.name) {
      if (named_seen)
        error(DiagKind::ArgumentCount, a.value->range, "an argument without a name follows one with a name"),
            good = false;
      put_positional(*a.value);
      continue;
    }
    named_seen = true;
    auto it = std::find(names.begin(), names.end(), a.name->text);
    if (it == names.end()) {
      eval(*a.value);
      std::string near = nearest_name(a.name->text, names);
      error(DiagKind::UnknownArgument, a.name->range, fmt::format("{} has no argument '{}'", row.name, a.name->text),
            near.empty() ? "" : fmt::format("did you mean `{}`?", near));
      good = false;
      continue;
    }
    size_t slot = static_cast<size_t>(it - names.begin());
    if (out.args[slot].given) {
      error(DiagKind::DuplicateArgument, a.name->range,
            fmt::format("the argument '{}' of {} is given twice", a.name->text, row.name), {},
            {{out.args[slot].range, "it is given here already"}});
      good = false;
      continue;
    }
    put(out.args[slot], *a.value, spec_of(slot).syntax);
  }
  if (given > positional && !takes_rest) {
    error(DiagKind::ArgumentCount, e.range,
          fmt::format("{} takes {}, but got {}", row.name, expected_count(least, positional), given));
    return false;
  }
  for (size_t slot : slots)
    if (!out.args[slot].given && !spec_of(slot).optional) {
      if (!good) return false;
      error(DiagKind::ArgumentCount, e.range,
            fmt::format("{} takes {}, but '{}' is missing", row.name,
                        expected_count(least, takes_rest ? SIZE_MAX : positional), names[slot]));
      return false;
    }
  if (e.type_args.size() != row.type_args) {
    error(DiagKind::ArgumentCount, e.range,
          row.type_args == 0 ? fmt::format("{} takes no type in `<>`", row.name)
                             : fmt::format("{} needs a type: `{}<i32>(x)`", row.name, row.name));
    return false;
  }
  for (const ast::TypeExpr& t : e.type_args) {
    std::optional<DType> d = eval_dtype(t);
    if (!d) return false;
    out.types.push_back(*d);
  }
  return good;
}

Value Evaluator::call_builtin(const BuiltinRow& row, const ast::Expr& e, const ast::Expr* self) {
  CallArgs args;
  if (!bind_builtin(row, e, self, args)) return Value::poison();
  b_.range = e.range;
  return (this->*row.handler)(args);
}

Value Evaluator::call_elementwise(std::string_view spelling, const ast::Expr& e, const ast::Expr* self) {
  unsigned arity = 0;
  for (unsigned i = 0; i < num_elementwise; ++i)
    if (info(op_at(i)).spelling == spelling) arity = info(op_at(i)).arity;
  std::vector<Ranged> operands;
  if (self) operands.push_back(eval_ranged(*self));
  bool good = true;
  for (const ast::Argument& a : e.args) {
    if (a.name) {
      error(DiagKind::UnknownArgument, a.name->range, fmt::format("{} has no argument '{}'", spelling, a.name->text));
      good = false;
    }
    operands.push_back(eval_ranged(*a.value));
  }
  if (operands.size() != arity) {
    error(DiagKind::ArgumentCount, e.range,
          fmt::format("{} takes {}, but got {}", spelling, plural(arity, "argument"), operands.size()));
    return Value::poison();
  }
  if (!e.type_args.empty())
    return error(DiagKind::ArgumentCount, e.range, fmt::format("{} takes no type in `<>`", spelling));
  for (const Ranged& o : operands) good = good && !o.value.is_poison();
  return good ? elementwise(spelling, std::move(operands), e.range) : Value::poison();
}

// A math function of the prelude takes floats; an integer literal is one.
Value Evaluator::float_argument(const Closure& closure, const Ranged& v) {
  const std::string& f = closure.function->name.text;
  if (!check_numeric(v, f)) return Value::poison();
  if (v.value.is_literal())
    return v.value.kind == Value::Kind::Int ? Value::floating(static_cast<double>(v.value.wide)) : v.value;
  DType t = type_of(v.value).dtype;
  if (is_arith_float(t)) return v.value;
  return error(is_float(t) ? DiagKind::NarrowFloatArithmetic : DiagKind::TypeMismatch, v.range,
               fmt::format("{} takes floats, but this is {}", f, describe(v.value)), "convert first: `x as f32`");
}

bool Evaluator::bind_function(const Closure& closure, const ast::Expr& e, const ast::Expr* self,
                              const std::shared_ptr<Scope>& scope) {
  const ast::Function& f = *closure.function;
  std::vector<std::optional<Ranged>> given(f.params.size());
  bool good = true;
  size_t positional = 0, least = 0;
  for (const ast::Param& p : f.params) least += p.default_value == nullptr;
  auto put = [&](const ast::Expr& x) {
    Ranged v = eval_ranged(x);
    if (v.value.kind == Value::Kind::Void)
      v.value = error(DiagKind::TypeMismatch, x.range, "this call returns nothing");
    if (closure.floats && (frames_.empty() || !frames_.back().prelude)) v.value = float_argument(closure, v);
    if (v.value.is_poison()) good = false;
    if (positional < given.size()) given[positional] = v;
    ++positional;
  };
  if (self) put(*self);
  for (const ast::Argument& a : e.args) {
    if (!a.name) {
      put(*a.value);
      continue;
    }
    std::vector<std::string> names;
    for (const ast::Param& p : f.params) names.push_back(p.name.text);
    auto it = std::find(names.begin(), names.end(), a.name->text);
    Ranged v = eval_ranged(*a.value);
    good = good && !v.value.is_poison();
    if (it == names.end()) {
      std::string near = nearest_name(a.name->text, names);
      error(DiagKind::UnknownArgument, a.name->range,
            fmt::format("{} has no parameter '{}'", f.name.text, a.name->text),
            near.empty() ? "" : fmt::format("did you mean `{}`?", near), {{f.name.range, "it is declared here"}});
      good = false;
      continue;
    }
    std::optional<Ranged>& slot = given[static_cast<size_t>(it - names.begin())];
    if (slot) {
      error(DiagKind::DuplicateArgument, a.name->range,
            fmt::format("the argument '{}' of {} is given twice", a.name->text, f.name.text), {},
            {{slot->range, "it is given here already"}});
      good = false;
      continue;
    }
    slot = v;
  }
  std::vector<Note> declared;
  if (!closure.prelude) declared.push_back({f.name.range, "it is declared here"});
  if (positional > given.size()) {
    error(DiagKind::ArgumentCount, e.range,
          fmt::format("{} takes {}, but got {}", f.name.text, expected_count(least, given.size()), positional), {},
          declared);
    return false;
  }
  for (size_t i = 0; i < given.size(); ++i)
    if (!given[i] && !f.params[i].default_value) {
      error(DiagKind::ArgumentCount, e.range,
            fmt::format("{} takes {}, but '{}' is missing", f.name.text, expected_count(least, given.size()),
                        f.params[i].name.text),
            {}, declared);
      return false;
    }
  if (!good) return false;
  // Where no argument has a type it is f32.
  bool floats = closure.floats && (frames_.empty() || !frames_.back().prelude);
  if (floats && std::all_of(given.begin(), given.end(), [](const auto& g) { return !g || g->value.is_literal(); }))
    for (std::optional<Ranged>& g : given)
      if (g) g->value = literal_as(*g, DType::F32);
  // Parameters are checked inside of the function's scope, where types and earlier parameters have their names.
  std::shared_ptr<Scope> outside = scope_;
  scope_ = scope;
  for (size_t i = 0; i < given.size(); ++i) {
    const ast::Param& p = f.params[i];
    if (!given[i]) given[i] = eval_ranged(*p.default_value);
    Value v = given[i]->value;
    if (p.type) v = check_annotation(*given[i], *p.type, fmt::format("the parameter '{}'", p.name.text));
    if (p.is_const && !v.is_poison() && !known(v) && v.kind != Value::Kind::Type && v.kind != Value::Kind::String)
      v = error(DiagKind::NotConstant, given[i]->range,
                fmt::format("the parameter '{}' must be known at compile time", p.name.text), {},
                {{p.name.range, "it is `const`"}});
    good = good && !v.is_poison();
    if (closure.prelude) {
      Variable variable;
      variable.role = Variable::Role::Parameter;
      variable.range = p.name.range;
      variable.value = v;
      scope_->variables[p.name.text] = std::move(variable);
    } else {
      declare(p.name, Variable::Role::Parameter, v);
    }
  }
  scope_ = outside;
  return good;
}

Value Evaluator::call_function(const Closure& closure, const ast::Expr& e, const ast::Expr* self) {
  const ast::Function& f = *closure.function;
  if (!e.type_args.empty())
    return error(DiagKind::ArgumentCount, e.range, fmt::format("{} takes no type in `<>`", f.name.text),
                 "pass the type as an argument");
  for (size_t i = 0; i < frames_.size(); ++i) {
    if (frames_[i].function != &f) continue;
    std::string cycle;
    for (size_t j = i; j < frames_.size(); ++j) cycle += frames_[j].function->name.text + " -> ";
    return error(DiagKind::Recursion, e.range, fmt::format("{} calls itself: {}{}", f.name.text, cycle, f.name.text),
                 "functions are inlined; write a loop", {{f.name.range, "it is declared here"}});
  }
  if (frames_.size() >= max_call_depth) return error(DiagKind::Recursion, e.range, "calls are nested too deeply");
  auto scope = std::make_shared<Scope>();
  scope->parent = closure.scope;
  scope->boundary = true;
  frames_.push_back({&f, e.range, closure.prelude});
  // Arguments are evaluated by the caller: without the frame.
  Frame frame = frames_.back();
  frames_.pop_back();
  if (!bind_function(closure, e, self, scope)) return Value::poison();
  frames_.push_back(frame);
  std::shared_ptr<Scope> outside = scope_;
  unsigned outside_loops = loop_depth_;
  scope_ = scope;
  loop_depth_ = 0;
  declare_hidden("%return", Value::boolean(false));
  declare_hidden("%value", Value::nothing());
  Flow flow = eval_block(f.body);
  Value result = hidden("%value")->value;
  if (result.kind == Value::Kind::Void && !f.results.empty() && !stopped_)
    result =
        error(DiagKind::MissingReturn, f.name.range, fmt::format("{} declares a result and returns none", f.name.text));
  else if (result.kind != Value::Kind::Void && flow.falls && !result.is_poison())
    result = error(DiagKind::MissingReturn, f.name.range,
                   fmt::format("{} does not return a value on every path", f.name.text), "add a `return` at the end");
  scope_ = outside;
  loop_depth_ = outside_loops;
  frames_.pop_back();
  b_.range = e.range;
  return result;
}

}  // namespace tile::sema
