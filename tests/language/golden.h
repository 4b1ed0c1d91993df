#pragma once
// Golden tests of the language: a .tile file holds the messages that checking it gives, as comments below the lines
// that they are about, and optionally the tile IR of its kernels.
//
//   let y = a + b;
//   // error[T0311]@a + b: shapes [4] and [8] do not broadcast
//   //   note@a: this has shape [4]
//   //   hint: ...
//
// Behind `]@` stands the source text under the caret. Messages about no line of the file stand at its end. A line
// `// define: N=4 M=8` gives constants, `// target: gfx950` the target. A line `// IR:` at the end of the file asks for
// the tile IR of each kernel; it follows as comments.
#include <string>
#include <vector>

#include "dsl/diag/diag.h"

namespace tile::golden {

struct Outcome {
  std::string text;             // the file as it should be
  std::vector<DiagKind> kinds;  // of the messages, in order
  bool has_errors = false;
  std::vector<std::string> defects;  // violations of IR rules: these are never expected
};

// Checks the file's text and returns it with the messages and IR that were found. `path` is the base of imports.
Outcome check(const std::string& path, const std::string& text);

// snake_case of the kind's name: DotShapeMismatch is dot_shape_mismatch.
std::string snake_case(std::string_view name);

}  // namespace tile::golden
