#pragma once
// Host arrays: what launches take and give back, and how they are read from and written to .npy files.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/support/result.h"
#include "dsl/types/dtype.h"

namespace tile {

// A dense row-major array in host memory. Elements of packed types (f4e2m1, f6e2m3, f6e3m2) take their bits one after
// the other from the least significant on; a row (last dimension) then has to be whole bytes. bool is one byte, 0 or 1.
// The buffer starts at a multiple of 64 bytes and is padded with zeros to a multiple of 64.
class Array {
 public:
  Array() = default;
  // Zeros. Extents must not be negative; `checked_bytes` tells whether the size is possible.
  Array(DType dtype, std::vector<int64_t> shape);
  Array(const Array& other);
  Array& operator=(const Array& other);
  Array(Array&&) noexcept;
  Array& operator=(Array&&) noexcept;
  ~Array();

  // Bytes of an array, or an error: a negative extent, an overflow, more than 2^40 bytes, a packed row that is not whole
  // bytes.
  static Result<uint64_t> checked_bytes(DType dtype, const std::vector<int64_t>& shape);
  static Result<Array> make(DType dtype, std::vector<int64_t> shape);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t elements() const;
  uint64_t bytes() const { return bytes_; }
  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }

  // Raw bits of element i in row-major order, zero-extended; and the reverse (upper bits are ignored).
  uint64_t bits(int64_t i) const;
  void set_bits(int64_t i, uint64_t bits);
  // Value of element i: integers exactly up to 2^53, bool as 0 or 1.
  double value(int64_t i) const;

 private:
  DType dtype_ = DType::F32;
  std::vector<int64_t> shape_;
  uint64_t bytes_ = 0;
  uint8_t* data_ = nullptr;
};

// "f16[300, 100]"
std::string describe(const Array& a);

// Reads a .npy file (format versions 1 to 3): every NumPy numeric type and bool, both byte orders, C and Fortran order.
// `as` names the type that raw data (|V1, |V2, u1, i1, u2, i2) really has: fp8, bf16 or a packed type, whose last
// extent then counts elements. Errors name the file and what is wrong; any bytes are accepted as input.
Result<Array> read_npy(const std::string& path, const DType* as = nullptr);
Result<Array> parse_npy(std::string_view bytes, const std::string& path, const DType* as = nullptr);
// Writes version 1.0, C order. Types that NumPy lacks are written as raw integers: bf16 as u2, fp8 and packed as u1.
Status write_npy(const std::string& path, const Array& a);
std::string print_npy(const Array& a);

}  // namespace tile
