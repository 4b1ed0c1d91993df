#include "runtime/test_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/compare.h"
#include "runtime/host_eval.h"
#include "runtime/launch.h"

namespace tile {
namespace {

using Kind = ast::Stmt::Kind;

// One run of one test for one target.
class TestRun {
 public:
  TestRun(Session& session, Device& device, const TestOptions& options, Arch arch, Diagnostics& diags)
      : session_(session), device_(device), options_(options), arch_(arch), diags_(diags),
        base_(session.path().substr(0, session.path().rfind('/') == std::string::npos ? 0 : session.path().rfind('/'))),
        eval_(scope_, diags, base_) {}

  // False at the first statement that fails.
  bool run(const ast::Block& block) {
    scope_.push();
    bool ok = true;
    for (const ast::StmtPtr& s : block) {
      ok = statement(*s);
      if (!ok) break;
    }
    scope_.pop();
    return ok;
  }
  const std::vector<std::string>& output() const { return output_; }

 private:
  bool fail(Range r, DiagKind kind, std::string message, std::string hint = {}) {
    diags_.emit(kind, r, std::move(message), std::move(hint));
    return false;
  }

  bool statement(const ast::Stmt& s) {
    switch (s.kind) {
      case Kind::Let:
      case Kind::Var: {
        std::optional<HostValue> v = eval_.eval(*s.value);
        if (!v) return false;
        if (s.names.size() != 1) return fail(s.range, DiagKind::BadTest, "a test defines one name at a time");
        scope_.define(s.names[0].text, std::move(*v));
        return true;
      }
      case Kind::Assign: return assign(s);
      case Kind::For: {
        auto values = eval_.eval_range(s);
        if (!values) return false;
        for (HostValue& v : *values) {
          scope_.push();
          scope_.define(s.names[0].text, std::move(v));
          bool ok = run(s.body);
          if (!ok) note_loop(s);
          scope_.pop();
          if (!ok) return false;
        }
        return true;
      }
      case Kind::If: {
        std::optional<bool> c = eval_.eval_bool(*s.value);
        if (!c) return false;
        return run(*c ? s.body : s.else_body);
      }
      case Kind::Block: return run(s.body);
      case Kind::StaticAssert: {
        std::optional<bool> c = eval_.eval_bool(*s.value);
        return c && (*c || fail(s.range, DiagKind::ExpectFailed, "the assertion does not hold"));
      }
      case Kind::Launch: return launch(*s.launch);
      case Kind::Expect: return expect(s);
      case Kind::ExpectError: return expect_error(s);
      default: return fail(s.range, DiagKind::BadTest, "a test block does not take this statement");
    }
  }

  // Says which turn of the loop a failure belongs to.
  void note_loop(const ast::Stmt& s) {
    HostValue* v = scope_.find(s.names[0].text);
    Result<Tensor> t = v ? to_tensor(*v) : Result<Tensor>(Error{""});
    if (t && t->size() == 1)
      output_.push_back(fmt::format("with {} = {}", s.names[0].text, t->at(0)));
  }

  bool assign(const ast::Stmt& s) {
    if (s.target->kind != ast::Expr::Kind::NameRef || !s.op.empty())
      return fail(s.range, DiagKind::BadTest, "a test assigns whole variables only");
    HostValue* target = scope_.find(s.target->name.text);
    if (!target) return fail(s.target->range, DiagKind::UnknownName, fmt::format("unknown name '{}'", s.target->name.text));
    std::optional<HostValue> v = eval_.eval(*s.value);
    if (!v) return false;
    *scope_.find(s.target->name.text) = std::move(*v);
    return true;
  }

  // The text of a constant argument, as -D takes it.
  std::optional<std::string> constant_text(const ast::Expr& e) {
    std::optional<HostValue> v = eval_.eval(e);
    if (!v) return std::nullopt;
    if (DType* t = std::get_if<DType>(&*v)) return std::string(name(*t));
    Result<Tensor> t = to_tensor(*v);
    if (!t || t->size() != 1) {
      fail(e.range, DiagKind::BadConstValue, "a constant is a number or a type");
      return std::nullopt;
    }
    if (t->cls == Tensor::Class::Bool) return t->i[0] ? "true" : "false";
    return t->cls == Tensor::Class::Int ? fmt::format("{}", t->i[0]) : fmt::format("{:#}", t->f[0]);
  }

  struct Named {
    std::string name;
    const ast::Expr* value;
  };

