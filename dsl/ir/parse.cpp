// Text to tile IR; the inverse of print.cpp. Checks what is needed to build a kernel without harm; verify() does the
// rest.
#include <fmt/format.h>

#include <charconv>
#include <map>

#include "dsl/ir/ir.h"
#include "dsl/ir/lexer.h"
#include "dsl/ir/text.h"
#include "dsl/layout/linear_layout.h"

namespace tile::ir {
namespace {

constexpr unsigned max_depth = 200;
constexpr int64_t max_elements = int64_t{1} << 31;

struct Failed {};  // thrown after a diagnostic; never leaves parse_ir

class Parser {
 public:
  Parser(FileId file, std::string_view text, Diagnostics& diags) : lexer_(file, text), diags_(diags) {}

  std::optional<Kernel> run() {
    try {
      advance();
      kernel();
      return std::move(k_);
    } catch (const Failed&) {
      return std::nullopt;
    }
  }

 private:
  using LayoutPtr = std::shared_ptr<const layout::LinearLayout>;

  // --- tokens
  void advance() {
    token_ = lexer_.next();
    if (token_.kind == Tok::Bad) fail("text that is no token of tile IR");
  }
  [[noreturn]] void fail_at(Range range, std::string message) {
    diags_.emit(DiagKind::UnexpectedToken, range, std::move(message));
    throw Failed{};
  }
  [[noreturn]] void fail(std::string message) { fail_at(token_.range, std::move(message)); }
  bool is(Tok kind, std::string_view text) const { return token_.kind == kind && token_.text == text; }
  bool punct(std::string_view p) const { return is(Tok::Punct, p); }
  bool accept(std::string_view p) {
    if (!punct(p)) return false;
    advance();
    return true;
  }
  void expect(std::string_view p) {
    if (!accept(p)) fail(fmt::format("expected `{}`", p));
  }
  bool accept_word(std::string_view w) {
    if (!is(Tok::Word, w)) return false;
    advance();
    return true;
  }
  std::string take(Tok kind, std::string_view what) {
    if (token_.kind != kind) fail(fmt::format("expected {}", what));
    std::string text = std::move(token_.text);
    advance();
    return text;
  }
  template <class T>
  T number() {
    Range at = token_.range;
    std::string text = take(Tok::Number, "a number");
    bool is_hex = text.starts_with("0x");
    T value{};
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data() + (is_hex ? 2 : 0), end, value, is_hex ? 16 : 10);
    if (error != std::errc{} || stop != end) fail_at(at, fmt::format("`{}` is not a number that fits", text));
    return value;
  }
  // item, item, ... up to the closing bracket; the opening one is taken already.
  template <class F>
  void list_until(std::string_view close, const F& item) {
    if (accept(close)) return;
    do item();
    while (accept(","));
    expect(close);
  }

  // --- types
  DType dtype() {
    Range at = token_.range;
    std::string word = take(Tok::Word, "a type");
    std::optional<DType> t = parse_dtype(word);
    if (!t) fail_at(at, fmt::format("`{}` is not a type", word));
    return *t;
  }

  Type type() {
    if (accept_word("view")) {
      expect("<");
      DType t = dtype();
      expect(",");
      auto rank = number<int64_t>();
      if (rank < 1 || rank > Shape::max_rank) fail("the rank of a view is 1 to 6");
      expect(">");
      return Type::view(t, static_cast<unsigned>(rank));
    }
    bool is_ptr = accept_word("ptr");
    if (is_ptr) expect("<");
    DType t = dtype();
    if (is_ptr) expect(">");
    Shape s;
    int64_t elements = 1;
    if (accept("[")) {
      list_until("]", [&] {
        auto extent = number<int64_t>();
        if (extent < 1 || extent > max_elements || (elements *= extent) > max_elements) fail("extents are positive and a tile has at most 2^31 elements");
        if (s.rank() == Shape::max_rank) fail("a tile has at most 6 dimensions");
        s.push_back(extent);
      });
      if (s.rank() == 0) fail("a tile has at least one dimension");
    }
    return is_ptr ? Type::ptr(t, s) : Type::tile(t, s);
  }

