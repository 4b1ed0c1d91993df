#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "runtime/array.h"

namespace tile {
namespace {

// A .npy file written by hand: the header's dictionary and the data.
std::string npy(const std::string& dictionary, const std::string& data, char version = 1) {
  std::string header = dictionary;
  size_t prefix = version == 1 ? 10 : 12;
  header.append((64 - (prefix + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string out("\x93NUMPY", 6);
  out += version;
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(header.size() >> 8 * i & 0xff);
  return out + header + data;
}

TEST(Npy, RoundTripOfEveryType) {
  std::mt19937_64 random(1);
  for (const DTypeInfo& row : dtype_table) {
    Result<Array> a = Array::make(row.dtype, {3, 8});
    ASSERT_TRUE(a) << row.name;
    for (int64_t i = 0; i < 24; ++i) a->set_bits(i, is_bool(row.dtype) ? random() & 1 : random());
    const DType* as = is_float(row.dtype) ? &row.dtype : nullptr;
    Result<Array> b = parse_npy(print_npy(*a), "x.npy", as);
    ASSERT_TRUE(b) << row.name << ": " << b.error().message;
    EXPECT_EQ(b->dtype(), row.dtype);
    EXPECT_EQ(b->shape(), a->shape());
    EXPECT_EQ(std::memcmp(a->data(), b->data(), a->bytes()), 0) << row.name;
  }
}

TEST(Npy, BigEndianAndFortranOrder) {
  // 2 x 3 of 1..6, column after column, most significant byte first.
  std::string data;
  for (int v : {1, 4, 2, 5, 3, 6}) data += std::string("\0", 1) + static_cast<char>(v);
  Result<Array> a = parse_npy(npy("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }", data), "x.npy");
  ASSERT_TRUE(a) << a.error().message;
  EXPECT_EQ(a->shape(), (std::vector<int64_t>{2, 3}));
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(a->value(i), static_cast<double>(i + 1));
}

TEST(Npy, ScalarsEmptyArraysAndVersions) {
  for (char version : {1, 2, 3}) {
    Result<Array> a = parse_npy(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", std::string(8, '\0'), version), "x");
    ASSERT_TRUE(a) << a.error().message;
    EXPECT_EQ(a->elements(), 1);
  }
  Result<Array> empty = parse_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 7), }", ""), "x");
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->elements(), 0);
}

TEST(Npy, PackedRowsCountElements) {
  DType t = DType::F4E2M1;
  std::string data("\x21\x43", 2);
  Result<Array> a = parse_npy(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2), }", data), "x", &t);
  ASSERT_TRUE(a) << a.error().message;
  EXPECT_EQ(a->shape(), (std::vector<int64_t>{1, 4}));
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(a->bits(i), static_cast<uint64_t>(i + 1));
}

TEST(Npy, MistakesAreNamed) {
  auto message = [](const std::string& bytes) {
    Result<Array> a = parse_npy(bytes, "x.npy");
    return a ? std::string("no error") : a.error().message;
  };
  EXPECT_EQ(message("hello"), "x.npy: not a .npy file");
  EXPECT_EQ(message(npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "12345678")),
            "x.npy: the element type 'c8' is not supported");
  EXPECT_EQ(message(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "1234")),
            "x.npy: 4 bytes of data are there, the shape needs 12");
  EXPECT_EQ(message(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }", "1234")),
            "x.npy: structured types are not supported");
  EXPECT_EQ(message(npy("{'descr': '<f4', 'shape': (3,), }", "1234")),
            "x.npy: the header lacks descr, fortran_order or shape");
}

TEST(Npy, AnyBytesAreAccepted) {
  std::mt19937 random(7);
  std::string good = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", std::string(24, 'x'));
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (unsigned k = random() % 6 + 1; k > 0; --k) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    Result<Array> a = parse_npy(bytes, "x.npy");
    EXPECT_TRUE(a || !a.error().message.empty());
  }
}

}  // namespace
}  // namespace tile
