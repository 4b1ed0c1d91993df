#pragma once
// The evaluator: walks a kernel's syntax tree once, computes what is known and emits tile IR for the rest. Its methods
// are spread over the files of this folder by topic.
#include <functional>
#include <set>

#include "dsl/sema/constant.h"
#include "dsl/sema/program_impl.h"
#include "dsl/sema/value.h"

namespace tile::sema {

// A value with the place it came from.
struct Ranged {
  Value value;
  Range range;
};

// What a statement does to the flow of control. `falls`: the next statement may be reached; `exits`: on some path
// break, continue or return was executed, which the hidden flags tell at run time.
struct Flow {
  bool falls = true, exits = false;
};

struct CallArgs {
  const ast::Expr* call = nullptr;
  std::string_view name;
  struct Arg {
    Value value;
    Range range;
    const ast::Expr* expr = nullptr;
    bool given = false;
  };
  std::vector<Arg> args;  // in the order of the row's parameters
  std::vector<Arg> rest;  // what `...` takes
  std::vector<DType> types;
  bool method = false;  // x.f(...): args[0] is x
  const Arg& operator[](size_t i) const { return args[i]; }
  Ranged ranged(size_t i) const { return {args[i].value, args[i].range}; }
};

class Evaluator;

// A row of builtins.def.
struct BuiltinRow {
  std::string_view name;
  // Parameter names; `?` behind one: optional; `&` before one: handed over as syntax; `...`: any number of further
  // operands; `=` before one: may only be given by name.
  std::string_view params;
  unsigned type_args;  // number of <T>
  Value (Evaluator::*handler)(CallArgs&);
};
const BuiltinRow* find_builtin(std::string_view name);
// Every name that a call can have: builtins, elementwise operations, prelude functions, named constants.
std::vector<std::string> builtin_names();
bool is_builtin_name(std::string_view name);

class Evaluator {
 public:
  Evaluator(const Program& program, const SpecializeOptions& options, ir::Kernel& kernel, Diagnostics& diags);
  // False if an error was reported. [kernel.cpp]
  bool run(const ast::Kernel& kernel);

  // --- builtins, one a row of builtins.def
#define TILE_BUILTIN(name, params, types, handler) Value handler(CallArgs& a);
#include "dsl/sema/builtins.def"

 private:
  struct Frame {
    const ast::Function* function;
    Range call;
    bool prelude;
  };
  struct Branch {
    ir::BlockId block;
    std::vector<Value> values;
    Flow flow;
  };
  using Names = std::set<std::string>;

  // --- messages [evaluator.cpp]. Each returns poison.
  Value error(DiagKind kind, Range range, std::string message, std::string hint = {}, std::vector<Note> notes = {});
  std::string describe(const Value& v) const;  // "f32[128, 64]", "integer literal 3", "view<f16, 2>"
  std::string text_of(Range r) const;          // source text
  Note note(const Ranged& v) const;            // "this is f32[128]"

  // --- names [names.cpp]
  void build_file_scopes();
  std::shared_ptr<Scope> scope_of_prelude(size_t part);
  Variable* lookup(std::string_view name, bool* crossed_function = nullptr);
  Variable* declare(const ast::Name& name, Variable::Role role, Value value);
  Value read(Variable& variable, Range range);
  Value unknown_name(const ast::Name& name, bool call);
  std::optional<Value> named_constant(std::string_view name) const;
  std::optional<Value> prelude_function(std::string_view name);
  std::vector<std::string> visible_names() const;

  // --- values [convert.cpp]
  bool known(const Value& v) const { return v.kind == Value::Kind::Const || v.is_literal(); }
  const ir::Type& ir_type(const Value& v) const { return k_.type(v.id); }
  bool is_tile(const Value& v) const { return v.is_runtime() && ir_type(v).is_tile(); }
  bool is_view(const Value& v) const { return v.is_runtime() && ir_type(v).is_view(); }
  bool is_ptr(const Value& v) const { return v.is_runtime() && ir_type(v).is_ptr(); }
  // Type of a Const or Runtime value.
  ir::Type type_of(const Value& v) const;
  ir::Shape shape_of(const Value& v) const;
  // i32 (i64, u64 if it does not fit) or f32 instead of a literal; recursive in bundles.
  Value default_typed(Value v);
  // A literal as a constant of that type, or T0306.
  Value literal_as(const Ranged& v, DType t, std::string_view where = {});
  // The same type and shape, recursively.
  bool same_type(const Value& a, const Value& b) const;
  ir::ValueId materialize(const Value& v);
  Value convert(const Value& v, DType t, bool round_to_zero = false, bool saturate = true);
  Value broadcast_to(const Value& v, const ir::Shape& shape);
  std::optional<ir::Shape> broadcast_shape(const ir::Shape& a, const ir::Shape& b) const;
  // The value as `type` for an assignment, a store or a typed parameter: equal types, or a literal. `what` completes
  // "... takes f16".
  Value assignable(const Ranged& v, DType t, DiagKind kind, const std::string& what, std::vector<Note> notes = {});
  void flatten(const Value& v, std::vector<ir::ValueId>& out);
  Value rebuild(const Value& shape, const std::vector<ir::ValueId>& ids, size_t& at) const;
  bool can_flatten(const Value& v) const;

