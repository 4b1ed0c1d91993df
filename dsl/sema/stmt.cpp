// Statements other than loops and ifs.
#include <fmt/format.h>

#include "dsl/sema/evaluator.h"

namespace tile::sema {

Flow Evaluator::eval_scoped(const ast::Block& block) {
  push_scope();
  Flow f = eval_block(block);
  pop_scope();
  return f;
}

Flow Evaluator::eval_block(const ast::Block& block, size_t from) {
  Deeper deeper(depth_);
  if (from < block.size() && too_deep(block[from]->range)) return {};
  bool exits = false;
  for (size_t i = from; i < block.size(); ++i) {
    if (stopped_) return {true, false};
    const ast::Stmt& s = *block[i];
    Flow f;
    bool consumed = false;
    if (s.kind == ast::Stmt::Kind::If && !s.is_static) f = eval_if(s, block, i + 1, &consumed);
    else f = eval_stmt(s);
    exits = exits || f.exits;
    if (!f.falls || consumed) return {f.falls, exits};
    if (!f.exits || i + 1 == block.size()) continue;
    // Some path has left this block: the rest runs on the others.
    Value left = exit_condition();
    if (left.kind == Value::Kind::Const && left.bits == 0) continue;
    Flow rest =
        guarded(negate_bool({left, s.range}), assigned_names(block, i + 1), [&] { return eval_block(block, i + 1); });
    return {rest.falls, true};
  }
  return {true, exits};
}

Flow Evaluator::eval_stmt(const ast::Stmt& s) {
  using Kind = ast::Stmt::Kind;
  b_.range = s.range;
  switch (s.kind) {
    case Kind::Let:
    case Kind::Var:
      eval_declaration(s);
      return {};
    case Kind::Assign:
      eval_assignment(s);
      return {};
    case Kind::Expression:
      eval(*s.value);
      return {};
    case Kind::For:
      return s.is_static ? eval_static_for(s) : eval_for(s);
    case Kind::While:
      return eval_while(s);
    case Kind::If:
      return s.is_static ? eval_static_if(s) : eval_if(s, {}, 0, nullptr);
    case Kind::Return:
      return eval_return(s);
    case Kind::Break:
    case Kind::Continue:
      return eval_break(s);
    case Kind::StaticAssert:
      eval_static_assert(s);
      return {};
    case Kind::Fn: {
      Value f = Value::of(Value::Kind::Function);
      f.closure = std::make_shared<Closure>(
          Closure{s.function.get(), scope_, !frames_.empty() && frames_.back().prelude, false});
      declare(s.function->name, Variable::Role::Function, std::move(f));
      return {};
    }
    case Kind::Block:
      return eval_scoped(s.body);
    case Kind::Launch:
    case Kind::Expect:
    case Kind::ExpectError:
      error(DiagKind::BadTest, s.range, "this statement belongs to a test block");
      return {};
  }
  return {};
}

void Evaluator::eval_declaration(const ast::Stmt& s) {
  bool is_var = s.kind == ast::Stmt::Kind::Var;
  Variable::Role role = is_var ? Variable::Role::Var : Variable::Role::Let;
  Ranged v = s.value ? eval_ranged(*s.value) : Ranged{Value::poison(), s.range};
  if (v.value.kind == Value::Kind::Void) v.value = error(DiagKind::TypeMismatch, v.range, "this call returns nothing");
  if (s.type) v.value = check_annotation(v, *s.type, fmt::format("'{}'", s.names[0].text));
  if (is_var && !v.value.is_poison()) {
    if (v.value.kind == Value::Kind::String)
      v.value =
          error(DiagKind::StringValue, v.range, "a `var` holds numbers and tiles, but this is a string", "write `let`");
    else if (!can_flatten(v.value))
      v.value = error(DiagKind::TypeMismatch, v.range,
                      fmt::format("a `var` holds numbers and tiles, but this is {}", describe(v.value)), "write `let`");
    else if (is_view(v.value))
      v.value = error(DiagKind::ViewNeedsIndex, v.range, "a view cannot be kept in a `var`", "write `let`");
    v.value = default_typed(std::move(v.value));
  }
  if (!s.destructure) {
    declare(s.names[0], role, std::move(v.value));
    return;
  }
  size_t n = s.names.size();
  if (!v.value.is_poison() && (!v.value.is_bundle() || v.value.items.size() != n)) {
    v.value =
        error(DiagKind::NotATuple, v.range,
              v.value.is_bundle() ? fmt::format("{} names for {} values", n, v.value.items.size())
                                  : fmt::format("{} names for a single value, which is {}", n, describe(v.value)));
  }
  for (size_t i = 0; i < n; ++i) declare(s.names[i], role, v.value.is_poison() ? Value::poison() : v.value.items[i]);
}

void Evaluator::assign_name(const ast::Name& name, const Ranged& value) {
  bool crossed = false;
  Variable* v = lookup(name.text, &crossed);
  if (!v) {
    unknown_name(name, false);
    return;
  }
  std::vector<Note> notes = {{v->range, "it is defined here"}};
  if (v->role != Variable::Role::Var || crossed) {
    const char* what = crossed && v->role == Variable::Role::Var ? "a variable of the enclosing function"
                       : v->role == Variable::Role::Let          ? "a `let`"
                       : v->role == Variable::Role::LoopVariable ? "a loop variable"
                       : v->role == Variable::Role::Parameter    ? "a parameter"
                       : v->role == Variable::Role::Function     ? "a function"
                                                                 : "a constant";
    std::string hint = v->role == Variable::Role::Let
                           ? fmt::format("write `var {} = ...` where it is defined", name.text)
                       : v->role == Variable::Role::Parameter ? "copy it to a `var`"
                       : crossed                              ? "return the new value"
                                                              : "";
    error(DiagKind::AssignToLet, name.range, fmt::format("'{}' is {} and cannot be assigned", name.text, what), hint,
          std::move(notes));
    return;
  }
  if (value.value.is_poison() || v->value.is_poison()) {
    v->value = Value::poison();
    return;
  }
  Value next = value.value;
  if (next.is_literal() && (v->value.kind == Value::Kind::Const || v->value.is_runtime())) {
    ir::Type t = type_of(v->value);
    if (t.is_scalar()) {
      next = literal_as(value, t.dtype);
      if (next.is_poison()) return;
    }
  } else if (next.is_bundle()) {
    // Literals inside take the type of the element that they replace.
    std::function<void(Value&, const Value&)> fit = [&](Value& to, const Value& old) {
      if (to.is_bundle() && old.is_bundle() && to.items.size() == old.items.size()) {
        for (size_t i = 0; i < to.items.size(); ++i) fit(to.items[i], old.items[i]);
      } else if (to.is_literal() && old.is_numeric() && type_of(old).is_scalar()) {
        to = literal_as({to, value.range}, type_of(old).dtype);
      }
    };
    fit(next, v->value);
  }
  if (!same_type(next, v->value)) {
    notes[0].message = fmt::format("'{}' is {}", name.text, describe(v->value));
    std::string hint;
    bool both = next.is_numeric() && v->value.is_numeric() && !next.is_literal();
    if (both && type_of(next).kind == type_of(v->value).kind && shape_of(next) == shape_of(v->value))
      hint = fmt::format("convert it: `as {}`", tile::name(type_of(v->value).dtype));
    error(DiagKind::AssignTypeMismatch, value.range,
          fmt::format("'{}' is {}, but this is {}", name.text, describe(v->value), describe(next)), hint,
          std::move(notes));
    return;
  }
  v->value = std::move(next);
  if (v->value.is_runtime() && k_.value(v->value.id).name.empty()) k_.value(v->value.id).name = name.text;
}

void Evaluator::assign_item(const ast::Expr& target, const Ranged& value) {
  // `list[i] = v`: the variable gets a list with one value replaced.
  const ast::Expr& base = *target.operands[0];
  Variable* v = base.kind == ast::Expr::Kind::NameRef ? lookup(base.name.text) : nullptr;
  if (!v || !v->value.is_bundle()) {
    store_view(target, value);
    return;
  }
  if (target.items.size() != 1 || target.items[0].kind != ast::IndexItem::Kind::Value) {
    error(DiagKind::NotIndexable, target.range, "a tuple or list takes one constant index");
    return;
  }
  std::optional<Wide> i =
      eval_constant_integer(*target.items[0].value, DiagKind::NotConstant, "the index of a tuple or list");
  if (!i) return;
  Wide size = static_cast<Wide>(v->value.items.size());
  Wide at = *i < 0 ? *i + size : *i;
  if (at < 0 || at >= size) {
    error(DiagKind::NotIndexable, target.items[0].range,
          fmt::format("index {} of {} values", to_text(*i), v->value.items.size()));
    return;
  }
  Value list = v->value;
  list.items[static_cast<size_t>(at)] = value.value;
  if (value.value.is_poison()) list = Value::poison();
  assign_name(base.name, {std::move(list), value.range});
}

void Evaluator::eval_assignment(const ast::Stmt& s) {
  const ast::Expr& target = *s.target;
  Ranged value = eval_ranged(*s.value);
  if (value.value.kind == Value::Kind::Void)
    value.value = error(DiagKind::TypeMismatch, value.range, "this call returns nothing");
  if (!s.op.empty()) {
    Ranged old = eval_ranged(target);
    std::string_view spelling;
    for (unsigned i = 0; i < num_infix; ++i)
      if (infix_table[i].token == s.op && infix_table[i].arity == 2) spelling = infix_table[i].spelling;
    if (old.value.is_poison() || value.value.is_poison()) value.value = Value::poison();
    else if (is_ptr(old.value)) value.value = pointer_arithmetic(spelling, old, value, s.range);
    else value.value = elementwise(spelling, {old, value}, s.range);
  }
  switch (target.kind) {
    case ast::Expr::Kind::NameRef:
      assign_name(target.name, value);
      return;
    case ast::Expr::Kind::Index:
      assign_item(target, value);
      return;
    case ast::Expr::Kind::Tuple: {
      size_t n = target.operands.size();
      if (!value.value.is_poison() && (!value.value.is_bundle() || value.value.items.size() != n)) {
        error(DiagKind::NotATuple, value.range,
              value.value.is_bundle()
                  ? fmt::format("{} names for {} values", n, value.value.items.size())
                  : fmt::format("{} names for a single value, which is {}", n, describe(value.value)));
        value.value = Value::poison();
      }
      for (size_t i = 0; i < n; ++i) {
        const ast::Expr& part = *target.operands[i];
        Ranged item{value.value.is_poison() ? Value::poison() : value.value.items[i], value.range};
        if (part.kind == ast::Expr::Kind::NameRef) assign_name(part.name, item);
        else if (part.kind == ast::Expr::Kind::Index) assign_item(part, item);
        else error(DiagKind::StoreToValue, part.range, "this cannot be assigned");
      }
      return;
    }
    default:
      error(DiagKind::StoreToValue, target.range, "this cannot be assigned",
            "a variable or the elements of a view can");
  }
}

void Evaluator::eval_static_assert(const ast::Stmt& s) {
  std::optional<bool> holds = eval_constant_bool(*s.value, "the condition of static_assert");
  if (!holds || *holds) return;
  std::vector<Note> notes;
  const ast::Expr& e = *s.value;
  if (e.kind == ast::Expr::Kind::Binary && e.operands.size() == 2)
    for (const ast::ExprPtr& o : e.operands) {
      Value v = eval(*o);
      if (o->kind == ast::Expr::Kind::Int || o->kind == ast::Expr::Kind::Float || !known(v)) continue;
      v = default_typed(v);
      notes.push_back({o->range, fmt::format("this is {}", constant_text(v.dtype, v.bits))});
    }
  error(DiagKind::StaticAssertFailed, e.range,
        s.message.empty() ? "static_assert does not hold" : "static_assert does not hold: " + s.message, {},
        std::move(notes));
}

Flow Evaluator::eval_return(const ast::Stmt& s) {
  if (frames_.empty()) {
    if (s.value) {
      eval(*s.value);
      error(DiagKind::ReturnMismatch, s.value->range, "a kernel returns no value", "store it to a view");
    }
    hidden("%return")->value = Value::boolean(true);
    return {false, true};
  }
  const ast::Function& f = *frames_.back().function;
  Value v = Value::nothing();
  if (s.value) {
    v = eval(*s.value);
    if (loop_depth_ > 0) {
      error(DiagKind::ReturnInLoop, s.range, "a function returns a value from inside of a loop",
            "assign it to a `var`, `break`, and return it after the loop");
      v = Value::poison();
    }
  }
  if (!f.results.empty() && !v.is_poison()) {
    std::vector<Note> notes = {{f.results.front().range, "the result is declared here"}};
    if (f.results.size() == 1) {
      if (v.kind == Value::Kind::Void)
        v = error(DiagKind::ReturnMismatch, s.range, fmt::format("{} returns a value", f.name.text), {}, notes);
      else if (v.is_bundle())
        v = error(DiagKind::ReturnMismatch, s.value->range,
                  fmt::format("{} returns one value, but this is {}", f.name.text, describe(v)), {}, notes);
      else v = check_annotation({v, s.value->range}, f.results[0], fmt::format("the result of {}", f.name.text));
    } else if (!v.is_bundle() || v.items.size() != f.results.size()) {
      v = error(DiagKind::ReturnMismatch, s.value ? s.value->range : s.range,
                fmt::format("{} returns {} values, but this is {}", f.name.text, f.results.size(), describe(v)), {},
                notes);
    } else {
      for (size_t i = 0; i < v.items.size(); ++i)
        v.items[i] =
            check_annotation({v.items[i], s.value->range}, f.results[i], fmt::format("the result of {}", f.name.text));
    }
  }
  hidden("%return")->value = Value::boolean(true);
  hidden("%value")->value = std::move(v);
  return {false, true};
}

Flow Evaluator::eval_break(const ast::Stmt& s) {
  bool is_break = s.kind == ast::Stmt::Kind::Break;
  Variable* flag = hidden(is_break ? "%break" : "%continue");
  if (!flag) {
    error(DiagKind::BreakOutsideLoop, s.range, fmt::format("`{}` outside of a loop", is_break ? "break" : "continue"),
          frames_.empty() ? "to end the kernel, write `return`" : "");
    return {};
  }
  flag->value = Value::boolean(true);
  return {false, true};
}

}  // namespace tile::sema
