// The tile interpreter on the sizes that docs/performance.md talks about: time of a launch, compilation included.
#include <benchmark/benchmark.h>

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <random>

#include "dsl/ir/ir.h"
#include "interpreter/tile/interpreter.h"

namespace {

using namespace tile;
using namespace tile::interp;

ir::Kernel parse(const std::string& text) {
  SourceManager sources;
  FileId f = sources.add("bench.ir", text);
  Diagnostics diags;
  std::optional<ir::Kernel> k = ir::parse_ir(f, sources, diags);
  if (!k) {
    fmt::print(stderr, "{}\n", render(diags, sources));
    std::exit(1);
  }
  return *k;
}

template <class T>
Argument array(std::vector<T>& v) { return Argument::array(v.data(), v.size() * sizeof(T)); }

std::vector<float> random_floats(size_t n) {
  std::mt19937 rng(1);
  std::vector<float> v(n);
  for (float& x : v) x = static_cast<float>(static_cast<int32_t>(rng())) * 0x1p-31f;
  return v;
}

void run(benchmark::State& state, const ir::Kernel& k, const std::vector<Argument>& args, Grid grid) {
  RunOptions o;
  o.threads = static_cast<unsigned>(state.range(0));
  for (auto _ : state) {
    Result<RunResult> r = run_kernel(k, args, grid, {}, o);
    if (!r || !r->ok()) state.SkipWithError("the kernel failed");
  }
}

void vector_add(benchmark::State& state) {
  ir::Kernel k = parse(R"(
kernel @vector_add(%x: ptr<f32> {view}, %y: ptr<f32> {view}, %out: ptr<f32> {view}, %n: i32) target gfx942 waves 4 {
  %one = constant {value = 0x1} : i32
  %vx = make_view %x, %n, %one : view<f32, 1>
  %vy = make_view %y, %n, %one : view<f32, 1>
  %vo = make_view %out, %n, %one : view<f32, 1>
  %pid = program_id {axis = 0} : i32
  %block = constant {value = 0x400} : i32
  %base = mul.i %pid, %block : i32
  %bases = splat %base : i32[1024]
  %r = arange {start = 0} : i32[1024]
  %i = add.i %bases, %r : i32[1024]
  %a = load_view %vx, %i : f32[1024]
  %b = load_view %vy, %i : f32[1024]
  %c = add.f %a, %b : f32[1024]
  store_view %vo, %c, %i
  return
}
)");
  size_t n = 1 << 20;
  std::vector<float> x = random_floats(n), y = random_floats(n), out(n);
  run(state, k, {array(x), array(y), array(out), Argument::scalar(n)}, {1024, 1, 1});
}

// Rows of 1000 in blocks of 1024; exp in about as many steps as the prelude's.
void softmax(benchmark::State& state) {
  std::string exp;
  const char* coefficients[] = {"0x3ab60b61", "0x3c088889", "0x3d2aaaab", "0x3e2aaaab", "0x3f000000", "0x3f800000", "0x3f800000"};
  for (int i = 0; i < 7; ++i) {
    exp += fmt::format("  %c{0} = constant {{value = {1}}} : f32[1024]\n", i, coefficients[i]);
    if (i > 0) exp += fmt::format("  %p{} = fma %{}, %f, %c{} : f32[1024]\n", i, i == 1 ? "c0" : fmt::format("p{}", i - 1), i);
  }
  ir::Kernel k = parse(fmt::format(R"(
kernel @softmax(%x: ptr<f32> {{view}}, %y: ptr<f32> {{view}}, %rows: i32, %cols: i32) target gfx942 waves 4 {{
  %one = constant {{value = 0x1}} : i32
  %vx = make_view %x, %rows, %cols, %cols, %one : view<f32, 2>
  %vy = make_view %y, %rows, %cols, %cols, %one : view<f32, 2>
  %pid = program_id {{axis = 0}} : i32
  %r = arange {{start = 0}} : i32[1024]
  %other = constant {{value = 0xff800000}} : f32
  %v = load_view %vx, %pid, %r, %other {{has_other = 1}} : f32[1024]
  %m = reduce %v {{axis = 0, combine = "max", order = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}} : f32
  %ms = splat %m : f32[1024]
  %d = sub.f %v, %ms : f32[1024]
  %low = constant {{value = 0xc2cff1b5}} : f32[1024]
  %log2e = constant {{value = 0x3fb8aa3b}} : f32[1024]
  %ln2h = constant {{value = 0xbf317200}} : f32[1024]
  %ln2l = constant {{value = 0xb5bfbe8e}} : f32[1024]
  %z = max.f %d, %low : f32[1024]
  %t = mul.f %z, %log2e : f32[1024]
  %n = rint %t : f32[1024]
  %f0 = fma %n, %ln2h, %z : f32[1024]
  %f = fma %n, %ln2l, %f0 : f32[1024]
{}
  %ni = cast %n : i32[1024]
  %s23 = constant {{value = 0x17}} : i32[1024]
  %bias = constant {{value = 0x7f}} : i32[1024]
  %e0 = add.i %ni, %bias : i32[1024]
  %e1 = shl %e0, %s23 : i32[1024]
  %e2 = bitcast %e1 : f32[1024]
  %e = mul.f %p6, %e2 : f32[1024]
  %cond = lt.f %d, %low : bool[1024]
  %zero = constant {{value = 0x0}} : f32[1024]
  %ex = where %cond, %zero, %e : f32[1024]
  %sum = reduce %ex {{axis = 0, combine = "sum", order = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}} : f32
  %sums = splat %sum : f32[1024]
  %q = div.f %ex, %sums : f32[1024]
  store_view %vy, %q, %pid, %r
  return
}}
)", exp));
  std::vector<float> x = random_floats(1024 * 1000), y(x.size());
  run(state, k, {array(x), array(y), Argument::scalar(1024), Argument::scalar(1000)}, {1024, 1, 1});
}

void matmul(benchmark::State& state) {
  ir::Kernel k = parse(R"(
kernel @matmul(%a: ptr<f16> {view}, %b: ptr<f16> {view}, %c: ptr<f16> {view}, %n: i32) target gfx942 waves 4 {
  %0 = constant {value = 0x0} : i32
  %1 = constant {value = 0x1} : i32
  %32 = constant {value = 0x20} : i32
  %64 = constant {value = 0x40} : i32
  %va = make_view %a, %n, %n, %n, %1 : view<f16, 2>
  %vb = make_view %b, %n, %n, %n, %1 : view<f16, 2>
  %vc = make_view %c, %n, %n, %n, %1 : view<f16, 2>
  %pid = program_id {axis = 0} : i32
  %across = div.s %n, %64 : i32
  %pm = div.s %pid, %across : i32
  %pn = rem.s %pid, %across : i32
  %r64 = arange {start = 0} : i32[64]
  %r32 = arange {start = 0} : i32[32]
  %m0 = mul.i %pm, %64 : i32
  %n0 = mul.i %pn, %64 : i32
  %ms = splat %m0 : i32[64]
  %ns = splat %n0 : i32[64]
  %m = add.i %ms, %r64 : i32[64]
  %nn = add.i %ns, %r64 : i32[64]
  %m2 = expand_dims %m {axis = 1} : i32[64, 1]
  %n2 = expand_dims %nn {axis = 0} : i32[1, 64]
  %zero = constant {value = 0x0} : f32[64, 64]
  %acc = for %0, %n, %32, %zero : f32[64, 64] do (%k0: i32, %sum: f32[64, 64]) {
    %ks = splat %k0 : i32[32]
    %k = add.i %ks, %r32 : i32[32]
    %kc = expand_dims %k {axis = 0} : i32[1, 32]
    %kr = expand_dims %k {axis = 1} : i32[32, 1]
    %ta = load_view %va, %m2, %kc : f16[64, 32]
    %tb = load_view %vb, %kr, %n2 : f16[32, 64]
    %d = dot %ta, %tb, %sum {mfma = "F32_32x32x8_F16", k_bits = [0, 1, 2, 3, 4]} : f32[64, 64]
    yield %d
  }
  %h = cast %acc : f16[64, 64]
  store_view %vc, %h, %m2, %n2
  return
}
)");
  std::vector<uint16_t> a(512 * 512), b(512 * 512), c(512 * 512);
  std::mt19937 rng(1);
  for (auto* v : {&a, &b})
    for (uint16_t& x : *v) x = static_cast<uint16_t>((rng() & 0x83ff) | (12 + rng() % 4) << 10);
  run(state, k, {array(a), array(b), array(c), Argument::scalar(512)}, {64, 1, 1});
}

BENCHMARK(vector_add)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(softmax)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(matmul)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
