#include "runtime/array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "dsl/num/kernels.h"

namespace tile {
namespace {

constexpr uint64_t alignment = 64;

uint8_t* allocate(uint64_t bytes) {
  uint64_t padded = (bytes + alignment) / alignment * alignment;
  auto* p = static_cast<uint8_t*>(std::aligned_alloc(alignment, padded));
  if (p) std::memset(p, 0, padded);
  return p;
}

}  // namespace

Result<uint64_t> Array::checked_bytes(DType dtype, const std::vector<int64_t>& shape) {
  uint64_t elements = 1;
  for (int64_t d : shape) {
    if (d < 0) return Error{fmt::format("a negative extent in [{}]", fmt::join(shape, ", "))};
    if (__builtin_mul_overflow(elements, static_cast<uint64_t>(d), &elements))
      return Error{fmt::format("an array of shape [{}] is too large", fmt::join(shape, ", "))};
  }
  if (is_packed(dtype)) {
    uint64_t row_bits = (shape.empty() ? 1 : static_cast<uint64_t>(shape.back())) * bit_width(dtype);
    if (row_bits % 8)
      return Error{fmt::format("rows of {} elements of {} are not whole bytes", shape.empty() ? 1 : shape.back(),
                               name(dtype))};
  }
  uint64_t bits = 0;
  uint64_t width = is_packed(dtype) ? bit_width(dtype) : 8 * buffer_bytes(dtype);
  if (__builtin_mul_overflow(elements, width, &bits) || bits / 8 > (uint64_t{1} << 40))
    return Error{fmt::format("an array of shape [{}] is too large", fmt::join(shape, ", "))};
  return bits / 8;
}

Array::Array(DType dtype, std::vector<int64_t> shape) : dtype_(dtype), shape_(std::move(shape)) {
  Result<uint64_t> size = checked_bytes(dtype_, shape_);
  bytes_ = size ? *size : 0;
  data_ = allocate(bytes_);
}

Result<Array> Array::make(DType dtype, std::vector<int64_t> shape) {
  Result<uint64_t> size = checked_bytes(dtype, shape);
  if (!size) return size.error();
  Array a(dtype, std::move(shape));
  if (!a.data_) return Error{fmt::format("no memory for {} bytes", *size)};
  return a;
}

Array::Array(const Array& o) : dtype_(o.dtype_), shape_(o.shape_), bytes_(o.bytes_) {
  if (!o.data_) return;
  data_ = allocate(bytes_);
  if (data_) std::memcpy(data_, o.data_, bytes_);
}

Array& Array::operator=(const Array& o) {
  if (this != &o) *this = Array(o);
  return *this;
}

Array::Array(Array&& o) noexcept
    : dtype_(o.dtype_), shape_(std::move(o.shape_)), bytes_(o.bytes_), data_(std::exchange(o.data_, nullptr)) {}

Array& Array::operator=(Array&& o) noexcept {
  std::swap(dtype_, o.dtype_);
  std::swap(shape_, o.shape_);
  std::swap(bytes_, o.bytes_);
  std::swap(data_, o.data_);
  return *this;
}

Array::~Array() { std::free(data_); }

int64_t Array::elements() const {
  int64_t n = 1;
  for (int64_t d : shape_) n *= d;
  return n;
}

uint64_t Array::bits(int64_t i) const {
  unsigned width = bit_width(dtype_);
  if (is_packed(dtype_)) {
    uint64_t first = static_cast<uint64_t>(i) * width;
    unsigned shift = first % 8;
    uint64_t word = data_[first / 8];
    if (shift + width > 8) word |= static_cast<uint64_t>(data_[first / 8 + 1]) << 8;
    return word >> shift & ((1u << width) - 1);
  }
  unsigned size = buffer_bytes(dtype_);
  uint64_t v = 0;
  std::memcpy(&v, data_ + static_cast<uint64_t>(i) * size, size);
  return v;
}

void Array::set_bits(int64_t i, uint64_t bits) {
  unsigned width = bit_width(dtype_);
  if (is_packed(dtype_)) {
    for (unsigned b = 0; b < width; ++b) {
      uint64_t at = static_cast<uint64_t>(i) * width + b;
      uint8_t mask = static_cast<uint8_t>(1u << at % 8);
      data_[at / 8] = static_cast<uint8_t>(bits >> b & 1 ? data_[at / 8] | mask : data_[at / 8] & ~mask);
    }
    return;
  }
  unsigned size = buffer_bytes(dtype_);
  std::memcpy(data_ + static_cast<uint64_t>(i) * size, &bits, size);
}

double Array::value(int64_t i) const {
  uint64_t raw = bits(i);
  if (is_bool(dtype_)) return raw != 0;
  if (is_int(dtype_)) {
    unsigned unused = 64 - bit_width(dtype_);
    if (is_signed(dtype_)) return static_cast<double>(static_cast<int64_t>(raw << unused) >> unused);
    return static_cast<double>(raw);
  }
  double d = 0;
  num::convert(dtype_, DType::F64, {}, &raw, &d, 1);
  return d;
}

std::string describe(const Array& a) {
  return fmt::format("{}[{}]", name(a.dtype()), fmt::join(a.shape(), ", "));
}

}  // namespace tile
