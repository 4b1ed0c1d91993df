#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "dsl/num/kernel_table.h"
#include "dsl/num/kernels.h"
#include "dsl/num/mfma.h"
#include "dsl/num/mfma_kernels.h"
#include "dsl/num/mfma_scalar.h"

namespace tile::num {

namespace isa_avx2 {
DotKernels dot_kernels();
}
namespace isa_avx512 {
DotKernels dot_kernels();
}

namespace {

DotKernels current_kernels() {
  switch (host_isa()) {
    case HostIsa::Avx512: return isa_avx512::dot_kernels();
    case HostIsa::Avx2: return isa_avx2::dot_kernels();
    case HostIsa::Base: break;
  }
  return isa_base::dot_kernels();
}

// The operand without gaps between its rows; the original when it has none.
template <class T>
const T* dense(const void* data, size_t rows, size_t cols, size_t ld, std::unique_ptr<T[]>& copy) {
  auto src = static_cast<const T*>(data);
  if (ld == cols) return src;
  copy = std::make_unique_for_overwrite<T[]>(rows * cols);
  for (size_t r = 0; r < rows; r++) std::memcpy(&copy[r * cols], src + r * ld, cols * sizeof(T));
  return copy.get();
}

// An operand as f32, with what is not finite replaced by 0 and marked.
struct Widened {
  std::unique_ptr<float[]> values;  // dense
  std::vector<bool> special_rows, special_cols;
  bool any_special = false;
};

Widened widen(MfmaOperandType t, const void* data, size_t rows, size_t cols, size_t ld) {
  Widened w;
  w.values = std::make_unique_for_overwrite<float[]>(rows * cols);
  size_t bytes = buffer_bytes(t.dtype);
  if (ld == cols) {
    convert(t.dtype, DType::F32, {}, data, w.values.get(), rows * cols);
  } else {
    for (size_t r = 0; r < rows; r++) convert(t.dtype, DType::F32, {}, static_cast<const char*>(data) + r * ld * bytes, &w.values[r * cols], cols);
  }
  auto bits = reinterpret_cast<uint32_t*>(w.values.get());
  if (t.xf32)
    for (size_t i = 0; i < rows * cols; i++) bits[i] &= ~0x1fffu;
  uint32_t special = 0;
  for (size_t i = 0; i < rows * cols; i++) special |= (bits[i] & 0x7f800000u) == 0x7f800000u;
  if (special == 0) return w;
  w.any_special = true;
  w.special_rows.resize(rows);
  w.special_cols.resize(cols);
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < cols; c++) {
      uint32_t& b = bits[r * cols + c];
      if ((b & 0x7f800000u) != 0x7f800000u) continue;
      w.special_rows[r] = w.special_cols[c] = true;
      b = 0;
    }
  return w;
}

// Operands below the smallest normal of their format count as +0.
void flush_operand(float* x, size_t n, int emin) {
  float smallest = std::ldexp(1.0f, emin);
  for (size_t i = 0; i < n; i++) x[i] = std::abs(x[i]) < smallest ? 0.0f : x[i];
}

unsigned group_size(MfmaModel m) {
  switch (m) {
    case MfmaModel::Tr4: return 4;
    case MfmaModel::Tr8: return 8;
    case MfmaModel::Gtr16: return 16;
    case MfmaModel::ScaledTr32: return 32;
    default: return 1;
  }
}

// The exact path for one group of one output.
struct ExactContext {
  const MfmaDot* dot;
  MfmaModel model;
  MfmaOperandType a, b;
};

uint32_t element_bits(MfmaOperandType t, const void* data, size_t index) {
  switch (buffer_bytes(t.dtype)) {
    case 1: return static_cast<const uint8_t*>(data)[index];
    case 2: return static_cast<const uint16_t*>(data)[index];
    default: return static_cast<const uint32_t*>(data)[index];
  }
}

void exact_group(const void* context, size_t i, size_t j, size_t k0, float* c) {
  auto& ctx = *static_cast<const ExactContext*>(context);
  const MfmaDot& dot = *ctx.dot;
  unsigned L = group_size(ctx.model);
  MfmaOperand a[32], b[32];
  for (unsigned k = 0; k < L; k++) {
    a[k] = mfma_decode(ctx.a, element_bits(ctx.a, dot.a, i * dot.lda + k0 + k));
    b[k] = mfma_decode(ctx.b, element_bits(ctx.b, dot.b, (k0 + k) * dot.ldb + j));
  }
  int man_bits = mfma_man_bits(ctx.a) + mfma_man_bits(ctx.b);
  if (ctx.model == MfmaModel::Gtr16) {
    *c = mfma_gtr_group(a, b, L, man_bits, *c);
    return;
  }
  int scale = 0;
  if (ctx.model == MfmaModel::ScaledTr32) {
    unsigned sa = dot.a_scale ? dot.a_scale[i * dot.lda_scale + k0 / 32] : 127;
    unsigned sb = dot.b_scale ? dot.b_scale[k0 / 32 * dot.ldb_scale + j] : 127;
    if (sa == 255 || sb == 255) {
      *c = std::nanf("");
      return;
    }
    scale = static_cast<int>(sa + sb) - 254;
  }
  *c = mfma_tr_group(a, b, L, man_bits, scale, *c);
}

// Rows and columns with Inf or NaN among operands or scales, whole.
void exact_outputs(const DotF32& d, const ExactContext& ctx, const std::vector<float>& c_before, const std::vector<bool>& rows, const std::vector<bool>& cols) {
  unsigned L = group_size(ctx.model);
  for (size_t i = 0; i < d.m; i++)
    for (size_t j = 0; j < d.n; j++) {
      if (!rows[i] && !cols[j]) continue;
      float c = c_before[i * d.n + j];
      for (size_t k = 0; k < d.k; k += L) exact_group(&ctx, i, j, k, &c);
      d.c[i * d.ldc + j] = c;
    }
}

// sa - 127 of all rows and blocks, or sb - 127 of all blocks and columns. Marks those with a NaN.
std::vector<int32_t> scale_exponents(const uint8_t* s, size_t rows, size_t cols, size_t ld, bool mark_rows, std::vector<bool>& marks, bool& any) {
  std::vector<int32_t> r(rows * cols);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++) {
      uint8_t code = s[i * ld + j];
      r[i * cols + j] = code == 255 ? 0 : code - 127;
      if (code == 255) any = marks[mark_rows ? i : j] = true;
    }
  return r;
}

