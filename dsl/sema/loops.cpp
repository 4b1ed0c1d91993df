// for, while and static for.
#include <fmt/format.h>

#include "dsl/sema/evaluator.h"
#include "dsl/sema/promote.h"

namespace tile::sema {
namespace {

constexpr size_t max_iterations = 65536;

bool contains(const ast::Block& block, ast::Stmt::Kind kind) {
  for (const ast::StmtPtr& s : block) {
    if (s->kind == kind) return true;
    bool inner_loop = s->kind == ast::Stmt::Kind::For || s->kind == ast::Stmt::Kind::While;
    if (inner_loop && kind != ast::Stmt::Kind::Return) continue;
    if (s->kind == ast::Stmt::Kind::Fn) continue;
    if (contains(s->body, kind) || contains(s->else_body, kind)) return true;
  }
  return false;
}

}  // namespace

std::optional<Evaluator::Bounds> Evaluator::eval_range(const std::vector<ast::Argument>& args, Range range) {
  std::vector<Ranged> v;
  bool good = true;
  for (const ast::Argument& a : args) {
    Ranged r = eval_ranged(*a.value);
    if (a.name) {
      std::string hint = a.name->text == "num_stages" ? "write `pipeline N` behind range(...)"
                         : a.name->text == "step"     ? "write range(low, high, step)"
                                                      : "";
      error(DiagKind::BadRange, a.name->range, fmt::format("range has no argument '{}'", a.name->text), hint);
      good = false;
      continue;
    }
    if (r.value.is_poison()) {
      good = false;
      continue;
    }
    bool scalar = r.value.kind == Value::Kind::Int || r.value.kind == Value::Kind::Const ||
                  (r.value.is_runtime() && ir_type(r.value).is_scalar());
    if (!scalar || (!r.value.is_literal() && !is_int(type_of(r.value).dtype))) {
      error(DiagKind::BadRange, r.range, fmt::format("range takes integer scalars, but this is {}", describe(r.value)));
      good = false;
    }
    v.push_back(std::move(r));
  }
  if (!good) return std::nullopt;
  if (v.empty() || v.size() > 3) {
    error(DiagKind::BadRange, range, fmt::format("range takes 1 to 3 arguments, but got {}", v.size()));
    return std::nullopt;
  }
  Bounds b{{Value::integer(0), range}, v[0], {Value::integer(1), range}};
  if (v.size() > 1) b.low = v[0], b.high = v[1];
  if (v.size() > 2) b.step = v[2];
  bool zero = (b.step.value.kind == Value::Kind::Int && b.step.value.wide == 0) ||
              (b.step.value.kind == Value::Kind::Const && b.step.value.bits == 0);
  if (zero) {
    error(DiagKind::BadRange, b.step.range, "the step of range is zero");
    return std::nullopt;
  }
  return b;
}

std::optional<std::vector<Wide>> Evaluator::static_range(const std::vector<ast::Argument>& args, Range range) {
  std::optional<Bounds> b = eval_range(args, range);
  if (!b) return std::nullopt;
  std::optional<Wide> low = constant_integer(b->low, DiagKind::NotConstant, "a bound of static range");
  std::optional<Wide> high = constant_integer(b->high, DiagKind::NotConstant, "a bound of static range");
  std::optional<Wide> step = constant_integer(b->step, DiagKind::NotConstant, "the step of static range");
  if (!low || !high || !step) return std::nullopt;
  std::vector<Wide> values;
  for (Wide i = *low; *step > 0 ? i < *high : i > *high; i += *step) {
    if (values.size() == max_iterations) {
      error(DiagKind::UnrollTooLong, range, fmt::format("a static loop of more than {} iterations", max_iterations),
            "leave `static` out");
      return std::nullopt;
    }
    values.push_back(i);
  }
  return values;
}

Flow Evaluator::eval_static_for(const ast::Stmt& s) {
  std::optional<std::vector<Wide>> values = static_range(s.args, s.range);
  if (!values) return {};
  Names names = assigned_names(s.body);
  push_scope();
  declare_hidden("%break", Value::boolean(false));
  declare_hidden("%continue", Value::boolean(false));
  size_t ops_before = k_.num_ops();
  bool exits = false;
  for (Wide i : *values) {
    if (stopped_) break;
    if (k_.num_ops() - ops_before > unrolled_ops_limit_) {
      error(DiagKind::UnrollTooLong, s.range,
            fmt::format("a static loop that unrolls to more than {} operations", unrolled_ops_limit_),
            "leave `static` out");
      stopped_ = true;
      break;
    }
    hidden("%continue")->value = Value::boolean(false);
    Value left = exit_condition();
    if (left.kind == Value::Kind::Const && left.bits != 0) break;
    Flow f = guarded(negate_bool({left, s.range}), names, [&] {
      push_scope();
      DType t = holds_integer(DType::I32, i) ? DType::I32 : DType::I64;
      declare(s.names[0], Variable::Role::LoopVariable, Value::constant(t, integer_bits(t, i)));
      Flow body = eval_block(s.body);
      pop_scope();
      return body;
    });
    exits = exits || f.exits;
  }
  pop_scope();
  // What is left of the exits is `return`.
  if (!exits) return {};
  Variable* r = hidden("%return");
  if (!r || (r->value.kind == Value::Kind::Const && r->value.bits == 0)) return {};
  bool always = r->value.kind == Value::Kind::Const && r->value.bits != 0;
  return {!always, true};
}

Flow Evaluator::eval_for(const ast::Stmt& s) {
  std::optional<Bounds> bounds = eval_range(s.args, s.range);
  int64_t stages = 1;
  if (s.pipeline) {
    std::optional<Wide> w = eval_constant_integer(*s.pipeline, DiagKind::NotConstant, "the number of stages");
    if (w && (*w < 1 || *w > 16))
      error(DiagKind::BadArgument, s.pipeline->range, fmt::format("{} pipeline stages", to_text(*w)),
            "1 to 16 are possible");
    else if (w) stages = static_cast<int64_t>(*w);
  }
  if (!bounds) {  // look for further mistakes in the body; its variable is unknown
    std::vector<Variable*> variables = carried(assigned_names(s.body));
    for (Variable* v : variables)
      if (v->role != Variable::Role::Hidden) v->value = Value::poison();
    return {};
  }
  // The loop variable has the joint type of the bounds.
  std::vector<Ranged> v = {bounds->low, bounds->high, bounds->step};
  bool literal = v[0].value.is_literal() && v[1].value.is_literal() && v[2].value.is_literal();
  DType t = DType::I32;
  if (literal) {
    for (Ranged& r : v)
      if (!holds_integer(DType::I32, r.value.wide)) t = DType::I64;
    for (Ranged& r : v) r.value = literal_as(r, t);
  } else {
    std::optional<DType> joined = unify(v, 0, "range", s.range);
    if (!joined) return {};
    t = *joined;
  }
  for (const Ranged& r : v)
    if (r.value.is_poison()) return {};
  if (contains(s.body, ast::Stmt::Kind::Break) || contains(s.body, ast::Stmt::Kind::Return))
    return for_with_break(s, v, t);

  b_.range = s.range;
  std::vector<Variable*> variables;
  for (Variable* x : carried(assigned_names(s.body)))
    if (!x->value.is_poison() && x->role == Variable::Role::Var) variables.push_back(x);
  std::vector<Value> before;
  std::vector<ir::ValueId> operands;
  for (const Ranged& r : v) operands.push_back(materialize(r.value));
  std::vector<ir::Type> types;
  for (Variable* x : variables) {
    x->value = default_typed(x->value);
    before.push_back(x->value);
    flatten(x->value, operands);
  }
  for (size_t i = 3; i < operands.size(); ++i) types.push_back(k_.type(operands[i]));
  std::vector<ir::Attr> attrs;
  if (stages > 1) attrs.push_back({AttrKey::Pipeline, stages});
  ir::OpId op = b_.op(OpKind::For, operands, types, std::move(attrs));
  ir::BlockId here = b_.block(), body = k_.add_block(op);
  ir::ValueId iv = k_.add_block_arg(body, ir::Type::scalar(t), s.names[0].text);
  std::vector<ir::ValueId> args;
  for (size_t i = 3; i < operands.size(); ++i)
    args.push_back(k_.add_block_arg(body, types[i - 3], k_.value(operands[i]).name));
  size_t at = 0;
  for (size_t i = 0; i < variables.size(); ++i) variables[i]->value = rebuild(before[i], args, at);
  b_.set_block(body);
  push_scope();
  declare_hidden("%break", Value::boolean(false));
  declare_hidden("%continue", Value::boolean(false));
  declare(s.names[0], Variable::Role::LoopVariable, Value::runtime(iv));
  ++loop_depth_;
  eval_block(s.body);
  --loop_depth_;
  pop_scope();
  std::vector<ir::ValueId> yields;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i]->value.is_poison()) variables[i]->value = before[i];  // an error was reported
    flatten(variables[i]->value, yields);
  }
  b_.range = s.range;
  b_.op(OpKind::Yield, yields, {});
  b_.set_block(here);
  std::vector<ir::ValueId> results = k_.op(op).results;
  at = 0;
  for (size_t i = 0; i < variables.size(); ++i) variables[i]->value = rebuild(before[i], results, at);
  return {};
}

