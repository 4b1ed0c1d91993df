#pragma once
// What the printer and the parser of tile IR share.
#include <string>
#include <string_view>
#include <vector>

#include "dsl/ops/ops.h"

namespace tile::ir {

// The words before the nested blocks of an operation: `do`; `cond`, `do`; `then`, `else`.
std::vector<std::string_view> block_keywords(OpKind kind);
// A text in double quotes; \" \\ \n and \xNN for what needs it.
std::string quoted(const std::string& s);

}  // namespace tile::ir