  // Sorts arguments into constants and run-time values; positional ones go to the run-time parameters in order.
  bool sort_arguments(const ast::Launch& l, const ast::Kernel& k, SpecializeOptions& options, std::vector<Named>& values) {
    std::vector<const ast::Param*> runtime;
    for (const ast::Param& p : k.params)
      if (!p.is_const) runtime.push_back(&p);
    size_t next = 0;
    for (const ast::Argument& a : l.args) {
      if (!a.name) {
        if (next >= runtime.size())
          return fail(a.value->range, DiagKind::LaunchMismatch, fmt::format("kernel {} takes {} arguments", k.name.text, runtime.size()));
        values.push_back({runtime[next++]->name.text, a.value.get()});
        continue;
      }
      const ast::Param* param = nullptr;
      for (const ast::Param& p : k.params)
        if (p.name.text == a.name->text) param = &p;
      if (param && param->is_const) {
        std::optional<std::string> text = constant_text(*a.value);
        if (!text) return false;
        options.constants.emplace_back(a.name->text, *text);
      } else {
        values.push_back({a.name->text, a.value.get()});
      }
    }
    return true;
  }

  bool launch(const ast::Launch& l) {
    const ast::Kernel* k = session_.program().find_kernel(l.kernel.text);
    if (!k) return fail(l.kernel.range, DiagKind::NoKernel, fmt::format("the file has no kernel '{}'", l.kernel.text));
    SpecializeOptions options;
    options.kernel = l.kernel.text;
    options.arch = arch_;
    std::vector<Named> named;
    if (!sort_arguments(l, *k, options, named)) return false;
    if (l.waves) {
      std::optional<int64_t> w = eval_.eval_int(*l.waves);
      if (!w) return false;
      options.waves = static_cast<unsigned>(std::clamp<int64_t>(*w, 0, 1 << 20));
    }
    std::shared_ptr<const SpecializedKernel> kernel = session_.specialize(options, diags_);
    if (!kernel) return false;
    LaunchValues values;
    std::vector<ArrayPtr> keep;
    for (const Named& n : named)
      if (!bind(n, kernel->manifest, values, keep)) return false;
    Result<BoundLaunch> bound = bind_launch(kernel->manifest, values);
    if (!bound) return fail(l.range, DiagKind::LaunchMismatch, bound.error().message, bound.error().hint);
    if (bound->empty()) return true;
    Result<LaunchReport> report = device_.launch(session_, *kernel, *bound, options_.device);
    if (!report) {
      bool asserted = report.error().message.find("device_assert") != std::string::npos;
      return fail(l.range, asserted ? DiagKind::AssertFailed : DiagKind::LaunchMismatch, report.error().message);
    }
    for (std::string& line : report->prints) output_.push_back(std::move(line));
    for (std::string& line : report->checks) fail(l.range, DiagKind::ExpectFailed, line);
    return report->checks.empty();
  }

  bool bind(const Named& n, const KernelManifest& m, LaunchValues& values, std::vector<ArrayPtr>& keep) {
    std::optional<HostValue> v = eval_.eval(*n.value);
    if (!v) return false;
    const ManifestArg* arg = nullptr;
    for (const ManifestArg& a : m.args)
      if (a.name == n.name) arg = &a;
    if (ArrayPtr* array = std::get_if<ArrayPtr>(&*v)) {
      values.arrays[n.name] = array->get();
      keep.push_back(*array);
      return true;
    }
    Result<Tensor> t = to_tensor(*v);
    if (!t) return fail(n.value->range, DiagKind::LaunchMismatch, t.error().message);
    if (arg && arg->kind != ArgKind::Scalar)
      return fail(n.value->range, DiagKind::LaunchMismatch, fmt::format("argument '{}' needs an array", n.name),
                  fmt::format("write for example `let x = <expression> as {};` and pass x", arg->dtype));
    if (t->size() != 1) return fail(n.value->range, DiagKind::LaunchMismatch, fmt::format("argument '{}' is a scalar", n.name));
    Result<Array> one = t->to_array(arg ? *parse_dtype(arg->dtype) : DType::F64);
    if (!one) return fail(n.value->range, DiagKind::LaunchMismatch, one.error().message);
    if (arg && t->cls != Tensor::Class::Float && Tensor::from(*one).at(0) != t->at(0))
      return fail(n.value->range, DiagKind::LaunchMismatch, fmt::format("{} does not fit argument '{}' of type {}", t->i[0], n.name, arg->dtype));
    values.scalars[n.name] = one->bits(0);
    return true;
  }

  // An array to compare: a launch's array as it is, a tensor as f64 or i64.
  std::optional<ArrayPtr> comparable(const HostValue& v, Range range, std::optional<DType> as) {
    if (const ArrayPtr* a = std::get_if<ArrayPtr>(&v)) return *a;
    Result<Tensor> t = to_tensor(v);
    if (!t) return fail(range, DiagKind::BadTest, t.error().message), std::nullopt;
    Result<Array> a = t->to_array(as.value_or(t->cls == Tensor::Class::Float ? DType::F64 : DType::I64));
    if (!a) return fail(range, DiagKind::BadTest, a.error().message), std::nullopt;
    return std::make_shared<Array>(std::move(*a));
  }