void dot_f32_out(const MfmaDot& dot, MfmaModel model, MfmaOperandType ta, MfmaOperandType tb) {
  bool plain = model == MfmaModel::Fma || model == MfmaModel::Ftz2 || model == MfmaModel::Ftz4;
  DotF32 d{};
  d.model = model;
  d.inst_k = info(dot.id).k;
  d.m = dot.m, d.n = dot.n, d.k = dot.k;
  d.c = static_cast<float*>(dot.c);
  d.ldc = dot.ldc;
  d.a_emin = 1 - info(ta.dtype).bias;
  d.b_emin = 1 - info(tb.dtype).bias;
  if (plain) {
    // Inf and NaN behave as in f32 arithmetic; nothing is replaced.
    auto a = std::make_unique_for_overwrite<float[]>(dot.m * dot.k), b = std::make_unique_for_overwrite<float[]>(dot.k * dot.n);
    for (size_t i = 0; i < dot.m; i++)
      convert(ta.dtype, DType::F32, {}, static_cast<const char*>(dot.a) + i * dot.lda * buffer_bytes(ta.dtype), &a[i * dot.k], dot.k);
    for (size_t k = 0; k < dot.k; k++)
      convert(tb.dtype, DType::F32, {}, static_cast<const char*>(dot.b) + k * dot.ldb * buffer_bytes(tb.dtype), &b[k * dot.n], dot.n);
    if (model != MfmaModel::Fma) {
      flush_operand(a.get(), dot.m * dot.k, d.a_emin);
      flush_operand(b.get(), dot.k * dot.n, d.b_emin);
    }
    d.a = a.get(), d.b = b.get();
    current_kernels().f32_out(d);
    return;
  }
  Widened a = widen(ta, dot.a, dot.m, dot.k, dot.lda), b = widen(tb, dot.b, dot.k, dot.n, dot.ldb);
  d.a = a.values.get(), d.b = b.values.get();
  ExactContext ctx{&dot, model, ta, tb};
  d.exact_group = exact_group;
  d.context = &ctx;
  std::vector<bool> rows(dot.m), cols(dot.n);
  if (a.any_special) rows = a.special_rows;
  if (b.any_special) cols = b.special_cols;
  bool special = a.any_special || b.any_special;
  std::vector<int32_t> a_scale, b_scale;
  if (model == MfmaModel::ScaledTr32 && dot.a_scale != nullptr) {
    a_scale = scale_exponents(dot.a_scale, dot.m, dot.k / 32, dot.lda_scale, true, rows, special);
    d.a_scale = a_scale.data();
  }
  if (model == MfmaModel::ScaledTr32 && dot.b_scale != nullptr) {
    b_scale = scale_exponents(dot.b_scale, dot.k / 32, dot.n, dot.ldb_scale, false, cols, special);
    d.b_scale = b_scale.data();
  }
  std::vector<float> before;
  if (special) {
    before.resize(dot.m * dot.n);
    for (size_t i = 0; i < dot.m; i++) std::memcpy(&before[i * dot.n], d.c + i * dot.ldc, dot.n * sizeof(float));
  }
  current_kernels().f32_out(d);
  if (special) exact_outputs(d, ctx, before, rows, cols);
}

}  // namespace

