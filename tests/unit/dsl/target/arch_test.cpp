#include "dsl/target/arch.h"

#include <gtest/gtest.h>

namespace tile {
namespace {

TEST(Arch, NamesParseBack) {
  for (const ArchInfo& row : arch_table) EXPECT_EQ(parse_arch(row.name), row.arch);
  EXPECT_FALSE(parse_arch("gfx1100"));
  EXPECT_FALSE(parse_arch(""));
}

TEST(Arch, ElfFlags) {
  EXPECT_EQ(arch_from_eflags(0x54f), Arch::Gfx950);
  EXPECT_EQ(arch_from_eflags(0x54c), Arch::Gfx942);
  EXPECT_EQ(arch_from_eflags(0x53f), Arch::Gfx90a);
  EXPECT_FALSE(arch_from_eflags(0x541));
}

TEST(Arch, LdsDmaWidths) {
  for (unsigned bytes : {1, 2, 4}) EXPECT_TRUE(has_lds_dma(Arch::Gfx942, bytes)) << bytes;
  for (unsigned bytes : {0, 3, 8, 12, 16, 32, 64}) EXPECT_FALSE(has_lds_dma(Arch::Gfx942, bytes)) << bytes;
  for (unsigned bytes : {1, 2, 4, 12, 16}) EXPECT_TRUE(has_lds_dma(Arch::Gfx950, bytes)) << bytes;
  EXPECT_FALSE(has_lds_dma(Arch::Gfx950, 8));
}

TEST(Arch, Fp8Flavours) {
  EXPECT_EQ(native_fp8(Arch::Gfx90a), std::nullopt);
  EXPECT_EQ(native_fp8(Arch::Gfx942), DType::F8E4M3FNUZ);
  EXPECT_EQ(native_bf8(Arch::Gfx942), DType::F8E5M2FNUZ);
  EXPECT_EQ(native_fp8(Arch::Gfx950), DType::F8E4M3);
  EXPECT_EQ(native_bf8(Arch::Gfx950), DType::F8E5M2);
}

TEST(Arch, Occupancy) {
  EXPECT_EQ(occupancy(1), 8u);
  EXPECT_EQ(occupancy(64), 8u);
  EXPECT_EQ(occupancy(65), 7u);
  EXPECT_EQ(occupancy(128), 4u);
  EXPECT_EQ(occupancy(129), 3u);
  EXPECT_EQ(occupancy(512), 1u);
  EXPECT_EQ(occupancy(513), 0u);
}

}  // namespace
}  // namespace tile
