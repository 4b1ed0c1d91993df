#include "runtime/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>

namespace tile {

enum class Op {
  Const,
  Name,
  Neg,
  Not,
  Inv,
  Mul,
  Div,
  Mod,
  Add,
  Sub,
  Shl,
  Shr,
  And,
  Xor,
  Or,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  LogAnd,
  LogOr,
  CDiv,
  Min,
  Max,
  Abs
};

struct Expr::Node {
  Op op;
  std::int64_t value = 0;  // of a Const
  std::string name;        // of a Name
  std::vector<Node> operands;
};

namespace {

using Node = Expr::Node;
constexpr int max_depth = 200;  // of nesting, so that no text overflows the stack

struct Infix {
  std::string_view spelling;
  Op op;
  int level;  // of binding, 0 the loosest
};
// Longer spellings stand before their prefixes.
constexpr Infix infixes[] = {{"||", Op::LogOr, 0}, {"&&", Op::LogAnd, 1}, {"==", Op::Eq, 2}, {"!=", Op::Ne, 2},
                             {"<<", Op::Shl, 6},   {">>", Op::Shr, 6},    {"<=", Op::Le, 2}, {">=", Op::Ge, 2},
                             {"<", Op::Lt, 2},     {">", Op::Gt, 2},      {"|", Op::Or, 3},  {"^", Op::Xor, 4},
                             {"&", Op::And, 5},    {"+", Op::Add, 7},     {"-", Op::Sub, 7}, {"*", Op::Mul, 8},
                             {"/", Op::Div, 8},    {"%", Op::Mod, 8}};
constexpr int compare_level = 2, unary_level = 9;

struct Function {
  std::string_view name;
  Op op;
  std::size_t least, most;
};
constexpr Function functions[] = {
    {"cdiv", Op::CDiv, 2, 2}, {"min", Op::Min, 1, 64}, {"max", Op::Max, 1, 64}, {"abs", Op::Abs, 1, 1}};

class Parser {
 public:
  Parser(std::string_view text, std::vector<std::string>& names) : text_(text), names_(names) {}

  Result<Node> run() {
    auto node = binary(0);
    if (!node) return node;
    skip_spaces();
    if (at_ != text_.size()) return expected("an operator or the end");
    return node;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Error error(const std::string& what) const {
    return Error{fmt::format("{} at column {} of expression '{}'", what, at_ + 1, text_)};
  }
  Error expected(const std::string& what) const { return error("expected " + what); }

  const Infix* peek_infix() {
    skip_spaces();
    for (const Infix& i : infixes)
      if (text_.substr(at_).starts_with(i.spelling)) return &i;
    return nullptr;
  }

  Result<Node> binary(int level) {
    if (level == unary_level) return unary();
    auto left = binary(level + 1);
    if (!left) return left;
    for (const Infix* i; (i = peek_infix()) && i->level == level;) {
      at_ += i->spelling.size();
      auto right = binary(level + 1);
      if (!right) return right;
      std::vector<Node> operands;
      operands.push_back(std::move(*left));
      operands.push_back(std::move(*right));
      left = Node{i->op, 0, {}, std::move(operands)};
      if (level == compare_level) {
        if (const Infix* next = peek_infix(); next && next->level == level) return error("comparisons don't chain");
        break;
      }
    }
    return left;
  }

  Result<Node> unary() {
    if (++depth_ > max_depth) return error("the expression is nested too deeply");
    auto node = [&]() -> Result<Node> {
      for (auto [sign, op] : {std::pair{'-', Op::Neg}, {'!', Op::Not}, {'~', Op::Inv}}) {
        if (!take(sign)) continue;
        auto operand = unary();
        if (!operand) return operand;
        std::vector<Node> operands;
        operands.push_back(std::move(*operand));
        return Node{op, 0, {}, std::move(operands)};
      }
      return primary();
    }();
    --depth_;
    return node;
  }

  Result<Node> primary() {
    if (take('(')) {
      auto node = binary(0);
      if (!node) return node;
      if (!take(')')) return expected("')'");
      return node;
    }
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) return integer();
    const std::size_t start = at_;
    auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    if (at_ == start) return expected("a number, a name or '('");
    std::string name(text_.substr(start, at_ - start));
    if (take('(')) return call(name, start);
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.push_back(name);
    return Node{Op::Name, 0, std::move(name), {}};
  }

  Result<Node> integer() {
    int base = 10;
    if (text_.substr(at_).starts_with("0x") || text_.substr(at_).starts_with("0X")) base = 16, at_ += 2;
    std::int64_t value = 0;
    auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value, base);
    if (code == std::errc::result_out_of_range) return error("the number does not fit 64 bits");
    if (code != std::errc()) return expected("a hexadecimal digit");
    at_ = static_cast<std::size_t>(end - text_.data());
    if (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      return error("a number runs into a name");
    return Node{Op::Const, value, {}, {}};
  }

