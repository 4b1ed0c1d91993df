#include "runtime/session.h"

#include <fmt/format.h>

#include "dsl/passes/passes.h"
#include "runtime/manifest_of.h"

namespace tile {

Session::Session(const std::string& path)
    : path_(path), sources_(std::make_unique<SourceManager>()), program_(Program::load(path, *sources_, diags_)) {}

std::shared_ptr<const SpecializedKernel> Session::specialize(const SpecializeOptions& options) {
  return specialize(options, diags_);
}

std::shared_ptr<const SpecializedKernel> Session::specialize(const SpecializeOptions& options, Diagnostics& diags) {
  std::string key = fmt::format("{}|{}|{}", options.kernel, name(options.arch), options.waves.value_or(0));
  for (const auto& [constant, value] : options.constants) key += fmt::format("|{}={}", constant, value);
  if (auto it = cache_.find(key); it != cache_.end()) return it->second;
  std::optional<ir::Kernel> kernel = tile::specialize(*program_, options, diags);
  if (!kernel) return nullptr;
  passes::PassOptions pass_options;
  pass_options.last = "fix_values";
  pass_options.diags = &diags;
  if (Status s = passes::run_passes(*kernel, pass_options); !s) {
    diags.emit(DiagKind::InternalError, kernel->range, s.error().message, s.error().hint);
    return nullptr;
  }
  auto done = std::make_shared<SpecializedKernel>(SpecializedKernel{std::move(*kernel), {}});
  done->manifest = manifest_of(done->kernel, *sources_);
  return cache_[key] = done;
}

}  // namespace tile
