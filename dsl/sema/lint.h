#pragma once
// Warnings that need the text only, not a specialisation.
#include "dsl/diag/diag.h"
#include "dsl/syntax/ast.h"

namespace tile::sema {

// W0201 variables never read (names that start with `_` are exempt), W0202 `var` never assigned, W0501 statements
// behind return, break or continue, W0502 statements whose value is dropped. Test blocks are not looked at.
void lint(const ast::File& file, Diagnostics& diags);

}  // namespace tile::sema
