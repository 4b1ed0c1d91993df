#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "runtime/array.h"

namespace tile {
namespace {

// The header is a Python dictionary literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
struct Header {
  char order = '|', kind = 0;
  unsigned size = 0;
  bool fortran = false;
  std::vector<int64_t> shape;
};

class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : s_(text) {}

  std::optional<std::string> read(Header& h) {
    if (!take('{')) return "the header is not a dictionary";
    bool have_descr = false, have_order = false, have_shape = false;
    while (!take('}')) {
      std::optional<std::string> key = quoted();
      if (!key || !take(':')) return "the header is malformed";
      if (*key == "descr") {
        std::optional<std::string> descr = quoted();
        if (!descr) return "structured types are not supported";
        if (!parse_descr(*descr, h)) return fmt::format("the element type '{}' is not supported", *descr);
        have_descr = true;
      } else if (*key == "fortran_order") {
        if (word("True")) h.fortran = true;
        else if (!word("False")) return "fortran_order is neither True nor False";
        have_order = true;
      } else if (*key == "shape") {
        if (!shape(h.shape)) return "the shape is malformed";
        have_shape = true;
      } else {
        return fmt::format("unknown header entry '{}'", *key);
      }
      if (!take(',')) {
        if (take('}')) break;
        return "the header is malformed";
      }
    }
    if (!have_descr || !have_order || !have_shape) return "the header lacks descr, fortran_order or shape";
    return std::nullopt;
  }

