#pragma once
// The dense matrix instructions, driven by mfma.def: shapes, types, register maps, arithmetic models.
//
// An instruction computes, for every block, D[i][j] = C[i][j] + sum over k of A[i][k] * B[k][j], with A of M x K,
// B of K x N, C and D of M x N. Its operands are spread over the 64 lanes of a wave. Lane l holds
// `a_elements(id)` elements of A, packed over its registers least significant first; element e of them is the entry
// that a_coord(id, l, e) names. D has `d_elements(id)` elements a lane. With G = 64 / M groups of lanes:
//   Blocks    A: i = l % M, k = e, block = l / M. B likewise with j.                        (blocks == G)
//   Split     A: i = l % M, k = n * (l / M) + e, n = M * K / 64. B likewise with j.         (one block)
//   Scaled    as Split with n = 32 for operands of 4 and 6 bits. Operands of 8 bits come in two chunks of 16:
//             k = (K / 2) * (e / 16) + 16 * (l / M) + e % 16. Each operand follows its own format.
//   F64Small  A: i = l % 4, block = l / 4 % 4, k = l / 16
//   D of Blocks, Split, Scaled, by M:
//     32      i = 8 * (r % 16 / 4) + 4 * (l / 32) + r % 4, j = l % 32, block = r / 16
//     16      i = 4 * (l / 16) + r % 4, j = l % 16, block = r / 4
//     4       i = r, j = l % 4, block = l / 4
//   D of F64: i = 4 * r + l / 16, j = l % 16.  D of F64Small: i = l / 16, j = l % 4, block = l / 4 % 4
// Source: AMD matrix calculator 1.3.2 for gfx90a and gfx942; for the shapes new in gfx950, AMD's and compilers' code.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dsl/target/arch.h"
#include "dsl/types/dtype.h"