  bool expect(const ast::Stmt& s) {
    if (!s.other) {
      std::optional<bool> c = eval_.eval_bool(*s.value);
      return c && (*c || fail(s.value->range, DiagKind::ExpectFailed, "the expectation does not hold"));
    }
    std::optional<HostValue> got = eval_.eval(*s.value), want = eval_.eval(*s.other);
    if (!got || !want) return false;
    Tolerances t;
    t.bits = !s.approximate;
    for (const ast::Tolerance& tolerance : s.tolerances) {
      std::optional<double> v = eval_.eval_number(*tolerance.value);
      if (!v) return false;
      if (tolerance.name.text == "atol") t.atol = *v;
      else if (tolerance.name.text == "rtol") t.rtol = *v;
      else if (tolerance.name.text == "ulp") t.ulp = *v;
      else return fail(tolerance.name.range, DiagKind::BadTest, fmt::format("unknown tolerance '{}'", tolerance.name.text), "atol, rtol and ulp are known");
    }
    const ArrayPtr* array = std::get_if<ArrayPtr>(&*got);
    const ArrayPtr* other = std::get_if<ArrayPtr>(&*want);
    std::optional<DType> as;
    if (t.bits && (array || other)) as = (array ? *array : *other)->dtype();
    std::optional<ArrayPtr> a = comparable(*got, s.value->range, as), b = comparable(*want, s.other->range, as);
    if (!a || !b) return false;
    if (auto d = difference(**a, **b, t)) return fail(s.value->range, DiagKind::ExpectFailed, *d);
    return true;
  }

  bool expect_error(const ast::Stmt& s) {
    Diagnostics inner;
    TestRun nested(session_, device_, options_, arch_, inner);
    nested.scope_ = scope_;
    nested.run(s.body);
    std::string seen;
    for (const Diagnostic& d : inner.all()) {
      if (info(d.kind).code == s.names[0].text) return true;
      seen += fmt::format("{}{}", seen.empty() ? "" : ", ", info(d.kind).code);
    }
    return fail(s.range, DiagKind::ExpectFailed,
                seen.empty() ? fmt::format("error {} was expected, nothing failed", s.names[0].text)
                             : fmt::format("error {} was expected, got {}", s.names[0].text, seen));
  }

  Session& session_;
  Device& device_;
  const TestOptions& options_;
  Arch arch_;
  Diagnostics& diags_;
  std::string base_;
  HostScope scope_;
  HostEvaluator eval_;
  std::vector<std::string> output_;
};

// Targets that the launches of a block name.
void collect_targets(const ast::Block& block, std::set<std::string>& targets) {
  for (const ast::StmtPtr& s : block) {
    if (s->launch)
      for (const ast::Name& n : s->launch->targets) targets.insert(n.text);
    collect_targets(s->body, targets);
    collect_targets(s->else_body, targets);
  }
}

std::vector<Arch> targets_of(const ast::Test& test, const TestOptions& options, Diagnostics& diags) {
  std::set<std::string> named;
  collect_targets(test.body, named);
  std::vector<Arch> list;
  for (const std::string& n : named) {
    if (auto arch = parse_arch(n)) list.push_back(*arch);
    else diags.emit(DiagKind::BadTest, test.range, fmt::format("unknown target '{}'", n), "targets: gfx90a, gfx942, gfx950");
  }
  if (!options.targets.empty()) {
    if (named.empty()) return options.targets;
    std::erase_if(list, [&](Arch a) { return std::find(options.targets.begin(), options.targets.end(), a) == options.targets.end(); });
    return list;
  }
  if (named.empty()) list.push_back(Arch::Gfx942);
  return list;
}

}  // namespace

TestSummary run_tests(Session& session, Device& device, const TestOptions& options,
                      const std::function<void(const std::string&)>& say) {
  TestSummary summary;
  for (const ast::Test& test : session.program().root().tests) {
    Diagnostics setup;
    std::vector<Arch> targets = targets_of(test, options, setup);
    if (setup.has_errors()) {
      ++summary.failed;
      say(fmt::format("FAIL         {}\n{}", test.title, render(setup, session.sources())));
      continue;
    }
    for (Arch arch : targets) {
      Diagnostics diags;
      TestRun run(session, device, options, arch, diags);
      bool ok = run.run(test.body) && !diags.has_errors();
      ++(ok ? summary.passed : summary.failed);
      std::string text = fmt::format("{} {:8} {}", ok ? "ok  " : "FAIL", name(arch), test.title);
      for (const std::string& line : run.output()) text += "\n  " + line;
      if (!ok) text += "\n" + render(diags, session.sources());
      say(text);
    }
  }
  return summary;
}

}  // namespace tile
