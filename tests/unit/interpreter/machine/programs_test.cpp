// Small programs compiled by clang for the GPU at -O0, -O1 and -O3, run on the simulator with all checks, against the
// same computation on the host. Skipped where clang 22 is not installed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>

#include "interpreter/machine/machine.h"

#define FN static
#define NOINLINE __attribute__((noinline))
namespace host {
#include "tests/unit/interpreter/machine/programs/common.h"
#define PROGRAM(NAME, ...) FN u64 NAME([[maybe_unused]] u64 a, [[maybe_unused]] u64 b) __VA_ARGS__
#include "tests/unit/interpreter/machine/programs/elementwise.def"
#undef PROGRAM
}  // namespace host

namespace {

using namespace tile;

using Function = unsigned long long (*)(unsigned long long, unsigned long long);
const std::pair<const char*, Function> elementwise[] = {
#define PROGRAM(NAME, ...) {#NAME, &host::NAME},
#include "tests/unit/interpreter/machine/programs/elementwise.def"
#undef PROGRAM
};

std::string clang() {
  for (const char* path : {"/usr/bin/clang-22", "/usr/lib/llvm-22/bin/clang"})
    if (std::filesystem::exists(path)) return path;
  return "";
}

// Compiles a source of the programs folder; the code object's bytes, or nothing after a test failure.
std::vector<uint8_t> compile(const std::string& source, const std::string& target, const std::string& level) {
  const std::string folder = std::string(TILE_SOURCE_DIR) + "/tests/unit/interpreter/machine/programs";
  const std::string out = (std::filesystem::temp_directory_path() / fmt::format("tile_{}_{}_{}_{}.hsaco", source, target, level, getpid())).string();
  const std::string command = fmt::format("{} -x hip --cuda-device-only --no-gpu-bundle-output -nogpulib -nogpuinc --offload-arch={} -O{} -std=c++20 -ffp-contract=off -w -I{} {}/{} -o {} 2>&1",
                                          clang(), target, level, folder, folder, source, out);
  FILE* pipe = popen(command.c_str(), "r");
  std::string log;
  char buf[512];
  while (pipe && fgets(buf, sizeof buf, pipe)) log += buf;
  const int status = pipe ? pclose(pipe) : -1;
  EXPECT_EQ(status, 0) << command << "\n" << log.substr(0, 2000);
  std::ifstream in(out, std::ios::binary);
  std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(in), {});
  std::filesystem::remove(out);
  return bytes;
}

template <class T> void put(std::vector<uint8_t>& k, size_t at, T x) { std::memcpy(k.data() + at, &x, sizeof x); }

// Random bits, small numbers, and the corners of integers and floats.
std::vector<uint64_t> inputs(size_t n, uint32_t seed) {
  std::mt19937_64 rng(seed);
  const uint64_t corners[] = {0, 1, ~0ull, 0x8000000000000000u, 0x7fffffffffffffffu, 0x80000000u, 0x7fffffffu, 0x3f800000u, 0xbf8000003f800000u, 0x7f8000007f800000u,
                              0x7fc000007fc00000u, 0x3ff0000000000000u, 0x7ff0000000000000u, 0xfff8000000000000u, 0x0000000100000001u, 0x0080000000800000u,
                              0x000fffffffffffffu, 0x4b0000004b000000u, 0x7bff7bff7bff7bffu, 0x0400040004000400u, 0x8000800080008000u, 0x3c003c003c003c00u};
  std::vector<uint64_t> v;
  for (size_t k = 0; k < n; ++k) {
    const uint64_t r = rng();
    switch (k % 5) {
      case 0: v.push_back(corners[r % std::size(corners)]); break;
      case 1: v.push_back(r & 0xff); break;
      case 2: v.push_back(std::bit_cast<uint32_t>(float(int32_t(r)) / 65536.0f) | uint64_t(std::bit_cast<uint32_t>(float(int32_t(r >> 32)) / 1024.0f)) << 32); break;
      case 3: v.push_back(std::bit_cast<uint64_t>(double(int64_t(r)) / 1e12)); break;
      default: v.push_back(r);
    }
  }
  return v;
}