void mfma_dot(const MfmaDot& dot) {
  const MfmaInfo& row = info(dot.id);
  MfmaModel model = model_of(dot.id, dot.arch);
  if (model == MfmaModel::None || dot.m == 0 || dot.n == 0 || dot.k == 0) return;
  if (row.cd == MfmaType::I32) {
    std::unique_ptr<int8_t[]> a, b;
    current_kernels().i8(dot.m, dot.n, dot.k, dense(dot.a, dot.m, dot.k, dot.lda, a), dense(dot.b, dot.k, dot.n, dot.ldb, b), static_cast<int32_t*>(dot.c), dot.ldc);
  } else if (row.cd == MfmaType::F64) {
    std::unique_ptr<double[]> a, b;
    current_kernels().f64(dot.m, dot.n, dot.k, dense(dot.a, dot.m, dot.k, dot.lda, a), dense(dot.b, dot.k, dot.n, dot.ldb, b), static_cast<double*>(dot.c), dot.ldc);
  } else {
    MfmaOperandType ta{*dtype_of(row.a, dot.arch, dot.a_format), row.a == MfmaType::Xf32};
    MfmaOperandType tb{*dtype_of(row.b, dot.arch, dot.b_format), row.b == MfmaType::Xf32};
    dot_f32_out(dot, model, ta, tb);
  }
}

void mfma_matrix(MfmaId id, Arch arch, const void* a, const void* b, const void* c, void* d, MfmaFormat a_format, MfmaFormat b_format,
                 const uint8_t* a_scale, const uint8_t* b_scale) {
  const MfmaInfo& row = info(id);
  if (d != c) std::memcpy(d, c, row.m * row.n * (row.cd == MfmaType::F64 ? 8 : 4));
  MfmaDot dot{id, arch, a_format, b_format, row.m, row.n, row.k, a, row.k, b, row.n, d, row.n, a_scale, row.k / 32, b_scale, row.n};
  mfma_dot(dot);
}

}  // namespace tile::num