 private:
  void space() {
    while (at_ < s_.size() && (s_[at_] == ' ' || s_[at_] == '\n' || s_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    space();
    if (at_ < s_.size() && s_[at_] == c) return ++at_, true;
    return false;
  }
  bool word(std::string_view w) {
    space();
    if (s_.substr(at_, w.size()) != w) return false;
    at_ += w.size();
    return true;
  }
  std::optional<std::string> quoted() {
    space();
    if (at_ >= s_.size() || (s_[at_] != '\'' && s_[at_] != '"')) return std::nullopt;
    size_t end = s_.find(s_[at_], at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(s_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return text;
  }
  static bool parse_descr(const std::string& d, Header& h) {
    if (d.size() < 3 || !std::strchr("<>|=", d[0])) return false;
    h.order = d[0] == '=' ? '<' : d[0];
    h.kind = d[1];
    auto [end, error] = std::from_chars(d.data() + 2, d.data() + d.size(), h.size);
    return error == std::errc() && end == d.data() + d.size() && h.size > 0 && h.size <= 16;
  }
  bool shape(std::vector<int64_t>& out) {
    if (!take('(')) return false;
    while (!take(')')) {
      space();
      int64_t d = 0;
      auto [end, error] = std::from_chars(s_.data() + at_, s_.data() + s_.size(), d);
      if (error != std::errc() || d < 0) return false;
      at_ = static_cast<size_t>(end - s_.data());
      if (at_ < s_.size() && s_[at_] == 'L') ++at_;
      out.push_back(d);
      if (out.size() > 32) return false;
      if (!take(',') && !take(')')) return false;
      if (s_[at_ - 1] == ')') break;
    }
    return true;
  }

  std::string_view s_;
  size_t at_ = 0;
};

std::optional<DType> numpy_dtype(const Header& h) {
  switch (h.kind) {
    case 'b': return h.size == 1 ? std::optional(DType::Bool) : std::nullopt;
    case 'f':
      return h.size == 2   ? std::optional(DType::F16)
             : h.size == 4 ? std::optional(DType::F32)
             : h.size == 8 ? std::optional(DType::F64)
                           : std::nullopt;
    case 'i':
      return h.size == 1   ? std::optional(DType::I8)
             : h.size == 2 ? std::optional(DType::I16)
             : h.size == 4 ? std::optional(DType::I32)
             : h.size == 8 ? std::optional(DType::I64)
                           : std::nullopt;
    case 'u':
      return h.size == 1   ? std::optional(DType::U8)
             : h.size == 2 ? std::optional(DType::U16)
             : h.size == 4 ? std::optional(DType::U32)
             : h.size == 8 ? std::optional(DType::U64)
                           : std::nullopt;
    default: return std::nullopt;
  }
}

// Elements in file order to row-major little-endian order.
void copy_elements(const char* from, uint8_t* to, const std::vector<int64_t>& shape, unsigned size, bool swap,
                   bool fortran) {
  uint64_t n = 1;
  for (int64_t d : shape) n *= static_cast<uint64_t>(d);
  if (!swap && !fortran) {
    std::memcpy(to, from, n * size);
    return;
  }
  std::vector<uint64_t> stride(shape.size(), 1);
  for (size_t i = 1; i < shape.size(); ++i) stride[i] = stride[i - 1] * static_cast<uint64_t>(shape[i - 1]);
  std::vector<int64_t> index(shape.size(), 0);
  for (uint64_t e = 0; e < n; ++e) {
    uint64_t source = e;
    if (fortran) {
      source = 0;
      for (size_t i = 0; i < shape.size(); ++i) source += static_cast<uint64_t>(index[i]) * stride[i];
      for (size_t i = shape.size(); i-- > 0;) {
        if (++index[i] < shape[i]) break;
        index[i] = 0;
      }
    }
    std::memcpy(to + e * size, from + source * size, size);
    if (swap) std::reverse(to + e * size, to + (e + 1) * size);
  }
}

}  // namespace

Result<Array> parse_npy(std::string_view bytes, const std::string& path, const DType* as) {
  auto fail = [&](std::string why) { return Error{fmt::format("{}: {}", path, why)}; };
  if (bytes.size() < 10 || bytes.substr(0, 6) != "\x93NUMPY") return fail("not a .npy file");
  unsigned version = static_cast<uint8_t>(bytes[6]);
  if (version < 1 || version > 3) return fail(fmt::format("unknown .npy format version {}", version));
  size_t length_bytes = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) return fail("the file ends inside of its header");
  size_t header_length = 0;
  for (size_t i = 0; i < length_bytes; ++i)
    header_length |= static_cast<size_t>(static_cast<uint8_t>(bytes[8 + i])) << 8 * i;
  size_t data_at = 8 + length_bytes + header_length;
  if (data_at > bytes.size()) return fail("the file ends inside of its header");
  Header h;
  if (auto why = HeaderReader(bytes.substr(8 + length_bytes, header_length)).read(h)) return fail(*why);

  std::vector<int64_t> shape = h.shape;
  std::optional<DType> dtype = numpy_dtype(h);
  if (as) {
    bool raw = (h.kind == 'V' || h.kind == 'u' || h.kind == 'i') && h.size == (bit_width(*as) == 16 ? 2u : 1u);
    if (!(dtype && *dtype == *as) && !(raw && is_float(*as) && bit_width(*as) <= 16))
      return fail(fmt::format("elements of type '{}{}' cannot be read as {}", h.kind, h.size, name(*as)));
    dtype = *as;
    if (is_packed(*as)) {
      if (shape.empty() || h.fortran) return fail(fmt::format("packed {} needs rows in C order", name(*as)));
      if (shape.back() > INT64_MAX / 8 || shape.back() * 8 % bit_width(*as))
        return fail(fmt::format("rows of {} bytes do not hold whole elements of {}", shape.back(), name(*as)));
      shape.back() = shape.back() * 8 / bit_width(*as);
    }
  }
  if (!dtype) return fail(fmt::format("the element type '{}{}' is not supported", h.kind, h.size));
  Result<uint64_t> size = Array::checked_bytes(*dtype, shape);
  if (!size) return fail(size.error().message);
  if (bytes.size() - data_at < *size)
    return fail(fmt::format("{} bytes of data are there, the shape needs {}", bytes.size() - data_at, *size));
  Result<Array> a = Array::make(*dtype, shape);
  if (!a) return a;
  copy_elements(bytes.data() + data_at, a->data(), is_packed(*dtype) ? h.shape : shape, h.size,
                h.order == '>' && h.size > 1, h.fortran);
  if (is_bool(*dtype))
    for (uint64_t i = 0; i < a->bytes(); ++i) a->data()[i] = a->data()[i] != 0;
  return a;
}

Result<Array> read_npy(const std::string& path, const DType* as) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{fmt::format("{}: cannot be opened", path)};
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) return Error{fmt::format("{}: cannot be read", path)};
  return parse_npy(bytes, path, as);
}

std::string print_npy(const Array& a) {
  std::string descr;
  switch (a.dtype()) {
    case DType::Bool: descr = "|b1"; break;
    case DType::F16: descr = "<f2"; break;
    case DType::F32: descr = "<f4"; break;
    case DType::F64: descr = "<f8"; break;
    case DType::BF16: descr = "<u2"; break;
    default:
      if (is_int(a.dtype())) {
        unsigned size = buffer_bytes(a.dtype());
        descr = fmt::format("{}{}{}", size == 1 ? '|' : '<', is_signed(a.dtype()) ? 'i' : 'u', size);
      } else {
        descr = "|u1";
      }
  }
  std::vector<int64_t> shape = a.shape();
  if (is_packed(a.dtype()) && !shape.empty()) shape.back() = shape.back() * bit_width(a.dtype()) / 8;
  std::string dims;
  for (int64_t d : shape) dims += fmt::format("{}, ", d);
  if (shape.size() > 1) dims.resize(dims.size() - 2);
  else if (shape.size() == 1) dims.resize(dims.size() - 1);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, dims);
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(reinterpret_cast<const char*>(a.data()), a.bytes());
  return out;
}

Status write_npy(const std::string& path, const Array& a) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  std::string bytes = print_npy(a);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) return Error{fmt::format("{}: cannot be written", path)};
  return Unit{};
}

}  // namespace tile
