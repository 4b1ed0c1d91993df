// Addresses beyond 2 and 4 GiB from the start of an array. The array is reserved, not filled: only the pages in use exist.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "dsl/passes/passes.h"
#include "dsl/sema/sema.h"
#include "interpreter/machine/machine.h"
#include "runtime/compiler.h"

namespace tile {
namespace {

constexpr uint64_t bytes = uint64_t{6400} << 20;

class FarMemory : public testing::TestWithParam<Arch> {
 protected:
  void SetUp() override {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(p, MAP_FAILED);
    x_ = static_cast<float*>(p);
  }
  void TearDown() override { munmap(x_, bytes); }

  // Runs the kernel of `source` with x, y (256 elements) and i32 arguments.
  void run(const char* source, std::vector<int32_t> scalars) {
    SourceManager sources;
    Diagnostics diags;
    Program program = Program::from_text("far.tile", source, sources, diags);
    SpecializeOptions options;
    options.arch = GetParam();
    auto k = specialize(program, options, diags);
    ASSERT_TRUE(k) << render(diags, sources);
    passes::PassOptions fix;
    fix.last = "fix_values";
    ASSERT_TRUE(passes::run_passes(*k, fix));
    auto code = compile_kernel(*k, sources, {}, diags);
    ASSERT_TRUE(code) << render(diags, sources);
    auto object = sim::CodeObject::load(code->hsaco);
    ASSERT_TRUE(object);
    sim::Memory memory;
    uint64_t args[2] = {memory.map("x", x_, bytes), memory.map("y", y_, sizeof y_)};
    std::vector<uint8_t> kernarg(64);
    std::memcpy(kernarg.data(), args, sizeof args);
    std::memcpy(kernarg.data() + sizeof args, scalars.data(), 4 * scalars.size());
    sim::LaunchConfig config;
    config.block = {code->manifest.waves * wave_size, 1, 1};
    config.kernarg = kernarg;
    auto stats = sim::launch(*object, code->manifest.symbol, config, memory);
    ASSERT_TRUE(stats) << stats.error().message;
  }

  float* x_ = nullptr;
  alignas(16) float y_[256] = {};
};

INSTANTIATE_TEST_SUITE_P(Frontend, FarMemory, testing::Values(Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950),
                         [](const auto& p) { return std::string(name(p.param)); });

TEST_P(FarMemory, Rows) {
  constexpr uint64_t rows = 100'000, cols = 16'384;
  const char* source = R"(
kernel far(x: f32[rows, cols], y: f32[256], rows: i32, cols: i32, r: i32) grid (1) {
    let i = arange(256);
    y[i] = x[r, i] + load(x[r + 1, i], other = 5.0);
    x[r - 1, i] = y[i];
})";
  uint64_t r = rows - 1;
  for (uint64_t i = 0; i < 256; ++i) x_[r * cols + i] = static_cast<float>(i);
  run(source, {static_cast<int32_t>(rows), static_cast<int32_t>(cols), static_cast<int32_t>(r)});
  for (uint64_t i = 0; i < 256; ++i) {
    ASSERT_EQ(y_[i], static_cast<float>(i) + 5);  // the row behind the last one is outside
    ASSERT_EQ(x_[(r - 1) * cols + i], static_cast<float>(i) + 5);
  }
}

TEST_P(FarMemory, LongVector) {
  constexpr int32_t n = 1'677'721'500;  // just below the array's end
  const char* source = R"(
kernel far(x: f32[n], y: f32[256], n: i32, start: i32) grid (1) {
    let i = arange(256);
    y[i] = x[start + i];
    x[start + i - 1000] = y[i] * 2.0;
})";
  int32_t start = n - 100;
  for (int32_t i = 0; i < 100; ++i) x_[start + i] = static_cast<float>(i + 1);
  run(source, {n, start});
  for (int32_t i = 0; i < 256; ++i) {
    float want = i < 100 ? static_cast<float>(i + 1) : 0;
    ASSERT_EQ(y_[i], want) << i;
    ASSERT_EQ(x_[int64_t{start} + i - 1000], 2 * want) << i;
  }
}

// Rows of one tile that are 40 MB apart: only a `wide` view may have them.
TEST_P(FarMemory, WideTile) {
  const char* source = R"(
kernel far(x: f32[64, 4] stride (ld, 1) wide, y: f32[64, 4], ld: i32) grid (1) {
    y[arange(64), arange(4)] = x[arange(64), arange(4)];
    x[arange(64), arange(4)] = y[arange(64), arange(4)] + 1.0;
})";
  constexpr int64_t ld = 10'000'000;
  for (int64_t r = 0; r < 64; ++r)
    for (int64_t c = 0; c < 4; ++c) x_[r * ld + c] = static_cast<float>(r * 4 + c);
  run(source, {static_cast<int32_t>(ld)});
  for (int64_t r = 0; r < 64; ++r)
    for (int64_t c = 0; c < 4; ++c) {
      ASSERT_EQ(y_[r * 4 + c], static_cast<float>(r * 4 + c));
      ASSERT_EQ(x_[r * ld + c], static_cast<float>(r * 4 + c) + 1);
    }
}

}  // namespace
}  // namespace tile
