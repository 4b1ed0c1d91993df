#include "dsl/num/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "dsl/num/elementwise_loop.h"

namespace tile::num {
namespace {

// Random operands of a type with a good share of special values.
std::vector<unsigned char> operands(DType t, size_t n, std::mt19937_64& rng) {
  std::vector<unsigned char> out(n * buffer_bytes(t));
  for (size_t i = 0; i < n; i++) {
    uint64_t v = rng();
    unsigned bits = bit_width(t);
    uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    if (rng() % 4 == 0) {
      const uint64_t special[] = {0, 1, mask, mask >> 1, (mask >> 1) + 1, 2, 31, 64};
      v = special[rng() % 8];
    } else if (is_float(t) && rng() % 4 == 0 && bits >= 16) {
      // Inf and NaN.
      v = ((uint64_t{1} << info(t).exp_bits) - 1) << info(t).man_bits;
      if (rng() % 2) v |= uint64_t{1} << (info(t).man_bits - 1);
      if (rng() % 2) v |= uint64_t{1} << (bits - 1);
    }
    v &= mask;
    memcpy(&out[i * buffer_bytes(t)], &v, buffer_bytes(t));
  }
  return out;
}

bool same_value(DType t, const void* a, const void* b) {
  if (memcmp(a, b, buffer_bytes(t)) == 0) return true;
  if (!is_float(t)) return false;
  return visit_dtype(t, [&]<DType T>() {
    if constexpr (is_float(T)) {
      storage_t<T> x, y;
      memcpy(&x, a, sizeof x);
      memcpy(&y, b, sizeof y);
      return std::isnan(widen<T>(x)) && std::isnan(widen<T>(y));
    } else {
      return false;
    }
  });
}

TEST(Kernels, DomainsAreThoseOfTheTable) {
  for (Domain d : {Domain::AnyInt, Domain::SInt, Domain::UInt, Domain::Float, Domain::F16F32, Domain::BoolInt, Domain::Any})
    for (const DTypeInfo& row : dtype_table) EXPECT_EQ(domain_has(d, row.dtype), in_domain(d, row.dtype)) << row.name;
}

// Every kernel of every host instruction set gives the same results, in place too, and touches nothing past the end.
TEST(Kernels, HostInstructionSetsAgree) {
  std::mt19937_64 rng(5);
  unsigned kernels = 0;
  for (unsigned k = 0; k < num_elementwise; k++) {
    OpKind op = op_at(k);
    const OpInfo& row = info(op);
    for (const DTypeInfo& type : dtype_table) {
      DType t = type.dtype;
      set_host_isa(HostIsa::Base);
      ElementwiseKernel base = elementwise_kernel(op, t);
      ASSERT_EQ(base != nullptr, in_domain(row.domain, t)) << row.mnemonic << " " << type.name;
      if (base == nullptr) continue;
      kernels++;
      for (size_t n : {size_t{0}, size_t{1}, size_t{37}, size_t{1000}}) {
        DType first = row.form == Form::Select ? DType::Bool : t;
        auto a = operands(first, n, rng), b = operands(t, n, rng), c = operands(t, n, rng);
        DType result = row.form == Form::Cmp ? DType::Bool : t;
        std::vector<unsigned char> want((n + 1) * buffer_bytes(result), 0xab);
        // One element at a time: the scalar remainder of the loop judges its vectorised body.
        size_t bytes = buffer_bytes(t);
        for (size_t i = 0; i < n; i++)
          base(&a[i * buffer_bytes(first)], &b[i * bytes], &c[i * bytes], &want[i * buffer_bytes(result)], 1);
        for (HostIsa isa : {HostIsa::Base, HostIsa::Avx2, HostIsa::Avx512}) {
          set_host_isa(isa);
          std::vector<unsigned char> got((n + 1) * buffer_bytes(result), 0xab);
          bool in_place = row.form == Form::Same;
          if (in_place && n != 0) memcpy(got.data(), a.data(), a.size());
          elementwise_kernel(op, t)(in_place ? got.data() : a.data(), b.data(), c.data(), got.data(), n);
          EXPECT_EQ(got.back(), 0xab);
          for (size_t i = 0; i < n; i++)
            ASSERT_TRUE(same_value(result, &got[i * buffer_bytes(result)], &want[i * buffer_bytes(result)]))
                << row.mnemonic << " " << type.name << " element " << i << " isa " << static_cast<int>(isa);
        }
      }
    }
  }
  EXPECT_GT(kernels, 300u);
  set_host_isa(best_host_isa());
}

}  // namespace
}  // namespace tile::num
