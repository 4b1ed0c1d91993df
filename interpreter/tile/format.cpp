#include "interpreter/tile/format.h"

#include <fmt/format.h>

#include <cstring>

#include "dsl/num/kernels.h"
#include "dsl/num/storage.h"

namespace tile::interp {
namespace {

template <class T>
T read(const void* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

constexpr int64_t max_full = 1024, long_axis = 16, shown = 3;

void append(std::string& out, const ir::Type& type, const std::byte* data, unsigned axis, int64_t& at, bool full) {
  size_t size = type.is_ptr() ? 8 : buffer_bytes(type.dtype);
  if (axis == type.shape.rank()) {
    out += format_element(type, data + static_cast<size_t>(at++) * size);
    return;
  }
  int64_t inner = 1, n = type.shape[axis];
  for (unsigned a = axis + 1; a < type.shape.rank(); ++a) inner *= type.shape[a];
  out += '[';
  for (int64_t i = 0; i < n; ++i) {
    if (i) out += ", ";
    if (!full && n > long_axis && i == shown) {
      out += "..., ";
      at += (n - 2 * shown) * inner;
      i = n - shown;
    }
    append(out, type, data, axis + 1, at, full);
  }
  out += ']';
}

}  // namespace

std::string format_element(const ir::Type& type, const void* p) {
  if (type.is_ptr()) return fmt::format("{:#x}", read<uint64_t>(p));
  DType t = type.dtype;
  if (is_bool(t)) return read<uint8_t>(p) ? "true" : "false";
  if (t == DType::F64) return fmt::format("{}", read<double>(p));
  if (is_float(t)) {
    float f;
    num::convert(t, DType::F32, {}, p, &f, 1);
    return fmt::format("{}", f);
  }
  return num::visit_dtype(t, [&]<DType T>() { return fmt::format("{}", +read<num::storage_t<T>>(p)); });
}

std::string format_value(const ir::Type& type, const void* data) {
  std::string out;
  int64_t at = 0;
  append(out, type, static_cast<const std::byte*>(data), 0, at, type.shape.elements() <= max_full);
  return out;
}

std::string format_print(std::string_view text, const std::vector<ir::Type>& types, const std::vector<const void*>& values) {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string_view two = text.substr(i, 2);
    if (two == "{{" || two == "}}") {
      out += text[i++];
    } else if (two == "{}" && next < values.size()) {
      out += format_value(types[next], values[next]);
      ++next;
      ++i;
    } else {
      out += text[i];
    }
  }
  for (; next < values.size(); ++next) {
    if (!out.empty() && out.back() != ' ') out += ' ';
    out += format_value(types[next], values[next]);
  }
  return out;
}

}  // namespace tile::interp
