#pragma once
// What a Program holds, for the evaluator.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dsl/sema/sema.h"

namespace tile {

struct LoadedFile {
  std::string path;
  ast::File ast;
  std::vector<size_t> imports;  // positions in Program::Impl::files
};

struct Program::Impl {
  SourceManager* sources = nullptr;
  std::vector<std::unique_ptr<LoadedFile>> files;  // files[0] is the root
  // Parts of the prelude that were needed, by position in the prelude; parsed on first use. A Program must therefore
  // not be specialised by two threads at once.
  mutable std::map<size_t, std::unique_ptr<LoadedFile>> prelude;
};

}  // namespace tile
