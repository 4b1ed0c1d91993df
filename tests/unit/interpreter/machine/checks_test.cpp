// Planted faults: each check finds the mistake it is for, and says where.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "interpreter/machine/recorded.h"
#include "tests/unit/interpreter/machine/assemble.h"

namespace {

using namespace tile;

// Runs assembly on `waves` waves. v0 is the work-item id; a buffer of 4096 bytes is at s[4:5]; LDS has 1024 bytes.
std::string run(const std::string& text, int waves = 1, sim::Options options = {}, const std::string& target = "gfx942") {
  const auto words = sim::assemble(target, "s_mov_b32 s4, 0\ns_mov_b32 s5, 64\nv_mov_b32 v2, 0\n" + text + "\ns_endpgm\n");
  if (words.empty()) return "does not assemble";
  sim::Kernel k;
  k.name = "main";
  k.lds_static = 1024;
  k.rsrc1 = 0xf0u << 12;
  auto code = sim::CodeObject::from_instructions(target, words, k);
  if (!code) return code.error().message;
  std::vector<uint8_t> data(4096);
  sim::Memory memory;
  memory.map_at(uint64_t{64} << 32, "data", data.data(), data.size());
  sim::LaunchConfig c;
  c.block = {uint32_t(64 * waves), 1, 1};
  options.instruction_budget = 100000;
  options.threads = 1;
  auto stats = sim::launch(*code, "main", c, memory, options);
  return stats ? "" : stats.error().message;
}

void expect_found(const std::string& message, const std::string& kind, const std::string& instruction) {
  EXPECT_EQ(message.rfind(kind + ": ", 0), 0u) << "'" << message << "' should begin with '" << kind << "'";
  EXPECT_NE(message.find(instruction), message.npos) << message;
  EXPECT_NE(message.find("wave "), message.npos) << message;
}

TEST(Checks, MissingWaitOfGlobalLoad) {
  EXPECT_EQ(run("global_load_dword v4, v2, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_f32 v5, v4, v4"), "");
  expect_found(run("global_load_dword v4, v2, s[4:5]\nv_add_f32 v5, v4, v4"), "missing wait", "v_add_f32");
  expect_found(run("global_load_dword v4, v2, s[4:5]\nv_mov_b32 v4, 0"), "missing wait", "v_mov_b32");
}
TEST(Checks, TooWeakWait) {
  const std::string two = "global_load_dword v4, v2, s[4:5]\nglobal_load_dword v6, v2, s[4:5] offset:4\n";
  EXPECT_EQ(run(two + "s_waitcnt vmcnt(1)\nv_add_f32 v5, v4, v4"), "");
  expect_found(run(two + "s_waitcnt vmcnt(1)\nv_add_f32 v5, v6, v6"), "missing wait", "v6");
  // Scalar loads return in any order.
  const std::string scalar = "s_load_dword s7, s[4:5], 0\ns_load_dword s8, s[4:5], 4\n";
  EXPECT_EQ(run(scalar + "s_waitcnt lgkmcnt(0)\ns_mov_b32 s9, s7"), "");
  expect_found(run(scalar + "s_waitcnt lgkmcnt(1)\ns_mov_b32 s9, s7"), "missing wait", "s7");
}
TEST(Checks, MissingWaitOfLds) {
  EXPECT_EQ(run("ds_write_b32 v2, v2\nds_read_b32 v5, v2\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v6, v5"), "");
  expect_found(run("ds_write_b32 v2, v2\nds_read_b32 v5, v2\nv_mov_b32 v6, v5"), "missing wait", "v5");
}
TEST(Checks, LoadToLdsNeedsItsWait) {
  const std::string dma = "s_mov_b32 m0, 0\nv_lshlrev_b32 v1, 2, v0\nglobal_load_lds_dword v2, s[4:5]\n";
  EXPECT_EQ(run(dma + "s_waitcnt vmcnt(0)\nds_read_b32 v5, v1"), "");
  expect_found(run(dma + "ds_read_b32 v5, v1"), "missing wait", "ds_read_b32");
}
TEST(Checks, OutOfBounds) {
  EXPECT_EQ(run("global_load_dword v4, v2, s[4:5] offset:4092"), "");
  expect_found(run("v_mov_b32 v3, 0x1000\nglobal_load_dword v4, v3, s[4:5]"), "out of bounds", "4096 of 'data'");
  expect_found(run("v_mov_b32 v3, 4094\nglobal_load_dword v4, v3, s[4:5]"), "out of bounds", "4094 of 'data'");
  expect_found(run("ds_write_b32 v2, v2 offset:1024"), "out of bounds", "ds_write_b32");
  sim::Options fast;
  fast.checks = false;
  expect_found(run("v_mov_b32 v3, 0x1000\nglobal_store_dword v3, v2, s[4:5]", 1, fast), "out of bounds", "store");
}
TEST(Checks, UndefinedBits) {
  EXPECT_EQ(run("v_mov_b32 v4, v9\nv_and_b32 v4, 0, v4\nglobal_store_dword v2, v4, s[4:5]"), "");            // defined by the mask
  EXPECT_EQ(run("s_mov_b32 s6, 0x0c0c0c00\nv_mov_b32 v4, v9\nv_perm_b32 v4, v4, v2, s6\nglobal_store_dword v2, v4, s[4:5]"), "");
  expect_found(run("global_store_dword v2, v9, s[4:5]"), "undefined value", "global_store_dword");
  expect_found(run("v_lshlrev_b32 v4, 8, v9\nglobal_store_dword v2, v4, s[4:5]"), "undefined value", "byte 1");
  expect_found(run("global_load_dword v4, v9, s[4:5]"), "undefined value", "v9");
  expect_found(run("ds_write_b32 v2, v9"), "undefined value", "ds_write_b32");
  expect_found(run("s_cmp_eq_u32 s20, 0\ns_cbranch_scc1 0"), "undefined value", "s_cbranch_scc1");
  expect_found(run("v_cmp_eq_u32 vcc, v9, v2\ns_and_saveexec_b64 s[8:9], vcc"), "undefined value", "s_and_saveexec_b64");
  expect_found(run("v_add_f32 v4, v9, v2\nglobal_store_short v2, v4, s[4:5]"), "undefined value", "global_store_short");
}
TEST(Checks, UninitialisedLds) {
  expect_found(run("ds_read_b32 v5, v2 offset:16"), "uninitialised LDS", "ds_read_b32");
}
TEST(Checks, LdsRace) {
  // Each work-item writes its own dword and reads that of the item 64 further on, which is another wave's.
  const std::string write = "v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v1, 2, v0\nds_write_b32 v1, v0\n";
  const std::string read = "v_xor_b32 v1, 0x100, v1\nds_read_b32 v5, v1\ns_waitcnt lgkmcnt(0)";
  EXPECT_EQ(run(write + "s_waitcnt lgkmcnt(0)\ns_barrier\n" + read, 2), "");
  const std::string message = run(write + read, 2);
  EXPECT_TRUE(message.rfind("LDS race", 0) == 0 || message.rfind("uninitialised LDS", 0) == 0) << message;
  // Writes after reads of another wave.
  expect_found(run(write + "s_waitcnt lgkmcnt(0)\ns_barrier\n" + read + "\nv_xor_b32 v1, 0x100, v1\nds_write_b32 v1, v2", 2), "LDS race", "ds_");
  // The same value from two waves is no race, another one is.
  EXPECT_EQ(run("ds_write_b32 v2, v2", 2), "");
  expect_found(run("v_readfirstlane_b32 s6, v0\nv_mov_b32 v5, s6\nds_write_b32 v2, v5", 2), "LDS race", "ds_write_b32");
}
TEST(Checks, BarrierBySomeWaves) {
  const std::string split = "v_readfirstlane_b32 s6, v0\ns_and_b32 s6, s6, 0x3ff\ns_cmp_lt_u32 s6, 64\n";
  expect_found(run(split + "s_cbranch_scc1 1\ns_barrier\ns_nop 0", 2), "barrier divergence", "s_barrier");
  expect_found(run(split + "s_cbranch_scc1 2\ns_barrier\ns_branch 1\ns_barrier\ns_nop 0", 2), "barrier divergence", "s_barrier");
  sim::Options allowed;
  allowed.all_waves_at_barriers = false;
  EXPECT_EQ(run(split + "s_cbranch_scc1 1\ns_barrier\ns_nop 0", 2, allowed), "");
}
TEST(Checks, Hazards) {
  const std::string mfma = "v_mov_b32 v12, 0\nv_mov_b32 v13, 0\ns_nop 1\nv_mfma_f32_16x16x16_f16 v[8:11], v[12:13], v[12:13], 0\n";
  EXPECT_EQ(run(mfma + "s_nop 7\nv_add_f32 v5, v8, v8"), "");
  expect_found(run(mfma + "s_nop 2\nv_add_f32 v5, v8, v8"), "hazard", "v_add_f32");
  EXPECT_EQ(run(mfma + "v_mfma_f32_16x16x16_f16 v[8:11], v[12:13], v[12:13], v[8:11]\ns_nop 7"), "");
  expect_found(run("v_mov_b32 v12, 0\nv_mov_b32 v13, 0\nv_mfma_f32_16x16x16_f16 v[8:11], v[12:13], v[12:13], 0"), "hazard", "v_mfma");
}
TEST(Checks, Misaligned) {
  sim::Options strict;
  strict.misaligned_lds = true;
  EXPECT_EQ(run("v_mov_b32 v3, 2\nds_write_b32 v3, v2"), "");
  expect_found(run("v_mov_b32 v3, 2\nds_write_b32 v3, v2", 1, strict), "misaligned", "ds_write_b32");
  expect_found(run("v_mov_b32 v3, 2\nglobal_atomic_add v3, v2, s[4:5]"), "misaligned", "global_atomic_add");
}
TEST(Checks, InstructionBudget) { expect_found(run("s_branch -1"), "instruction budget", "s_branch"); }
TEST(Checks, AmbiguousBufferBounds) {
  const std::string descriptor = "s_mov_b32 s16, 0\ns_mov_b32 s17, 64\ns_mov_b32 s18, 64\ns_mov_b32 s19, 0x27000\n";
  EXPECT_EQ(run(descriptor + "buffer_load_dwordx2 v[6:7], v2, s[16:19], 0 offen"), "");
  EXPECT_EQ(run(descriptor + "v_mov_b32 v3, 64\nbuffer_load_dwordx2 v[6:7], v3, s[16:19], 0 offen"), "");        // all outside
  expect_found(run(descriptor + "v_mov_b32 v3, 60\nbuffer_load_dwordx2 v[6:7], v3, s[16:19], 0 offen"), "ambiguous buffer bounds", "buffer_load_dwordx2");
  expect_found(run(descriptor + "s_mov_b32 s6, 32\nv_mov_b32 v3, 40\nbuffer_load_dword v6, v3, s[16:19], s6 offen"), "ambiguous buffer bounds", "buffer_load_dword");
}
TEST(Checks, UnknownWordsAreErrorsOnlyWhenReached) {
  EXPECT_EQ(run("s_branch 1\n.long 0xffffffff"), "");
  expect_found(run(".long 0xffffffff"), "unknown instruction", ".long 0xffffffff");
}
TEST(Checks, KeepGoingCollectsAll) {
  sim::Options o;
  o.stop_at_first = false;
  EXPECT_EQ(run("global_store_dword v2, v9, s[4:5]\nds_read_b32 v5, v2 offset:16", 1, o), "");
}

// Every barrier and every s_waitcnt of real kernels, taken out one at a time.
struct Planted { int tried = 0, found = 0; };
Planted plant(const std::string& name, uint32_t mask, uint32_t word, const std::vector<std::string>& kinds) {
  Planted p;
  const std::string folder = std::string(TILE_TEST_DATA) + "/hsaco_cases/" + name;
  size_t sites = 0;
  auto count = [&](std::vector<uint8_t>& bytes, size_t target) {
    size_t n = 0;
    for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      uint32_t w;
      std::memcpy(&w, &bytes[at], 4);
      if ((w & mask) != word) continue;
      if (n++ == target) {
        const uint32_t nop = 0xbf800000u;
        std::memcpy(&bytes[at], &nop, 4);
      }
    }
    return n;
  };
  sim::run_case(folder, {}, [&](std::vector<uint8_t>& bytes) { sites = count(bytes, ~size_t{0}); });
  for (size_t k = 0; k < sites; ++k) {
    const sim::CaseResult r = sim::run_case(folder, {}, [&](std::vector<uint8_t>& bytes) { count(bytes, k); });
    ++p.tried;
    bool hit = false;
    for (const auto& kind : kinds) hit = hit || r.message.find(kind + ": ") != r.message.npos;
    p.found += hit;
  }
  return p;
}

TEST(PlantedFaults, RemovedBarriers) {
  for (const char* name : {"transpose_f32.gfx90a", "reduce2d_i64.gfx942", "dot_f16_64x64x64.gfx950", "softmax_bf16.gfx942"}) {
    const Planted p = plant(name, 0xffffffffu, 0xbf8a0000u, {"LDS race", "uninitialised LDS", "barrier divergence"});
    EXPECT_GT(p.tried, 0) << name;
    // A barrier may be redundant in the recorded launch; most are not.
    EXPECT_GE(p.found * 2, p.tried) << fmt::format("{}: {} of {} found", name, p.found, p.tried);
  }
}
TEST(PlantedFaults, RemovedWaits) {
  for (const char* name : {"transpose_f32.gfx90a", "matmul_bf16_s3.gfx942", "dot_f16_64x64x64.gfx950", "layernorm_f32.gfx942"}) {
    const Planted p = plant(name, 0xffff0000u, 0xbf8c0000u, {"missing wait"});
    EXPECT_GT(p.tried, 0) << name;
    EXPECT_GE(p.found * 10, p.tried * 7) << fmt::format("{}: {} of {} found", name, p.found, p.tried);
  }
}

}  // namespace
