#pragma once
// What an expression evaluates to while a kernel is specialised: a value known now, a tile IR value, or a bundle.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dsl/ir/ir.h"
#include "dsl/syntax/ast.h"

namespace tile::sema {

__extension__ typedef __int128 Wide;  // holds every i64 and u64

struct Scope;
struct BuiltinRow;

// A function with the scope it was declared in.
struct Closure {
  const ast::Function* function = nullptr;
  std::shared_ptr<Scope> scope;
  bool prelude = false;
  bool floats = false;  // a math function: takes f16, bf16, f32 and f64 only
};

struct Value {
  enum class Kind : uint8_t {
    Poison,    // an error was reported; everything made from it is silent
    Void,      // result of a function that returns nothing
    Int,       // literal without type: wide
    Float,     // literal without type: real
    Const,     // typed scalar known now: dtype, bits
    String,    // text
    Type,      // dtype
    Runtime,   // id: scalar, tile, pointer or view in tile IR
    Tuple,     // items
    List,      // items
    Function,  // closure
    Builtin,   // text: its name
  };
  Kind kind = Kind::Poison;
  DType dtype = DType::I32;
  Wide wide = 0;
  double real = 0;
  uint64_t bits = 0;
  ir::ValueId id;
  std::string text;
  std::vector<Value> items;
  std::shared_ptr<Closure> closure;

  static Value poison() { return {}; }
  static Value nothing() { return of(Kind::Void); }
  static Value of(Kind k) {
    Value v;
    v.kind = k;
    return v;
  }
  static Value integer(Wide w) {
    Value v = of(Kind::Int);
    v.wide = w;
    return v;
  }
  static Value floating(double d) {
    Value v = of(Kind::Float);
    v.real = d;
    return v;
  }
  static Value constant(DType t, uint64_t bits) {
    Value v = of(Kind::Const);
    v.dtype = t;
    v.bits = bit_width(t) == 64 ? bits : bits & ((uint64_t{1} << bit_width(t)) - 1);
    return v;
  }
  static Value boolean(bool b) { return constant(DType::Bool, b ? 1 : 0); }
  static Value type(DType t) {
    Value v = of(Kind::Type);
    v.dtype = t;
    return v;
  }
  static Value string(std::string s) {
    Value v = of(Kind::String);
    v.text = std::move(s);
    return v;
  }
  static Value runtime(ir::ValueId id) {
    Value v = of(Kind::Runtime);
    v.id = id;
    return v;
  }
  static Value bundle(Kind k, std::vector<Value> items) {
    Value v = of(k);
    v.items = std::move(items);
    return v;
  }

  bool is_poison() const { return kind == Kind::Poison; }
  bool is_literal() const { return kind == Kind::Int || kind == Kind::Float; }
  bool is_bundle() const { return kind == Kind::Tuple || kind == Kind::List; }
  bool is_runtime() const { return kind == Kind::Runtime; }
  // Int, Float, Const or Runtime: something with elements.
  bool is_numeric() const { return is_literal() || kind == Kind::Const || kind == Kind::Runtime; }
};

struct Variable {
  enum class Role : uint8_t { Let, Var, Parameter, LoopVariable, Constant, Function, Kernel, Hidden };
  Role role = Role::Let;
  Range range;  // of the name where it is defined
  Value value;
  bool evaluating = false;          // a file-level constant whose value is being computed
  const ast::Expr* lazy = nullptr;  // a file-level constant not yet computed
};

// Names of one block. Lookup goes to the parent; `boundary` marks a function's outermost scope.
struct Scope {
  std::shared_ptr<Scope> parent;
  bool boundary = false;
  std::map<std::string, Variable, std::less<>> variables;
};

}  // namespace tile::sema
