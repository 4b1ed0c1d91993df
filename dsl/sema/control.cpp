// Conditions, scopes' hidden flags, and the joining of what branches assign.
//
// break, continue and return set hidden variables (%break, %continue of the innermost loop, %return of the function),
// which flow through ifs and loops as other variables do. Where some path has left a block, the rest of the block is
// put under an `if` on them. Values returned go through %value.
#include <fmt/format.h>

#include "dsl/sema/evaluator.h"

namespace tile::sema {
namespace {

void collect(const ast::Block& block, size_t from, bool in_loop, std::set<std::string>& names) {
  using Kind = ast::Stmt::Kind;
  auto target_name = [&](const ast::Expr& t) {
    if (t.kind == ast::Expr::Kind::NameRef) names.insert(t.name.text);
    if (t.kind == ast::Expr::Kind::Index && t.operands[0]->kind == ast::Expr::Kind::NameRef)
      names.insert(t.operands[0]->name.text);
  };
  for (size_t i = from; i < block.size(); ++i) {
    const ast::Stmt& s = *block[i];
    if (s.kind == Kind::Assign) {
      target_name(*s.target);
      if (s.target->kind == ast::Expr::Kind::Tuple)
        for (const ast::ExprPtr& part : s.target->operands) target_name(*part);
    }
    if (s.kind == Kind::Break && !in_loop) names.insert("%break");
    if (s.kind == Kind::Continue && !in_loop) names.insert("%continue");
    if (s.kind == Kind::Return) names.insert({"%return", "%value"});
    bool loop = in_loop || s.kind == Kind::For || s.kind == Kind::While;
    if (s.kind != Kind::Fn) {
      collect(s.body, 0, loop, names);
      collect(s.else_body, 0, loop, names);
    }
  }
}

}  // namespace

Evaluator::Names Evaluator::assigned_names(const ast::Block& block, size_t from) const {
  Names names;
  collect(block, from, false, names);
  return names;
}

Variable* Evaluator::hidden(std::string_view name) {
  bool crossed = false;
  Variable* v = lookup(name, &crossed);
  return crossed ? nullptr : v;
}

Variable* Evaluator::declare_hidden(std::string_view name, Value value) {
  Variable v;
  v.role = Variable::Role::Hidden;
  v.value = std::move(value);
  return &(scope_->variables[std::string(name)] = std::move(v));
}

// Variables of enclosing blocks that the names stand for.
std::vector<Variable*> Evaluator::carried(const Names& names) {
  std::vector<Variable*> out;
  for (const std::string& name : names) {
    bool crossed = false;
    Variable* v = lookup(name, &crossed);
    if (v && !crossed && (v->role == Variable::Role::Var || v->role == Variable::Role::Hidden)) out.push_back(v);
  }
  return out;
}

std::vector<Value> Evaluator::snapshot(const std::vector<Variable*>& variables) const {
  std::vector<Value> out;
  for (const Variable* v : variables) out.push_back(v->value);
  return out;
}

void Evaluator::restore(const std::vector<Variable*>& variables, const std::vector<Value>& values) {
  for (size_t i = 0; i < variables.size(); ++i) variables[i]->value = values[i];
}

// True at run time if some path has left the current block.
Value Evaluator::exit_condition() {
  Value any = Value::boolean(false);
  for (const char* name : {"%break", "%continue", "%return"}) {
    Variable* v = hidden(name);
    if (v) any = either(any, v->value);
  }
  return any;
}

// Logical or and and of bools, without an operation where one side decides.
Value Evaluator::either(const Value& a, const Value& b) {
  if (a.kind == Value::Kind::Const) return a.bits != 0 ? a : b;
  if (b.kind == Value::Kind::Const) return b.bits != 0 ? b : a;
  return elementwise("or", {{a, b_.range}, {b, b_.range}}, b_.range);
}

Value Evaluator::both(const Value& a, const Value& b) {
  if (a.kind == Value::Kind::Const) return a.bits != 0 ? b : a;
  if (b.kind == Value::Kind::Const) return b.bits != 0 ? a : b;
  return elementwise("and", {{a, b_.range}, {b, b_.range}}, b_.range);
}

Value Evaluator::eval_condition(const ast::Expr& e) {
  Value v = eval(e);
  if (v.is_poison()) return v;
  if (is_tile(v))
    return error(DiagKind::TileCondition, e.range,
                 fmt::format("the condition is {}: one value for each element", describe(v)),
                 "choose by element with where(condition, a, b), or reduce it with any(...) or all(...)");
  bool boolean =
      (v.kind == Value::Kind::Const || v.is_runtime()) && !is_view(v) && !is_ptr(v) && is_bool(type_of(v).dtype);
  if (!boolean)
    return error(DiagKind::NonBoolCondition, e.range,
                 fmt::format("the condition must be bool, but this is {}", describe(v)), "compare it: `x != 0`");
  return v;
}

void Evaluator::merge(ir::OpId op, const std::vector<Variable*>& variables, Branch& a, Branch& b, Range range) {
  std::vector<ir::ValueId> left, right, results;
  std::vector<size_t> merged;
  auto same_value = [&](const Value& x, const Value& y) {
    if (x.is_runtime() && y.is_runtime()) return x.id == y.id;
    return x.kind == Value::Kind::Const && y.kind == Value::Kind::Const && x.dtype == y.dtype && x.bits == y.bits;
  };
  for (size_t i = 0; i < variables.size(); ++i) {
    Value& x = a.values[i];
    Value& y = b.values[i];
    if (x.is_poison() || y.is_poison()) {
      variables[i]->value = Value::poison();
      continue;
    }
    if (x.kind == Value::Kind::Void && y.kind == Value::Kind::Void) {
      variables[i]->value = x;
      continue;
    }
    if (variables[i]->role != Variable::Role::Hidden && (x.kind == Value::Kind::Void || y.kind == Value::Kind::Void)) {
      variables[i]->value = Value::nothing();  // the function ends behind this: nobody reads it
      continue;
    }
    if (same_value(x, y)) {
      variables[i]->value = x;
      continue;
    }
    bool is_result = variables[i]->role == Variable::Role::Hidden;
    // A result that one branch has not got yet: anything will do there.
    std::function<Value(const Value&)> blank = [&](const Value& like) {
      if (like.is_bundle()) {
        Value v = Value::of(like.kind);
        for (const Value& item : like.items) v.items.push_back(blank(item));
        return v;
      }
      if (!like.is_runtime()) return like;
      if (!ir_type(like).is_value()) return Value::nothing();  // there is no blank pointer or view
      return Value::runtime(b_.constant(ir_type(like), 0));
    };
    std::function<void(Value&, Value&)> join_literals = [&](Value& p, Value& q) {
      if (p.is_bundle() && q.is_bundle() && p.items.size() == q.items.size()) {
        for (size_t j = 0; j < p.items.size(); ++j) join_literals(p.items[j], q.items[j]);
      } else if (p.is_literal() && !q.is_literal() && q.is_numeric() && type_of(q).is_scalar()) {
        p = literal_as({p, range}, type_of(q).dtype);
      } else if (q.is_literal() && !p.is_literal() && p.is_numeric() && type_of(p).is_scalar()) {
        q = literal_as({q, range}, type_of(p).dtype);
      } else if (p.is_literal() && q.is_literal()) {
        if (p.kind != q.kind)
          for (Value* v : {&p, &q})
            if (v->kind == Value::Kind::Int) *v = Value::floating(static_cast<double>(v->wide));
        p = default_typed(p), q = default_typed(q);
      }
    };
    if (is_result && x.kind != Value::Kind::Void && y.kind != Value::Kind::Void) join_literals(x, y);
    if (x.is_poison() || y.is_poison()) {
      variables[i]->value = Value::poison();
      continue;
    }
    x = default_typed(x), y = default_typed(y);
    b_.set_block(a.block);
    if (x.kind == Value::Kind::Void) x = blank(y);
    b_.set_block(b.block);
    if (y.kind == Value::Kind::Void) y = blank(x);
    if (!can_flatten(x) || !can_flatten(y) || !same_type(x, y)) {
      if (is_result)
        error(DiagKind::BranchMismatch, range,
              fmt::format("one branch returns {}, the other {}", describe(x), describe(y)),
              "give both the same type and shape");
      else
        error(DiagKind::BranchMismatch, range,
              fmt::format("a variable is {} in one branch and {} in the other", describe(x), describe(y)), {},
              {{variables[i]->range, "it is defined here"}});
      variables[i]->value = Value::poison();
      continue;
    }
    b_.set_block(a.block);
    flatten(x, left);
    b_.set_block(b.block);
    flatten(y, right);
    merged.push_back(i);
  }
  b_.set_block(a.block);
  b_.op(OpKind::Yield, left, {});
  b_.set_block(b.block);
  b_.op(OpKind::Yield, right, {});
  for (ir::ValueId v : left) results.push_back(k_.add_result(op, k_.type(v)));
  size_t at = 0;
  for (size_t i : merged) {
    variables[i]->value = rebuild(a.values[i], results, at);
    if (variables[i]->value.is_runtime())
      k_.value(variables[i]->value.id).name = a.values[i].is_runtime() ? k_.value(a.values[i].id).name : "";
  }
}

Flow Evaluator::guarded(const Value& condition, const Names& names, const std::function<Flow()>& body) {
  if (condition.is_poison() || (condition.kind == Value::Kind::Const && condition.bits != 0)) return body();
  if (condition.kind == Value::Kind::Const) return {};
  std::vector<Variable*> variables = carried(names);
  ir::BlockId here = b_.block();
  Range range = b_.range;
  ir::OpId op = b_.op(OpKind::If, {condition.id}, {});
  Branch yes{k_.add_block(op), {}, {}}, no{k_.add_block(op), snapshot(variables), {}};
  b_.set_block(yes.block);
  yes.flow = body();
  yes.block = b_.block();
  yes.values = snapshot(variables);
  b_.range = range;
  merge(op, variables, yes, no, range);
  b_.set_block(here);
  return {yes.flow.falls, yes.flow.exits};
}

Flow Evaluator::eval_if(const ast::Stmt& s, const ast::Block& block, size_t next, bool* consumed) {
  Value condition = eval_condition(*s.value);
  Names names = assigned_names(s.body);
  names.merge(assigned_names(s.else_body));
  if (consumed) {
    // If one branch leaves, the rest of the block becomes part of the other.
    Names rest = assigned_names(block, next);
    if (names.contains("%return") || names.contains("%break") || names.contains("%continue")) names.merge(rest);
  }
  std::vector<Variable*> variables = carried(names);
  b_.range = s.range;
  ir::ValueId c = condition.is_poison() ? b_.constant(ir::Type::scalar(DType::Bool), 0) : materialize(condition);
  ir::BlockId here = b_.block();
  ir::OpId op = b_.op(OpKind::If, {c}, {});
  Branch yes{k_.add_block(op), {}, {}}, no{k_.add_block(op), {}, {}};
  std::vector<Value> before = snapshot(variables);
  auto run = [&](Branch& branch, const ast::Block& body) {
    b_.set_block(branch.block);
    branch.flow = eval_scoped(body);
    branch.values = snapshot(variables);
    restore(variables, before);
  };
  run(yes, s.body);
  run(no, s.else_body);
  Flow flow{yes.flow.falls || no.flow.falls, yes.flow.exits || no.flow.exits};
  if (consumed && yes.flow.falls != no.flow.falls && next < block.size() && !stopped_) {
    Branch& open = yes.flow.falls ? yes : no;
    restore(variables, open.values);
    b_.set_block(open.block);
    // A path of the open branch may have left as well.
    Value left = open.flow.exits ? exit_condition() : Value::boolean(false);
    Flow rest =
        guarded(negate_bool({left, s.range}), assigned_names(block, next), [&] { return eval_block(block, next); });
    open.values = snapshot(variables);
    flow = {rest.falls, true};
    *consumed = true;
    // Nothing follows in a function's outermost block: only the result is still wanted.
    if (scope_->boundary)
      for (size_t i = 0; i < variables.size(); ++i)
        if (variables[i] != hidden("%value")) yes.values[i] = no.values[i] = Value::nothing();
  }
  b_.range = s.range;
  merge(op, variables, yes, no, s.range);
  b_.set_block(here);
  return flow;
}

Flow Evaluator::eval_static_if(const ast::Stmt& s) {
  std::optional<bool> c = eval_constant_bool(*s.value, "the condition of `static if`");
  if (!c) return {};
  return eval_scoped(*c ? s.body : s.else_body);
}

}  // namespace tile::sema