  // --- constants that syntax needs [convert.cpp]. Null after an error was reported.
  std::optional<Wide> constant_integer(const Ranged& v, DiagKind kind, std::string_view what);
  std::optional<Wide> eval_constant_integer(const ast::Expr& e, DiagKind kind, std::string_view what);
  std::optional<bool> eval_constant_bool(const ast::Expr& e, std::string_view what);
  std::optional<ir::Shape> shape_from(const std::vector<Ranged>& extents, Range whole);
  bool check_shape(const ir::Shape& s, Range range);
  std::optional<int64_t> axis_of(const Ranged& v, unsigned rank);

  // --- expressions [expr.cpp]
  Value eval(const ast::Expr& e);
  Ranged eval_ranged(const ast::Expr& e) { return {eval(e), e.range}; }
  Value eval_name(const ast::Expr& e);
  Value eval_unary(const ast::Expr& e);
  Value eval_binary(const ast::Expr& e);
  Value eval_logical(const ast::Expr& e);
  Value eval_cast(const ast::Expr& e);
  Value eval_member(const ast::Expr& e);
  Value eval_list(const ast::Expr& e);
  std::optional<DType> eval_dtype(const ast::TypeExpr& t);
  // Checks a value against an annotation of `let`, a parameter or a result.
  Value check_annotation(const Ranged& v, const ast::TypeExpr& t, std::string_view what);

  // --- arithmetic [arith.cpp]
  // Joint element type of numeric operands; literals become constants of it, all are converted. Null after an error.
  // All literals: they stay so, and the result is F64 (a float among them) or I64.
  std::optional<DType> unify(std::vector<Ranged>& operands, size_t first, std::string_view spelling, Range range);
  Value elementwise(std::string_view spelling, std::vector<Ranged> operands, Range range);
  Value emit_elementwise(OpKind op, DType t, std::vector<Ranged>& operands, Range range);
  Value literal_arithmetic(std::string_view spelling, const std::vector<Ranged>& operands, Range range);
  Value pointer_arithmetic(std::string_view spelling, const Ranged& a, const Ranged& b, Range range);
  Value no_such_operation(std::string_view spelling, DType t, const std::vector<Ranged>& operands, Range range);
  bool check_numeric(const Ranged& v, std::string_view spelling);
  Value negate_bool(const Ranged& v);
  Value matrix_product(const Ranged& a, const Ranged& b, const std::optional<Ranged>& acc, Range range);

  // --- indexing [index.cpp, view.cpp]
  struct ViewIndex {
    ir::ValueId view;
    std::vector<ir::ValueId> indices;
    ir::Shape shape;
  };
  Value eval_index(const ast::Expr& e);
  Value index_bundle(const ast::Expr& e, const Value& base);
  Value index_tile(const ast::Expr& e, const Value& base);
  Value take_element(const Value& tile, unsigned axis, const Ranged& index);
  std::optional<ViewIndex> view_index(const ast::Expr& e, const Ranged& base);
  std::optional<ViewIndex> view_index(const Ranged& base, const std::vector<Ranged>& indices, Range range);
  Value load_view(const ViewIndex& at, const std::optional<Ranged>& other, Range range);
  void store_view(const ast::Expr& target, const Ranged& value);

  // --- calls [call.cpp]
  Value eval_call(const ast::Expr& e);
  Value eval_create(const ast::Expr& e);
  Value call_builtin(const BuiltinRow& row, const ast::Expr& e, const ast::Expr* self);
  bool bind_builtin(const BuiltinRow& row, const ast::Expr& e, const ast::Expr* self, CallArgs& out);
  Value call_elementwise(std::string_view spelling, const ast::Expr& e, const ast::Expr* self);
  Value float_argument(const Closure& closure, const Ranged& v);
  Value call_function(const Closure& closure, const ast::Expr& e, const ast::Expr* self);
  bool bind_function(const Closure& closure, const ast::Expr& e, const ast::Expr* self,
                     const std::shared_ptr<Scope>& scope);
  Value call_value(const Value& f, const ast::Expr& e, const ast::Expr* self, Range callee);

  // --- statements [stmt.cpp]
  Flow eval_block(const ast::Block& block, size_t from = 0);
  Flow eval_scoped(const ast::Block& block);
  Flow eval_stmt(const ast::Stmt& s);
  void eval_declaration(const ast::Stmt& s);
  void eval_assignment(const ast::Stmt& s);
  void assign_name(const ast::Name& name, const Ranged& value);
  void assign_item(const ast::Expr& target, const Ranged& value);
  void eval_static_assert(const ast::Stmt& s);
  Flow eval_return(const ast::Stmt& s);
  Flow eval_break(const ast::Stmt& s);

