#include "tests/unit/frontend/harness.h"

#include <fmt/format.h>

#include <cstring>

#include "dsl/num/kernels.h"
#include "dsl/passes/passes.h"
#include "dsl/sema/sema.h"
#include "interpreter/machine/machine.h"
#include "interpreter/tile/interpreter.h"
#include "runtime/compiler.h"
#include "runtime/manifest_of.h"

namespace tile::test {

namespace {

uint64_t element(const std::vector<uint8_t>& bytes, size_t i, unsigned size) {
  uint64_t v = 0;
  std::memcpy(&v, bytes.data() + i * size, size);
  return v;
}

bool is_nan(DType t, uint64_t bits) {
  if (!is_float(t)) return false;
  const DTypeInfo& row = info(t);
  uint64_t sign = uint64_t{1} << (row.bits - 1), magnitude = bits & (sign - 1);
  uint64_t exp_ones = ((uint64_t{1} << row.exp_bits) - 1) << row.man_bits;
  switch (row.nan) {
    case NanEncoding::Ieee: return magnitude > exp_ones;
    case NanEncoding::AllOnes: return magnitude == sign - 1 && (t != DType::F8E8M0 || bits == 0xff);
    case NanEncoding::NegZero: return bits == sign;
    case NanEncoding::None: return false;
  }
  return false;
}

Values run_interpreter(const ir::Kernel& k, const Values& in, const Grid& grid, std::string& why) {
  Values out = in;
  auto code = interp::compile_kernel(k);
  if (!code) {
    why = "interpreter: " + code.error().message;
    return out;
  }
  std::vector<interp::Argument> args;
  for (const ir::Param& p : k.params) {
    if (auto it = out.arrays.find(p.name); it != out.arrays.end()) args.push_back(interp::Argument::array(it->second.data(), it->second.size()));
    else args.push_back(interp::Argument::scalar(static_cast<uint64_t>(in.scalars.at(p.name))));
  }
  interp::RunResult r = code->run(args, {grid.x, grid.y, grid.z});
  if (r.failure) why = "interpreter: " + r.failure->message;
  return out;
}

constexpr size_t granule = 16;

Values run_simulator(const CompiledKernel& k, const Values& in, const Grid& grid, std::string& why) {
  Values out = in;
  auto code = sim::CodeObject::load(k.hsaco);
  if (!code) {
    why = "simulator: " + code.error().message;
    return out;
  }
  sim::Memory memory;
  std::vector<uint8_t> kernarg((k.manifest.kernarg_size / 64 + 1) * 64);
  std::map<std::string, std::vector<uint8_t>> device;
  for (const ManifestArg& a : k.manifest.args) {
    uint64_t value = 0;
    if (auto it = in.arrays.find(a.name); it != in.arrays.end()) {
      std::vector<uint8_t>& bytes = device[a.name] = it->second;
      bytes.resize((bytes.size() + granule - 1) / granule * granule, 0xA5);
      value = memory.map(a.name, bytes.data(), bytes.size());
    } else {
      value = static_cast<uint64_t>(in.scalars.at(a.name));
    }
    std::memcpy(&kernarg[a.offset], &value, a.size);
  }
  sim::LaunchConfig config;
  config.grid = {grid.x, grid.y, grid.z};
  config.block = {k.manifest.waves * wave_size, 1, 1};
  config.kernarg = kernarg;
  auto stats = sim::launch(*code, k.manifest.symbol, config, memory);
  if (!stats) why = "simulator: " + stats.error().message;
  for (auto& [name, bytes] : device) {
    std::vector<uint8_t>& back = out.arrays[name];
    std::copy_n(bytes.begin(), back.size(), back.begin());
    for (size_t i = back.size(); i < bytes.size(); ++i)
      if (bytes[i] != 0xA5) why = fmt::format("simulator: a store behind the end of {}", name);
  }
  return out;
}

std::optional<std::string> first_difference(const KernelManifest& m, const Values& judge, const Values& got) {
  for (const ManifestArg& a : m.args) {
    auto want = judge.arrays.find(a.name);
    if (want == judge.arrays.end()) continue;
    DType t = *parse_dtype(a.dtype);
    unsigned size = buffer_bytes(t);
    for (size_t i = 0; i < want->second.size() / size; ++i) {
      uint64_t x = element(want->second, i, size), y = element(got.arrays.at(a.name), i, size);
      if (x != y && !(is_nan(t, x) && is_nan(t, y)))
        return fmt::format("{}[{}] is {:#x} on the simulator and {:#x} on the interpreter ({})", a.name, i, y, x, m.target);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> difference(ir::Kernel kernel, const Values& values, const SourceManager& sources) {
  passes::PassOptions options;
  options.last = "fix_values";
  if (Status s = passes::run_passes(kernel, options); !s) return "fix_values: " + s.error().message;
  Diagnostics diags;
  CompileFlags flags;
  std::optional<CompiledKernel> compiled = compile_kernel(kernel, sources, flags, diags);
  if (!compiled) return "compiler: " + render(diags, sources);
  Expr::Values scalars(values.scalars.begin(), values.scalars.end());
  auto grid = eval_grid(compiled->manifest, scalars);
  if (!grid) return "grid: " + grid.error().message;
  std::string why;
  Values judge = run_interpreter(kernel, values, *grid, why);
  if (!why.empty()) return why;
  Values got = run_simulator(*compiled, values, *grid, why);
  if (!why.empty()) return why + " (" + std::string(name(kernel.arch)) + ")";
  return first_difference(compiled->manifest, judge, got);
}

std::optional<std::string> difference(const std::string& source, Arch arch, const Constants& constants, const Values& values) {
  SourceManager sources;
  Diagnostics diags;
  Program program = Program::from_text("test.tile", source, sources, diags);
  SpecializeOptions options;
  options.arch = arch;
  options.constants = constants;
  std::optional<ir::Kernel> k;
  if (!diags.has_errors()) k = specialize(program, options, diags);
  if (!k) return render(diags, sources);
  return difference(std::move(*k), values, sources);
}

std::vector<uint8_t> zeros(DType t, size_t count) { return std::vector<uint8_t>(count * buffer_bytes(t)); }

std::vector<uint8_t> wild(DType t, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> out = zeros(t, count);
  unsigned size = buffer_bytes(t), bits = is_bool(t) ? 1 : bit_width(t);
  uint64_t mask = ~uint64_t{0} >> (64 - bits);
  std::vector<uint64_t> special = {0, 1, 2, 3, mask, mask - 1, mask >> 1, (mask >> 1) + 1, (mask >> 1) - 1};
  if (is_arith_float(t)) {
    const DTypeInfo& row = info(t);
    uint64_t one = static_cast<uint64_t>(row.bias) << row.man_bits, inf = ((uint64_t{1} << row.exp_bits) - 1) << row.man_bits;
    uint64_t ulp = 1, normal = uint64_t{1} << row.man_bits;
    for (uint64_t v : {uint64_t{0}, ulp, normal, normal - 1, one, one + 1, one - 1, one + normal, inf, inf - 1, inf | normal >> 1, one + 5 * normal})
      for (uint64_t sign : {uint64_t{0}, uint64_t{1} << (row.bits - 1)}) special.push_back(v | sign);
  }
  for (size_t i = 0; i < count; ++i) {
    uint64_t v = random() % 3 == 0 ? special[random() % special.size()] : random();
    // Half of the floats of moderate size.
    if (is_arith_float(t) && random() % 2 == 0) {
      const DTypeInfo& row = info(t);
      uint64_t exponent = static_cast<uint64_t>(row.bias) - 6 + random() % 12;
      v = (v & ~(((uint64_t{1} << row.exp_bits) - 1) << row.man_bits)) | exponent << row.man_bits;
    }
    v &= mask;
    std::memcpy(out.data() + i * size, &v, size);
  }
  return out;
}

std::vector<uint8_t> tame(DType t, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> numbers(count);
  for (double& x : numbers) x = is_float(t) ? (static_cast<double>(random() % 2001) - 1000) / 256.0 : static_cast<double>(random() % 200) - 100;
  std::vector<uint8_t> out = zeros(t, count);
  num::convert(DType::F64, t, {}, reinterpret_cast<const std::byte*>(numbers.data()), reinterpret_cast<std::byte*>(out.data()), count);
  return out;
}

}  // namespace tile::test
