#include "runtime/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "dsl/target/arch.h"
#include "dsl/types/dtype.h"

namespace tile {
namespace {

using json = nlohmann::json;

constexpr std::array<std::string_view, 4> kind_names = {"view", "pointer", "scalar", "assert_buffer"};
constexpr std::array<std::string_view, 5> fidelity_names = {"exact", "modelled", "provisional", "approximate",
                                                            "unordered"};

bool is_fidelity(std::string_view s) {
  return std::find(fidelity_names.begin(), fidelity_names.end(), s) != fidelity_names.end();
}

// The values of those constants that are integers.
Expr::Values integer_constants(const KernelManifest& kernel) {
  Expr::Values values;
  for (const auto& [constant, text] : kernel.constants) {
    std::int64_t value = 0;
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc() && end == text.data() + text.size()) values[constant] = value;
    if (text == "true" || text == "false") values[constant] = text == "true";
  }
  return values;
}

Expr::Values all_values(const KernelManifest& kernel, const Expr::Values& scalars) {
  Expr::Values values = integer_constants(kernel);
  for (const auto& [scalar, value] : scalars) values[scalar] = value;
  return values;
}

// Reads fields of a JSON object; the first failure is kept, with its path, and later reads do nothing.
class Reader {
 public:
  Reader(const json& object, std::string path, std::optional<Error>& error)
      : object_(object), path_(std::move(path)), error_(error) {
    if (!object_.is_object()) fail("", "an object");
  }
  template <class T>
  void number(const char* key, T& out, bool required = true) {
    const json* v = get(key, required);
    if (!v) return;
    if (!v->is_number_integer() || *v < 0 || *v > std::uint64_t{0xffffffff}) return fail(key, "an integer of 32 bits");
    out = v->get<T>();
  }
  void text(const char* key, std::string& out, bool required = true) {
    const json* v = get(key, required);
    if (!v) return;
    if (!v->is_string()) return fail(key, "a string");
    out = v->get<std::string>();
  }
  void flag(const char* key, bool& out) {
    const json* v = get(key, false);
    if (!v) return;
    if (!v->is_boolean()) return fail(key, "true or false");
    out = v->get<bool>();
  }
  void texts(const char* key, std::vector<std::string>& out, bool required = true) {
    const json* v = get(key, required);
    if (!v) return;
    if (!v->is_array() || !std::all_of(v->begin(), v->end(), [](const json& e) { return e.is_string(); }))
      return fail(key, "an array of strings");
    out = v->get<std::vector<std::string>>();
  }
  void dictionary(const char* key, std::map<std::string, std::string>& out) {
    const json* v = get(key, true);
    if (!v) return;
    if (!v->is_object() || !std::all_of(v->begin(), v->end(), [](const json& e) { return e.is_string(); }))
      return fail(key, "an object of strings");
    out = v->get<std::map<std::string, std::string>>();
  }
  // Calls `read(Reader&)` for each element of an array of objects.
  template <class F>
  void objects(const char* key, F read) {
    const json* v = get(key, true);
    if (!v) return;
    if (!v->is_array()) return fail(key, "an array");
    for (std::size_t i = 0; i < v->size() && !error_; ++i) {
      Reader element((*v)[i], fmt::format("{}{}[{}].", path_, key, i), error_);
      read(element);
    }
  }
  template <class F>
  void object(const char* key, F read) {
    const json* v = get(key, true);
    if (!v) return;
    Reader element(*v, fmt::format("{}{}.", path_, key), error_);
    read(element);
  }
  void fail(const std::string& key, const std::string& expected) {
    if (error_) return;
    std::string place = path_ + key;
    if (!place.empty() && place.back() == '.') place.pop_back();
    error_ = Error{fmt::format("manifest: {} must be {}", place.empty() ? "the whole" : place, expected)};
  }

