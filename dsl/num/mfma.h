#pragma once
// What matrix instructions return, bit for bit (docs/semantics.md, "Matrix products", states the models).
//
// Three levels, all with the same arithmetic:
//   mfma_dot      C += A * B of any size, as the chain of instructions in ascending K (tile interpreter)
//   mfma_matrix   one block of one instruction on matrices, for a caller with register maps of its own
//   mfma_execute  one instruction on the registers of a wave, with all its modifiers (dsl/target's maps)
// A result that is NaN has unspecified sign and payload.
#include <cstddef>
#include <cstdint>

#include "dsl/target/mfma.h"

namespace tile::num {

// C (m x n) += A (m x k) * B (k x n), all row-major with the leading dimensions given in elements; the instruction is
// applied once per info(id).k of K, ascending. Elements are held as in tile buffers (dsl/num/storage.h): f16, bf16 and
// narrower as raw bits, one byte for 8 bits and fewer. C has the instruction's result type.
// Requires: exists_on(id, arch), k a multiple of info(id).k; k = 0 leaves C as it is.
struct MfmaDot {
  MfmaId id;
  Arch arch;
  // The formats of A and B; for scaled instructions only.
  MfmaFormat a_format = MfmaFormat::F8E4M3, b_format = MfmaFormat::F8E4M3;
  size_t m, n, k;
  const void* a;
  size_t lda;
  const void* b;
  size_t ldb;
  void* c;
  size_t ldc;
  // e8m0 scales of blocks of 32 in K, for scaled instructions only: of A m x k/32, of B k/32 x n. Null: all 1.
  const uint8_t* a_scale = nullptr;
  size_t lda_scale = 0;
  const uint8_t* b_scale = nullptr;
  size_t ldb_scale = 0;
};
void mfma_dot(const MfmaDot& dot);

// One block: D = C + A * B with dense row-major matrices of the instruction's M, N, K; otherwise as mfma_dot. Scales
// are M x K/32 and K/32 x N. D may be C.
void mfma_matrix(MfmaId id, Arch arch, const void* a, const void* b, const void* c, void* d,
                 MfmaFormat a_format = MfmaFormat::F8E4M3, MfmaFormat b_format = MfmaFormat::F8E4M3,
                 const uint8_t* a_scale = nullptr, const uint8_t* b_scale = nullptr);

// The fields of an instruction beside its registers.
struct MfmaModifiers {
  unsigned cbsz = 0, abid = 0, blgp = 0;  // of scaled instructions cbsz and blgp are the formats of A and B
  // Scaled instructions: the lane's scale registers (64 values each) and which byte of them counts. Null: scale 1.
  const uint32_t* a_scale = nullptr;
  const uint32_t* b_scale = nullptr;
  unsigned a_opsel = 0, b_opsel = 0;
};
// One instruction of a wave. Registers are [register][lane]: register r of lane l is a[64 * r + l]. Counts are
// a_registers, b_registers, d_registers of dsl/target/mfma.h (by the format for scaled instructions; 64-bit elements
// take two registers, low half first). d may be c. Modifiers that the instruction does not have are ignored.
void mfma_execute(MfmaId id, Arch arch, const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d,
                  const MfmaModifiers& modifiers = {});

}  // namespace tile::num