  Result<Node> call(const std::string& name, std::size_t start) {
    const Function* function = nullptr;
    for (const Function& f : functions)
      if (f.name == name) function = &f;
    if (!function) {
      at_ = start;
      return error(fmt::format("unknown function '{}' (there are cdiv, min, max, abs)", name));
    }
    std::vector<Node> operands;
    do {
      auto operand = binary(0);
      if (!operand) return operand;
      operands.push_back(std::move(*operand));
    } while (take(','));
    if (!take(')')) return expected("',' or ')'");
    if (operands.size() < function->least || operands.size() > function->most)
      return error(fmt::format("'{}' takes {} arguments, not {}", name,
                               function->least == function->most ? std::to_string(function->least) : "1 to 64",
                               operands.size()));
    return Node{function->op, 0, {}, std::move(operands)};
  }

  std::string_view text_;
  std::vector<std::string>& names_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();

// One operation on one or two values; no value: out of range. `why` says so in words where it is not plain overflow.
std::optional<std::int64_t> apply(Op op, std::int64_t a, std::int64_t b, const char*& why) {
  std::int64_t r = 0;
  auto checked = [&](bool overflow) { return overflow ? std::nullopt : std::optional(r); };
  switch (op) {
    case Op::Neg:
      return checked(__builtin_sub_overflow(std::int64_t{0}, a, &r));
    case Op::Abs:
      return a < 0 ? checked(__builtin_sub_overflow(std::int64_t{0}, a, &r)) : std::optional(a);
    case Op::Not:
      return a == 0;
    case Op::Inv:
      return ~a;
    case Op::Mul:
      return checked(__builtin_mul_overflow(a, b, &r));
    case Op::Add:
      return checked(__builtin_add_overflow(a, b, &r));
    case Op::Sub:
      return checked(__builtin_sub_overflow(a, b, &r));
    case Op::Div:
    case Op::Mod:
    case Op::CDiv:
      if (b == 0) return why = "division by zero", std::nullopt;
      if (a == lowest && b == -1) return op == Op::Mod ? std::optional(r) : std::nullopt;
      if (op == Op::Mod) return a % b;
      return a / b + (op == Op::CDiv && a % b != 0 && (a < 0) == (b < 0));
    case Op::Shl:
      if (b < 0 || b > 63) return why = "shift count out of range", std::nullopt;
      r = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b);
      return checked((r >> b) != a);
    case Op::Shr:
      if (b < 0 || b > 63) return why = "shift count out of range", std::nullopt;
      return a >> b;
    case Op::And:
      return a & b;
    case Op::Xor:
      return a ^ b;
    case Op::Or:
      return a | b;
    case Op::Eq:
      return a == b;
    case Op::Ne:
      return a != b;
    case Op::Lt:
      return a < b;
    case Op::Le:
      return a <= b;
    case Op::Gt:
      return a > b;
    case Op::Ge:
      return a >= b;
    case Op::Min:
      return std::min(a, b);
    case Op::Max:
      return std::max(a, b);
    case Op::Const:
    case Op::Name:
    case Op::LogAnd:
    case Op::LogOr:
      break;  // not here: see evaluate()
  }
  return std::nullopt;
}

Result<std::int64_t> evaluate(const Node& node, const Expr::Values& values) {
  if (node.op == Op::Const) return node.value;
  if (node.op == Op::Name) {
    auto it = values.find(node.name);
    if (it == values.end()) return Error{fmt::format("'{}' has no value", node.name)};
    return it->second;
  }
  auto first = evaluate(node.operands[0], values);
  if (!first) return first;
  if (node.op == Op::LogAnd || node.op == Op::LogOr) {
    if ((*first != 0) == (node.op == Op::LogOr)) return std::int64_t{node.op == Op::LogOr};
    auto second = evaluate(node.operands[1], values);
    if (!second) return second;
    return std::int64_t{*second != 0};
  }
  std::int64_t result = *first;
  const char* why = "overflow of 64 bits";
  if (node.operands.size() == 1 && node.op != Op::Min && node.op != Op::Max) {
    auto value = apply(node.op, result, 0, why);
    if (!value) return Error{why};
    return *value;
  }
  for (std::size_t i = 1; i < node.operands.size(); ++i) {
    auto next = evaluate(node.operands[i], values);
    if (!next) return next;
    auto value = apply(node.op, result, *next, why);
    if (!value) return Error{why};
    result = *value;
  }
  return result;
}

}  // namespace

Result<Expr> Expr::parse(std::string_view text) {
  Expr expr;
  expr.text_ = text;
  auto root = Parser(expr.text_, expr.names_).run();
  if (!root) return root.error();
  expr.root_ = std::make_shared<const Node>(std::move(*root));
  return expr;
}

Result<std::int64_t> Expr::eval(const Values& values) const {
  auto value = evaluate(*root_, values);
  if (!value) return Error{fmt::format("{} in '{}'", value.error().message, text_)};
  return value;
}

}  // namespace tile