namespace tile {

enum class MfmaId : uint8_t {
#define TILE_MFMA(Kind, ...) Kind,
#include "dsl/target/mfma.def"
};

// Operand types as the instructions have them. Xf32 is f32 of which 10 mantissa bits count; Fp8 and Bf8 are e4m3 and
// e5m2 in the architecture's flavour; F8F6F4 is chosen by the instruction (MfmaFormat).
enum class MfmaType : uint8_t { F32, F64, F16, BF16, I8, I32, Xf32, Fp8, Bf8, F8F6F4 };

// The formats of the scaled instructions, with their encodings in the instruction (cbsz for A, blgp for B).
enum class MfmaFormat : uint8_t { F8E4M3 = 0, F8E5M2 = 1, F6E2M3 = 2, F6E3M2 = 3, F4E2M1 = 4 };

// How an instruction adds up; docs/semantics.md states each one exactly.
//   Fma         one fused multiply-add after the other in ascending k
//   Ftz2, Ftz4  f32 sums of 2 or 4 rounded products, denormals flushed
//   Tr4, Tr8    groups of 4 or 8 products aligned to the largest and truncated, then one rounding with C
//   Gtr16       groups of 16: even and odd k truncated apart, then as Tr
//   Int32       exact sum modulo 2^32
//   ScaledTr32  blocks of 32, each scaled and then as Tr with 32 products
enum class MfmaModel : uint8_t { None, Fma, Ftz2, Ftz4, Tr4, Tr8, Gtr16, Int32, ScaledTr32 };
enum class MfmaStatus : uint8_t { NoInstr, Exact, Modelled, Provisional };
enum class MfmaMaps : uint8_t { Blocks, Split, Scaled, F64, F64Small };

enum class MfmaClass : uint8_t {
#define TILE_MFMA_CLASS(Kind, ...) Kind,
#include "dsl/target/mfma.def"
};

struct MfmaClassInfo {
  MfmaModel model[num_archs];
  MfmaStatus status[num_archs];
};

// A row of mfma.def; the columns are explained there.
struct MfmaInfo {
  MfmaId id;
  std::string_view kind;
  std::string_view intrinsic;
  unsigned m, n, k, blocks;
  MfmaType a, b, cd;
  unsigned passes[num_archs];
  MfmaMaps maps;
  MfmaClass cls;
};

inline constexpr MfmaClassInfo mfma_class_table[] = {
#define TILE_MFMA_CLASS(Kind, m90a, m942, m950, s90a, s942, s950) \
  {{MfmaModel::m90a, MfmaModel::m942, MfmaModel::m950}, {MfmaStatus::s90a, MfmaStatus::s942, MfmaStatus::s950}},
#include "dsl/target/mfma.def"
};

inline constexpr MfmaInfo mfma_table[] = {
#define TILE_MFMA(Kind, intrinsic, m, n, k, blocks, a, b, cd, p90a, p942, p950, maps, cls)                      \
  {MfmaId::Kind, #Kind, intrinsic, m, n, k, blocks, MfmaType::a, MfmaType::b, MfmaType::cd, {p90a, p942, p950}, \
   MfmaMaps::maps, MfmaClass::cls},
#include "dsl/target/mfma.def"
};
inline constexpr unsigned num_mfmas = sizeof(mfma_table) / sizeof(mfma_table[0]);

constexpr const MfmaInfo& info(MfmaId id) { return mfma_table[static_cast<unsigned>(id)]; }
constexpr bool exists_on(MfmaId id, Arch a) { return info(id).passes[static_cast<unsigned>(a)] != 0; }
// None when the architecture lacks the instruction.
constexpr MfmaModel model_of(MfmaId id, Arch a) {
  return exists_on(id, a) ? mfma_class_table[static_cast<unsigned>(info(id).cls)].model[static_cast<unsigned>(a)] : MfmaModel::None;
}
constexpr MfmaStatus status_of(MfmaId id, Arch a) {
  return exists_on(id, a) ? mfma_class_table[static_cast<unsigned>(info(id).cls)].status[static_cast<unsigned>(a)] : MfmaStatus::NoInstr;
}
constexpr bool is_provisional(MfmaId id, Arch a) { return status_of(id, a) == MfmaStatus::Provisional; }

constexpr std::optional<MfmaId> mfma_from_intrinsic(std::string_view intrinsic) {
  for (const MfmaInfo& row : mfma_table)
    if (row.intrinsic == intrinsic) return row.id;
  return std::nullopt;
}
// The name in assembly, v_mfma_f32_16x16x16_f16 for one; it differs between gfx90a and the later ones. Scaled
// instructions have two: v_mfma_scale_f32_16x16x128_f8f6f4 here, and without `scale_` when there are no scales.
std::string mfma_mnemonic(MfmaId id, Arch a);
// The instruction with that assembly name (of scaled ones both are known) on the architecture.
std::optional<MfmaId> mfma_from_mnemonic(std::string_view mnemonic, Arch a);

constexpr DType dtype_of(MfmaFormat f) {
  constexpr DType types[] = {DType::F8E4M3, DType::F8E5M2, DType::F6E2M3, DType::F6E3M2, DType::F4E2M1};
  return types[static_cast<unsigned>(f)];
}
constexpr std::optional<MfmaFormat> mfma_format(DType t) {
  for (unsigned f = 0; f < 5; f++)
    if (dtype_of(static_cast<MfmaFormat>(f)) == t) return static_cast<MfmaFormat>(f);
  return std::nullopt;
}
// The element type of an operand on an architecture; `format` decides for F8F6F4. Xf32 is held as F32.
constexpr std::optional<DType> dtype_of(MfmaType t, Arch a, MfmaFormat format = MfmaFormat::F8E4M3) {
  switch (t) {
    case MfmaType::F32: case MfmaType::Xf32: return DType::F32;
    case MfmaType::F64: return DType::F64;
    case MfmaType::F16: return DType::F16;
    case MfmaType::BF16: return DType::BF16;
    case MfmaType::I8: return DType::I8;
    case MfmaType::I32: return DType::I32;
    case MfmaType::Fp8: return native_fp8(a);
    case MfmaType::Bf8: return native_bf8(a);
    case MfmaType::F8F6F4: return info(a).has_f8f6f4 ? std::optional(dtype_of(format)) : std::nullopt;
  }
  return std::nullopt;
}

// Elements of A a lane (the same for B), elements of C and D a lane.
constexpr unsigned a_elements(MfmaId id) { return info(id).m * info(id).k * info(id).blocks / wave_size; }
constexpr unsigned b_elements(MfmaId id) { return info(id).n * info(id).k * info(id).blocks / wave_size; }
constexpr unsigned d_elements(MfmaId id) { return info(id).m * info(id).n * info(id).blocks / wave_size; }
// 32-bit registers a lane. Of scaled instructions: as the format needs (8, 6 or 4).
constexpr unsigned a_registers(MfmaId id, MfmaFormat f = MfmaFormat::F8E4M3) {
  // The flavour of fp8 does not matter for the width; gfx950's names all types but xf32, which is 32 bits like f32.
  return a_elements(id) * bit_width(*dtype_of(info(id).a, Arch::Gfx950, f)) / 32;
}
constexpr unsigned b_registers(MfmaId id, MfmaFormat f = MfmaFormat::F8E4M3) {
  return b_elements(id) * bit_width(*dtype_of(info(id).b, Arch::Gfx950, f)) / 32;
}
constexpr unsigned d_registers(MfmaId id) { return d_elements(id) * (info(id).cd == MfmaType::F64 ? 2 : 1); }
// 4-cycle passes. Scaled instructions take twice as long when an operand has 8 bits.
constexpr unsigned passes_of(MfmaId id, Arch a, MfmaFormat fa = MfmaFormat::F4E2M1, MfmaFormat fb = MfmaFormat::F4E2M1) {
  unsigned p = info(id).passes[static_cast<unsigned>(a)];
  bool eight = bit_width(dtype_of(fa)) == 8 || bit_width(dtype_of(fb)) == 8;
  return info(id).maps == MfmaMaps::Scaled && eight ? 2 * p : p;
}

// What the cbsz, abid and blgp fields of an instruction mean. cbsz and abid: blocks share A (not for f64). blgp:
// another lane's B. On gfx942 and gfx950 the blgp field of f64 instructions negates A, B, C instead (bits 0, 1, 2).
constexpr bool has_cbsz(MfmaId id) { return info(id).maps == MfmaMaps::Blocks; }
constexpr bool has_blgp(MfmaId id, Arch a) {
  if (info(id).cd == MfmaType::F64 || info(id).maps == MfmaMaps::Scaled) return false;
  return a == Arch::Gfx90a || info(id).maps == MfmaMaps::Blocks || info(id).cls == MfmaClass::F32;
}
constexpr bool has_neg(MfmaId id, Arch a) { return info(id).cd == MfmaType::F64 && a != Arch::Gfx90a; }

// An entry of a block's A (row i, col k), B (row k, col j) or D (row i, col j).
struct MfmaCoord {
  unsigned row, col, block;
  bool operator==(const MfmaCoord&) const = default;
};
// Where an entry lives.
struct MfmaPlace {
  unsigned lane, element;
  bool operator==(const MfmaPlace&) const = default;
};

// The maps above and their inverses. `format` matters for scaled instructions only.
MfmaCoord a_coord(MfmaId id, unsigned lane, unsigned element, MfmaFormat format = MfmaFormat::F8E4M3);
MfmaCoord b_coord(MfmaId id, unsigned lane, unsigned element, MfmaFormat format = MfmaFormat::F8E4M3);
MfmaCoord d_coord(MfmaId id, unsigned lane, unsigned element);
MfmaPlace a_place(MfmaId id, MfmaCoord at, MfmaFormat format = MfmaFormat::F8E4M3);
MfmaPlace b_place(MfmaId id, MfmaCoord at, MfmaFormat format = MfmaFormat::F8E4M3);
MfmaPlace d_place(MfmaId id, MfmaCoord at);
// The lane whose B registers lane `lane` uses under blgp (0 to 7).
constexpr unsigned blgp_lane(unsigned blgp, unsigned lane) {
  switch (blgp & 7) {
    case 1: return lane % 32;
    case 2: return lane % 32 + 32;
    case 3: return (lane + 16) % 64;
    case 4: case 5: case 6: case 7: return lane % 16 + 16 * (blgp - 4);
    default: return lane;
  }
}
// The block whose A block `block` uses under cbsz and abid.
constexpr unsigned cbsz_block(unsigned cbsz, unsigned abid, unsigned block) { return (block & ~((1u << cbsz) - 1)) + abid; }

}  // namespace tile
