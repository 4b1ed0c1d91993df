#pragma once
// From syntax trees to tile IR: names, types, shapes, and specialisation for constants and a target.
//
// A Program is a root file with everything it imports. specialize() evaluates one kernel of it: constants are folded,
// functions are inlined, what depends on run-time values becomes tile IR. docs/language.md has the rules.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/diag/diag.h"
#include "dsl/ir/ir.h"
#include "dsl/syntax/ast.h"

namespace tile {

// A `const` parameter of a kernel, for listings.
struct ConstParam {
  std::string name;
  std::string type;          // as written; "type" for `const T: type`
  std::string default_text;  // as written; empty if there is none
};

class Program {
 public:
  // Reads `path` and the files it imports (paths are relative to the importing file). Errors of reading, parsing and
  // importing go to `diags`; the program is usable only if there are none. `sources` must outlive the program.
  static Program load(const std::string& path, SourceManager& sources, Diagnostics& diags);
  // The same for text at hand; `path` names it in messages and is the base of relative imports.
  static Program from_text(std::string path, std::string text, SourceManager& sources, Diagnostics& diags);

  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  const ast::File& root() const;
  const SourceManager& sources() const;
  // Kernels and tests of the root file, in source order.
  std::vector<std::string> kernels() const;
  std::vector<std::string> tests() const;
  // Null if the root file has no kernel of that name. An empty name is the only kernel, if there is one only.
  const ast::Kernel* find_kernel(const std::string& name) const;
  std::vector<ConstParam> const_params(const ast::Kernel& kernel) const;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  Program();
  std::unique_ptr<Impl> impl_;
};

struct SpecializeOptions {
  std::string kernel;  // empty: the only kernel of the file
  // Values of `const` parameters as text, from -D NAME=VALUE: an integer, a float, true, false, or a type's name.
  std::vector<std::pair<std::string, std::string>> constants;
  Arch arch = Arch::Gfx942;
  std::optional<unsigned> waves;  // overrides the `waves` clause
};

// Tile IR of one kernel, valid for ir::Stage::Sema. Null if an error was found; warnings may be emitted also on
// success. Never throws and never aborts, whatever the program.
std::optional<ir::Kernel> specialize(const Program& program, const SpecializeOptions& options, Diagnostics& diags);

}  // namespace tile
