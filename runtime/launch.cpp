#include "runtime/launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dsl/diag/diag.h"
#include "runtime/value_spec.h"

namespace tile {
namespace {

bool is_name(const std::string& text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (char c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  return true;
}

std::optional<DType> scalar_dtype(const ManifestArg& a) { return parse_dtype(a.dtype); }

// Integer value of raw bits; nothing for floats.
std::optional<int64_t> integer_value(DType t, uint64_t bits) {
  if (is_bool(t)) return bits != 0;
  if (!is_int(t)) return std::nullopt;
  unsigned unused = 64 - bit_width(t);
  if (is_signed(t)) return static_cast<int64_t>(bits << unused) >> unused;
  return static_cast<int64_t>(bits << unused >> unused);
}

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(shape[i], 1);
  return strides;
}

const ManifestArg* find_arg(const KernelManifest& k, std::string_view name) {
  for (const ManifestArg& a : k.args)
    if (a.name == name) return &a;
  return nullptr;
}

Result<int64_t> eval_text(const std::string& text, const Expr::Values& scalars) {
  Result<Expr> e = Expr::parse(text);
  if (!e) return e.error();
  return e->eval(scalars);
}

std::string arg_type(const ManifestArg& a) {
  if (a.kind == ArgKind::Scalar) return a.dtype;
  if (a.kind == ArgKind::Pointer) return fmt::format("ptr<{}>", a.dtype);
  return fmt::format("{}[{}]", a.dtype, fmt::join(a.extents, ", "));
}

Status check_names(const KernelManifest& k, const LaunchValues& v) {
  auto unknown = [&](const std::string& name) {
    std::vector<std::string> names, shown;
    for (const ManifestArg& a : k.args) names.push_back(a.name), shown.push_back(a.name + ": " + arg_type(a));
    std::string near = nearest_name(name, names);
    return Error{fmt::format("kernel {} has no argument '{}'", k.name, name),
                 near.empty() ? fmt::format("it takes {}", fmt::join(shown, ", ")) : fmt::format("did you mean '{}'?", near)};
  };
  for (const auto& [name, array] : v.arrays) {
    const ManifestArg* a = find_arg(k, name);
    if (!a) return unknown(name);
    if (a->kind == ArgKind::Scalar)
      return Error{fmt::format("argument '{}' is a scalar of type {}, not an array", name, a->dtype)};
  }
  for (const auto& [name, bits] : v.scalars) {
    const ManifestArg* a = find_arg(k, name);
    if (!a) return unknown(name);
    if (a->kind != ArgKind::Scalar)
      return Error{fmt::format("argument '{}' is {}, not a number", name, arg_type(*a)),
                   fmt::format("write {0}=file.npy or {0}=randn:{1}[...]", name, a->dtype)};
  }
  return Unit{};
}

// Element type, and for views the rank; a flat array may stand for any view.
Status check_type(const ManifestArg& a, const Array& array) {
  if (array.dtype() != parse_dtype(a.dtype))
    return Error{fmt::format("argument '{}' has elements of {}, the kernel takes {}", a.name, name(array.dtype()), a.dtype)};
  if (a.kind == ArgKind::View && array.shape().size() != a.extents.size() && array.shape().size() != 1)
    return Error{fmt::format("argument '{}' has {} dimensions, the kernel takes {} ({})", a.name, array.shape().size(),
                             a.extents.size(), arg_type(a))};
  return Unit{};
}

// Every element that the view can reach lies inside of the array.
Status check_view(const ManifestArg& a, const Array& array, const Expr::Values& scalars) {
  int64_t last = 0, first = 0;
  for (size_t d = 0; d < a.extents.size(); ++d) {
    Result<int64_t> extent = eval_text(a.extents[d], scalars), stride = eval_text(a.strides[d], scalars);
    if (!extent) return extent.error();
    if (!stride) return stride.error();
    if (*extent < 0) return Error{fmt::format("extent {} of argument '{}' is negative: {} = {}", d, a.name, a.extents[d], *extent)};
    if (*extent == 0) return Unit{};
    int64_t span = 0;
    if (__builtin_mul_overflow(*extent - 1, *stride, &span) ||
        __builtin_add_overflow(span > 0 ? last : first, span, span > 0 ? &last : &first))
      return Error{fmt::format("the view '{}' is larger than the address space", a.name)};
    if (is_packed(array.dtype()) && *stride != 1 && *stride * bit_width(array.dtype()) % 8 != 0)
      return Error{fmt::format("stride {} of packed argument '{}' is not a whole number of bytes", *stride, a.name)};
  }
  if (first < 0 || last >= array.elements()) {
    std::vector<std::string> extents, strides;
    for (size_t d = 0; d < a.extents.size(); ++d) {
      extents.push_back(fmt::format("{}", *eval_text(a.extents[d], scalars)));
      strides.push_back(fmt::format("{}", *eval_text(a.strides[d], scalars)));
    }
    return Error{fmt::format("the view '{}' of extents [{}] and strides ({}) leaves its array {}", a.name,
                             fmt::join(extents, ", "), fmt::join(strides, ", "), describe(array))};
  }
  return Unit{};
}

bool names_given_scalar(const std::string& text, const LaunchValues& values) {
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    if (end > i && values.scalars.count(text.substr(i, end - i))) return true;
    i = std::max(end, i + 1);
  }
  return false;
}

// The shape of an array of the view's rank is the view's, and its strides are, where no scalar argument that was given
// says otherwise: two arrays that disagree about an extent are a mistake, not a view of a part of one of them.
Status check_shape(const ManifestArg& a, const Array& array, const LaunchValues& values, const Expr::Values& scalars) {
  const std::vector<int64_t>& shape = array.shape();
  if (shape.size() != a.extents.size()) return Unit{};
  std::vector<int64_t> strides = row_major_strides(shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    Result<int64_t> extent = eval_text(a.extents[d], scalars), stride = eval_text(a.strides[d], scalars);
    if (!extent) return extent.error();
    if (!stride) return stride.error();
    std::string is = is_name(a.extents[d]) ? fmt::format("{} = {}", a.extents[d], *extent) : fmt::format("{}", *extent);
    if (*extent != shape[d] && !names_given_scalar(a.extents[d], values))
      return Error{fmt::format("argument '{}' is {}, but dimension {} of {} is {}", a.name, describe(array), d, arg_type(a), is),
                   is_name(a.extents[d]) ? fmt::format("give {} to use a part of the array", a.extents[d]) : ""};
    if (*stride != strides[d] && is_name(a.strides[d]) && !names_given_scalar(a.strides[d], values))
      return Error{fmt::format("argument '{}' is {} with stride {} in dimension {}, but {} = {}", a.name, describe(array),
                               strides[d], d, a.strides[d], *stride)};
  }
  return Unit{};
}

Status check_noalias(const KernelManifest& k, const BoundLaunch& launch) {
  for (size_t i = 0; i < k.args.size(); ++i) {
    if (!k.args[i].noalias) continue;
    const Array* a = launch.args[i].array;
    for (size_t j = 0; j < k.args.size(); ++j) {
      const Array* b = launch.args[j].array;
      if (i == j || !b || !a->bytes() || !b->bytes()) continue;
      if (a->data() < b->data() + b->bytes() && b->data() < a->data() + a->bytes())
        return Error{fmt::format("argument '{}' is noalias but shares memory with '{}'", k.args[i].name, k.args[j].name)};
    }
  }
  return Unit{};
}

}  // namespace

