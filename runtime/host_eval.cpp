#include "runtime/host_eval.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "dsl/ops/ops.h"
#include "runtime/generate.h"

namespace tile {

using Kind = ast::Expr::Kind;

Result<Tensor> to_tensor(const HostValue& v) {
  if (const Tensor* t = std::get_if<Tensor>(&v)) return *t;
  if (const ArrayPtr* a = std::get_if<ArrayPtr>(&v)) return Tensor::from(**a);
  return Error{std::holds_alternative<std::string>(v) ? "a string is no number" : "a type is no number"};
}

HostValue* HostScope::find(const std::string& name) {
  for (size_t i = levels_.size(); i-- > 0;)
    if (auto it = levels_[i].find(name); it != levels_[i].end()) return &it->second;
  return nullptr;
}

std::vector<std::string> HostScope::names() const {
  std::vector<std::string> all;
  for (const auto& level : levels_)
    for (const auto& [name, value] : level) all.push_back(name);
  return all;
}

std::nullopt_t HostEvaluator::error(Range range, const Error& e, DiagKind kind) {
  diags_.emit(kind, range, e.message, e.hint);
  return std::nullopt;
}

std::optional<Tensor> HostEvaluator::eval_tensor(const ast::Expr& e) {
  std::optional<HostValue> v = eval(e);
  if (!v) return std::nullopt;
  Result<Tensor> t = to_tensor(*v);
  if (!t) return error(e.range, t.error());
  return *t;
}

std::optional<double> HostEvaluator::eval_number(const ast::Expr& e) {
  std::optional<Tensor> t = eval_tensor(e);
  if (!t) return std::nullopt;
  if (t->size() != 1) return error(e.range, {"a number is needed here"});
  return t->at(0);
}

std::optional<int64_t> HostEvaluator::eval_int(const ast::Expr& e) {
  std::optional<Tensor> t = eval_tensor(e);
  if (!t) return std::nullopt;
  if (t->size() != 1 || t->cls == Tensor::Class::Float) return error(e.range, {"an integer is needed here"});
  return t->i[0];
}

std::optional<bool> HostEvaluator::eval_bool(const ast::Expr& e) {
  std::optional<Tensor> t = eval_tensor(e);
  if (!t) return std::nullopt;
  if (t->cls == Tensor::Class::Float) return error(e.range, {"a condition is needed here"});
  for (int64_t v : t->i)
    if (!v) return false;
  return true;
}

std::optional<std::vector<HostValue>> HostEvaluator::eval_range(const ast::Stmt& loop) {
  std::vector<HostValue> values;
  if (loop.value) {
    if (loop.value->kind != Kind::Tuple && loop.value->kind != Kind::List) {
      std::optional<HostValue> one = eval(*loop.value);  // `(3)` is a parenthesised number
      if (!one) return std::nullopt;
      return std::vector<HostValue>{*one};
    }
    for (const ast::ExprPtr& operand : loop.value->operands) {
      std::optional<HostValue> v = eval(*operand);
      if (!v) return std::nullopt;
      values.push_back(*v);
    }
    return values;
  }
  std::vector<int64_t> bounds;
  for (const ast::Argument& a : loop.args) {
    std::optional<int64_t> v = eval_int(*a.value);
    if (!v) return std::nullopt;
    bounds.push_back(*v);
  }
  if (bounds.empty() || bounds.size() > 3) return error(loop.range, {"range takes 1 to 3 arguments"}, DiagKind::BadRange);
  int64_t low = bounds.size() > 1 ? bounds[0] : 0, high = bounds.size() > 1 ? bounds[1] : bounds[0];
  int64_t step = bounds.size() > 2 ? bounds[2] : 1;
  if (step == 0) return error(loop.range, {"the step of range is zero"}, DiagKind::BadRange);
  for (int64_t v = low; step > 0 ? v < high : v > high;) {
    values.push_back(Tensor::of(v));
    if (values.size() > 1000000) return error(loop.range, {"a loop of more than a million turns"}, DiagKind::BadRange);
    if (__builtin_add_overflow(v, step, &v)) break;
  }
  return values;
}

std::optional<HostValue> HostEvaluator::eval(const ast::Expr& e) {
  switch (e.kind) {
    case Kind::Int:
      if (e.int_value > static_cast<uint64_t>(INT64_MAX)) return Tensor::of(static_cast<double>(e.int_value));
      return Tensor::of(static_cast<int64_t>(e.int_value));
    case Kind::Float: return Tensor::of(e.float_value);
    case Kind::Bool: return Tensor::of(e.bool_value);
    case Kind::String: return HostValue(e.text);
    case Kind::NameRef: return name_value(e);
    case Kind::Unary:
    case Kind::Binary: return unary_or_binary(e);
    case Kind::Cast: return cast(e);
    case Kind::Call: return call(e);
    case Kind::Create: return create(e);
    case Kind::Index: return index(e);
    case Kind::Member: return member(e);
    case Kind::Tuple:
    case Kind::List: return error(e.range, {"a list is no value in a test; use it in `for x in (a, b)`"});
  }
  return std::nullopt;
}

std::optional<HostValue> HostEvaluator::name_value(const ast::Expr& e) {
  if (HostValue* v = scope_.find(e.name.text)) return *v;
  if (e.name.text == "inf") return Tensor::of(std::numeric_limits<double>::infinity());
  if (e.name.text == "nan") return Tensor::of(std::numeric_limits<double>::quiet_NaN());
  if (e.name.text == "pi") return Tensor::of(std::numbers::pi);
  if (auto t = parse_dtype(e.name.text)) return HostValue(*t);
  std::string near = nearest_name(e.name.text, scope_.names());
  return error(e.range, {fmt::format("unknown name '{}'", e.name.text), near.empty() ? "" : fmt::format("did you mean '{}'?", near)},
               DiagKind::UnknownName);
}

std::optional<HostValue> HostEvaluator::unary_or_binary(const ast::Expr& e) {
  std::string spelling;
  for (unsigned i = 0; i < num_infix; ++i)
    if (infix_table[i].token == e.op && infix_table[i].arity == e.operands.size()) spelling = infix_table[i].spelling;
  std::vector<Tensor> operands;
  for (const ast::ExprPtr& operand : e.operands) {
    std::optional<Tensor> t = eval_tensor(*operand);
    if (!t) return std::nullopt;
    operands.push_back(std::move(*t));
  }
  Result<Tensor> r = spelling == "dot" ? matmul(operands[0], operands[1]) : apply_elementwise(spelling, operands);
  if (!r) return error(e.op_range, r.error());
  return HostValue(std::move(*r));
}

std::optional<HostValue> HostEvaluator::cast(const ast::Expr& e) {
  std::optional<Tensor> t = eval_tensor(*e.operands[0]);
  if (!t) return std::nullopt;
  auto dtype = parse_dtype(e.type.name.text);
  if (HostValue* v = scope_.find(e.type.name.text))
    if (DType* held = std::get_if<DType>(v)) dtype = *held;
  if (!dtype) return error(e.type.range, {fmt::format("unknown type '{}'", e.type.name.text)}, DiagKind::UnknownType);
  Result<Array> a = t->to_array(*dtype);
  if (!a) return error(e.range, a.error());
  return HostValue(std::make_shared<Array>(std::move(*a)));
}

std::optional<HostEvaluator::Args> HostEvaluator::arguments(const ast::Expr& e, const std::vector<std::string>& allowed) {
  Args args;
  for (const ast::Argument& a : e.args) {
    if (!a.name) {
      args.positional.push_back(a.value.get());
      continue;
    }
    if (std::find(allowed.begin(), allowed.end(), a.name->text) == allowed.end())
      return error(a.name->range, {fmt::format("no argument is named '{}' here", a.name->text)}, DiagKind::UnknownArgument);
    args.named[a.name->text] = a.value.get();
  }
  return args;
}

std::optional<double> HostEvaluator::option(const Args& args, const std::string& name, size_t position, double absent) {
  auto it = args.named.find(name);
  if (it != args.named.end()) return eval_number(*it->second);
  if (position < args.positional.size()) return eval_number(*args.positional[position]);
  return absent;
}

std::optional<HostValue> HostEvaluator::call(const ast::Expr& e) {
  if (e.callee->kind == Kind::Member) {
    std::optional<Tensor> self = eval_tensor(*e.callee->operands[0]);
    if (!self) return std::nullopt;
    return call_named(e.callee->name.text, e, std::move(self));
  }
  if (e.callee->kind != Kind::NameRef) return error(e.callee->range, {"this cannot be called"}, DiagKind::NotCallable);
  return call_named(e.callee->name.text, e, std::nullopt);
}

std::optional<HostValue> HostEvaluator::call_named(const std::string& name, const ast::Expr& e, std::optional<Tensor> self) {
  std::optional<Args> args = arguments(e, {"axis", "keep_dims"});
  if (!args) return std::nullopt;
  if (name == "npy") {
    std::optional<HostValue> path = args->positional.size() == 1 ? eval(*args->positional[0]) : std::nullopt;
    if (!path || !std::holds_alternative<std::string>(*path)) return error(e.range, {"npy takes the name of a file"});
    std::string file = std::get<std::string>(*path);
    if (!file.empty() && file[0] != '/' && !base_.empty()) file = base_ + "/" + file;
    auto as = e.type_args.empty() ? std::nullopt : parse_dtype(e.type_args[0].name.text);
    Result<Array> a = read_npy(file, as ? &*as : nullptr);
    if (!a) return error(e.range, a.error());
    return HostValue(std::make_shared<Array>(std::move(*a)));
  }
  bool takes_tensor_first = has_reduce(name) || name == "trans" || name == "reshape" || name == "broadcast_to" || name == "expand_dims" || name == "ravel";
  if (takes_tensor_first && !self && !(name != "min" && name != "max" ? false : args->positional.size() == 2)) {
    if (args->positional.empty()) return error(e.range, {fmt::format("{} needs an operand", name)}, DiagKind::ArgumentCount);
    self = eval_tensor(*args->positional[0]);
    if (!self) return std::nullopt;
    args->positional.erase(args->positional.begin());
  }
  if (takes_tensor_first && self && has_reduce(name)) return reduce(name, e, *self, *args);
  if (takes_tensor_first && self) return shape_call(name, e, *self, *args);
  std::vector<Tensor> operands;
  if (self) operands.push_back(std::move(*self));
  for (const ast::Expr* p : args->positional) {
    std::optional<Tensor> t = eval_tensor(*p);
    if (!t) return std::nullopt;
    operands.push_back(std::move(*t));
  }
  Result<Tensor> r = Error{fmt::format("unknown function '{}' in a test", name)};
  if (name == "dot" && operands.size() >= 2) r = matmul(operands[0], operands[1]);
  else if (has_elementwise(name)) r = apply_elementwise(name, operands);
  if (!r) return error(e.range, r.error());
  return HostValue(std::move(*r));
}

std::optional<HostValue> HostEvaluator::reduce(const std::string& name, const ast::Expr& e, const Tensor& x, const Args& args) {
  std::optional<double> axis = option(args, "axis", 0, -1);
  if (!axis) return std::nullopt;
  bool keep = false;
  if (auto it = args.named.find("keep_dims"); it != args.named.end()) {
    std::optional<bool> k = eval_bool(*it->second);
    if (!k) return std::nullopt;
    keep = *k;
  }
  bool given = !args.positional.empty() || args.named.count("axis");
  int64_t a = static_cast<int64_t>(*axis);
  if (given && a < 0) a += static_cast<int64_t>(x.shape.size());
  Result<Tensor> r = apply_reduce(name, x, a, keep);
  if (!r) return error(e.range, r.error());
  return HostValue(std::move(*r));
}

std::optional<HostValue> HostEvaluator::shape_call(const std::string& name, const ast::Expr& e, const Tensor& x, const Args& args) {
  std::vector<int64_t> numbers;
  for (const ast::Expr* p : args.positional) {
    bool list = p->kind == Kind::Tuple || p->kind == Kind::List;
    std::vector<const ast::Expr*> parts;
    if (list) for (const ast::ExprPtr& o : p->operands) parts.push_back(o.get());
    else parts.push_back(p);
    for (const ast::Expr* part : parts) {
      std::optional<int64_t> v = eval_int(*part);
      if (!v) return std::nullopt;
      numbers.push_back(*v);
    }
  }
  if (auto it = args.named.find("axis"); it != args.named.end()) {
    std::optional<int64_t> v = eval_int(*it->second);
    if (!v) return std::nullopt;
    numbers.push_back(*v);
  }
  if (name == "trans") {
    if (numbers.empty())
      for (size_t d = x.shape.size(); d-- > 0;) numbers.push_back(static_cast<int64_t>(d));
    Result<Tensor> r = transpose(x, numbers);
    if (!r) return error(e.range, r.error());
    return HostValue(std::move(*r));
  }
  Tensor out = x;
  if (name == "ravel") numbers = {static_cast<int64_t>(x.size())};
  if (name == "expand_dims") {
    int64_t rank = static_cast<int64_t>(x.shape.size());
    if (numbers.size() != 1 || numbers[0] < 0 || numbers[0] > rank) return error(e.range, {"expand_dims takes an axis"});
    out.shape.insert(out.shape.begin() + numbers[0], 1);
    return HostValue(std::move(out));
  }
  if (name == "broadcast_to") {
    Result<std::vector<int64_t>> s = broadcast_shape(x.shape, numbers);
    if (!s || *s != numbers) return error(e.range, {fmt::format("[{}] does not broadcast to [{}]", fmt::join(x.shape, ", "), fmt::join(numbers, ", "))});
    std::vector<size_t> map = broadcast_map(x.shape, numbers);
    out = Tensor::zeros(x.cls, numbers);
    for (size_t i = 0; i < map.size(); ++i) {
      if (x.cls == Tensor::Class::Float) out.f[i] = x.f[map[i]];
      else out.i[i] = x.i[map[i]];
    }
    return HostValue(std::move(out));
  }
  int64_t n = 1;
  for (int64_t d : numbers)
    if (d < 0 || __builtin_mul_overflow(n, d, &n)) return error(e.range, {"a bad shape"});
  if (n != static_cast<int64_t>(x.size())) return error(e.range, {fmt::format("{} elements do not fill [{}]", x.size(), fmt::join(numbers, ", "))});
  out.shape = numbers;
  return HostValue(std::move(out));
}

std::optional<HostValue> HostEvaluator::create(const ast::Expr& e) {
  std::vector<int64_t> shape;
  for (const ast::ExprPtr& x : e.extents) {
    std::optional<int64_t> v = eval_int(*x);
    if (!v) return std::nullopt;
    shape.push_back(*v);
  }
  if (e.callee->kind != Kind::NameRef || e.type_args.size() != 1) return error(e.range, {"write for example zeros<f32>[10]"});
  auto dtype = parse_dtype(e.type_args[0].name.text);
  if (HostValue* v = scope_.find(e.type_args[0].name.text))
    if (DType* held = std::get_if<DType>(v)) dtype = *held;
  if (!dtype) return error(e.type_args[0].range, {fmt::format("unknown type '{}'", e.type_args[0].name.text)}, DiagKind::UnknownType);
  std::optional<Args> args = arguments(e, {"seed", "mean", "std", "low", "high", "value", "start", "step"});
  if (!args) return std::nullopt;
  const std::string& name = e.callee->name.text;
  std::optional<double> seed = option(*args, "seed", SIZE_MAX, 0);
  if (!seed) return std::nullopt;
  if (!(*seed >= 0 && *seed < 0x1p53)) return error(e.range, {"the seed is out of range"});
  uint64_t s = static_cast<uint64_t>(*seed);
  auto two = [&](const char* first, double a, const char* second, double b) -> std::optional<std::pair<double, double>> {
    std::optional<double> x = option(*args, first, SIZE_MAX, a), y = option(*args, second, SIZE_MAX, b);
    if (!x || !y) return std::nullopt;
    return std::pair(*x, *y);
  };
  Result<Array> made = Error{fmt::format("'{}' makes no array", name), "zeros, full, arange, randn, uniform and randint do"};
  if (name == "zeros") {
    made = Array::make(*dtype, shape);
  } else if (name == "full") {
    std::optional<double> v = option(*args, "value", 0, 0);
    if (!v) return std::nullopt;
    made = full(*dtype, shape, *v);
  } else if (name == "arange") {
    auto p = two("start", 0, "step", 1);
    if (!p) return std::nullopt;
    made = arange(*dtype, shape, p->first, p->second);
  } else if (name == "randn") {
    auto p = two("mean", 0, "std", 1);
    if (!p) return std::nullopt;
    made = randn(*dtype, shape, s, p->first, p->second);
  } else if (name == "uniform") {
    auto p = two("low", 0, "high", 1);
    if (!p) return std::nullopt;
    made = uniform(*dtype, shape, s, p->first, p->second);
  } else if (name == "randint") {
    auto p = two("low", 0, "high", 2);
    if (!p) return std::nullopt;
    if (!(std::abs(p->first) < 9e15 && std::abs(p->second) < 9e15)) return error(e.range, {"low or high is too large"});
    made = randint(*dtype, shape, s, static_cast<int64_t>(p->first), static_cast<int64_t>(p->second));
  }
  if (!made) return error(e.range, made.error());
  return HostValue(std::make_shared<Array>(std::move(*made)));
}

std::optional<HostValue> HostEvaluator::member(const ast::Expr& e) {
  std::optional<HostValue> v = eval(*e.operands[0]);
  if (!v) return std::nullopt;
  if (e.name.text == "dtype") {
    if (ArrayPtr* a = std::get_if<ArrayPtr>(&*v)) return HostValue((*a)->dtype());
    return error(e.range, {"only arrays have a dtype"}, DiagKind::UnknownMember);
  }
  Result<Tensor> t = to_tensor(*v);
  if (!t) return error(e.range, t.error());
  if (e.name.text == "T") {
    Result<Tensor> r = transpose(*t, t->shape.size() == 1 ? std::vector<int64_t>{0} : std::vector<int64_t>{1, 0});
    if (!r) return error(e.range, r.error());
    return HostValue(std::move(*r));
  }
  return error(e.name.range, {fmt::format("no member '{}'", e.name.text), "T and dtype are members"}, DiagKind::UnknownMember);
}

std::optional<HostValue> HostEvaluator::index(const ast::Expr& e) {
  std::optional<Tensor> x = eval_tensor(*e.operands[0]);
  if (!x) return std::nullopt;
  struct Axis {
    int64_t begin, step, extent, stride;
  };
  std::vector<Axis> axes;
  std::vector<int64_t> shape;
  std::vector<int64_t> stride(x->shape.size(), 1);
  for (size_t d = x->shape.size(); d-- > 1;) stride[d - 1] = stride[d] * x->shape[d];
  int64_t base = 0;
  size_t d = 0;
  for (const ast::IndexItem& item : e.items) {
    if (item.kind == ast::IndexItem::Kind::None) {
      shape.push_back(1);
      axes.push_back({0, 0, 1, 0});
      continue;
    }
    if (d >= x->shape.size()) return error(item.range, {"more indices than dimensions"}, DiagKind::IndexCount);
    int64_t extent = x->shape[d];
    if (item.kind == ast::IndexItem::Kind::Value) {
      std::optional<int64_t> v = eval_int(*item.value);
      if (!v) return std::nullopt;
      int64_t at = *v < 0 ? *v + extent : *v;
      if (at < 0 || at >= extent) return error(item.range, {fmt::format("index {} is outside of extent {}", *v, extent)});
      base += at * stride[d];
    } else {
      std::optional<int64_t> begin = item.begin ? eval_int(*item.begin) : 0, end = item.end ? eval_int(*item.end) : extent;
      std::optional<int64_t> step = item.step ? eval_int(*item.step) : 1;
      if (!begin || !end || !step) return std::nullopt;
      auto clip = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + extent : v, 0, extent); };
      if (*step <= 0) return error(item.range, {"the step of a slice must be positive"});
      int64_t from = clip(*begin), to = clip(*end), n = to > from ? (to - from + *step - 1) / *step : 0;
      base += from * stride[d];
      shape.push_back(n);
      axes.push_back({from, *step, n, stride[d] * *step});
    }
    ++d;
  }
  for (; d < x->shape.size(); ++d) {
    shape.push_back(x->shape[d]);
    axes.push_back({0, 1, x->shape[d], stride[d]});
  }
  Tensor out = Tensor::zeros(x->cls, shape);
  std::vector<int64_t> at(axes.size(), 0);
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t source = base;
    for (size_t a = 0; a < axes.size(); ++a) source += at[a] * axes[a].stride;
    if (x->cls == Tensor::Class::Float) out.f[i] = x->f[static_cast<size_t>(source)];
    else out.i[i] = x->i[static_cast<size_t>(source)];
    for (size_t a = axes.size(); a-- > 0;) {
      if (++at[a] < axes[a].extent) break;
      at[a] = 0;
    }
  }
  return HostValue(std::move(out));
}

}  // namespace tile
