// The clauses of a kernel's header: grid, waves, requires, expects. What depends on arguments becomes text for the
// launcher (the grammar of runtime/expr.h); what `requires` says about scalars becomes facts for the compiler.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "dsl/sema/evaluator.h"

namespace tile::sema {
namespace {

constexpr std::string_view resources[] = {"spills", "lds",     "vgprs",     "agprs",
                                          "sgprs",  "scratch", "occupancy", "code_size"};

struct HostOperator {
  OpKind kind;
  std::string_view token;
  unsigned precedence;
};
constexpr HostOperator host_operators[] = {
    {OpKind::EqI, "==", 3},  {OpKind::NeI, "!=", 3},  {OpKind::LtS, "<", 3},  {OpKind::LtU, "<", 3},
    {OpKind::LeS, "<=", 3},  {OpKind::LeU, "<=", 3},  {OpKind::GtS, ">", 3},  {OpKind::GtU, ">", 3},
    {OpKind::GeS, ">=", 3},  {OpKind::GeU, ">=", 3},  {OpKind::Xor, "^", 5},  {OpKind::Shl, "<<", 7},
    {OpKind::ShrS, ">>", 7}, {OpKind::ShrU, ">>", 7}, {OpKind::AddI, "+", 8}, {OpKind::SubI, "-", 8},
    {OpKind::MulI, "*", 9},  {OpKind::DivS, "/", 9},  {OpKind::DivU, "/", 9}, {OpKind::RemS, "%", 9},
    {OpKind::RemU, "%", 9},
};

std::string bracketed(std::string text, bool needed) { return needed ? "(" + text + ")" : text; }

}  // namespace

std::optional<std::string> Evaluator::host_text(const Value& v, Range range) {
  if (v.is_poison()) return std::nullopt;
  if (v.kind == Value::Kind::Int) return to_text(v.wide);
  if (v.kind == Value::Kind::Const && !is_float(v.dtype))
    return is_bool(v.dtype) ? std::to_string(v.bits) : constant_text(v.dtype, v.bits);
  if (v.is_runtime() && ir_type(v).is_scalar()) return host_text(v.id, range, 0);
  error(DiagKind::BadClause, range,
        fmt::format("an integer known at the launch is needed here, but this is {}", describe(v)));
  return std::nullopt;
}

std::optional<std::string> Evaluator::host_text(ir::ValueId v, Range range, unsigned precedence) {
  for (const ir::Param& p : k_.params)
    if (p.value == v && k_.type(v).is_scalar() && !is_float(p.dtype)) return p.name;
  const ir::Op* d = k_.def(v);
  auto fail = [&](const std::string& why) -> std::optional<std::string> {
    error(DiagKind::BadClause, range, why,
          "use integer parameters, constants, + - * / %, comparisons, cdiv, min, max and abs");
    return std::nullopt;
  };
  if (!d || is_float(k_.type(v).dtype)) return fail("this cannot be computed at the launch");
  if (std::optional<int64_t> c = k_.constant_int(v)) return std::to_string(*c);
  auto part = [&](size_t i, unsigned p) { return host_text(d->operands[i], range, p); };
  bool boolean = is_bool(k_.type(v).dtype);
  auto binary = [&](std::string_view token, unsigned p) -> std::optional<std::string> {
    std::optional<std::string> a = part(0, p == 3 ? 4 : p), b = part(1, p + 1);
    if (!a || !b) return std::nullopt;
    return bracketed(fmt::format("{} {} {}", *a, token, *b), p < precedence);
  };
  auto call = [&](std::string_view name) -> std::optional<std::string> {
    std::string text;
    for (size_t i = 0; i < d->operands.size(); ++i) {
      std::optional<std::string> a = part(i, 0);
      if (!a) return std::nullopt;
      text += (i ? ", " : "") + *a;
    }
    return fmt::format("{}({})", name, text);
  };
  if (d->kind == OpKind::DivS || d->kind == OpKind::DivU) {  // (a + (b - 1)) / b is how cdiv is computed
    const ir::Op* sum = k_.def(d->operands[0]);
    ir::ValueId b = d->operands[1];
    if (sum && sum->kind == OpKind::AddI) {
      std::optional<int64_t> constant = k_.constant_int(b), less = k_.constant_int(sum->operands[1]);
      const ir::Op* sub = k_.def(sum->operands[1]);
      bool is_cdiv = constant && less ? *less == *constant - 1
                                      : sub && sub->kind == OpKind::SubI && sub->operands[0] == b &&
                                            k_.constant_int(sub->operands[1]) == int64_t{1};
      if (is_cdiv) {
        std::optional<std::string> x = host_text(sum->operands[0], range, 0), y = host_text(b, range, 0);
        if (!x || !y) return std::nullopt;
        return fmt::format("cdiv({}, {})", *x, *y);
      }
    }
  }
  for (const HostOperator& o : host_operators)
    if (o.kind == d->kind && !(boolean && o.kind == OpKind::Xor)) return binary(o.token, o.precedence);
  switch (d->kind) {
    case OpKind::And:
      return boolean ? binary("&&", 2) : binary("&", 6);
    case OpKind::Or:
      return boolean ? binary("||", 1) : binary("|", 4);
    case OpKind::Xor:
      return binary("!=", 3);
    case OpKind::Not:
    case OpKind::NegI: {
      std::optional<std::string> a = part(0, 11);
      if (!a) return std::nullopt;
      return bracketed((d->kind == OpKind::NegI ? "-" : boolean ? "!" : "~") + *a, precedence > 11);
    }
    case OpKind::MinS:
    case OpKind::MinU:
      return call("min");
    case OpKind::MaxS:
    case OpKind::MaxU:
      return call("max");
    case OpKind::AbsS:
    case OpKind::AbsU:
      return call("abs");
    case OpKind::Cast:
      return host_text(d->operands[0], range, precedence);  // the launcher computes in 64 bits
    case OpKind::ProgramId:
    case OpKind::NumPrograms:
      return fail("the launcher knows no program yet");
    default:
      return fail("this cannot be computed at the launch");
  }
}

// Evaluates into a block that is no part of the kernel.
std::optional<Value> Evaluator::eval_apart(const ast::Expr& e, ir::BlockId& scratch) {
  ir::BlockId here = b_.block();
  scratch = k_.add_block();
  b_.set_block(scratch);
  Value v = eval(e);
  b_.set_block(here);
  if (v.is_poison()) return std::nullopt;
  return v;
}

void Evaluator::drop_scratch(ir::BlockId block) {
  std::vector<ir::OpId> ops = k_.block(block).ops;
  for (auto it = ops.rbegin(); it != ops.rend(); ++it) k_.erase(*it);
}

void Evaluator::eval_grid(const ast::Kernel& kernel) {
  if (!kernel.has_grid) {
    error(DiagKind::BadClause, kernel.header_range, fmt::format("the kernel {} has no grid clause", kernel.name.text),
          "write `grid (cdiv(n, BLOCK))` behind the parameters");
    return;
  }
  if (kernel.grid.empty() || kernel.grid.size() > 3) {
    error(DiagKind::BadClause, kernel.header_range, fmt::format("a grid of {} dimensions", kernel.grid.size()),
          "a grid has 1 to 3");
    return;
  }
  for (const ast::ExprPtr& e : kernel.grid) {
    ir::BlockId scratch;
    if (std::optional<Value> v = eval_apart(*e, scratch)) {
      bool integer =
          v->kind == Value::Kind::Int || ((v->kind == Value::Kind::Const || v->is_runtime()) && !is_view(*v) &&
                                          !is_ptr(*v) && is_int(type_of(*v).dtype) && shape_of(*v).rank() == 0);
      if (!integer)
        error(DiagKind::BadClause, e->range,
              fmt::format("a grid extent must be an integer scalar, but this is {}", describe(*v)));
      else if (std::optional<std::string> text = host_text(*v, e->range)) {
        k_.grid.push_back(*text);
        if (text->starts_with("-") && known(*v))
          error(DiagKind::BadClause, e->range, fmt::format("a grid extent of {}", *text));
      }
    }
    drop_scratch(scratch);
  }
}

void Evaluator::eval_waves(const ast::Kernel& kernel) {
  Wide waves = 4;
  Range at = kernel.header_range;
  if (kernel.waves) {
    at = kernel.waves->range;
    std::optional<Wide> w = eval_constant_integer(*kernel.waves, DiagKind::NotConstant, "the number of waves");
    if (!w) return;
    waves = *w;
  }
  if (options_.waves) waves = *options_.waves;
  if (waves != 1 && waves != 2 && waves != 4 && waves != 8 && waves != 16)
    error(DiagKind::BadClause, at, fmt::format("{} waves", to_text(waves)), "a workgroup has 1, 2, 4, 8 or 16 waves");
  else k_.waves = static_cast<unsigned>(waves);
}

void Evaluator::eval_requires(const ast::Kernel& kernel) {
  for (const ast::ExprPtr& e : kernel.requires_clauses) {
    ir::BlockId scratch;
    std::optional<Value> v = eval_apart(*e, scratch);
    if (v) {
      bool boolean = (v->kind == Value::Kind::Const || v->is_runtime()) && !is_view(*v) && !is_ptr(*v) &&
                     is_bool(type_of(*v).dtype) && shape_of(*v).rank() == 0;
      if (!boolean) {
        error(DiagKind::BadClause, e->range, fmt::format("`requires` takes conditions, but this is {}", describe(*v)),
              "compare: `ld % 8 == 0`");
      } else if (v->kind == Value::Kind::Const) {
        if (v->bits == 0) error(DiagKind::RequiresFailed, e->range, "`requires` does not hold for these constants");
      } else if (std::optional<std::string> text = host_text(*v, e->range)) {
        k_.requires_exprs.push_back(*text);
        learn(v->id);
      }
    }
    drop_scratch(scratch);
  }
}

// What a true condition says about scalar parameters.
void Evaluator::learn(ir::ValueId condition) {
  const ir::Op* d = k_.def(condition);
  if (!d) return;
  if (d->kind == OpKind::And) {
    std::vector<ir::ValueId> parts = d->operands;
    for (ir::ValueId v : parts) learn(v);
    return;
  }
  if (d->operands.size() != 2) return;
  const ir::Op* rem = k_.def(d->operands[0]);
  if (d->kind == OpKind::EqI && rem && (rem->kind == OpKind::RemS || rem->kind == OpKind::RemU) &&
      k_.constant_int(d->operands[1]) == int64_t{0}) {
    std::optional<int64_t> c = k_.constant_int(rem->operands[1]);
    for (ir::Param& p : k_.params)
      if (c && *c > 0 && *c <= (1 << 20) && p.value == rem->operands[0])
        p.divisor = std::min<int64_t>(std::lcm(p.divisor, *c), 1 << 20);
    return;
  }
  learn_bound(d->operands[0], d->kind, d->operands[1]);
}

void Evaluator::learn_bound(ir::ValueId a, OpKind op, ir::ValueId b) {
  auto strip = [&](ir::ValueId v) {  // a widening of the parameter says the same about it
    const ir::Op* d = k_.def(v);
    bool widens = d && d->kind == OpKind::Cast && is_signed(k_.type(d->operands[0]).dtype) &&
                  bit_width(k_.type(v).dtype) > bit_width(k_.type(d->operands[0]).dtype);
    return widens ? d->operands[0] : v;
  };
  auto bound = [&](ir::ValueId v, bool lower, int64_t c) {
    for (ir::Param& p : k_.params) {
      if (p.value != strip(v) || !k_.type(p.value).is_scalar()) continue;
      if (lower) p.min = std::max(p.min.value_or(c), c);
      else p.max = std::min(p.max.value_or(c), c);
    }
  };
  std::optional<int64_t> ca = k_.constant_int(a), cb = k_.constant_int(b);
  if (ca.has_value() == cb.has_value()) return;
  ir::ValueId v = cb ? a : b;
  int64_t c = cb ? *cb : *ca;
  bool less = op == OpKind::LtS || op == OpKind::LeS || op == OpKind::LtU || op == OpKind::LeU;
  bool greater = op == OpKind::GtS || op == OpKind::GeS || op == OpKind::GtU || op == OpKind::GeU;
  bool strict = op == OpKind::LtS || op == OpKind::LtU || op == OpKind::GtS || op == OpKind::GtU;
  if (op == OpKind::EqI) {
    bound(v, true, c);
    bound(v, false, c);
    return;
  }
  if (!less && !greater) return;
  bool lower = cb ? greater : less;  // v > c, or c < v
  if (strict && lower && c != INT64_MAX) ++c;
  if (strict && !lower && c != INT64_MIN) --c;
  bound(v, lower, c);
}

// `spills == 0`, `lds <= 64KiB`: a resource, a comparison, a constant.
void Evaluator::eval_expects(const ast::Kernel& kernel) {
  for (const ast::ExprPtr& e : kernel.expects_clauses) {
    bool comparison = e->kind == ast::Expr::Kind::Binary && (e->op == "==" || e->op == "!=" || e->op == "<" ||
                                                             e->op == "<=" || e->op == ">" || e->op == ">=");
    const ast::Expr* left = comparison ? e->operands[0].get() : nullptr;
    bool named = left && left->kind == ast::Expr::Kind::NameRef;
    if (!named || std::find(std::begin(resources), std::end(resources), left->name.text) == std::end(resources)) {
      std::string list;
      for (std::string_view r : resources) list += (list.empty() ? "" : ", ") + std::string(r);
      std::string near =
          named ? nearest_name(left->name.text, std::vector<std::string>(std::begin(resources), std::end(resources)))
                : "";
      error(DiagKind::BadClause, left ? left->range : e->range, "`expects` compares a resource with a constant",
            near.empty() ? "resources are " + list : fmt::format("did you mean `{}`?", near));
      continue;
    }
    ir::BlockId scratch;
    if (std::optional<Value> v = eval_apart(*e->operands[1], scratch))
      if (std::optional<Wide> w =
              constant_integer({*v, e->operands[1]->range}, DiagKind::NotConstant, "the bound of `expects`"))
        k_.expects_exprs.push_back(fmt::format("{} {} {}", left->name.text, e->op, to_text(*w)));
    drop_scratch(scratch);
  }
}

}  // namespace tile::sema