Expr::Values infer_scalars(const KernelManifest& kernel, const LaunchValues& values) {
  Expr::Values scalars;
  for (const auto& [name, bits] : values.scalars)
    if (const ManifestArg* a = find_arg(kernel, name); a && a->kind == ArgKind::Scalar)
      if (auto v = integer_value(*scalar_dtype(*a), bits)) scalars[name] = *v;
  for (const auto& [constant, text] : kernel.constants)
    if (Result<int64_t> v = eval_text(text, {})) scalars.emplace(constant, *v);
  for (const ManifestArg& a : kernel.args) {
    auto it = values.arrays.find(a.name);
    if (a.kind != ArgKind::View || it == values.arrays.end()) continue;
    const std::vector<int64_t>& shape = it->second->shape();
    if (shape.size() != a.extents.size()) continue;
    std::vector<int64_t> strides = row_major_strides(shape);
    for (size_t d = 0; d < shape.size(); ++d) {
      if (is_name(a.extents[d])) scalars.emplace(a.extents[d], shape[d]);
      if (is_name(a.strides[d])) scalars.emplace(a.strides[d], strides[d]);
    }
  }
  return scalars;
}

Result<std::vector<int64_t>> view_extents(const ManifestArg& arg, const Expr::Values& scalars) {
  std::vector<int64_t> shape;
  for (const std::string& text : arg.extents) {
    Result<int64_t> e = eval_text(text, scalars);
    if (!e) return e.error();
    shape.push_back(*e);
  }
  return shape;
}

