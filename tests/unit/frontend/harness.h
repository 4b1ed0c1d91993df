#pragma once
// One kernel, two executors: the interpreter right after fix_values is the judge, the machine code on the simulator has
// to give the same bits (any NaN for a NaN).
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "dsl/ir/ir.h"

namespace tile::test {

struct Values {
  std::map<std::string, std::vector<uint8_t>> arrays;  // by parameter
  std::map<std::string, int64_t> scalars;
};

using Constants = std::vector<std::pair<std::string, std::string>>;

// How the executors differ, or why one of them failed; nothing if they agree. `kernel` comes from sema. The grid is that of
// the header.
std::optional<std::string> difference(ir::Kernel kernel, const Values& values, const SourceManager& sources = {});
// The same for the only kernel of a source text.
std::optional<std::string> difference(const std::string& source, Arch arch, const Constants& constants, const Values& values);

inline constexpr Arch all_archs[] = {Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950};

// `count` elements: for tests of arithmetic, special values and random bits in turn; for sums, small random numbers that
// are exact in the type.
std::vector<uint8_t> wild(DType t, size_t count, uint64_t seed);
std::vector<uint8_t> tame(DType t, size_t count, uint64_t seed);
std::vector<uint8_t> zeros(DType t, size_t count);

}  // namespace tile::test