 private:
  const json* get(const char* key, bool required) {
    if (error_) return nullptr;
    auto it = object_.find(key);
    if (it != object_.end()) return &*it;
    if (required) error_ = Error{fmt::format("manifest: {}{} is missing", path_, key)};
    return nullptr;
  }
  const json& object_;
  std::string path_;
  std::optional<Error>& error_;
};

void read_arg(Reader& r, ManifestArg& arg) {
  r.text("name", arg.name);
  std::string kind;
  r.text("kind", kind);
  auto it = std::find(kind_names.begin(), kind_names.end(), kind);
  if (it == kind_names.end()) return r.fail("kind", "view, pointer, scalar or assert_buffer");
  arg.kind = static_cast<ArgKind>(it - kind_names.begin());
  r.number("offset", arg.offset);
  r.number("size", arg.size);
  if (arg.kind != ArgKind::AssertBuffer) r.text("dtype", arg.dtype);
  r.texts("extents", arg.extents, arg.kind == ArgKind::View);
  r.texts("strides", arg.strides, arg.kind == ArgKind::View);
  r.number("align", arg.align, arg.kind != ArgKind::Scalar);
  r.flag("noalias", arg.noalias);
  r.flag("reads", arg.reads);
  r.flag("writes", arg.writes);
  if (arg.kind == ArgKind::Scalar) r.text("default", arg.default_value, false);
}

void read_resources(Reader& r, ManifestResources& out) {
  r.number("vgprs", out.vgprs);
  r.number("agprs", out.agprs);
  r.number("sgprs", out.sgprs);
  r.number("vgpr_spills", out.vgpr_spills);
  r.number("sgpr_spills", out.sgpr_spills);
  r.number("scratch", out.scratch);
  r.number("occupancy", out.occupancy);
  r.number("code_size", out.code_size);
}

void read_kernel(Reader& r, KernelManifest& k) {
  r.text("name", k.name);
  r.text("symbol", k.symbol);
  r.text("target", k.target);
  r.text("source", k.source);
  r.objects("args", [&](Reader& element) { read_arg(element, k.args.emplace_back()); });
  r.number("kernarg_size", k.kernarg_size);
  r.number("kernarg_align", k.kernarg_align);
  r.dictionary("constants", k.constants);
  r.texts("grid", k.grid);
  r.number("waves", k.waves);
  r.number("lds", k.lds);
  r.texts("requires", k.requires_);
  r.text("fidelity", k.fidelity);
  r.objects("fidelity_uses", [&](Reader& element) {
    FidelityUse& use = k.fidelity_uses.emplace_back();
    element.text("class", use.cls);
    element.text("op", use.op);
    element.text("file", use.file);
    element.number("line", use.line);
    element.number("column", use.column);
  });
  r.object("resources", [&](Reader& element) { read_resources(element, k.resources); });
}

json arg_json(const ManifestArg& a) {
  json j = {{"name", a.name}, {"kind", name(a.kind)}, {"offset", a.offset}, {"size", a.size}};
  if (a.kind != ArgKind::AssertBuffer) j["dtype"] = a.dtype;
  if (a.kind == ArgKind::View) j["extents"] = a.extents, j["strides"] = a.strides;
  if (a.kind != ArgKind::Scalar)
    j["align"] = a.align, j["noalias"] = a.noalias, j["reads"] = a.reads, j["writes"] = a.writes;
  if (!a.default_value.empty()) j["default"] = a.default_value;
  return j;
}

// Names that expressions of the kernel may use.
bool is_known_value(const KernelManifest& k, const Expr::Values& constants, const std::string& value) {
  if (constants.contains(value)) return true;
  for (const ManifestArg& a : k.args)
    if (a.name == value && a.kind == ArgKind::Scalar) {
      const std::optional<DType> dtype = parse_dtype(a.dtype);
      return dtype && !is_float(*dtype);
    }
  return false;
}

Status check_expressions(const KernelManifest& k) {
  const Expr::Values constants = integer_constants(k);
  auto check = [&](const std::vector<std::string>& expressions, const std::string& place) -> Status {
    for (std::size_t i = 0; i < expressions.size(); ++i) {
      auto expr = Expr::parse(expressions[i]);
      if (!expr) return Error{fmt::format("manifest: {}[{}]: {}", place, i, expr.error().message)};
      for (const std::string& used : expr->names())
        if (!is_known_value(k, constants, used))
          return Error{fmt::format("manifest: {}[{}] uses '{}', which is no integer parameter of kernel '{}'", place, i,
                                   used, k.name)};
    }
    return Unit{};
  };
  if (Status s = check(k.grid, "grid"); !s) return s;
  if (Status s = check(k.requires_, "requires"); !s) return s;
  for (std::size_t i = 0; i < k.args.size(); ++i) {
    if (Status s = check(k.args[i].extents, fmt::format("args[{}].extents", i)); !s) return s;
    if (Status s = check(k.args[i].strides, fmt::format("args[{}].strides", i)); !s) return s;
  }
  return Unit{};
}

Status check_arg(const ManifestArg& a, const std::string& place) {
  auto bad = [&](const std::string& what) { return Error{fmt::format("manifest: {} ('{}') {}", place, a.name, what)}; };
  const std::optional<DType> dtype = parse_dtype(a.dtype);
  if (a.kind != ArgKind::AssertBuffer && !dtype) return bad(fmt::format("has the unknown dtype '{}'", a.dtype));
  const std::uint32_t size = a.kind == ArgKind::Scalar ? buffer_bytes(*dtype) : 8;
  if (a.size != size) return bad(fmt::format("has size {}, not {}", a.size, size));
  if (a.offset % size != 0) return bad(fmt::format("is at offset {}, not a multiple of {}", a.offset, size));
  if (a.kind == ArgKind::View && (a.extents.empty() || a.extents.size() != a.strides.size()))
    return bad("is a view and needs as many strides as extents, at least one");
  if (a.kind != ArgKind::View && !(a.extents.empty() && a.strides.empty())) return bad("is no view but has extents");
  if (a.kind != ArgKind::Scalar && (a.align == 0 || (a.align & (a.align - 1)) != 0))
    return bad("has an alignment that is no power of two");
  return Unit{};
}

}  // namespace

