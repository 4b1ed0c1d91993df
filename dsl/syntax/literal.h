#pragma once
// Values of number and string literals.
#include <cstdint>
#include <string>
#include <string_view>

namespace tile::syntax {

struct NumberLiteral {
  bool is_float = false;
  uint64_t int_value = 0;
  double float_value = 0;
  std::string error, hint;  // error is empty if the number is well-formed
};

// `text` as the lexer cut it: a digit or `.` first, then digits, `_`, letters, `.`, and signs behind an exponent
// letter. Integers are below 2^64 (with a suffix KiB, MiB or GiB multiplied in); floats are rounded to nearest even.
NumberLiteral read_number(std::string_view text);

struct StringLiteral {
  std::string value;
  size_t bad_escape = std::string_view::npos;  // offset in `body` of the first escape that does not exist
};

// `body` is the text between the quotes. Escapes: \n \t \r \0 \\ \" \' \xNN.
StringLiteral read_string(std::string_view body);

}  // namespace tile::syntax
