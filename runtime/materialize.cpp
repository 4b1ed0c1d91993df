#include "runtime/materialize.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "runtime/generate.h"

namespace tile {
namespace {

double option(const ValueSpec& s, std::string_view key, double absent) {
  auto it = s.options.find(key);
  return it == s.options.end() ? absent : it->second;
}

Result<Array> make_array(const ValueSpec& s, DType dtype, std::vector<int64_t> shape) {
  switch (s.kind) {
    case ValueKind::Zeros: return Array::make(dtype, std::move(shape));
    case ValueKind::Full: return full(dtype, std::move(shape), option(s, "value", 0));
    case ValueKind::Arange: return arange(dtype, std::move(shape), option(s, "start", 0), option(s, "step", 1));
    case ValueKind::Randn: return randn(dtype, std::move(shape), s.seed, option(s, "mean", 0), option(s, "std", 1));
    case ValueKind::Uniform: return uniform(dtype, std::move(shape), s.seed, option(s, "low", 0), option(s, "high", 1));
    case ValueKind::Randint: {
      double low = option(s, "low", 0), high = option(s, "high", 2);
      if (!(std::abs(low) < 9e15 && std::abs(high) < 9e15)) return Error{"low or high is too large"};
      return randint(dtype, std::move(shape), s.seed, static_cast<int64_t>(low), static_cast<int64_t>(high));
    }
    case ValueKind::File:
    case ValueKind::Number: break;
  }
  return Error{"not an array"};
}

const ManifestArg* find_arg(const KernelManifest& k, const std::string& name) {
  for (const ManifestArg& a : k.args)
    if (a.name == name) return &a;
  return nullptr;
}

Error about(const std::string& argument, const Error& e) {
  return {fmt::format("argument '{}': {}", argument, e.message), e.hint};
}

// Values that need no shape from elsewhere.
Status add_value(const KernelManifest& kernel, const std::string& arg, const ValueSpec& spec, OwnedValues& out,
                 std::vector<std::pair<std::string, ValueSpec>>& later) {
  const ManifestArg* a = find_arg(kernel, arg);
  if (spec.kind == ValueKind::Number) {
    DType t = a && a->kind == ArgKind::Scalar ? *parse_dtype(a->dtype) : DType::F64;
    Result<uint64_t> bits = parse_scalar(spec.text, t);
    if (!bits) return about(arg, bits.error());
    out.values.scalars[arg] = *bits;
    return Unit{};
  }
  std::optional<DType> dtype = spec.dtype;
  if (!dtype && a && a->kind != ArgKind::AssertBuffer) dtype = parse_dtype(a->dtype);
  if (spec.kind == ValueKind::File) {
    bool raw_type = dtype && is_float(*dtype) && *dtype != DType::F16 && *dtype != DType::F32 && *dtype != DType::F64;
    Result<Array> read = read_npy(spec.text, raw_type || spec.dtype ? &*dtype : nullptr);
    if (!read) return about(arg, read.error());
    out.arrays[arg] = std::make_unique<Array>(std::move(*read));
    out.values.arrays[arg] = out.arrays[arg].get();
    return Unit{};
  }
  if (!dtype) dtype = DType::F32;
  if (!spec.shape) {
    later.push_back({arg, spec});
    return Unit{};
  }
  Result<Array> made = make_array(spec, *dtype, *spec.shape);
  if (!made) return about(arg, made.error());
  out.arrays[arg] = std::make_unique<Array>(std::move(*made));
  out.values.arrays[arg] = out.arrays[arg].get();
  return Unit{};
}

}  // namespace

Result<OwnedValues> materialize(const KernelManifest& kernel,
                                const std::vector<std::pair<std::string, std::string>>& named) {
  OwnedValues out;
  std::vector<std::pair<std::string, ValueSpec>> later;
  std::set<std::string> seen;
  for (const auto& [arg, text] : named) {
    if (!seen.insert(arg).second) return Error{fmt::format("argument '{}' is given twice", arg)};
    Result<ValueSpec> spec = parse_value(text);
    if (!spec) return about(arg, spec.error());
    if (Status s = add_value(kernel, arg, *spec, out, later); !s) return s.error();
  }
  for (const ManifestArg& a : kernel.args) {
    if (a.kind != ArgKind::View || out.values.arrays.count(a.name)) continue;
    ValueSpec spec;
    spec.kind = ValueKind::Zeros;
    bool given = false;
    for (const auto& [arg, s] : later)
      if (arg == a.name) spec = s, given = true;
    if (!given && a.reads && !a.writes) continue;  // an input; bind_launch names it
    Result<std::vector<int64_t>> shape = view_extents(a, infer_scalars(kernel, out.values));
    if (!shape) {
      if (given) return Error{fmt::format("the shape of argument '{}' is not known yet", a.name), "write its shape, as in zeros:f32[10,20]"};
      continue;  // bind_launch names it
    }
    Result<Array> made = make_array(spec, spec.dtype.value_or(*parse_dtype(a.dtype)), *shape);
    if (!made) return about(a.name, made.error());
    out.arrays[a.name] = std::make_unique<Array>(std::move(*made));
    out.values.arrays[a.name] = out.arrays[a.name].get();
    if (!given) out.created.push_back(a.name);
  }
  for (const auto& [arg, spec] : later)
    if (!out.values.arrays.count(arg))
      return Error{fmt::format("the shape of argument '{}' is not known", arg), "write its type and shape, as in zeros:f32[10,20]"};
  return out;
}

}  // namespace tile