std::string_view name(ArgKind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

const KernelManifest* Manifest::find(std::string_view kernel) const {
  for (const KernelManifest& k : kernels)
    if (k.name == kernel || k.symbol == kernel) return &k;
  return nullptr;
}

json to_json(const KernelManifest& k) {
  json args = json::array(), uses = json::array();
  for (const ManifestArg& a : k.args) args.push_back(arg_json(a));
  for (const FidelityUse& u : k.fidelity_uses)
    uses.push_back({{"class", u.cls}, {"op", u.op}, {"file", u.file}, {"line", u.line}, {"column", u.column}});
  const ManifestResources& r = k.resources;
  return {{"name", k.name},
          {"symbol", k.symbol},
          {"target", k.target},
          {"source", k.source},
          {"args", std::move(args)},
          {"kernarg_size", k.kernarg_size},
          {"kernarg_align", k.kernarg_align},
          {"constants", k.constants},
          {"grid", k.grid},
          {"waves", k.waves},
          {"lds", k.lds},
          {"requires", k.requires_},
          {"fidelity", k.fidelity},
          {"fidelity_uses", std::move(uses)},
          {"resources",
           {{"vgprs", r.vgprs},
            {"agprs", r.agprs},
            {"sgprs", r.sgprs},
            {"vgpr_spills", r.vgpr_spills},
            {"sgpr_spills", r.sgpr_spills},
            {"scratch", r.scratch},
            {"occupancy", r.occupancy},
            {"code_size", r.code_size}}}};
}

json to_json(const Manifest& manifest) {
  json kernels = json::array();
  for (const KernelManifest& k : manifest.kernels) kernels.push_back(to_json(k));
  return {{"schema", "tile-kernel-manifest"}, {"version", manifest_version}, {"kernels", std::move(kernels)}};
}

Status validate(const KernelManifest& k) {
  auto bad = [&](const std::string& what) { return Error{fmt::format("manifest: kernel '{}' {}", k.name, what)}; };
  if (k.name.empty() || k.symbol.empty()) return Error{"manifest: a kernel has no name or no symbol"};
  if (!parse_arch(k.target)) return bad(fmt::format("is for the unknown target '{}'", k.target));
  if (k.waves == 0 || k.waves > max_workgroup_size / wave_size)
    return bad(fmt::format("has {} waves, not 1 to 16", k.waves));
  if (k.grid.empty() || k.grid.size() > 3) return bad("needs one to three grid expressions");
  if (!is_fidelity(k.fidelity)) return bad(fmt::format("has the unknown fidelity '{}'", k.fidelity));
  for (const FidelityUse& u : k.fidelity_uses)
    if (!is_fidelity(u.cls)) return bad(fmt::format("has the unknown fidelity '{}'", u.cls));
  std::vector<const ManifestArg*> by_offset;
  for (std::size_t i = 0; i < k.args.size(); ++i) {
    if (Status s = check_arg(k.args[i], fmt::format("args[{}]", i)); !s) return s;
    for (std::size_t j = 0; j < i; ++j)
      if (k.args[j].name == k.args[i].name) return bad(fmt::format("has two arguments '{}'", k.args[i].name));
    by_offset.push_back(&k.args[i]);
  }
  std::sort(by_offset.begin(), by_offset.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
  std::uint64_t end = 0;
  for (const ManifestArg* a : by_offset) {
    if (a->offset < end) return bad(fmt::format("has overlapping arguments at '{}'", a->name));
    end = std::uint64_t{a->offset} + a->size;
  }
  if (end > k.kernarg_size)
    return bad(fmt::format("has arguments up to byte {} but kernarg_size {}", end, k.kernarg_size));
  return check_expressions(k);
}

Result<Manifest> manifest_from_json(const json& j) {
  std::optional<Error> error;
  Manifest manifest;
  Reader r(j, "", error);
  std::string schema;
  int version = 0;
  r.text("schema", schema);
  if (!error && schema != "tile-kernel-manifest") r.fail("schema", "\"tile-kernel-manifest\"");
  r.number("version", version);
  if (!error && version != manifest_version)
    return Error{fmt::format("manifest: version {} is not known to this program, which reads version {}", version,
                             manifest_version),
                 "compile the kernel again"};
  r.objects("kernels", [&](Reader& element) { read_kernel(element, manifest.kernels.emplace_back()); });
  if (error) return *error;
  for (const KernelManifest& k : manifest.kernels)
    if (Status s = validate(k); !s) return s.error();
  return manifest;
}

Result<Manifest> parse_manifest(std::string_view text) {
  json j = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (j.is_discarded()) return Error{"manifest: the text is not JSON"};
  return manifest_from_json(j);
}

std::string print_manifest(const Manifest& manifest) {
  return to_json(manifest).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<Grid> eval_grid(const KernelManifest& kernel, const Expr::Values& scalars) {
  const Expr::Values values = all_values(kernel, scalars);
  std::uint32_t sizes[3] = {1, 1, 1};
  for (std::size_t i = 0; i < kernel.grid.size() && i < 3; ++i) {
    auto expr = Expr::parse(kernel.grid[i]);
    if (!expr) return expr.error();
    auto value = expr->eval(values);
    if (!value) return value.error();
    const std::int64_t most = 0xffffffff / (i == 0 ? std::int64_t{kernel.waves} * wave_size : 1);
    if (*value < 0 || *value > most)
      return Error{fmt::format("the grid of kernel '{}' has {} workgroups in dimension {} ({}), not 0 to {}",
                               kernel.name, *value, i, kernel.grid[i], most)};
    sizes[i] = static_cast<std::uint32_t>(*value);
  }
  return Grid{sizes[0], sizes[1], sizes[2]};
}

Status check_requires(const KernelManifest& kernel, const Expr::Values& scalars) {
  const Expr::Values values = all_values(kernel, scalars);
  std::string broken;
  for (const std::string& clause : kernel.requires_) {
    auto expr = Expr::parse(clause);
    if (!expr) return expr.error();
    auto value = expr->eval(values);
    if (!value) return value.error();
    if (*value != 0) continue;
    std::string with;
    for (const std::string& used : expr->names())
      with += fmt::format("{}{} = {}", with.empty() ? "" : ", ", used, values.find(used)->second);
    broken += fmt::format("{}kernel '{}' requires {}{}", broken.empty() ? "" : "\n", kernel.name, clause,
                          with.empty() ? "" : ", but " + with);
  }
  if (!broken.empty()) return Error{broken};
  return Unit{};
}

}  // namespace tile
