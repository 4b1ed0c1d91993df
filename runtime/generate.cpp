#include "runtime/generate.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "dsl/num/kernels.h"
#include "dsl/passes/passes.h"
#include "dsl/sema/sema.h"
#include "interpreter/tile/interpreter.h"

namespace tile {
namespace {

constexpr const char* generator_source = R"(
kernel draw(out: T[groups, 4], groups: i64, seed: u64, const NORMAL: bool, const T: type, const BLOCK: i32 = 1024)
    grid (cdiv(groups, BLOCK))
{
    let i = program_id(0) as i64 * BLOCK + arange(BLOCK) as i64;
    let (a, b, c, d) = philox(seed, i as u32, (i >> 32) as u32);
    static if T == u32 {
        out[i, 0] = a;
        out[i, 1] = b;
        out[i, 2] = c;
        out[i, 3] = d;
    } else {
        static if NORMAL {
            let (p, q) = pair_uniform_to_normal(a, b);
            let (r, s) = pair_uniform_to_normal(c, d);
            out[i, 0] = p;
            out[i, 1] = q;
            out[i, 2] = r;
            out[i, 3] = s;
        } else {
            out[i, 0] = uint_to_uniform_float(a);
            out[i, 1] = uint_to_uniform_float(b);
            out[i, 2] = uint_to_uniform_float(c);
            out[i, 3] = uint_to_uniform_float(d);
        }
    }
}
)";

// `elements` numbers of type f32 (normal or uniform) or u32 (raw), rounded up to whole groups of four.
Result<Array> draw(int64_t elements, uint64_t seed, bool normal, DType dtype) {
  SourceManager sources;
  Diagnostics diags;
  Program program = Program::from_text("<generator>", generator_source, sources, diags);
  SpecializeOptions options;
  options.constants = {{"NORMAL", normal ? "true" : "false"}, {"T", std::string(name(dtype))}};
  std::optional<ir::Kernel> kernel;
  if (!diags.has_errors()) kernel = specialize(program, options, diags);
  if (!kernel) return Error{render(diags, sources)};
  passes::PassOptions pass_options;
  pass_options.last = "fix_values";
  if (Status s = passes::run_passes(*kernel, pass_options); !s) return s.error();
  int64_t groups = (elements + 3) / 4;
  Result<Array> out = Array::make(dtype, {groups, 4});
  if (!out) return out;
  std::vector<interp::Argument> args = {interp::Argument::array(out->data(), out->bytes()),
                                        interp::Argument::scalar(static_cast<uint64_t>(groups)),
                                        interp::Argument::scalar(seed)};
  Result<interp::RunResult> run = interp::run_kernel(*kernel, args, {(groups + 1023) / 1024, 1, 1});
  if (!run) return run.error();
  if (run->failure) return Error{run->failure->text(&sources)};
  return out;
}

// An array whose elements are f(i) in f64, converted in blocks.
Result<Array> make_converted(DType dtype, std::vector<int64_t> shape, DType from,
                             const std::function<void(int64_t first, int64_t n, uint8_t* values)>& fill) {
  Result<Array> a = Array::make(dtype, std::move(shape));
  if (!a) return a;
  constexpr int64_t block = 4096;
  std::vector<uint64_t> values(block), converted(block);
  int64_t n = a->elements();
  for (int64_t first = 0; first < n; first += block) {
    int64_t count = std::min(block, n - first);
    fill(first, count, reinterpret_cast<uint8_t*>(values.data()));
    if (is_packed(dtype)) {
      num::convert(from, dtype, {}, values.data(), converted.data(), static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) a->set_bits(first + i, reinterpret_cast<uint8_t*>(converted.data())[i]);
    } else {
      num::convert(from, dtype, {}, values.data(), a->data() + first * buffer_bytes(dtype), static_cast<size_t>(count));
    }
  }
  return a;
}

Result<Array> scaled(DType dtype, std::vector<int64_t> shape, uint64_t seed, bool normal, float offset, float factor) {
  Result<uint64_t> size = Array::checked_bytes(dtype, shape);
  if (!size) return size.error();
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  Result<Array> raw = draw(n, seed, normal, DType::F32);
  if (!raw) return raw;
  return make_converted(dtype, std::move(shape), DType::F32, [&](int64_t first, int64_t count, uint8_t* values) {
    const float* from = reinterpret_cast<const float*>(raw->data()) + first;
    float* to = reinterpret_cast<float*>(values);
    for (int64_t i = 0; i < count; ++i) to[i] = from[i] * factor + offset;
  });
}

}  // namespace

Result<Array> randn(DType dtype, std::vector<int64_t> shape, uint64_t seed, double mean, double std) {
  return scaled(dtype, std::move(shape), seed, true, static_cast<float>(mean), static_cast<float>(std));
}

Result<Array> uniform(DType dtype, std::vector<int64_t> shape, uint64_t seed, double low, double high) {
  if (!(low <= high)) return Error{fmt::format("low = {} is above high = {}", low, high)};
  return scaled(dtype, std::move(shape), seed, false, static_cast<float>(low), static_cast<float>(high - low));
}

Result<Array> randint(DType dtype, std::vector<int64_t> shape, uint64_t seed, int64_t low, int64_t high) {
  if (low >= high) return Error{fmt::format("low = {} is not below high = {}", low, high)};
  uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (span > uint64_t{1} << 32) return Error{"low and high are more than 2^32 apart"};
  Result<uint64_t> size = Array::checked_bytes(dtype, shape);
  if (!size) return size.error();
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  Result<Array> raw = draw(n, seed, false, DType::U32);
  if (!raw) return raw;
  return make_converted(dtype, std::move(shape), DType::I64, [&](int64_t first, int64_t count, uint8_t* values) {
    const uint32_t* from = reinterpret_cast<const uint32_t*>(raw->data()) + first;
    int64_t* to = reinterpret_cast<int64_t*>(values);
    for (int64_t i = 0; i < count; ++i) to[i] = low + static_cast<int64_t>(from[i] * span >> 32);
  });
}

Result<Array> arange(DType dtype, std::vector<int64_t> shape, double start, double step) {
  return make_converted(dtype, std::move(shape), DType::F64, [&](int64_t first, int64_t count, uint8_t* values) {
    double* to = reinterpret_cast<double*>(values);
    for (int64_t i = 0; i < count; ++i) to[i] = start + static_cast<double>(first + i) * step;
  });
}

Result<Array> full(DType dtype, std::vector<int64_t> shape, double value) {
  return make_converted(dtype, std::move(shape), DType::F64, [&](int64_t, int64_t count, uint8_t* values) {
    double* to = reinterpret_cast<double*>(values);
    for (int64_t i = 0; i < count; ++i) to[i] = value;
  });
}

}  // namespace tile
