// A kernel's parameters and the whole specialisation.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "dsl/sema/evaluator.h"

namespace tile {

std::optional<ir::Kernel> specialize(const Program& program, const SpecializeOptions& options, Diagnostics& diags) {
  const std::vector<ast::Kernel>& kernels = program.root().kernels;
  Range at{program.root().file, 0, 0};
  const ast::Kernel* kernel = program.find_kernel(options.kernel);
  if (!kernel) {
    std::vector<std::string> names = program.kernels();
    std::string list;
    for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
    if (kernels.empty()) {
      diags.emit(DiagKind::NoKernel, at, "the file has no kernel");
    } else if (options.kernel.empty()) {
      diags.emit(DiagKind::AmbiguousKernel, at, fmt::format("the file has several kernels: {}", list),
                 fmt::format("choose one: --kernel {}", names.front()));
    } else {
      std::string near = nearest_name(options.kernel, names);
      diags.emit(DiagKind::NoKernel, at, fmt::format("the file has no kernel '{}'", options.kernel),
                 near.empty() ? fmt::format("it has {}", list) : fmt::format("did you mean `{}`?", near));
    }
    return std::nullopt;
  }
  ir::Kernel k;
  k.body = k.add_block();
  sema::Evaluator evaluator(program, options, k, diags);
  if (!evaluator.run(*kernel)) return std::nullopt;
  return k;
}

namespace sema {
namespace {

bool is_type_param(const ast::Param& p) { return p.type && p.type->kind == ast::TypeExpr::Kind::Type; }

// The literal that -D gives, as a value without type; null if it is none.
std::optional<Value> parse_literal(const std::string& text) {
  if (text == "true") return Value::boolean(true);
  if (text == "false") return Value::boolean(false);
  bool negative = text.starts_with("-");
  std::string digits = negative ? text.substr(1) : text;
  int base = digits.starts_with("0x") || digits.starts_with("0X") ? 16 : 10;
  std::string_view body = std::string_view(digits).substr(base == 16 ? 2 : 0);
  uint64_t u = 0;
  auto [end, code] = std::from_chars(body.data(), body.data() + body.size(), u, base);
  if (code == std::errc() && end == body.data() + body.size() && !body.empty()) {
    Wide w = static_cast<Wide>(u);
    return Value::integer(negative ? -w : w);
  }
  if (digits == "inf") return Value::floating(negative ? -HUGE_VAL : HUGE_VAL);
  if (digits == "nan") return Value::floating(NAN);
  if (digits.empty() || !((digits[0] >= '0' && digits[0] <= '9') || digits[0] == '.')) return std::nullopt;
  char* stop = nullptr;
  double d = std::strtod(text.c_str(), &stop);
  if (stop != text.c_str() + text.size()) return std::nullopt;
  return Value::floating(d);
}

}  // namespace

bool Evaluator::run(const ast::Kernel& kernel) {
  size_t errors = diags_.error_count();
  kernel_ = &kernel;
  k_.name = kernel.name.text;
  k_.arch = options_.arch;
  k_.range = kernel.header_range;
  k_.is_wave = kernel.is_wave;
  k_.contract = kernel.contract;
  build_file_scopes();
  auto scope = std::make_shared<Scope>();
  scope->parent = file_scopes_[0];
  scope->boundary = true;
  scope_ = scope;
  declare_hidden("%return", Value::boolean(false));
  if (kernel.is_wave)
    error(DiagKind::BadClause, kernel.header_range, "wave kernels are not part of this version of the language");
  if (bind_constants(kernel)) {
    declare_parameters(kernel);
    declare_views(kernel);
    eval_waves(kernel);
    eval_requires(kernel);
    eval_grid(kernel);
    eval_expects(kernel);
    eval_block(kernel.body);
    b_.range = {kernel.range.file, kernel.range.end > 0 ? kernel.range.end - 1 : 0, kernel.range.end};
    b_.op(OpKind::Return, {}, {});
  }
  return diags_.error_count() == errors;
}

std::optional<Value> Evaluator::parse_constant(const ast::Param& p, const std::string& text) {
  auto bad = [&](const std::string& expected) -> std::optional<Value> {
    error(DiagKind::BadConstValue, p.name.range, fmt::format("-D {}={} gives no {}", p.name.text, text, expected));
    return std::nullopt;
  };
  if (is_type_param(p)) {
    if (std::optional<DType> t = parse_dtype(text)) return Value::type(*t);
    return bad("type");
  }
  std::optional<Value> v = parse_literal(text);
  if (!p.type) {
    if (!v) return bad("number, bool or type");
    return default_typed(*v);
  }
  std::optional<DType> t = eval_dtype(*p.type);
  if (!t) return std::nullopt;
  if (!v) return bad(std::string(name(*t)));
  if (v->kind == Value::Kind::Const) {
    if (is_bool(*t)) return v;
    return bad(std::string(name(*t)));
  }
  bool fits = v->kind == Value::Kind::Int ? holds_integer(*t, v->wide) : holds_float(*t, v->real);
  if (!fits) return bad(fmt::format("value of {}", name(*t)));
  return literal_as({*v, p.name.range}, *t);
}

bool Evaluator::bind_constants(const ast::Kernel& kernel) {
  size_t errors = diags_.error_count();
  std::vector<std::string> names;
  for (const ast::Param& p : kernel.params)
    if (p.is_const) names.push_back(p.name.text);
  for (const auto& [name, text] : options_.constants) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::string near = nearest_name(name, names);
    bool run_time = false;
    for (const ast::Param& p : kernel.params) run_time |= p.name.text == name;
    error(DiagKind::UnknownConst, kernel.name.range,
          fmt::format("-D {}={}: the kernel {} has no `const` parameter '{}'", name, text, kernel.name.text, name),
          run_time       ? "this parameter gets its value at the launch"
          : near.empty() ? ""
                         : fmt::format("did you mean `{}`?", near));
  }
  for (const ast::Param& p : kernel.params) {
    if (!p.is_const) continue;
    const std::string* given = nullptr;
    for (const auto& [name, text] : options_.constants)
      if (name == p.name.text) given = &text;
    Value v;
    if (given) {
      std::optional<Value> parsed = parse_constant(p, *given);
      if (parsed) v = *parsed;
    } else if (p.has_default_type) {
      std::optional<DType> t = eval_dtype(p.default_type);
      if (t) v = Value::type(*t);
    } else if (p.default_value) {
      Ranged d = eval_ranged(*p.default_value);
      v = p.type ? check_annotation(d, *p.type, fmt::format("the parameter '{}'", p.name.text))
                 : default_typed(d.value);
      if (!v.is_poison() && v.kind != Value::Kind::Const && v.kind != Value::Kind::Type)
        v = error(DiagKind::NotConstant, d.range, "a default value must be known at compile time");
    } else {
      error(DiagKind::MissingConst, p.name.range, fmt::format("the `const` parameter '{}' has no value", p.name.text),
            fmt::format("give one: -D {}=...", p.name.text));
    }
    if (v.kind == Value::Kind::Const) k_.constants.emplace_back(p.name.text, constant_text(v.dtype, v.bits));
    if (v.kind == Value::Kind::Type) k_.constants.emplace_back(p.name.text, std::string(name(v.dtype)));
    declare(p.name, Variable::Role::Parameter, std::move(v));
  }
  return diags_.error_count() == errors;
}

int64_t Evaluator::alignment(const ast::Param& p, int64_t absent) {
  if (!p.align) return absent;
  std::optional<Wide> w = eval_constant_integer(*p.align, DiagKind::NotConstant, "an alignment");
  if (!w) return absent;
  if (*w < 1 || *w > 65536 || (*w & (*w - 1)) != 0) {
    error(DiagKind::BadParameter, p.align->range, fmt::format("an alignment of {}", to_text(*w)),
          "it is a power of two, in bytes, up to 65536");
    return absent;
  }
  return static_cast<int64_t>(*w);
}

// Arguments of the launch in order: a pointer for each view and `ptr`, a scalar for the others.
void Evaluator::declare_parameters(const ast::Kernel& kernel) {
  for (const ast::Param& p : kernel.params) {
    if (p.is_const) continue;
    Value v;
    if (!p.type) {
      error(DiagKind::BadParameter, p.name.range,
            fmt::format("the parameter '{}' of a kernel needs a type", p.name.text), "write a type behind `:`");
    } else if (p.type->kind == ast::TypeExpr::Kind::Type) {
      error(DiagKind::BadParameter, p.range, fmt::format("the type parameter '{}' must be `const`", p.name.text),
            fmt::format("write `const {}: type`", p.name.text));
    } else if (std::optional<DType> t = eval_dtype(*p.type)) {
      ir::Param param;
      param.name = p.name.text;
      param.dtype = *t;
      param.noalias = p.noalias;
      param.wide = p.wide;
      bool pointer = p.type->kind == ast::TypeExpr::Kind::Ptr, view = p.type->kind == ast::TypeExpr::Kind::Shaped;
      if (!pointer && !view && (p.noalias || p.align || p.wide || p.has_strides))
        error(DiagKind::BadParameter, p.range, fmt::format("the scalar '{}' takes no memory properties", p.name.text),
              "noalias, align, wide and stride belong to views and pointers");
      if (pointer && is_packed(*t))
        error(DiagKind::PackedPointer, p.type->range,
              fmt::format("a pointer to {}, which is narrower than a byte", name(*t)), "declare a view");
      else if (!pointer && !view && is_float(*t) && !is_arith_float(*t))
        error(DiagKind::BadParameter, p.type->range, fmt::format("a scalar parameter of type {}", name(*t)),
              "pass u8 and bitcast it, or a view");
      if (pointer && p.has_strides)
        error(DiagKind::BadParameter, p.range, "a pointer has no strides",
              "declare a view: `x: f32[M, N] stride (ld, 1)`");
      if (pointer || view) param.align = alignment(p, view ? 16 : buffer_bytes(*t));
      if ((pointer || view) && p.default_value)
        error(DiagKind::BadParameter, p.default_value->range,
              fmt::format("a default value of the {} '{}'", view ? "view" : "pointer", p.name.text));
      param.is_view = view;
      if (!pointer && !view && p.default_value) {
        Value d = assignable(eval_ranged(*p.default_value), *t, DiagKind::TypeMismatch,
                             fmt::format("the parameter '{}'", p.name.text));
        if (d.kind == Value::Kind::Const) param.default_value = constant_text(d.dtype, d.bits);
        else if (!d.is_poison())
          error(DiagKind::NotConstant, p.default_value->range, "a default value must be known at compile time");
      }
      v = Value::runtime(k_.add_param(std::move(param), pointer || view ? ir::Type::ptr(*t) : ir::Type::scalar(*t)));
    }
    declare(p.name, Variable::Role::Parameter, std::move(v));
  }
}

void Evaluator::declare_view(const ast::Param& p, size_t index) {
  Variable* variable = lookup(p.name.text);
  if (!variable || variable->value.is_poison()) return;
  ir::ValueId base = variable->value.id;
  DType t = k_.type(base).dtype;
  size_t rank = p.type->extents.size();
  variable->value = Value::poison();
  if (rank > 4) {
    error(DiagKind::RankTooLarge, p.type->range,
          fmt::format("a view of {} dimensions, where at most 4 are allowed", rank));
    return;
  }
  if (p.has_strides && p.strides.size() != rank) {
    error(DiagKind::StrideCount, p.range,
          fmt::format("{} stride{} for {} dimension{}", p.strides.size(), p.strides.size() == 1 ? "" : "s", rank,
                      rank == 1 ? "" : "s"));
    return;
  }
  b_.range = p.range;
  auto scalar = [&](const ast::Expr& e, const char* what) {
    Ranged v = eval_ranged(e);
    if (v.value.is_poison()) return v.value;
    v.value = default_typed(v.value);
    bool integer = (v.value.kind == Value::Kind::Const || (v.value.is_runtime() && ir_type(v.value).is_scalar())) &&
                   is_int(type_of(v.value).dtype);
    return integer ? v.value
                   : error(DiagKind::TypeMismatch, e.range,
                           fmt::format("{} of a view must be an integer, but this is {}", what, describe(v.value)));
  };
  std::vector<Value> extents, strides;
  for (const ast::ExprPtr& e : p.type->extents) {
    // A name that nobody declares is a further argument of the launch.
    if (e->kind == ast::Expr::Kind::NameRef && !lookup(e->name.text) && !is_builtin_name(e->name.text)) {
      ir::Param param;
      param.name = e->name.text;
      declare(e->name, Variable::Role::Parameter,
              Value::runtime(k_.add_param(std::move(param), ir::Type::scalar(DType::I32))));
    }
    Value v = scalar(*e, "an extent");
    if (v.kind == Value::Kind::Const && bits_to_wide(v.dtype, v.bits) < 1)
      v = error(DiagKind::BadExtent, e->range,
                fmt::format("the extent of a view is {}, but must be positive", constant_text(v.dtype, v.bits)));
    if (v.is_poison()) return;
    extents.push_back(std::move(v));
  }
  for (const ast::ExprPtr& e : p.strides) {
    strides.push_back(scalar(*e, "a stride"));
    if (strides.back().is_poison()) return;
  }
  if (!p.has_strides) {  // row-major without gaps
    strides.assign(rank, Value::constant(DType::I32, 1));
    for (size_t d = rank - 1; d-- > 0;) {
      if (d + 2 == rank) strides[d] = extents[d + 1];
      else
        strides[d] = elementwise(
            "mul", {{convert(extents[d + 1], DType::I64), p.range}, {convert(strides[d + 1], DType::I64), p.range}},
            p.range);
    }
  }
  ir::Param& param = k_.params[index];
  for (size_t d = 0; d < rank; ++d) {
    std::optional<std::string> e = host_text(extents[d], p.type->extents[d]->range);
    std::optional<std::string> s = host_text(strides[d], p.has_strides ? p.strides[d]->range : p.range);
    if (!e || !s) return;
    param.extents.push_back(*e);
    param.strides.push_back(*s);
  }
  if (is_packed(t) && !(strides[rank - 1].kind == Value::Kind::Const && strides[rank - 1].bits == 1)) {
    error(DiagKind::BadParameter, p.range, fmt::format("a view of {} needs stride 1 in its last dimension", name(t)),
          "elements of this type share bytes along it");
    return;
  }
  b_.range = p.range;
  std::vector<ir::ValueId> operands = {base};
  for (const Value& v : extents) operands.push_back(materialize(v));
  for (const Value& v : strides) operands.push_back(materialize(v));
  std::vector<ir::Attr> attrs = {{AttrKey::Align, param.align}, {AttrKey::Param, p.name.text}};
  if (p.noalias) attrs.push_back({AttrKey::NoAlias, int64_t{1}});
  ir::ValueId view =
      b_.make(OpKind::MakeView, std::move(operands), ir::Type::view(t, static_cast<unsigned>(rank)), std::move(attrs));
  k_.value(view).name = p.name.text;
  view_extents_[view.index] = std::move(extents);
  lookup(p.name.text)->value = Value::runtime(view);
}

void Evaluator::declare_views(const ast::Kernel& kernel) {
  for (const ast::Param& p : kernel.params) {
    if (p.is_const || !p.type || p.type->kind != ast::TypeExpr::Kind::Shaped) continue;
    for (size_t i = 0; i < k_.params.size(); ++i)
      if (k_.params[i].name == p.name.text && k_.params[i].is_view) {
        declare_view(p, i);
        break;
      }
  }
}

}  // namespace sema
}  // namespace tile