void run_elementwise(const std::string& target, const std::string& level) {
  if (clang().empty()) GTEST_SKIP() << "clang 22 is not installed";
  const auto bytes = compile("elementwise.hip", target, level);
  auto code = sim::CodeObject::load(bytes);
  ASSERT_TRUE(code) << code.error().message;
  const size_t n = 500;
  auto a = inputs(n, 1), b = inputs(n, 2);
  for (const auto& [name, function] : elementwise) {
    std::vector<uint64_t> out(n + 8, 0x1234);
    sim::Memory memory;
    std::vector<uint8_t> kernarg(28);
    put(kernarg, 0, memory.map("a", a.data(), 8 * n));
    put(kernarg, 8, memory.map("b", b.data(), 8 * n));
    put(kernarg, 16, memory.map("out", out.data(), 8 * out.size()));
    put(kernarg, 24, int(n));
    sim::LaunchConfig c;
    c.grid = {4, 1, 1};
    c.block = {128, 1, 1};
    c.kernarg = kernarg;
    auto stats = sim::launch(*code, std::string("k_") + name, c, memory);
    if (!stats) {
      ADD_FAILURE() << target << " -O" << level << " " << name << ": " << stats.error().message;
      continue;
    }
    size_t bad = 0;
    for (size_t k = 0; k < n; ++k) {
      const uint64_t want = function(a[k], b[k]);
      if (out[k] != want && ++bad <= 3)
        ADD_FAILURE() << fmt::format("{} -O{} {}({:#x}, {:#x}) is {:#x}, the host says {:#x}", target, level, name, a[k], b[k], out[k], want);
    }
    EXPECT_EQ(out[n], 0x1234u);
  }
}

#define ELEMENTWISE(TARGET, LEVEL) TEST(Programs, Elementwise_##TARGET##_O##LEVEL) { run_elementwise(#TARGET, #LEVEL); }
ELEMENTWISE(gfx90a, 0)
ELEMENTWISE(gfx90a, 1)
ELEMENTWISE(gfx90a, 3)
ELEMENTWISE(gfx942, 0)
ELEMENTWISE(gfx942, 1)
ELEMENTWISE(gfx942, 3)
ELEMENTWISE(gfx950, 0)
ELEMENTWISE(gfx950, 1)
ELEMENTWISE(gfx950, 3)

// ---- programs of workgroups: what each element should be, from the whole input
using Words = std::vector<uint32_t>;
constexpr size_t words = 1024, group = 256;

Words per_wave(const Words& in, const std::function<uint32_t(const uint32_t*, int)>& f) {
  Words out(in.size());
  for (size_t base = 0; base < in.size(); base += 64)
    for (int l = 0; l < 64; ++l) out[base + size_t(l)] = f(&in[base], l);
  return out;
}
uint32_t hash4(const float* d) { return uint32_t(int(d[0])) + 31 * uint32_t(int(d[1])) + 961 * uint32_t(int(d[2])) + 29791 * uint32_t(int(d[3])); }
uint32_t half_bits(float x) { return uint32_t(host::hbits(host::half(x))); }

