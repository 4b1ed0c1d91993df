#include "dsl/syntax/hints.h"

#include <fmt/format.h>

namespace tile::syntax {

namespace {

std::string_view spelled(const Problem& p, const Token& t) { return p.text.substr(t.begin, t.end - t.begin); }

std::string found(const Problem& p, const Token& t) {
  if (t.kind == TokenKind::End) return "the end of the file";
  if (t.kind == TokenKind::String) return "a string";
  std::string_view s = spelled(p, t).substr(0, 40);
  return fmt::format("{}`{}`", t.kind == TokenKind::Keyword ? "keyword " : "", s);
}

}  // namespace

std::string_view type_meant(std::string_view name) {
  static constexpr struct {
    std::string_view foreign, ours;
  } names[] = {
      {"float", "f32"},    {"double", "f64"},   {"half", "f16"},           {"int", "i32"},
      {"unsigned", "u32"}, {"uint", "u32"},     {"long", "i64"},           {"short", "i16"},
      {"char", "i8"},      {"size_t", "u64"},   {"int8_t", "i8"},          {"int16_t", "i16"},
      {"int32_t", "i32"},  {"int64_t", "i64"},  {"uint8_t", "u8"},         {"uint16_t", "u16"},
      {"uint32_t", "u32"}, {"uint64_t", "u64"}, {"fp16", "f16"},           {"fp32", "f32"},
      {"fp64", "f64"},     {"__half", "f16"},   {"float8_e4m3", "f8e4m3"}, {"float8_e5m2", "f8e5m2"},
#define TILE_DTYPE(Kind, name, bits, cls, exp, man, bias, inf, nan, triton) {triton, name},
#include "dsl/types/dtype.def"
  };
  for (const auto& n : names)
    if (!name.empty() && n.foreign == name) return n.ours;
  return "";
}

void explain(Problem& p) {
  const Token& t = *p.fail;
  p.place.begin = t.begin, p.place.end = t.end;
  p.message = fmt::format("expected {}, found {}", p.expected, found(p, t));
  if (p.wants_semicolon && p.fail > p.begin && (t.first_on_line || t.is("}") || t.kind == TokenKind::End)) {
    p.place.begin = p.place.end = p.fail[-1].end;
    p.message = fmt::format("expected `;` at the end of the statement, found {}", found(p, t));
  }
}

}  // namespace tile::syntax
