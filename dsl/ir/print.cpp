// Tile IR to text; docs/tile_ir.md has the grammar, parse.cpp reads it back.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>

#include "dsl/ir/ir.h"
#include "dsl/ir/text.h"
#include "dsl/layout/linear_layout.h"

namespace tile::ir {

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    unsigned char u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += {'\\', c};
    else if (c == '\n') out += "\\n";
    else if (u < 0x20 || u == 0x7f) out += fmt::format("\\x{:02x}", u);
    else out += c;
  }
  return out + "\"";
}

std::vector<std::string_view> block_keywords(OpKind kind) {
  switch (kind) {
    case OpKind::For: return {"do"};
    case OpKind::While: return {"cond", "do"};
    case OpKind::If: return {"then", "else"};
    default: return {};
  }
}

namespace {

class Printer {
 public:
  Printer(const Kernel& k, const SourceManager* lines) : k_(k), lines_(lines), names_(k.num_values()) {}

  std::string run() {
    for (const Param& p : k_.params) names_[p.value.index] = "%" + p.name;
    number(k_.body);
    collect_layouts(k_.body);
    for (size_t i = 0; i < layouts_.size(); ++i) out_ += fmt::format("#L{} = {}\n", i, layouts_[i].str());
    header();
    block_ops(k_.body, 1);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  void name_value(ValueId v) {
    std::string hint;
    for (char c : k_.value(v).name)
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') hint += c;
    if (!hint.empty() && std::isdigit(static_cast<unsigned char>(hint[0]))) hint = "_" + hint;
    names_[v.index] = hint.empty() ? fmt::format("%{}", next_) : fmt::format("%{}.{}", hint, next_);
    ++next_;
  }

  void number(BlockId b) {
    for (ValueId v : k_.block(b).args) name_value(v);
    for (OpId o : k_.block(b).ops) {
      for (ValueId v : k_.op(o).results) name_value(v);
      for (BlockId n : k_.op(o).blocks) number(n);
    }
  }

  void collect_layout(ValueId v) {
    const auto& l = k_.value(v).layout;
    if (l && std::find(layouts_.begin(), layouts_.end(), *l) == layouts_.end()) layouts_.push_back(*l);
  }

  void collect_layouts(BlockId b) {
    for (ValueId v : k_.block(b).args) collect_layout(v);
    for (OpId o : k_.block(b).ops) {
      for (ValueId v : k_.op(o).results) collect_layout(v);
      for (BlockId n : k_.op(o).blocks) collect_layouts(n);
    }
  }

  static std::string strings(const std::vector<std::string>& list) {
    std::string s = "[";
    for (size_t i = 0; i < list.size(); ++i) s += (i ? ", " : "") + quoted(list[i]);
    return s + "]";
  }

  std::string param(const Param& p) const {
    std::vector<std::string> a;
    if (p.is_view) a.push_back("view");
    if (p.noalias) a.push_back("noalias");
    if (p.wide) a.push_back("wide");
    if (p.align != 0) a.push_back(fmt::format("align = {}", p.align));
    if (p.divisor != 1) a.push_back(fmt::format("divisor = {}", p.divisor));
    if (p.min) a.push_back(fmt::format("min = {}", *p.min));
    if (p.max) a.push_back(fmt::format("max = {}", *p.max));
    if (!p.extents.empty()) a.push_back("extents = " + strings(p.extents));
    if (!p.strides.empty()) a.push_back("strides = " + strings(p.strides));
    std::string s = fmt::format("%{}: {}", p.name, to_string(k_.type(p.value)));
    return a.empty() ? s : fmt::format("{} {{{}}}", s, fmt::join(a, ", "));
  }

  void header() {
    out_ += fmt::format("kernel @{}(", k_.name);
    for (size_t i = 0; i < k_.params.size(); ++i) out_ += (i ? ",\n    " : "") + param(k_.params[i]);
    out_ += fmt::format(")\n  target {} waves {}", name(k_.arch), k_.waves);
    if (k_.is_wave) out_ += " wave";
    if (k_.contract) out_ += " contract";
    if (k_.lds_bytes != 0) out_ += fmt::format(" lds {}", k_.lds_bytes);
    out_ += "\n";
    if (!k_.grid.empty()) out_ += "  grid " + strings(k_.grid) + "\n";
    if (!k_.requires_exprs.empty()) out_ += "  requires " + strings(k_.requires_exprs) + "\n";
    if (!k_.expects_exprs.empty()) out_ += "  expects " + strings(k_.expects_exprs) + "\n";
    if (!k_.constants.empty()) {
      std::vector<std::string> list;
      for (const auto& [n, v] : k_.constants) list.push_back(fmt::format("{} = {}", n, quoted(v)));
      out_ += fmt::format("  constants {{{}}}\n", fmt::join(list, ", "));
    }
    out_ += "{\n";
  }

  std::string value_name(ValueId v) const { return v.index < names_.size() && !names_[v.index].empty() ? names_[v.index] : "%?"; }
  std::string typed(ValueId v) const {
    std::string s = to_string(k_.type(v));
    const auto& l = k_.value(v).layout;
    if (l) s += fmt::format(" #L{}", std::find(layouts_.begin(), layouts_.end(), *l) - layouts_.begin());
    return s;
  }

  static std::string attr_value(const AttrValue& v) {
    struct Visitor {
      std::string operator()(int64_t x) const { return fmt::format("{}", x); }
      std::string operator()(const std::vector<int64_t>& x) const { return fmt::format("[{}]", fmt::join(x, ", ")); }
      std::string operator()(const std::string& x) const { return quoted(x); }
      std::string operator()(uint64_t x) const { return fmt::format("{:#x}", x); }
    };
    return std::visit(Visitor{}, v);
  }

  // What a constant's bits mean, where plain C++ can say it.
  std::string comment(const Op& o) const {
    if (o.kind != OpKind::Constant || o.results.empty()) return {};
    uint64_t bits = o.get_bits(AttrKey::Value);
    DType t = k_.type(o.results[0]).dtype;
    if (t == DType::F32) return fmt::format("  // {}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
    if (t == DType::F64) return fmt::format("  // {}", std::bit_cast<double>(bits));
    if (is_bool(t)) return bits != 0 ? "  // true" : "  // false";
    if (auto n = k_.constant_int(o.results[0]); n && (*n < 0 || *n > 9)) return fmt::format("  // {}", *n);
    return {};
  }

  void op(OpId id, unsigned depth) {
    const Op& o = k_.op(id);
    std::string indent(2 * depth, ' ');
    out_ += indent;
    for (size_t i = 0; i < o.results.size(); ++i) out_ += (i ? ", " : "") + value_name(o.results[i]);
    if (!o.results.empty()) out_ += " = ";
    out_ += mnemonic(o.kind);
    for (size_t i = 0; i < o.operands.size(); ++i) out_ += (i ? ", " : " ") + value_name(o.operands[i]);
    if (!o.attrs.empty()) {
      std::vector<Attr> attrs = o.attrs;
      std::sort(attrs.begin(), attrs.end(), [](const Attr& a, const Attr& b) { return a.key < b.key; });
      out_ += " {";
      for (size_t i = 0; i < attrs.size(); ++i)
        out_ += fmt::format("{}{} = {}", i ? ", " : "", info(attrs[i].key).name, attr_value(attrs[i].value));
      out_ += "}";
    }
    for (size_t i = 0; i < o.results.size(); ++i) out_ += (i ? ", " : " : ") + typed(o.results[i]);
    nested(o, depth, indent);
    out_ += comment(o);
    if (lines_ && o.range.file != 0) out_ += "  // " + lines_->where(o.range);
    out_ += "\n";
  }

  void nested(const Op& o, unsigned depth, const std::string& indent) {
    std::vector<std::string_view> keywords = block_keywords(o.kind);
    for (size_t i = 0; i < o.blocks.size(); ++i) {
      out_ += fmt::format(" {}", i < keywords.size() ? keywords[i] : "do");
      const Block& b = k_.block(o.blocks[i]);
      if (!b.args.empty()) {
        out_ += " (";
        for (size_t a = 0; a < b.args.size(); ++a)
          out_ += fmt::format("{}{}: {}", a ? ", " : "", value_name(b.args[a]), typed(b.args[a]));
        out_ += ")";
      }
      out_ += " {\n";
      block_ops(o.blocks[i], depth + 1);
      out_ += indent + "}";
    }
  }

  void block_ops(BlockId b, unsigned depth) {
    for (OpId o : k_.block(b).ops) op(o, depth);
  }

  const Kernel& k_;
  const SourceManager* lines_;
  std::vector<std::string> names_;
  std::vector<layout::LinearLayout> layouts_;
  std::string out_;
  unsigned next_ = 0;
};

}  // namespace

std::string print(const Kernel& k, const SourceManager* lines) { return Printer(k, lines).run(); }

}  // namespace tile::ir
