#pragma once
// How `print` shows values; all executors use it.
#include <string>
#include <string_view>
#include <vector>

#include "dsl/ir/type.h"

namespace tile::interp {

// One element of a tile buffer: integers in decimal, true and false, floats by the shortest decimal digits that read
// back as the same f64 or f32 value, pointers in hexadecimal.
std::string format_element(const ir::Type& type, const void* element);
// A scalar as its element; a tile as nested lists `[[1, 2], [3, 4]]`. Of each axis longer than 16 the first and the last 3
// are shown when the tile has more than 1024 elements.
std::string format_value(const ir::Type& type, const void* data);
// `text` with each {} replaced by the next value; values that are left over follow, separated by blanks. `{{` and `}}`
// stand for braces.
std::string format_print(std::string_view text, const std::vector<ir::Type>& types, const std::vector<const void*>& values);

}  // namespace tile::interp