  // --- control flow [control.cpp]
  Flow eval_if(const ast::Stmt& s, const ast::Block& block, size_t next, bool* consumed);
  Flow eval_static_if(const ast::Stmt& s);
  Flow eval_for(const ast::Stmt& s);
  Flow eval_while(const ast::Stmt& s);
  Flow eval_static_for(const ast::Stmt& s);
  Flow for_with_break(const ast::Stmt& s, const std::vector<Ranged>& bounds, DType t);
  Flow guarded(const Value& condition, const Names& names, const std::function<Flow()>& body);
  struct Bounds {
    Ranged low, high, step;
  };
  std::optional<Bounds> eval_range(const std::vector<ast::Argument>& args, Range range);
  std::optional<std::vector<Wide>> static_range(const std::vector<ast::Argument>& args, Range range);
  // A scalar bool, or poison after an error.
  Value eval_condition(const ast::Expr& e);
  Names assigned_names(const ast::Block& block, size_t from = 0) const;
  std::vector<Variable*> carried(const Names& names);
  // Ends two branches with yields and gives `variables` their joint values as results of `op`.
  void merge(ir::OpId op, const std::vector<Variable*>& variables, Branch& a, Branch& b, Range range);
  std::vector<Value> snapshot(const std::vector<Variable*>& variables) const;
  void restore(const std::vector<Variable*>& variables, const std::vector<Value>& values);
  Variable* hidden(std::string_view name);
  Variable* declare_hidden(std::string_view name, Value value);
  Value exit_condition();
  Value either(const Value& a, const Value& b);
  Value both(const Value& a, const Value& b);
  void push_scope(bool boundary = false);
  void pop_scope();

  // --- the kernel's header [kernel.cpp, clauses.cpp]
  bool bind_constants(const ast::Kernel& kernel);
  std::optional<Value> parse_constant(const ast::Param& p, const std::string& text);
  void declare_parameters(const ast::Kernel& kernel);
  void declare_views(const ast::Kernel& kernel);
  void declare_view(const ast::Param& p, size_t index);
  int64_t alignment(const ast::Param& p, int64_t absent);
  void eval_grid(const ast::Kernel& kernel);
  void eval_waves(const ast::Kernel& kernel);
  void eval_requires(const ast::Kernel& kernel);
  void eval_expects(const ast::Kernel& kernel);
  std::optional<Value> eval_apart(const ast::Expr& e, ir::BlockId& scratch);
  void drop_scratch(ir::BlockId block);
  // An integer or bool value as text for the launcher; null after an error.
  std::optional<std::string> host_text(const Value& v, Range range);
  std::optional<std::string> host_text(ir::ValueId v, Range range, unsigned precedence);
  void learn(ir::ValueId condition);
  void learn_bound(ir::ValueId a, OpKind op, ir::ValueId b);

  // --- shared by builtins
  Value reduce(CallArgs& a, std::string_view combine);
  Value arg_reduce(CallArgs& a, std::string_view combine);
  Value flatten_tile(const Value& v);
  std::optional<Ranged> tile_operand(const CallArgs& a, size_t i = 0);
  std::vector<Ranged> extents_from(const CallArgs& a);
  bool flag(const CallArgs& a, size_t i, bool absent);
  std::optional<std::string> message_of(const CallArgs& a, size_t i);
  std::optional<ir::ValueId> mask_operand(const CallArgs& a, size_t i, const ir::Shape& shape);

  const Program& program_;
  const Program::Impl& files_;
  const SpecializeOptions& options_;
  ir::Kernel& k_;
  ir::Builder b_;
  Diagnostics& diags_;
  std::shared_ptr<Scope> scope_;
  std::vector<std::shared_ptr<Scope>> file_scopes_;
  std::map<size_t, std::shared_ptr<Scope>> prelude_scopes_;
  std::vector<Frame> frames_;
  const ast::Kernel* kernel_ = nullptr;
  // What a view's dimension is, by ValueId of the view.
  std::map<uint32_t, std::vector<Value>> view_extents_;
  unsigned loop_depth_ = 0;  // run-time loops around the current statement in the current function
  size_t unrolled_ops_limit_ = 100000;
  // Nesting of expressions, blocks and calls around the current place; bounded, so that the stack is.
  struct Deeper {
    unsigned& depth;
    explicit Deeper(unsigned& d) : depth(d) { ++depth; }
    ~Deeper() { --depth; }
  };
  bool too_deep(Range range);
  unsigned depth_ = 0;
  bool stopped_ = false;  // a limit was exceeded: nothing further is evaluated
};

}  // namespace tile::sema