namespace {

// What a while loop carries besides variables.
const char* const loop_flags[] = {"%break", "%return"};

}  // namespace

// A loop as `while more && !left { body; next }`, where `more` says that a further iteration exists. It is computed
// from the distance to the bound, which cannot overflow.
Flow Evaluator::for_with_break(const ast::Stmt& s, const std::vector<Ranged>& bounds, DType t) {
  b_.range = s.range;
  Range r = s.range;
  Value low = bounds[0].value, high = bounds[1].value, step = bounds[2].value;
  DType unsigned_t = bit_width(t) == 64   ? DType::U64
                     : bit_width(t) == 32 ? DType::U32
                     : bit_width(t) == 16 ? DType::U16
                                          : DType::U8;
  auto raw = [&](const Value& v) { return convert(v, unsigned_t); };
  auto ew = [&](std::string_view spelling, Value a, Value b) {
    return elementwise(spelling, {{std::move(a), r}, {std::move(b), r}}, r);
  };
  Value zero = Value::constant(t, 0);
  Value up = is_signed(t) ? ew("gt", step, zero) : Value::boolean(true);
  // One of two values by the direction of the loop; only what is needed is computed.
  auto choose = [&](const std::function<Value()>& rising, const std::function<Value()>& falling) {
    if (up.kind == Value::Kind::Const) return up.bits != 0 ? rising() : falling();
    return elementwise("where", {{up, r}, {rising(), r}, {falling(), r}}, r);
  };
  Value first = choose([&] { return ew("lt", low, high); }, [&] { return ew("gt", low, high); });
  Value stride =
      choose([&] { return raw(step); }, [&] { return ew("sub", Value::constant(unsigned_t, 0), raw(step)); });

  push_scope();
  declare_hidden("%break", Value::boolean(false));
  Variable* more = declare_hidden("%more", first);
  Variable* index = declare_hidden("%index", low);
  Names names = assigned_names(s.body);
  names.erase("%continue");
  names.erase("%value");
  names.insert({"%break", "%more", "%index"});
  std::vector<Variable*> variables;
  for (Variable* x : carried(names))
    if (!x->value.is_poison()) variables.push_back(x);
  std::vector<Value> before;
  std::vector<ir::ValueId> operands;
  for (Variable* x : variables) {
    x->value = default_typed(x->value);
    before.push_back(x->value);
    flatten(x->value, operands);
  }
  std::vector<ir::Type> types;
  for (ir::ValueId v : operands) types.push_back(k_.type(v));
  ir::OpId op = b_.op(OpKind::While, operands, types);
  ir::BlockId here = b_.block(), test = k_.add_block(op), body = k_.add_block(op);
  auto enter = [&](ir::BlockId block) {
    std::vector<ir::ValueId> args;
    for (size_t i = 0; i < types.size(); ++i)
      args.push_back(k_.add_block_arg(block, types[i], k_.value(operands[i]).name));
    size_t at = 0;
    for (size_t i = 0; i < variables.size(); ++i) variables[i]->value = rebuild(before[i], args, at);
    b_.set_block(block);
    return args;
  };
  std::vector<ir::ValueId> args = enter(test);
  Value go = more->value;
  for (const char* flag : loop_flags)
    if (Variable* f = hidden(flag)) go = both(go, negate_bool({f->value, r}));
  std::vector<ir::ValueId> out = {materialize(go)};
  out.insert(out.end(), args.begin(), args.end());
  b_.op(OpKind::Condition, out, {});

  enter(body);
  Value i = index->value;
  push_scope();
  declare_hidden("%continue", Value::boolean(false));
  declare(s.names[0], Variable::Role::LoopVariable, i);
  ++loop_depth_;
  Flow flow = eval_block(s.body);
  --loop_depth_;
  pop_scope();
  b_.range = r;
  Value distance = choose([&] { return ew("sub", raw(high), raw(i)); }, [&] { return ew("sub", raw(i), raw(high)); });
  more->value = ew("gt", distance, stride);
  index->value = ew("add", i, step);
  std::vector<ir::ValueId> yields;
  for (size_t n = 0; n < variables.size(); ++n) {
    if (variables[n]->value.is_poison()) variables[n]->value = before[n];
    flatten(variables[n]->value, yields);
  }
  b_.op(OpKind::Yield, yields, {});
  b_.set_block(here);
  std::vector<ir::ValueId> results = k_.op(op).results;
  size_t at = 0;
  for (size_t n = 0; n < variables.size(); ++n) variables[n]->value = rebuild(before[n], results, at);
  pop_scope();
  return {true, flow.exits && contains(s.body, ast::Stmt::Kind::Return)};
}