  LayoutPtr layout_of_type() {
    if (token_.kind != Tok::LayoutName) return nullptr;
    auto it = layouts_.find(token_.text);
    if (it == layouts_.end()) fail(fmt::format("layout `#{}` is not defined", token_.text));
    advance();
    return it->second;
  }

  // --- values
  void define(ValueId v, const std::string& name, Range at) {
    if (!values_.emplace(name, v).second) fail_at(at, fmt::format("`%{}` is defined twice", name));
    size_t dot = name.rfind('.');
    if (dot != std::string::npos) k_.value(v).name = name.substr(0, dot);
  }
  ValueId use() {
    auto it = values_.find(token_.text);
    if (token_.kind != Tok::Value) fail("expected a value");
    if (it == values_.end()) fail(fmt::format("`%{}` is not defined before this", token_.text));
    advance();
    return it->second;
  }

  // --- header
  void kernel() {
    while (token_.kind == Tok::LayoutName) {
      std::string name = take(Tok::LayoutName, "a layout name");
      expect("=");
      auto l = layout::LinearLayout::parse(token_.kind == Tok::Layout ? token_.text : "");
      if (!l) fail(l.error().message);
      advance();
      layouts_[name] = std::make_shared<const layout::LinearLayout>(*l);
    }
    Range at = token_.range;
    if (!accept_word("kernel")) fail("expected `kernel`");
    k_.name = take(Tok::Symbol, "the kernel's name");
    k_.range = at;
    expect("(");
    list_until(")", [&] { param(); });
    contract();
    k_.body = k_.add_block();
    expect("{");
    block_ops(k_.body, 1);
    if (token_.kind != Tok::End) fail("expected the end of the text");
  }

  std::vector<std::string> strings() {
    std::vector<std::string> list;
    expect("[");
    list_until("]", [&] { list.push_back(take(Tok::String, "a text")); });
    return list;
  }

  void param() {
    Param p;
    Range at = token_.range;
    p.name = take(Tok::Value, "a parameter");
    expect(":");
    Type t = type();
    p.dtype = t.dtype;
    if (accept("{")) list_until("}", [&] { param_attr(p); });
    std::string name = p.name;
    ValueId v = k_.add_param(std::move(p), t);
    if (!values_.emplace(name, v).second) fail_at(at, fmt::format("`%{}` is defined twice", name));
  }

  void param_attr(Param& p) {
    Range at = token_.range;
    std::string key = take(Tok::Word, "a property of the parameter");
    if (key == "view") p.is_view = true;
    else if (key == "noalias") p.noalias = true;
    else if (key == "wide") p.wide = true;
    else {
      expect("=");
      if (key == "align") p.align = number<int64_t>();
      else if (key == "divisor") p.divisor = number<int64_t>();
      else if (key == "min") p.min = number<int64_t>();
      else if (key == "max") p.max = number<int64_t>();
      else if (key == "extents") p.extents = strings();
      else if (key == "strides") p.strides = strings();
      else fail_at(at, fmt::format("`{}` is not a property of a parameter", key));
    }
  }

  void contract() {
    while (!punct("{")) {
      Range at = token_.range;
      std::string key = take(Tok::Word, "`{`");
      if (key == "target") {
        std::string arch = take(Tok::Word, "an architecture");
        std::optional<Arch> a = parse_arch(arch);
        if (!a) fail_at(at, fmt::format("`{}` is not an architecture", arch));
        k_.arch = *a;
      } else if (key == "waves") {
        auto n = number<int64_t>();
        if (n < 1 || n > 16) fail_at(at, "a workgroup has 1 to 16 waves");
        k_.waves = static_cast<unsigned>(n);
      } else if (key == "wave") k_.is_wave = true;
      else if (key == "contract") k_.contract = true;
      else if (key == "lds") k_.lds_bytes = number<int64_t>();
      else if (key == "grid") k_.grid = strings();
      else if (key == "requires") k_.requires_exprs = strings();
      else if (key == "expects") k_.expects_exprs = strings();
      else if (key == "constants") {
        expect("{");
        list_until("}", [&] {
          std::string name = take(Tok::Word, "a name");
          expect("=");
          k_.constants.emplace_back(name, take(Tok::String, "a text"));
        });
      } else fail_at(at, fmt::format("`{}` is not part of a kernel's header", key));
    }
  }

