#pragma once
// A .tile file in use: its kernels specialised on demand, up to where the interpreter executes them.
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "dsl/ir/ir.h"
#include "dsl/sema/sema.h"
#include "runtime/manifest.h"

namespace tile {

// A kernel for given constants and one target: tile IR right after fix_values, and what a launcher has to know.
struct SpecializedKernel {
  ir::Kernel kernel;
  KernelManifest manifest;
};

class Session {
 public:
  // Reads the file and what it imports. Problems stand in diagnostics().
  explicit Session(const std::string& path);

  const Program& program() const { return *program_; }
  const SourceManager& sources() const { return *sources_; }
  Diagnostics& diagnostics() { return diags_; }
  bool ok() const { return !diags_.has_errors(); }
  const std::string& path() const { return path_; }

  // The same options give the same object, specialised once. Null on an error, which is then in diagnostics().
  std::shared_ptr<const SpecializedKernel> specialize(const SpecializeOptions& options);
  // As specialize(), with the diagnostics of this call only going to `diags`.
  std::shared_ptr<const SpecializedKernel> specialize(const SpecializeOptions& options, Diagnostics& diags);

 private:
  std::string path_;
  std::unique_ptr<SourceManager> sources_;
  Diagnostics diags_;
  std::optional<Program> program_;
  std::map<std::string, std::shared_ptr<const SpecializedKernel>> cache_;
};

}  // namespace tile
