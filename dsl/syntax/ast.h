#pragma once
// The syntax tree of a .tile file. Plain data: every node has the range of bytes it was read from; children are owned
// by unique_ptr. No Spirit here: the grammar builds these nodes, everything else only reads them.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dsl/diag/diag.h"

namespace tile::ast {

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;

struct Name {
  std::string text;  // may be qualified: "fast::exp2"
  Range range;
};

// A type as written: a scalar name (`f16`, a `const T: type` parameter), `ptr<T>`, `type`, or an element type with
// extents (a view as a parameter, a tile in a `let`).
struct TypeExpr {
  enum class Kind : uint8_t { Named, Ptr, Type, Shaped };
  Kind kind = Kind::Named;
  Name name;                     // Named, Ptr and Shaped: the element type; "x.dtype" is that of a variable
  std::vector<ExprPtr> extents;  // Shaped
  Range range;
};

// `name = value` or just a value, in a call.
struct Argument {
  std::optional<Name> name;
  ExprPtr value;
};

// One part of an index: an expression, `None`, or a slice `begin:end:step` (all parts optional; `:` takes all).
struct IndexItem {
  enum class Kind : uint8_t { Value, None, Slice };
  Kind kind = Kind::Value;
  ExprPtr value;
  ExprPtr begin, end, step;
  Range range;
};

// `for name in [static] range(args)` inside a list: `[f(t) for t in static range(8)]`.
struct Comprehension {
  Name name;
  std::vector<Argument> range_args;
};

struct Expr {
  enum class Kind : uint8_t {
    Int,      // int_value, text: digits as written; a suffix KiB, MiB, GiB is multiplied in
    Float,    // float_value, text
    Bool,     // bool_value
    String,   // text, escapes resolved
    NameRef,  // name
    Unary,    // op, operands[0]
    Binary,   // op, operands[0], operands[1]
    Cast,     // operands[0] as type(cast_options)
    Call,     // callee, type_args, args          f(x, axis = 0), bitcast<i32>(x)
    Create,   // callee, type_args, extents, args zeros<f32>[M, N], full<f32>[M](1.0), randn<f16>[M](seed = 1)
    Index,    // operands[0][items]
    Member,   // operands[0].name                 also the callee of a method call
    Tuple,    // (a, b): operands
    List,     // [a, b]: operands; or operands[0] with comprehension
  };
  Kind kind;
  Range range;          // with the brackets around it, if any
  uint16_t height = 1;  // of the tree below; the parser allows 1000 at most, so that recursion over it is safe
  uint64_t int_value = 0;
  double float_value = 0;
  bool bool_value = false;
  std::string text;
  Name name;            // NameRef, Member
  std::string_view op;  // Unary, Binary: the token, a row of dsl/ops/infix.def
  Range op_range;       // Unary, Binary: the token's place
  std::vector<ExprPtr> operands;
  ExprPtr callee;                                // Call, Create: NameRef or Member
  std::vector<TypeExpr> type_args;               // Call, Create
  std::vector<ExprPtr> extents;                  // Create
  std::vector<Argument> args;                    // Call, Create
  TypeExpr type;                                 // Cast
  std::vector<Name> cast_options;                // Cast: `as f8e4m3(nosat, rtz)`
  std::vector<IndexItem> items;                  // Index
  std::unique_ptr<Comprehension> comprehension;  // List
};

using Block = std::vector<StmtPtr>;

struct Param {
  bool is_const = false;
  Name name;
  std::optional<TypeExpr> type;  // may be absent in `fn`
  std::vector<ExprPtr> strides;  // `stride (lda, 1)`
  bool has_strides = false;
  bool noalias = false, wide = false;
  ExprPtr align;          // `align(16)`
  ExprPtr default_value;  // `= 128`
  TypeExpr default_type;  // `const T: type = f16`; other expressions that give a type are in default_value
  bool has_default_type = false;
  Range range;
};

struct Function {
  Name name;
  std::vector<Param> params;
  std::vector<TypeExpr> results;  // `-> f32`, `-> (i32, i32)`; empty: found from the body
  Block body;
  Range range;
};

// One tolerance of `expect a ~= b within atol 1e-3, rtol 1e-2, ulp 2`.
struct Tolerance {
  Name name;
  ExprPtr value;
};

// `launch matmul(a, b, c, BM = 32) target gfx950, gfx942 waves 8`
struct Launch {
  Name kernel;
  std::vector<Argument> args;
  std::vector<Name> targets;
  ExprPtr waves;
  Range range;
};

struct Stmt {
  enum class Kind : uint8_t {
    Let,         // names, type, value              let (a, b) = f();   let x: i32 = 3;
    Var,         // names, type, value
    Assign,      // target (NameRef, Tuple of NameRef, or Index), op ("" or "+" of `+=`), value
    Expression,  // value
    For,         // names[0], args, is_static, pipeline, body
    While,       // value, body
    If,          // value, body, else_body, is_static; `else if` nests one If in else_body
    Return,      // value or null
    Break,
    Continue,
    StaticAssert,  // value, message
    Fn,            // function: a nested function
    Block,         // body: `{ ... }`
    // in test blocks only
    Launch,       // launch
    Expect,       // value == other or value ~= other (approximate), tolerances
    ExpectError,  // names[0] is the code (T0312), body holds the launch or statements
  };
  Kind kind;
  Range range;
  std::vector<Name> names;
  bool destructure = false;  // `let (a, b) = ...`
  std::optional<TypeExpr> type;
  ExprPtr target, value, other;
  std::string op;
  bool is_static = false, approximate = false;
  std::vector<Argument> args;  // of range(...)
  ExprPtr pipeline;
  Block body, else_body;
  bool has_else = false;
  std::string message;
  std::unique_ptr<Function> function;
  std::unique_ptr<Launch> launch;
  std::vector<Tolerance> tolerances;
};

struct Kernel {
  bool is_wave = false;
  Name name;
  std::vector<Param> params;
  std::vector<ExprPtr> grid;  // 1 to 3
  bool has_grid = false;
  ExprPtr waves;
  std::vector<ExprPtr> requires_clauses, expects_clauses;
  bool contract = false;  // `contract on`
  Block body;
  Range range;         // the whole declaration
  Range header_range;  // `kernel name(...)`
};

struct Import {
  std::string path;
  Range range;
};

// `const N = 4;` at file level.
struct ConstDecl {
  Name name;
  ExprPtr value;
  Range range;
};

struct Test {
  std::string title;
  Block body;
  Range range;
};

struct File {
  FileId file = 0;
  std::vector<Import> imports;
  std::vector<ConstDecl> consts;
  std::vector<Function> functions;
  std::vector<Kernel> kernels;
  std::vector<Test> tests;
};

// Text of the tree, one node a line, indented; for `dsl-compile --emit=ast` and tests.
std::string dump(const File& file, const SourceManager& sources);

}  // namespace tile::ast
