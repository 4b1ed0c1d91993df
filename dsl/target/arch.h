#pragma once
// The GPU architectures, driven by arch.def, and the limits that they share.
#include <cstdint>
#include <optional>
#include <string_view>

#include "dsl/types/dtype.h"

namespace tile {

enum class Arch : uint8_t {
#define TILE_ARCH(Kind, ...) Kind,
#include "dsl/target/arch.def"
};

enum class Fp8Flavour : uint8_t { None, Fnuz, Ocp };

// A row of arch.def; the columns are explained there.
struct ArchInfo {
  Arch arch;
  std::string_view name;
  unsigned mach;
  std::string_view product;
  unsigned compute_units;
  unsigned lds_bytes, lds_granule, lds_banks;
  Fp8Flavour fp8;
  bool has_xf32, has_f8f6f4, has_permlane_swap, has_ds_read_tr, has_cvt_pk_bf16, has_maximum3;
  uint32_t lds_dma_widths;
};

inline constexpr ArchInfo arch_table[] = {
#define TILE_ARCH(Kind, name, mach, product, cus, lds, granule, banks, fp8, xf32, f8f6f4, swap, tr, bf16, max3, dma) \
  {Arch::Kind, name, mach, product, cus, lds, granule, banks, Fp8Flavour::fp8, xf32 != 0, f8f6f4 != 0, swap != 0,    \
   tr != 0, bf16 != 0, max3 != 0, dma},
#include "dsl/target/arch.def"
};
inline constexpr unsigned num_archs = sizeof(arch_table) / sizeof(arch_table[0]);

constexpr const ArchInfo& info(Arch a) { return arch_table[static_cast<unsigned>(a)]; }
constexpr std::string_view name(Arch a) { return info(a).name; }

constexpr std::optional<Arch> parse_arch(std::string_view s) {
  for (const ArchInfo& row : arch_table)
    if (row.name == s) return row.arch;
  return std::nullopt;
}
// The architecture of a code object by its ELF header's e_flags (low byte: EF_AMDGPU_MACH).
constexpr std::optional<Arch> arch_from_eflags(uint32_t e_flags) {
  for (const ArchInfo& row : arch_table)
    if (row.mach == (e_flags & 0xff)) return row.arch;
  return std::nullopt;
}

// Loads of `bytes` bytes a lane can go from a buffer straight to LDS.
constexpr bool has_lds_dma(Arch a, unsigned bytes) { return bytes < 32 && (info(a).lds_dma_widths >> bytes & 1) != 0; }

// The type that the architecture's "fp8" (e4m3) and "bf8" (e5m2) instructions work on.
constexpr std::optional<DType> native_fp8(Arch a) {
  if (info(a).fp8 == Fp8Flavour::None) return std::nullopt;
  return info(a).fp8 == Fp8Flavour::Fnuz ? DType::F8E4M3FNUZ : DType::F8E4M3;
}
constexpr std::optional<DType> native_bf8(Arch a) {
  if (info(a).fp8 == Fp8Flavour::None) return std::nullopt;
  return info(a).fp8 == Fp8Flavour::Fnuz ? DType::F8E5M2FNUZ : DType::F8E5M2;
}

// The same on all three (CDNA2 to CDNA4).
inline constexpr unsigned wave_size = 64;
inline constexpr unsigned simds_per_cu = 4;
inline constexpr unsigned max_waves_per_simd = 8;
inline constexpr unsigned max_workgroup_size = 1024;
inline constexpr unsigned max_vgprs = 256;          // architectural VGPRs that an instruction can name
inline constexpr unsigned max_agprs = 256;          // accumulation VGPRs
inline constexpr unsigned vgprs_per_simd = 512;     // VGPRs + AGPRs of one lane, shared by the waves of a SIMD
inline constexpr unsigned vgpr_granule = 8;         // by which a wave's VGPRs + AGPRs are allocated
inline constexpr unsigned max_sgprs = 102;          // s0 to s101; VCC and the rest come on top


// Waves that fit a SIMD with `total_vgprs` registers a lane (VGPRs + AGPRs).
constexpr unsigned occupancy(unsigned total_vgprs) {
  unsigned rounded = (total_vgprs + vgpr_granule - 1) / vgpr_granule * vgpr_granule;
  if (rounded == 0) return max_waves_per_simd;
  unsigned waves = vgprs_per_simd / rounded;
  return waves < max_waves_per_simd ? waves : max_waves_per_simd;
}

}  // namespace tile