Result<BoundLaunch> bind_launch(const KernelManifest& kernel, const LaunchValues& values) {
  if (Status s = check_names(kernel, values); !s) return s.error();
  for (const auto& [argument, array] : values.arrays)
    if (Status s = check_type(*find_arg(kernel, argument), *array); !s) return s.error();
  BoundLaunch launch;
  launch.scalars = infer_scalars(kernel, values);
  for (const ManifestArg& a : kernel.args) {
    BoundArg bound;
    if (a.kind == ArgKind::Scalar) {
      auto given = values.scalars.find(a.name);
      auto inferred = launch.scalars.find(a.name);
      DType t = *scalar_dtype(a);
      if (given != values.scalars.end()) {
        bound.scalar = given->second;
      } else if (inferred != launch.scalars.end()) {
        bound.scalar = static_cast<uint64_t>(inferred->second);
        unsigned unused = 64 - bit_width(t);
        if (integer_value(t, bound.scalar) != inferred->second)
          return Error{fmt::format("{} = {} does not fit its type {}", a.name, inferred->second, a.dtype)};
        bound.scalar = bound.scalar << unused >> unused;
      } else if (!a.default_value.empty()) {
        Result<uint64_t> bits = parse_scalar(a.default_value, t);
        if (!bits) return bits.error();
        bound.scalar = *bits;
        if (auto v = integer_value(t, *bits)) launch.scalars[a.name] = *v;
      } else {
        return Error{fmt::format("argument '{}' of kernel {} got no value", a.name, kernel.name),
                     fmt::format("give {}=<{}>", a.name, a.dtype)};
      }
    } else if (a.kind != ArgKind::AssertBuffer) {
      auto it = values.arrays.find(a.name);
      if (it == values.arrays.end())
        return Error{fmt::format("argument '{}' of kernel {} got no value", a.name, kernel.name),
                     fmt::format("give {0}=file.npy or {0}=randn:{1}[...]", a.name, a.dtype)};
      bound.array = it->second;
    }
    launch.args.push_back(bound);
  }
  for (size_t i = 0; i < kernel.args.size(); ++i) {
    const ManifestArg& a = kernel.args[i];
    if (!launch.args[i].array) continue;
    const Array& array = *launch.args[i].array;
    if (a.kind == ArgKind::View) {
      if (Status s = check_view(a, array, launch.scalars); !s) return s.error();
      if (Status s = check_shape(a, array, values, launch.scalars); !s) return s.error();
    }
    if (a.align > 1 && reinterpret_cast<uintptr_t>(array.data()) % a.align)
      return Error{fmt::format("argument '{}' must start at a multiple of {} bytes", a.name, a.align)};
  }
  if (Status s = check_noalias(kernel, launch); !s) return s.error();
  if (Status s = check_requires(kernel, launch.scalars); !s) return s.error();
  Result<Grid> grid = eval_grid(kernel, launch.scalars);
  if (!grid) return grid.error();
  launch.grid = *grid;
  return launch;
}

}  // namespace tile
