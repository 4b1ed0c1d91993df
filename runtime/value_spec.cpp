#include "runtime/value_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "dsl/num/kernels.h"

namespace tile {
namespace {

struct GeneratorRow {
  std::string_view name;
  ValueKind kind;
  std::vector<std::string_view> options;
};

const std::vector<GeneratorRow>& generators() {
  static const std::vector<GeneratorRow> rows = {
      {"zeros", ValueKind::Zeros, {}},
      {"full", ValueKind::Full, {"value"}},
      {"arange", ValueKind::Arange, {"start", "step"}},
      {"randn", ValueKind::Randn, {"seed", "mean", "std"}},
      {"uniform", ValueKind::Uniform, {"seed", "low", "high"}},
      {"randint", ValueKind::Randint, {"seed", "low", "high"}},
  };
  return rows;
}

std::optional<double> parse_double(std::string_view text) {
  std::string s(text);
  if (s.empty() || std::isspace(static_cast<unsigned char>(s[0]))) return std::nullopt;
  char* end = nullptr;
  double v = std::strtod(s.c_str(), &end);
  if (*end) return std::nullopt;
  return v;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i)
    if (i == text.size() || text[i] == at) parts.push_back(text.substr(begin, i - begin)), begin = i + 1;
  return parts;
}

// `f32[10,20]`
std::optional<Error> parse_type(std::string_view text, ValueSpec& spec) {
  size_t bracket = text.find('[');
  std::string_view type = text.substr(0, bracket);
  spec.dtype = parse_dtype(type);
  if (!spec.dtype) return Error{fmt::format("'{}' is no element type", type), "write for example randn:f16[512,512]"};
  if (bracket == std::string_view::npos) return std::nullopt;
  if (text.back() != ']') return Error{fmt::format("the shape in '{}' has no closing bracket", text)};
  std::vector<int64_t> shape;
  std::string_view dims = text.substr(bracket + 1, text.size() - bracket - 2);
  if (!dims.empty())
    for (std::string_view d : split(dims, ',')) {
      while (!d.empty() && d.front() == ' ') d.remove_prefix(1);
      int64_t extent = 0;
      auto [end, error] = std::from_chars(d.data(), d.data() + d.size(), extent);
      if (error != std::errc() || end != d.data() + d.size() || extent < 0)
        return Error{fmt::format("'{}' is no extent", d)};
      shape.push_back(extent);
    }
  spec.shape = std::move(shape);
  return std::nullopt;
}

std::optional<Error> parse_option(std::string_view part, const GeneratorRow& row, ValueSpec& spec) {
  size_t eq = part.find('=');
  std::string_view key = part.substr(0, eq);
  bool known = false;
  for (std::string_view o : row.options) known |= o == key;
  if (eq == std::string_view::npos || !known)
    return Error{fmt::format("'{}' is no option of {}", part, row.name),
                 fmt::format("{}", row.options.empty() ? "it has none" : fmt::format("options: {}", fmt::join(row.options, ", ")))};
  std::string_view value = part.substr(eq + 1);
  if (key == "seed") {
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), spec.seed);
    if (error != std::errc() || end != value.data() + value.size())
      return Error{fmt::format("the seed '{}' is no unsigned 64-bit integer", value)};
    return std::nullopt;
  }
  std::optional<double> number = parse_double(value);
  if (!number) return Error{fmt::format("'{}' is no number", value)};
  spec.options[std::string(key)] = *number;
  return std::nullopt;
}

}  // namespace

Result<ValueSpec> parse_value(std::string_view text) {
  ValueSpec spec;
  spec.text = text;
  std::vector<std::string_view> parts = split(text, ':');
  for (const GeneratorRow& row : generators()) {
    if (parts[0] != row.name) continue;
    spec.kind = row.kind;
    for (size_t i = 1; i < parts.size(); ++i) {
      bool is_type = i == 1 && parts[i].find('=') == std::string_view::npos;
      if (auto e = is_type ? parse_type(parts[i], spec) : parse_option(parts[i], row, spec)) return *e;
    }
    return spec;
  }
  if (parse_double(text) || text == "true" || text == "false") return spec;
  size_t dot = text.rfind(".npy");
  if (dot != std::string_view::npos) {
    spec.kind = ValueKind::File;
    spec.text = text.substr(0, dot + 4);
    std::string_view rest = text.substr(dot + 4);
    if (rest.empty()) return spec;
    if (rest[0] == ':') {
      spec.dtype = parse_dtype(rest.substr(1));
      if (spec.dtype) return spec;
      return Error{fmt::format("'{}' is no element type", rest.substr(1))};
    }
  }
  return Error{fmt::format("'{}' is neither a number, an .npy file nor a generator", text),
               "generators: zeros, full, arange, randn, uniform, randint, as in randn:f16[512,512]:seed=3"};
}

Result<uint64_t> parse_scalar(std::string_view text, DType dtype) {
  auto fail = [&] { return Error{fmt::format("'{}' is no value of type {}", text, name(dtype))}; };
  if (is_bool(dtype)) {
    if (text == "true" || text == "1") return uint64_t{1};
    if (text == "false" || text == "0") return uint64_t{0};
    return fail();
  }
  if (is_int(dtype)) {
    bool negative = !text.empty() && text[0] == '-';
    std::string_view digits = text.substr(negative);
    int base = 10;
    if (digits.substr(0, 2) == "0x") base = 16, digits.remove_prefix(2);
    uint64_t magnitude = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
    if (error != std::errc() || end != digits.data() + digits.size()) return fail();
    unsigned bits = bit_width(dtype);
    uint64_t limit = is_signed(dtype) ? (uint64_t{1} << (bits - 1)) - (negative ? 0 : 1)
                                      : (negative ? 0 : ~uint64_t{0} >> (64 - bits));
    if (magnitude > limit) return Error{fmt::format("{} does not fit {}", text, name(dtype))};
    uint64_t value = negative ? -magnitude : magnitude;
    return value << (64 - bits) >> (64 - bits);
  }
  std::optional<double> d = parse_double(text);
  if (!d) return fail();
  uint64_t bits = 0;
  num::convert(DType::F64, dtype, {}, &*d, &bits, 1);
  return bits;
}

}  // namespace tile
