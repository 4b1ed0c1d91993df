// Every instruction of the three targets: decoded from one instance of each encoding, and executed.
#include "interpreter/machine/coverage.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "interpreter/machine/machine.h"

namespace {

using namespace tile;

constexpr uint32_t endpgm = 0xbf810000u, wait_all = 0xbf8c0000u;

// All VGPRs are 64 and all SGPRs 0, so that vector addresses are 64 << 32 | 64 or 64 and scalar ones small.
std::vector<uint32_t> program_of(const std::vector<uint32_t>& instruction) {
  std::vector<uint32_t> words;
  for (uint32_t r = 0; r < 64; ++r) words.push_back(0x7e000000u | r << 17 | 1 << 9 | 192);   // v_mov_b32 vR, 64
  for (uint32_t r = 0; r < 102; ++r) words.push_back(0xbe800000u | r << 16 | 128);           // s_mov_b32 sR, 0
  words.push_back(0xbe800000u | 124u << 16 | 128);                                           // s_mov_b32 m0, 0
  words.push_back(0xbe800100u | 106u << 16 | 128);                                           // s_mov_b64 vcc, 0
  // LDS that the instruction may read.
  for (uint32_t at = 0; at < 256; at += 8) {
    words.push_back(0xd89a0000u | at);                                                       // ds_write_b64 v0, v[2:3] offset
    words.push_back(0u | 2u << 8);
  }
  words.insert(words.end(), instruction.begin(), instruction.end());
  words.push_back(wait_all);
  words.push_back(endpgm);
  return words;
}

// What happened, empty when the instruction ran.
std::string run(const std::string& target, const sim::CoverageRow& row) {
  sim::Kernel k;
  k.name = "main";
  k.lds_static = 65536;
  k.scratch_per_lane = 4096;
  k.rsrc1 = 0xf0u << 12;
  auto code = sim::CodeObject::from_instructions(target, program_of(row.words), k);
  if (!code) return code.error().message;
  sim::Memory memory;
  std::vector<uint8_t> low(1 << 16), high(1 << 16);
  memory.map_at(0, "low", low.data(), low.size());
  memory.map_at((uint64_t{64} << 32), "high", high.data(), high.size());
  sim::LaunchConfig c;
  c.block = {64, 1, 1};
  sim::Options o;
  o.checks = false;
  o.threads = 1;
  o.instruction_budget = 10000;
  auto stats = sim::launch(*code, "main", c, memory, o);
  return stats ? "" : stats.error().message;
}

void check(const std::string& target) {
  auto rows = sim::coverage(target);
  ASSERT_TRUE(rows);
  std::map<std::string, std::pair<int, int>> counts;   // family: executed, all encodings
  std::string failures;
  for (const auto& row : *rows) {
    auto& c = counts[row.family];
    ++c.second;
    const std::string message = run(target, row);
    // Traps, jumps and halts do what they say; they need not end normally.
    const bool control = row.family == "SALU" && (message.find("bad jump") != message.npos || message.find("trap") != message.npos || message.find("budget") != message.npos);
    if (message.empty() || control) ++c.first;
    else if (row.family != "SMEM") failures += row.text + ": " + message.substr(0, 150) + "\n";
  }
  for (const char* family : {"VALU", "SALU", "DS", "MUBUF", "FLAT", "MFMA"}) {
    const auto [ran, all] = counts[family];
    EXPECT_GE(ran, (95 * all + 99) / 100) << target << " " << family << ": " << ran << " of " << all << "\n" << failures;
    testing::Test::RecordProperty(std::string(family) + "_executed", ran);
    testing::Test::RecordProperty(std::string(family) + "_all", all);
  }
  if (getenv("TILE_VERBOSE")) fmt::print("{}", failures);
}

TEST(Coverage, Gfx90a) { check("gfx90a"); }
TEST(Coverage, Gfx942) { check("gfx942"); }
TEST(Coverage, Gfx950) { check("gfx950"); }

// docs/simulator.md ends with what `dsl-sim --coverage` prints.
TEST(Coverage, DocsAreCurrent) {
  std::ifstream in(std::string(TILE_SOURCE_DIR) + "/docs/simulator.md");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(text.find(sim::coverage_markdown()), text.npos) << "replace the list in docs/simulator.md by the output of dsl-sim --coverage";
}

}  // namespace