const std::map<std::string, std::function<Words(const Words&)>> groups = {
    {"reduce_lds", [](const Words& in) { Words o(words); for (size_t i = 0; i < words; ++i) { uint32_t s = 0; for (size_t k = 0; k < group; ++k) s += in[i / group * group + k]; o[i] = s + uint32_t(i % group); } return o; }},
    {"scan_lds", [](const Words& in) { Words o(words); for (size_t i = 0; i < words; ++i) o[i] = in[i] + (i % group ? o[i - 1] : 0); return o; }},
    {"transpose_lds", [](const Words& in) { Words o(words); for (size_t i = 0; i < words; ++i) { const size_t t = i % group; o[i] = in[i - t + t % 16 * 16 + t / 16]; } return o; }},
    {"histogram", [](const Words& in) { Words o(words); for (size_t i = 0; i < words; ++i) for (size_t k = 0; k < group; ++k) o[i] += (in[i / group * group + k] & 63) == (i & 63); return o; }},
    {"atomics", [](const Words& in) {
       Words o(words);
       uint64_t sum = 0;
       for (uint32_t x : in) { o[0] += x; o[1] = std::max(o[1], x); o[2] = std::min(o[2], x); o[3] ^= x; o[4] |= x; o[5] = o[5] * 3 + 1; sum += uint64_t(x) << 20; o[8] = uint32_t(std::max(int(o[8]), int(x))); }
       o[6] = uint32_t(sum); o[7] = uint32_t(sum >> 32);
       return o; }},
    {"ballots", [](const Words& in) { return per_wave(in, [](const uint32_t* x, int l) { uint32_t below = 0, all = 0; for (int k = 0; k < 64; ++k) { all += x[k] & 1; below += k < l && (x[k] & 1); } return below * 1000 + all; }); }},
    {"lane_moves", [](const Words& in) { return per_wave(in, [](const uint32_t* x, int l) { return x[(l + 5) & 63] * 3 + x[l ^ 9] * 5 + x[l ^ 1] * 7 + x[17] * 11 + x[0] * 13; }); }},
    {"dpp_moves", [](const Words& in) { return per_wave(in, [](const uint32_t* x, int l) {
       const int row = l & ~15, r = l & 15;
       const uint32_t a = x[l ^ 3], b = r ? x[l - 1] : 77, c = r < 12 ? x[l + 4] : 0, d = x[row | ((r - 4) & 15)], e = x[row | (15 - r)], f = (l / 16) & 1 ? x[row - 1] : 9;
       return a + b * 3 + c * 5 + d * 7 + e * 11 + f * 13; }); }},
    {"packed_f16", [](const Words& in) { Words o; for (uint32_t x : in) { const float p = float(x & 255), q = float(x >> 8 & 255); o.push_back(half_bits(p * 2 + 2) | half_bits(q * -3 + -3) << 16); } return o; }},
    {"packed_f32", [](const Words& in) { Words o; for (uint32_t x : in) { const float p = float(x & 0xffff), q = float(x >> 16); o.push_back(std::bit_cast<uint32_t>(p * 0.5f + p) ^ std::bit_cast<uint32_t>(q * -0.25f + q) >> 3); } return o; }},
    {"byte_tricks", [](const Words& in) {
       Words o;
       for (size_t i = 0; i < words; ++i) {
         const uint32_t x = in[i], y = in[i ^ 1];
         auto byte = [&](int k) { return (k >= 4 ? x >> (8 * (k - 4)) : y >> (8 * k)) & 255u; };
         uint32_t sad = 100;
         for (int k = 0; k < 32; k += 8) sad += uint32_t(std::abs(int(x >> k & 255) - int(y >> k & 255)));
         o.push_back((byte(1) | byte(5) << 8 | byte(2) << 16 | byte(7) << 24) ^ (x << 8 | y >> 24) * 3 ^ sad * 5 ^ (x >> 5 & 511) * 7 ^ uint32_t(int32_t(x << 22) >> 25) * 11);
       }
       return o; }},
    {"mfma_f32_16x16x4", [](const Words& in) { return per_wave(in, [](const uint32_t* x, int l) {
       float d[4];
       for (int r = 0; r < 4; ++r) {
         const int i = 4 * (l / 16) + r, j = l % 16;
         d[r] = float(r + 1);
         for (int k = 0; k < 4; ++k) d[r] += float(int(x[16 * k + i] & 15) - 7) * float(int(x[16 * k + j] >> 4 & 15) - 7);
       }
       return hash4(d); }); }},
    {"mfma_f16_16x16x16", [](const Words& in) { return per_wave(in, [](const uint32_t* x, int l) {
       float d[4];
       for (int r = 0; r < 4; ++r) {
         const int i = 4 * (l / 16) + r, j = l % 16;
         d[r] = 0;
         for (int k = 0; k < 16; ++k) d[r] += float(int(x[16 * (k / 4) + i] >> (4 * (k % 4)) & 15) - 7) * float(int(x[16 * (k / 4) + j] >> (16 + 4 * (k % 4)) & 15) - 7);
       }
       return hash4(d); }); }},
    {"hidden_arguments", [](const Words& in) { return Words(in.size(), 256 * 1000 + 1024 + uint32_t(words)); }},
    {"wave_loop", [](const Words& in) { Words o; for (uint32_t x : in) { uint32_t n = 0; while (x > 1 && n < 100) { x = x & 1 ? x * 3 + 1 : x >> 1; ++n; if (n > 40 && (x & 7) == 3) break; } o.push_back(n * 65536 + (x & 0xffff)); } return o; }},
};

void run_groups(const std::string& target, const std::string& level) {
  if (clang().empty()) GTEST_SKIP() << "clang 22 is not installed";
  const auto bytes = compile("groups.hip", target, level);
  auto code = sim::CodeObject::load(bytes);
  ASSERT_TRUE(code) << code.error().message;
  std::mt19937 rng(7);
  Words in(words);
  for (auto& x : in) x = rng();
  for (const auto& [name, reference] : groups) {
    Words out(words, 0);
    sim::Memory memory;
    std::vector<uint8_t> kernarg(20);
    put(kernarg, 0, memory.map("in", in.data(), 4 * words));
    put(kernarg, 8, memory.map("out", out.data(), 4 * words));
    put(kernarg, 16, int(words));
    sim::LaunchConfig c;
    c.grid = {words / group, 1, 1};
    c.block = {group, 1, 1};
    c.kernarg = kernarg;
    auto stats = sim::launch(*code, name, c, memory);
    if (!stats) {
      ADD_FAILURE() << target << " -O" << level << " " << name << ": " << stats.error().message;
      continue;
    }
    const Words want = reference(in);
    size_t bad = 0;
    for (size_t k = 0; k < words; ++k)
      if (out[k] != want[k] && ++bad <= 3) ADD_FAILURE() << fmt::format("{} -O{} {}[{}] is {:#x}, expected {:#x}", target, level, name, k, out[k], want[k]);
  }
}

#define GROUPS(TARGET, LEVEL) TEST(Programs, Groups_##TARGET##_O##LEVEL) { run_groups(#TARGET, #LEVEL); }
GROUPS(gfx90a, 0)
GROUPS(gfx90a, 1)
GROUPS(gfx90a, 3)
GROUPS(gfx942, 0)
GROUPS(gfx942, 1)
GROUPS(gfx942, 3)
GROUPS(gfx950, 0)
GROUPS(gfx950, 1)
GROUPS(gfx950, 3)

}  // namespace
