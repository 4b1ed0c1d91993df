// The text form of layouts.
#include <fmt/format.h>

#include <bit>
#include <cctype>

#include "dsl/layout/linear_layout.h"

namespace tile::layout {

namespace {

// Output dimensions in the order of text: axes ascending, then the others.
std::vector<Dim> text_order(const Space& space) {
  std::vector<Dim> out;
  for (unsigned axis = 0; axis < max_rank; axis++)
    if (space.has(tile_dim(axis))) out.push_back(tile_dim(axis));
  for (Dim d : space.dims())
    if (!is_tile_dim(d)) out.push_back(d);
  return out;
}

struct NamedBases {
  Dim dim;
  std::vector<std::vector<uint64_t>> bases;
};

// The output space that bases alone imply: dim0, dim1, ... with just enough bits.
std::optional<Space> implied_out(const std::vector<NamedBases>& ins) {
  std::optional<size_t> rank;
  std::vector<uint64_t> largest;
  for (const NamedBases& in : ins)
    for (const std::vector<uint64_t>& basis : in.bases) {
      if (!rank) rank = basis.size(), largest.assign(basis.size(), 0);
      if (basis.size() != *rank) return std::nullopt;
      for (size_t i = 0; i < basis.size(); i++) largest[i] |= basis[i];
    }
  if (!rank || *rank > max_rank) return std::nullopt;
  Space out;
  for (unsigned i = 0; i < *rank; i++) out.set(tile_dim(i), static_cast<unsigned>(std::bit_width(largest[i])));
  return out;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<LinearLayout> run() {
    if (!accept("#layout<")) return fail("expected '#layout<'");
    std::vector<NamedBases> ins;
    while (!peek("->") && !peek(">")) {
      if (!ins.empty() && !accept(",")) return fail("expected ',' or '>'");
      std::optional<NamedBases> in = parse_in();
      if (!in) return fail(error_);
      for (const NamedBases& other : ins)
        if (other.dim == in->dim) return fail(fmt::format("dimension '{}' is given twice", name(in->dim)));
      ins.push_back(std::move(*in));
    }
    std::optional<Space> out = accept("->") ? parse_out() : implied_out(ins);
    if (!out) return fail(error_.empty() ? "bases differ in their number of coordinates, or there are none" : error_);
    if (!accept(">")) return fail("expected '>'");
    skip();
    if (pos_ != text_.size()) return fail("unexpected text after the layout");
    return build(ins, *out);
  }

 private:
  std::optional<NamedBases> parse_in() {
    std::optional<Dim> dim = parse_dim(word());
    if (!dim) return error("expected a dimension: reg, lane, wave, offset or dim0 to dim5"), std::nullopt;
    if (!accept("=") || !accept("[")) return error("expected '=['"), std::nullopt;
    NamedBases in{*dim, {}};
    while (!accept("]")) {
      if (!in.bases.empty() && !accept(",")) return error("expected ',' or ']'"), std::nullopt;
      std::optional<std::vector<uint64_t>> basis = parse_basis();
      if (!basis) return std::nullopt;
      in.bases.push_back(std::move(*basis));
      if (in.bases.size() > 30) return error("too many bases for one dimension"), std::nullopt;
    }
    return in;
  }

  std::optional<std::vector<uint64_t>> parse_basis() {
    std::vector<uint64_t> out;
    bool tuple = accept("(");
    while (!(tuple && accept(")"))) {
      if (!out.empty() && !accept(",")) return error("expected ',' or ')'"), std::nullopt;
      std::optional<uint64_t> n = number();
      if (!n) return std::nullopt;
      out.push_back(*n);
      if (!tuple) break;
    }
    return out;
  }

  std::optional<Space> parse_out() {
    Space out;
    if (!accept("[")) return error("expected '['"), std::nullopt;
    for (bool first = true; !accept("]"); first = false) {
      if (!first && !accept(",")) return error("expected ',' or ']'"), std::nullopt;
      std::optional<Dim> dim = parse_dim(word());
      if (!dim || out.has(*dim)) return error("expected another dimension"), std::nullopt;
      if (!accept(":")) return error("expected ':' and a size"), std::nullopt;
      std::optional<uint64_t> n = number();
      if (!n || !std::has_single_bit(*n)) return error("a size is a power of two"), std::nullopt;
      out.set(*dim, static_cast<unsigned>(std::countr_zero(*n)));
    }
    return out;
  }

  Result<LinearLayout> build(const std::vector<NamedBases>& ins, const Space& out) {
    Space in;
    for (const NamedBases& i : ins) in.set(i.dim, static_cast<unsigned>(i.bases.size()));
    if (in.total_bits() > 60 || out.total_bits() > 60) return fail("the layout has more than 60 bits");
    std::vector<Dim> order = text_order(out);
    std::vector<Vec> bases;
    for (Dim d : in.dims())
      for (const NamedBases& i : ins) {
        if (i.dim != d) continue;
        for (const std::vector<uint64_t>& basis : i.bases) {
          if (basis.size() != order.size())
            return fail(fmt::format("a basis of '{}' needs {} numbers", name(d), order.size()));
          Vec v = 0;
          for (size_t k = 0; k < order.size(); k++) {
            if (basis[k] >> out.bits(order[k]) != 0)
              return fail(fmt::format("{} is outside of {}", basis[k], name(order[k])));
            v |= out.put(basis[k], order[k]);
          }
          bases.push_back(v);
        }
      }
    return LinearLayout(in, out, std::move(bases));
  }

  void skip() {
    while (pos_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[pos_]))) pos_++;
  }
  bool peek(std::string_view s) {
    skip();
    return text_.substr(pos_).starts_with(s);
  }
  bool accept(std::string_view s) {
    if (!peek(s)) return false;
    pos_ += s.size();
    return true;
  }
  std::string_view word() {
    skip();
    size_t begin = pos_;
    while (pos_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[pos_]))) pos_++;
    return text_.substr(begin, pos_ - begin);
  }
  std::optional<uint64_t> number() {
    std::string_view digits = word();
    uint64_t n = 0;
    for (char c : digits) {
      if (c < '0' || c > '9' || n > (uint64_t{1} << 32)) return error("expected a number below 2^32"), std::nullopt;
      n = n * 10 + static_cast<uint64_t>(c - '0');
    }
    if (digits.empty() || n > (uint64_t{1} << 32)) return error("expected a number below 2^32"), std::nullopt;
    return n;
  }
  void error(std::string message) {
    if (error_.empty()) error_ = std::move(message);
  }
  Error fail(std::string message) const {
    return Error{fmt::format("{} at character {} of the layout", message, pos_ + 1)};
  }

  std::string_view text_;
  size_t pos_ = 0;
  std::string error_;
};

}  // namespace

std::string LinearLayout::str() const {
  std::vector<Dim> order = text_order(out_);
  std::string text = "#layout<";
  std::vector<NamedBases> ins;
  for (Dim d : text_order(in_)) {
    if (!ins.empty()) text += ", ";
    text += fmt::format("{}=[", name(d));
    ins.push_back({d, {}});
    for (Vec v : bases(d)) {
      std::vector<uint64_t> basis;
      for (Dim o : order) basis.push_back(out_.get(v, o));
      text += ins.back().bases.empty() ? "(" : ",(";
      for (size_t k = 0; k < basis.size(); k++) text += fmt::format("{}{}", k ? "," : "", basis[k]);
      text += ")";
      ins.back().bases.push_back(std::move(basis));
    }
    text += "]";
  }
  std::optional<Space> implied = implied_out(ins);
  if (!implied || *implied != out_) {
    text += " -> [";
    for (size_t k = 0; k < order.size(); k++)
      text += fmt::format("{}{}:{}", k ? ", " : "", name(order[k]), uint64_t{1} << out_.bits(order[k]));
    text += "]";
  }
  return text + ">";
}

Result<LinearLayout> LinearLayout::parse(std::string_view text) { return Parser(text).run(); }

}  // namespace tile::layout
