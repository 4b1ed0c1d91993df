// Files and their imports.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "dsl/sema/evaluator.h"
#include "dsl/sema/lint.h"
#include "dsl/sema/program_impl.h"
#include "dsl/syntax/parse.h"

namespace tile {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_file(const std::string& path) {
  std::error_code code;
  if (!fs::is_regular_file(path, code)) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

std::string identity(const std::string& path) {
  std::error_code code;
  fs::path p = fs::weakly_canonical(path, code);
  return code ? path : p.string();
}

class Loader {
 public:
  Loader(Program::Impl& impl, Diagnostics& diags) : impl_(impl), diags_(diags) {}

  size_t add(const std::string& path, std::string text) {
    size_t index = impl_.files.size();
    impl_.files.push_back(std::make_unique<LoadedFile>());
    LoadedFile& file = *impl_.files.back();
    file.path = path;
    std::string id = identity(path);
    known_[id] = index;
    stack_.push_back(index);
    FileId f = impl_.sources->add(path, std::move(text));
    file.ast = parse(f, *impl_.sources, diags_);
    for (const ast::Import& i : file.ast.imports) import(index, i);
    stack_.pop_back();
    return index;
  }

 private:
  void import(size_t importer, const ast::Import& i) {
    std::string path = (fs::path(impl_.files[importer]->path).parent_path() / i.path).string();
    auto it = known_.find(identity(path));
    if (it == known_.end()) {
      std::optional<std::string> text = read_file(path);
      if (!text) {
        diags_.emit(DiagKind::ImportNotFound, i.range, fmt::format("cannot read '{}'", path),
                    "paths are relative to the importing file");
        return;
      }
      size_t index = add(path, std::move(*text));
      impl_.files[importer]->imports.push_back(index);
      return;
    }
    auto open = std::find(stack_.begin(), stack_.end(), it->second);
    if (open != stack_.end()) {
      std::string cycle;
      for (auto s = open; s != stack_.end(); ++s) cycle += fs::path(impl_.files[*s]->path).filename().string() + " -> ";
      diags_.emit(DiagKind::ImportCycle, i.range,
                  fmt::format("files import each other: {}{}", cycle, fs::path(path).filename().string()));
      return;
    }
    std::vector<size_t>& list = impl_.files[importer]->imports;
    if (std::find(list.begin(), list.end(), it->second) == list.end()) list.push_back(it->second);
  }

  Program::Impl& impl_;
  Diagnostics& diags_;
  std::map<std::string, size_t> known_;
  std::vector<size_t> stack_;
};

using Names = std::map<std::string, Range>;

void declare(Names& names, const ast::Name& name, Diagnostics& diags) {
  auto [it, fresh] = names.try_emplace(name.text, name.range);
  if (!fresh && !(it->second == name.range)) {
    diags
        .emit(DiagKind::Redefinition, name.range, fmt::format("'{}' is defined already", name.text),
              "choose another name")
        .notes.push_back({it->second, "the first definition is here"});
  } else if (sema::is_builtin_name(name.text)) {
    diags.emit(DiagKind::Redefinition, name.range, fmt::format("'{}' is a name of the language", name.text),
               "choose another name");
  }
}

void check_names(const Program::Impl& impl, Diagnostics& diags) {
  auto declare_all = [&](Names& names, const ast::File& f) {
    for (const ast::ConstDecl& c : f.consts) declare(names, c.name, diags);
    for (const ast::Function& fn : f.functions) declare(names, fn.name, diags);
  };
  for (const std::unique_ptr<LoadedFile>& file : impl.files) {
    Names names;
    for (size_t i : file->imports) declare_all(names, impl.files[i]->ast);
    declare_all(names, file->ast);
    for (const ast::Kernel& k : file->ast.kernels) declare(names, k.name, diags);
  }
}

}  // namespace

Program::Program() : impl_(std::make_unique<Impl>()) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Program Program::from_text(std::string path, std::string text, SourceManager& sources, Diagnostics& diags) {
  Program p;
  p.impl_->sources = &sources;
  Loader(*p.impl_, diags).add(path, std::move(text));
  if (!diags.has_errors()) {
    check_names(*p.impl_, diags);
    for (const std::unique_ptr<LoadedFile>& file : p.impl_->files) sema::lint(file->ast, diags);
  }
  return p;
}

Program Program::load(const std::string& path, SourceManager& sources, Diagnostics& diags) {
  std::optional<std::string> text = read_file(path);
  if (!text) {
    diags.emit(DiagKind::ImportNotFound, {}, fmt::format("cannot read '{}'", path));
    Program p;
    p.impl_->sources = &sources;
    p.impl_->files.push_back(std::make_unique<LoadedFile>());
    return p;
  }
  return from_text(path, std::move(*text), sources, diags);
}

const ast::File& Program::root() const { return impl_->files[0]->ast; }
const SourceManager& Program::sources() const { return *impl_->sources; }

std::vector<std::string> Program::kernels() const {
  std::vector<std::string> names;
  for (const ast::Kernel& k : root().kernels) names.push_back(k.name.text);
  return names;
}

std::vector<std::string> Program::tests() const {
  std::vector<std::string> names;
  for (const ast::Test& t : root().tests) names.push_back(t.title);
  return names;
}

const ast::Kernel* Program::find_kernel(const std::string& name) const {
  const std::vector<ast::Kernel>& kernels = root().kernels;
  if (name.empty()) return kernels.size() == 1 ? &kernels[0] : nullptr;
  for (const ast::Kernel& k : kernels)
    if (k.name.text == name) return &k;
  return nullptr;
}

std::vector<ConstParam> Program::const_params(const ast::Kernel& kernel) const {
  auto text = [&](Range r) {
    return r.file == 0 ? std::string() : impl_->sources->text(r.file).substr(r.begin, r.end - r.begin);
  };
  std::vector<ConstParam> out;
  for (const ast::Param& p : kernel.params) {
    if (!p.is_const) continue;
    ConstParam c;
    c.name = p.name.text;
    if (p.type) c.type = p.type->kind == ast::TypeExpr::Kind::Type ? "type" : text(p.type->range);
    if (p.has_default_type) c.default_text = text(p.default_type.range);
    else if (p.default_value) c.default_text = text(p.default_value->range);
    out.push_back(std::move(c));
  }
  return out;
}

}  // namespace tile