  // --- operations
  void block_ops(BlockId b, unsigned depth) {
    if (depth > max_depth) fail("blocks are nested too deep");
    while (!accept("}")) op(b, depth);
  }

  Attr attr() {
    Range at = token_.range;
    std::string name = take(Tok::Word, "an attribute");
    std::optional<AttrKey> key = attr_by_name(name);
    if (!key) fail_at(at, fmt::format("`{}` is not an attribute", name));
    expect("=");
    switch (info(*key).type) {
      case AttrType::Int: return {*key, number<int64_t>()};
      case AttrType::Bits: return {*key, number<uint64_t>()};
      case AttrType::Text: return {*key, take(Tok::String, "a text")};
      case AttrType::Ints: break;
    }
    std::vector<int64_t> list;
    expect("[");
    list_until("]", [&] { list.push_back(number<int64_t>()); });
    return {*key, std::move(list)};
  }

  void op(BlockId b, unsigned depth) {
    Range begin = token_.range;
    std::vector<std::pair<std::string, Range>> names;
    if (token_.kind == Tok::Value) {
      do {
        Range at = token_.range;
        names.emplace_back(take(Tok::Value, "a value"), at);
      } while (accept(","));
      expect("=");
    }
    Range at = token_.range;
    std::string word = take(Tok::Word, "an operation");
    std::optional<OpKind> kind = op_by_mnemonic(word);
    if (!kind) fail_at(at, fmt::format("`{}` is not an operation", word));
    std::vector<ValueId> operands;
    // On the same line: the next line may start with a result.
    if (token_.kind == Tok::Value && !token_.line_start) {
      do operands.push_back(use());
      while (accept(","));
    }
    std::vector<Attr> attrs;
    if (accept("{")) list_until("}", [&] {
      Range where = token_.range;
      Attr a = attr();
      for (const Attr& other : attrs)
        if (other.key == a.key) fail_at(where, "an attribute is given twice");
      attrs.push_back(std::move(a));
    });
    std::vector<Type> types;
    std::vector<LayoutPtr> layouts;
    if (!names.empty()) {
      expect(":");
      do {
        types.push_back(type());
        layouts.push_back(layout_of_type());
      } while (accept(","));
    }
    if (types.size() != names.size()) fail_at(at, fmt::format("{} results, but {} types", names.size(), types.size()));
    Range range{begin.file, begin.begin, token_.range.begin};
    OpId id = k_.add_op(b, *kind, std::move(operands), types, std::move(attrs), range);
    // The nested blocks do not see the results.
    nested(id, depth);
    for (size_t i = 0; i < names.size(); ++i) {
      ValueId v = k_.op(id).results[i];
      k_.value(v).layout = layouts[i];
      define(v, names[i].first, names[i].second);
    }
  }

  void nested(OpId id, unsigned depth) {
    for (std::string_view keyword : block_keywords(k_.op(id).kind)) {
      if (!accept_word(keyword)) fail(fmt::format("expected `{}`", keyword));
      BlockId b = k_.add_block(id);
      if (accept("(")) list_until(")", [&] {
        Range at = token_.range;
        std::string name = take(Tok::Value, "a value");
        expect(":");
        Type t = type();
        ValueId v = k_.add_block_arg(b, t);
        k_.value(v).layout = layout_of_type();
        define(v, name, at);
      });
      expect("{");
      block_ops(b, depth + 1);
    }
  }

  Lexer lexer_;
  Token token_;
  Diagnostics& diags_;
  Kernel k_;
  std::map<std::string, ValueId> values_;
  std::map<std::string, LayoutPtr> layouts_;
};

}  // namespace

std::optional<Kernel> parse_ir(FileId file, const SourceManager& sources, Diagnostics& diags) {
  return Parser(file, sources.text(file), diags).run();
}

}  // namespace tile::ir
