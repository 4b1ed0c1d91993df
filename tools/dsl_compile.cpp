// dsl-compile: a kernel of a .tile file to an hsaco and its manifest, or to any form in between.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "dsl/layout/conversion.h"
#include "dsl/passes/scratch.h"
#ifdef TILE_WITH_FAITHFUL
#include "interpreter/tile/verify_passes.h"
#endif
#include "runtime/compiler.h"
#include "runtime/materialize.h"

namespace {

using namespace tile;

struct Flags {
  std::string file, kernel, out, emit, print_after;
  std::vector<std::string> targets, defines, values;
  unsigned waves = 0;
  bool report = false, verify_each_pass = false, quiet = false;
};

constexpr const char* emit_kinds[] = {"ast", "ir", "layouts", "llvm", "asm", "hsaco", "json"};

int fail(const Error& e) {
  fmt::print(stderr, "error: {}\n", e.message);
  if (!e.hint.empty()) fmt::print(stderr, "  hint: {}\n", e.hint);
  return 1;
}

Result<std::pair<std::string, std::string>> split_pair(const std::string& text) {
  size_t eq = text.find('=');
  if (eq == std::string::npos || eq == 0) return Error{fmt::format("'{}' is not of the form NAME=VALUE", text)};
  return std::pair(text.substr(0, eq), text.substr(eq + 1));
}

std::string list_of_passes() {
  std::string list;
  for (const passes::PassInfo& p : passes::pass_table()) list += fmt::format("{}{}", list.empty() ? "" : ", ", p.name);
  return list;
}

Result<std::vector<Arch>> target_list(const Flags& f) {
  std::vector<Arch> list;
  for (const std::string& t : f.targets) {
    std::optional<Arch> a = parse_arch(t);
    if (!a) return Error{fmt::format("unknown target '{}'", t), "targets: gfx90a, gfx942, gfx950"};
    if (std::find(list.begin(), list.end(), *a) == list.end()) list.push_back(*a);
  }
  if (list.empty()) list.push_back(Arch::Gfx942);
  return list;
}

// Whole or not at all: a compiler that fails leaves no half-written file.
Status write_file(const std::string& path, std::string_view bytes) {
  std::string temporary = path + ".tmp";
  {
    std::ofstream out(temporary, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.flush();
    if (!out) return Error{fmt::format("cannot write '{}'", path)};
  }
  std::error_code why;
  std::filesystem::rename(temporary, path, why);
  if (why) return Error{fmt::format("cannot write '{}': {}", path, why.message())};
  return Unit{};
}

// OUT.hsaco and OUT.json; with several targets OUT-gfx942.hsaco and so on.
std::string output_path(const Flags& f, Arch arch, bool several, const char* extension) {
  std::filesystem::path base = f.out.empty() ? std::filesystem::path(f.file).stem() : std::filesystem::path(f.out);
  if (base.extension() == ".hsaco" || base.extension() == ".json") {
    if (!several && !f.out.empty() && base.extension() == extension) return base.string();
    base.replace_extension();
  }
  return base.string() + (several ? fmt::format("-{}", name(arch)) : "") + extension;
}

// Layouts of all tiles and the plans of conversions, one a line.
std::string layouts_text(const ir::Kernel& k) {
  std::string text = ir::print(k) + "\n";
  k.walk([&](ir::OpId id) {
    const ir::Op& o = k.op(id);
    if (o.kind != OpKind::ConvertLayout) return;
    auto plan = passes::conversion_plan(k, o);
    text += fmt::format("convert_layout of {}: {}\n", ir::to_string(k.type(o.results[0])), plan ? plan->str(k.arch) : plan.error().message);
  });
  return text;
}

class Compiler {
 public:
  Compiler(const Flags& f, Session& session) : f_(f), session_(session) {}

  int run(const std::vector<Arch>& targets) {
    int status = 0;
    for (Arch a : targets) status |= one(a, targets.size() > 1);
    return status;
  }

 private:
  Result<SpecializeOptions> options(Arch arch) const {
    SpecializeOptions o;
    o.kernel = f_.kernel;
    o.arch = arch;
    if (f_.waves) o.waves = f_.waves;
    for (const std::string& d : f_.defines) {
      auto pair = split_pair(d);
      if (!pair) return pair.error();
      o.constants.push_back(*pair);
    }
    return o;
  }

  int one(Arch arch, bool several) {
    auto o = options(arch);
    if (!o) return fail(o.error());
    Diagnostics diags;
    int status = compile(*o, several, diags);
    fmt::print(stderr, "{}", render(diags, session_.sources()));
    return status != 0 || diags.has_errors() ? 1 : 0;
  }

  void print_pass(std::string_view pass, const ir::Kernel& k) const {
    if (f_.print_after != "all" && f_.print_after != pass) return;
    fmt::print("// after {}\n{}\n", pass, ir::print(k));
  }

  int compile(const SpecializeOptions& o, bool several, Diagnostics& diags) {
    auto fixed = session_.specialize(o, diags);
    if (!fixed) return 1;
    print_pass("fix_values", fixed->kernel);
    if (f_.emit == "ir") {
      fmt::print("{}", ir::print(fixed->kernel));
      return 0;
    }
    if (f_.verify_each_pass)
      if (int status = verify(o, *fixed, diags)) return status;
    CompileFlags flags;
    flags.after_pass = [&](const passes::PassInfo& p, const ir::Kernel& k) -> Status {
      print_pass(p.name, k);
      return Unit{};
    };
    flags.keep_llvm = f_.emit == "llvm";
    flags.keep_asm = f_.emit == "asm";
    flags.code = f_.emit != "llvm" && f_.emit != "layouts";
    std::optional<CompiledKernel> k = compile_kernel(fixed->kernel, session_.sources(), flags, diags);
    if (!k) return 1;
    if (f_.emit == "layouts") fmt::print("{}", layouts_text(k->kernel));
    if (f_.emit == "llvm") fmt::print("{}", k->llvm_ir);
    if (f_.emit == "asm") fmt::print("{}", k->assembly);
    if (f_.emit.empty() || f_.emit == "hsaco" || f_.emit == "json") {
      if (Status s = write(*k, o.arch, several); !s) return fail(s.error());
    }
    if (f_.report) fmt::print("{}", codegen::to_text({k->report}));
    return 0;
  }

  Status write(const CompiledKernel& k, Arch arch, bool several) {
    Manifest m;
    m.kernels.push_back(k.manifest);
    std::string hsaco = output_path(f_, arch, several, ".hsaco"), json = output_path(f_, arch, several, ".json");
    const ManifestResources& r = k.manifest.resources;
    if (f_.emit != "json") {
      if (Status s = write_file(hsaco, {reinterpret_cast<const char*>(k.hsaco.data()), k.hsaco.size()}); !s) return s;
      if (!f_.quiet)
        fmt::print("{}: {} for {}, {} bytes of code, {} VGPRs, {} SGPRs, {} bytes of LDS, {} spills, {} waves per SIMD, fidelity {}\n",
                   hsaco, k.manifest.name, k.manifest.target, r.code_size, r.vgprs, r.sgprs, k.manifest.lds,
                   r.vgpr_spills + r.sgpr_spills, r.occupancy, k.manifest.fidelity);
    }
    if (f_.emit != "hsaco") {
      if (Status s = write_file(json, print_manifest(m)); !s) return s;
      if (!f_.quiet) fmt::print("{}\n", json);
    }
    return Unit{};
  }

#ifndef TILE_WITH_FAITHFUL
  int verify(const SpecializeOptions&, const SpecializedKernel&, Diagnostics&) { return fail({"--verify-each-pass is not in this build"}); }
#else
  // The interpreter after every pass, on the inputs given as NAME=VALUE.
  int verify(const SpecializeOptions& o, const SpecializedKernel& fixed, Diagnostics& diags) {
    std::vector<std::pair<std::string, std::string>> named;
    for (const std::string& v : f_.values) {
      auto pair = split_pair(v);
      if (!pair) return fail(pair.error());
      named.push_back(*pair);
    }
    Result<OwnedValues> owned = materialize(fixed.manifest, named);
    if (!owned) return fail(owned.error());
    Result<BoundLaunch> launch = bind_launch(fixed.manifest, owned->values);
    if (!launch) return fail(launch.error());
    std::vector<interp::Argument> args;
    for (const BoundArg& a : launch->args)
      args.push_back(a.array ? interp::Argument::array(a.array->data(), a.array->bytes()) : interp::Argument::scalar(a.scalar));
    std::optional<ir::Kernel> kernel = specialize(session_.program(), o, diags);
    if (!kernel) return 1;
    auto r = interp::verify_each_pass(std::move(*kernel), args, {launch->grid.x, launch->grid.y, launch->grid.z});
    if (!r) return fail(r.error());
    if (r->difference) {
      fmt::print("{}\n", r->difference->text(&session_.sources()));
      return 1;
    }
    std::string list;
    for (const std::string& p : r->passes) list += (list.empty() ? "" : ", ") + p;
    if (!f_.quiet) fmt::print("the same after each pass: {}\n", list);
    return 0;
  }
#endif

  const Flags& f_;
  Session& session_;
};

}  // namespace

int main(int argc, char** argv) {
  Flags f;
  CLI::App app{"Compiles a kernel of a .tile file for AMD GPUs: FILE.hsaco, and FILE.json which says how to launch it.\n"
               "NAME=VALUE arguments (numbers, .npy files, generators, as dsl-run takes them) are inputs for --verify-each-pass."};
  app.name("dsl-compile");
  app.add_option("file", f.file, ".tile file")->required();
  app.add_option("values", f.values, "NAME=VALUE inputs for --verify-each-pass");
  app.add_option("--kernel", f.kernel, "the kernel, when the file has several");
  app.add_option("-D", f.defines, "NAME=VALUE for a `const` parameter")->allow_extra_args(false);
  app.add_option("--target", f.targets, "gfx90a, gfx942 (default), gfx950, or several with commas")->delimiter(',')->allow_extra_args(false);
  app.add_option("--waves", f.waves, "waves a workgroup, instead of the `waves` clause");
  app.add_option("-o", f.out, "where to write: OUT.hsaco and OUT.json (default: the file's name)");
  app.add_option("--emit", f.emit, "ast, ir, layouts, llvm or asm to standard output; hsaco or json: write only that");
  app.add_option("--print-after", f.print_after, "print the IR after this pass, or `all`");
  app.add_flag("--verify-each-pass", f.verify_each_pass, "interpret the kernel after each pass and name the first that changes what it does");
  app.add_flag("--report", f.report, "registers, spills, LDS, occupancy, and the mix of instructions of each loop");
  app.add_flag("-q,--quiet", f.quiet, "do not say what was written");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) ? 1 : 0;
  }
  if (!f.emit.empty() && std::find(std::begin(emit_kinds), std::end(emit_kinds), f.emit) == std::end(emit_kinds))
    return fail({fmt::format("unknown form '{}' for --emit", f.emit), "forms: ast, ir, layouts, llvm, asm, hsaco, json"});
  if (!f.print_after.empty() && f.print_after != "all" && !passes::find_pass(f.print_after))
    return fail({fmt::format("there is no pass '{}'", f.print_after), "passes: all, " + list_of_passes()});
  auto targets = target_list(f);
  if (!targets) return fail(targets.error());
  Session session(f.file);
  fmt::print(stderr, "{}", render(session.diagnostics(), session.sources()));
  if (!session.ok()) return 1;
  if (f.emit == "ast") {
    fmt::print("{}", ast::dump(session.program().root(), session.sources()));
    return 0;
  }
  return Compiler(f, session).run(*targets);
}