Flow Evaluator::eval_while(const ast::Stmt& s) {
  b_.range = s.range;
  push_scope();
  bool breaks = contains(s.body, ast::Stmt::Kind::Break), returns = contains(s.body, ast::Stmt::Kind::Return);
  declare_hidden("%break", Value::boolean(false));
  Names names = assigned_names(s.body);
  names.erase("%continue");
  names.erase("%value");
  std::vector<Variable*> variables;
  for (Variable* x : carried(names))
    if (!x->value.is_poison()) variables.push_back(x);
  std::vector<Value> before;
  std::vector<ir::ValueId> operands;
  for (Variable* x : variables) {
    x->value = default_typed(x->value);
    before.push_back(x->value);
    flatten(x->value, operands);
  }
  std::vector<ir::Type> types;
  for (ir::ValueId v : operands) types.push_back(k_.type(v));
  ir::OpId op = b_.op(OpKind::While, operands, types);
  ir::BlockId here = b_.block(), test = k_.add_block(op), body = k_.add_block(op);
  auto enter = [&](ir::BlockId block) {
    std::vector<ir::ValueId> args;
    for (size_t i = 0; i < types.size(); ++i)
      args.push_back(k_.add_block_arg(block, types[i], k_.value(operands[i]).name));
    size_t at = 0;
    for (size_t i = 0; i < variables.size(); ++i) variables[i]->value = rebuild(before[i], args, at);
    b_.set_block(block);
    return args;
  };
  std::vector<ir::ValueId> args = enter(test);
  ir::ValueId go;
  if (breaks || returns) {  // the condition is not evaluated again after a break
    Value left = exit_condition();
    b_.range = s.range;
    ir::OpId once = b_.op(OpKind::If, {materialize(left)}, {ir::Type::scalar(DType::Bool)});
    ir::BlockId stop = k_.add_block(once), ask = k_.add_block(once);
    b_.set_block(stop);
    b_.op(OpKind::Yield, {b_.constant(ir::Type::scalar(DType::Bool), 0)}, {});
    b_.set_block(ask);
    Value c = eval_condition(*s.value);
    b_.op(OpKind::Yield, {materialize(c.is_poison() ? Value::boolean(false) : c)}, {});
    b_.set_block(test);
    go = k_.op(once).results[0];
  } else {
    Value c = eval_condition(*s.value);
    if (c.kind == Value::Kind::Const && c.bits != 0)
      error(DiagKind::NonBoolCondition, s.value->range, "the loop never ends: its condition is always true",
            "leave it with `break`");
    go = materialize(c.is_poison() ? Value::boolean(false) : c);
  }
  std::vector<ir::ValueId> out = {go};
  out.insert(out.end(), args.begin(), args.end());
  b_.op(OpKind::Condition, out, {});

  enter(body);
  push_scope();
  declare_hidden("%continue", Value::boolean(false));
  ++loop_depth_;
  Flow flow = eval_block(s.body);
  --loop_depth_;
  pop_scope();
  std::vector<ir::ValueId> yields;
  for (size_t n = 0; n < variables.size(); ++n) {
    if (variables[n]->value.is_poison()) variables[n]->value = before[n];
    flatten(variables[n]->value, yields);
  }
  b_.range = s.range;
  b_.op(OpKind::Yield, yields, {});
  b_.set_block(here);
  std::vector<ir::ValueId> results = k_.op(op).results;
  size_t at = 0;
  for (size_t n = 0; n < variables.size(); ++n) variables[n]->value = rebuild(before[n], results, at);
  pop_scope();
  return {true, flow.exits && returns};
}

}  // namespace tile::sema
