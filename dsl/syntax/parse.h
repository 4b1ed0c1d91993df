#pragma once
// Text to syntax tree.
#include <optional>

#include "dsl/syntax/ast.h"

namespace tile {

// Parses one file of `sources`. Errors go to `diags`; after an error the parser goes on behind the statement or
// declaration, so that several mistakes give several messages. The tree is returned also then, without the parts that
// could not be read; use it only if diags has no errors. Never throws; any bytes are accepted as input.
ast::File parse(FileId file, const SourceManager& sources, Diagnostics& diags);

}  // namespace tile
