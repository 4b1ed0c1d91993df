// Speed of dsl/num: matrix sums by model, conversions, elementwise kernels. Items are multiply-accumulates or elements.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "dsl/num/kernels.h"
#include "dsl/num/mfma.h"
#include "dsl/num/storage.h"

namespace {

using namespace tile;

std::vector<unsigned char> normal_values(DType t, size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> dist;
  std::vector<float> f(n);
  for (float& x : f) x = dist(rng);
  std::vector<unsigned char> out(n * buffer_bytes(t));
  num::convert(DType::F32, t, {}, f.data(), out.data(), n);
  return out;
}

void dot(benchmark::State& state, MfmaId id, Arch arch) {
  const MfmaInfo& row = info(id);
  size_t m = 128, n = 128, k = 64;
  DType ta = *dtype_of(row.a, arch), tb = *dtype_of(row.b, arch), td = *dtype_of(row.cd, arch);
  if (k % row.k != 0) k = row.k;
  auto a = normal_values(ta, m * k, 1), b = normal_values(tb, k * n, 2), c = normal_values(td, m * n, 3);
  for (auto _ : state) {
    num::mfma_dot({.id = id, .arch = arch, .m = m, .n = n, .k = k, .a = a.data(), .lda = k, .b = b.data(), .ldb = n, .c = c.data(), .ldc = n});
    benchmark::DoNotOptimize(c.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(m * n * k));
}

void execute(benchmark::State& state, MfmaId id, Arch arch) {
  std::vector<uint32_t> a(wave_size * 8, 0x3c003c00), b(wave_size * 8, 0x3c003c00), c(wave_size * 32);
  for (auto _ : state) {
    num::mfma_execute(id, arch, a.data(), b.data(), c.data(), c.data());
    benchmark::DoNotOptimize(c.data());
  }
}

void elementwise(benchmark::State& state, OpKind op, DType t) {
  constexpr size_t n = 16384;
  auto a = normal_values(t, n, 1), b = normal_values(t, n, 2), c = normal_values(t, n, 3);
  std::vector<unsigned char> d(n * buffer_bytes(t));
  auto kernel = num::elementwise_kernel(op, t);
  for (auto _ : state) {
    kernel(a.data(), b.data(), c.data(), d.data(), n);
    benchmark::DoNotOptimize(d.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(n));
}

void convert(benchmark::State& state, DType from, DType to) {
  constexpr size_t n = 16384;
  auto a = normal_values(from, n, 1);
  std::vector<unsigned char> d(n * buffer_bytes(to));
  for (auto _ : state) {
    num::convert(from, to, {}, a.data(), d.data(), n);
    benchmark::DoNotOptimize(d.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(n));
}

}  // namespace

int main(int argc, char** argv) {
  for (const MfmaInfo& row : mfma_table)
    for (const ArchInfo& arch : arch_table)
      if (exists_on(row.id, arch.arch)) {
        auto title = [&](const char* what) { return std::string(what) + "/" + std::string(row.kind) + "/" + std::string(arch.name); };
        benchmark::RegisterBenchmark(title("dot").c_str(), dot, row.id, arch.arch);
        benchmark::RegisterBenchmark(title("execute").c_str(), execute, row.id, arch.arch);
      }
  for (DType t : {DType::F16, DType::BF16, DType::F32, DType::F64})
    for (OpKind op : {OpKind::AddF, OpKind::MulF, OpKind::DivF, OpKind::FmaF, OpKind::MaxF, OpKind::RintF, OpKind::LtF})
      benchmark::RegisterBenchmark((std::string(mnemonic(op)) + "/" + std::string(name(t))).c_str(), elementwise, op, t);
  for (const DTypeInfo& row : dtype_table) {
    benchmark::RegisterBenchmark(("convert/f32/" + std::string(row.name)).c_str(), convert, DType::F32, row.dtype);
    benchmark::RegisterBenchmark(("convert/" + std::string(row.name) + "/f32").c_str(), convert, row.dtype, DType::F32);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
