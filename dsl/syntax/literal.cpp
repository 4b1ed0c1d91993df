#include "dsl/syntax/literal.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace tile::syntax {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// `_` may stand between two digits only.
bool separators_ok(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '_' && (i == 0 || i + 1 == text.size() || !is_hex(text[i - 1]) || !is_hex(text[i + 1])))
      return false;
  return true;
}

NumberLiteral failed(std::string message, std::string hint = {}) {
  NumberLiteral n;
  n.error = std::move(message), n.hint = std::move(hint);
  return n;
}

NumberLiteral read_int(std::string_view digits, int base, uint64_t scale) {
  NumberLiteral n;
  auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), n.int_value, base);
  if (ec == std::errc::result_out_of_range || (scale > 1 && n.int_value > UINT64_MAX / scale))
    return failed("number is too large for 64 bits");
  n.int_value *= scale;
  return n;
}

NumberLiteral read_float(std::string_view digits, bool hex) {
  NumberLiteral n;
  n.is_float = true;
  std::string_view body = hex ? digits.substr(2) : digits;
  auto format = hex ? std::chars_format::hex : std::chars_format::general;
  auto [end, ec] = std::from_chars(body.data(), body.data() + body.size(), n.float_value, format);
  if (ec == std::errc::result_out_of_range) {
    // from_chars does not say whether the value is too large or too small.
    n.float_value = std::strtod(std::string(digits).c_str(), nullptr);
    if (std::isinf(n.float_value)) return failed("number is too large for f64", "infinity is written `inf`");
  } else if (ec != std::errc() || end != body.data() + body.size()) {
    return failed("malformed number");
  }
  return n;
}

std::string suffix_hint(std::string_view suffix) {
  if (suffix == "f" || suffix == "u" || suffix == "l" || suffix == "L" || suffix == "U" || suffix == "h")
    return "numbers have no type suffix; they take the type of the other operand, or write `as f32`";
  if (suffix == "K" || suffix == "k" || suffix == "KB" || suffix == "kB") return "1024 is written `1KiB`";
  if (suffix == "M" || suffix == "MB") return "1024 * 1024 is written `1MiB`";
  if (suffix == "e" || suffix == "E") return "an exponent needs digits: `1e3`";
  return "";
}

NumberLiteral read_decimal(std::string_view text) {
  size_t i = 0;
  bool is_float = false;
  while (i < text.size() && (is_digit(text[i]) || text[i] == '_')) ++i;
  if (i < text.size() && text[i] == '.') {
    is_float = true, ++i;
    while (i < text.size() && (is_digit(text[i]) || text[i] == '_')) ++i;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    size_t j = i + 1;
    if (j < text.size() && (text[j] == '+' || text[j] == '-')) ++j;
    if (j < text.size() && is_digit(text[j])) {
      is_float = true, i = j;
      while (i < text.size() && (is_digit(text[i]) || text[i] == '_')) ++i;
    }
  }
  std::string_view number = text.substr(0, i), suffix = text.substr(i);
  uint64_t scale = suffix == "KiB"   ? uint64_t{1} << 10
                   : suffix == "MiB" ? uint64_t{1} << 20
                   : suffix == "GiB" ? uint64_t{1} << 30
                                     : 1;
  if (scale == 1 && !suffix.empty())
    return failed(fmt::format("unknown suffix `{}` of a number", suffix), suffix_hint(suffix));
  if (scale != 1 && is_float) return failed(fmt::format("suffix `{}` on a number that is not an integer", suffix));
  if (!separators_ok(number)) return failed("`_` in a number must stand between two digits");
  std::string digits(number);
  std::erase(digits, '_');
  return is_float ? read_float(digits, false) : read_int(digits, 10, scale);
}

}  // namespace

NumberLiteral read_number(std::string_view text) {
  bool prefixed = text.size() >= 2 && text[0] == '0';
  bool hex = prefixed && (text[1] == 'x' || text[1] == 'X'), binary = prefixed && (text[1] == 'b' || text[1] == 'B');
  if (!hex && !binary) return read_decimal(text);
  std::string_view body = text.substr(2);
  if (body.empty()) return failed(fmt::format("digits are missing behind `{}`", text));
  if (!separators_ok(body)) return failed("`_` in a number must stand between two digits");
  std::string digits(text);
  std::erase(digits, '_');
  if (binary) {
    bool ok = std::all_of(body.begin(), body.end(), [](char c) { return c == '0' || c == '1' || c == '_'; });
    return ok ? read_int(std::string_view(digits).substr(2), 2, 1)
              : failed("a binary number has the digits 0 and 1 only");
  }
  size_t other = 0;
  while (other < body.size() && (is_hex(body[other]) || body[other] == '_')) ++other;
  if (other == body.size()) return read_int(std::string_view(digits).substr(2), 16, 1);
  if (body.find_first_of("pP") == std::string_view::npos) {
    if (body[other] == '.') return failed("a hexadecimal float needs an exponent", "write `0x1.8p+0`");
    return failed(fmt::format("`{}` is no hexadecimal digit", body[other]));
  }
  return read_float(digits, true);
}

StringLiteral read_string(std::string_view body) {
  StringLiteral s;
  auto hex = [](char c) { return is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10; };
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\' || i + 1 == body.size()) {
      s.value += body[i];
      continue;
    }
    size_t at = i++;
    switch (body[i]) {
      case 'n':
        s.value += '\n';
        break;
      case 't':
        s.value += '\t';
        break;
      case 'r':
        s.value += '\r';
        break;
      case '0':
        s.value += '\0';
        break;
      case '\\':
      case '"':
      case '\'':
        s.value += body[i];
        break;
      case 'x':
        if (i + 2 < body.size() && is_hex(body[i + 1]) && is_hex(body[i + 2])) {
          s.value += static_cast<char>(hex(body[i + 1]) * 16 + hex(body[i + 2]));
          i += 2;
          break;
        }
        [[fallthrough]];
      default:
        if (s.bad_escape == std::string_view::npos) s.bad_escape = at;
    }
  }
  return s;
}

}  // namespace tile::syntax
