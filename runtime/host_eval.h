#pragma once
// Host expressions and statements of test blocks.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dsl/syntax/ast.h"
#include "runtime/tensor.h"

namespace tile {

using ArrayPtr = std::shared_ptr<Array>;
// A host value: an array (what launches read and write), a computed tensor, a string, an element type.
using HostValue = std::variant<Tensor, ArrayPtr, std::string, DType>;

// The tensor in a value; an error for strings and types.
Result<Tensor> to_tensor(const HostValue& v);

// Variables of nested blocks.
class HostScope {
 public:
  void push() { levels_.emplace_back(); }
  void pop() { levels_.pop_back(); }
  void define(const std::string& name, HostValue v) { levels_.back()[name] = std::move(v); }
  HostValue* find(const std::string& name);
  std::vector<std::string> names() const;

 private:
  std::vector<std::map<std::string, HostValue>> levels_{1};
};

// Evaluates expressions; errors go to `diags` at the expression's place, and the result is then empty.
class HostEvaluator {
 public:
  HostEvaluator(HostScope& scope, Diagnostics& diags, std::string base_path)
      : scope_(scope), diags_(diags), base_(std::move(base_path)) {}

  std::optional<HostValue> eval(const ast::Expr& e);
  std::optional<Tensor> eval_tensor(const ast::Expr& e);
  std::optional<int64_t> eval_int(const ast::Expr& e);
  std::optional<double> eval_number(const ast::Expr& e);
  std::optional<bool> eval_bool(const ast::Expr& e);
  // Values of `range(...)` or of a tuple or list.
  std::optional<std::vector<HostValue>> eval_range(const ast::Stmt& loop);

 private:
  struct Args {
    std::vector<const ast::Expr*> positional;
    std::map<std::string, const ast::Expr*> named;
  };
  std::nullopt_t error(Range range, const Error& e, DiagKind kind = DiagKind::BadTest);
  std::optional<HostValue> name_value(const ast::Expr& e);
  std::optional<HostValue> unary_or_binary(const ast::Expr& e);
  std::optional<HostValue> cast(const ast::Expr& e);
  std::optional<HostValue> call(const ast::Expr& e);
  std::optional<HostValue> call_named(const std::string& name, const ast::Expr& e, std::optional<Tensor> self);
  std::optional<HostValue> reduce(const std::string& name, const ast::Expr& e, const Tensor& x, const Args& args);
  std::optional<HostValue> shape_call(const std::string& name, const ast::Expr& e, const Tensor& x, const Args& args);
  std::optional<HostValue> create(const ast::Expr& e);
  std::optional<HostValue> index(const ast::Expr& e);
  std::optional<HostValue> member(const ast::Expr& e);
  std::optional<Args> arguments(const ast::Expr& e, const std::vector<std::string>& allowed_names);
  std::optional<double> option(const Args& args, const std::string& name, size_t position, double absent);

  HostScope& scope_;
  Diagnostics& diags_;
  std::string base_;  // folder of the .tile file, for npy("...")
};

}  // namespace tile
