#include "codegen/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "codegen/loops.h"
#include "modules.h"

namespace tile::codegen {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

// Code of one-word instructions; "target" -1: none. An instruction with a target that does not fall through is
// s_branch.
struct Step {
  int target = -1;
  bool falls_through = true;
};
std::vector<Instruction> code(const std::vector<Step>& steps) {
  std::vector<Instruction> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Instruction instruction;
    instruction.address = 0x1000 + 4 * i;
    instruction.size = 4;
    if (steps[i].target >= 0) instruction.branch_target = 0x1000 + 4 * static_cast<std::uint64_t>(steps[i].target);
    instruction.falls_through = steps[i].falls_through;
    out.push_back(instruction);
  }
  return out;
}

TEST(Loops, None) {
  EXPECT_TRUE(find_loops({}).empty());
  EXPECT_TRUE(find_loops(code({{}, {3}, {}, {-1, false}})).empty());
}

TEST(Loops, OneInstruction) {
  auto loops = find_loops(code({{}, {1}, {-1, false}}));
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_THAT(loops[0].instructions, ElementsAre(1));
}

TEST(Loops, Nested) {
  // 0; outer header 1; inner 2-3; 4 back to 1; 5 end.
  auto loops = find_loops(code({{}, {}, {}, {2}, {1}, {-1, false}}));
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_THAT(loops[0].instructions, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(loops[0].depth, 1u);
  EXPECT_EQ(loops[0].parent, -1);
  EXPECT_THAT(loops[1].instructions, ElementsAre(2, 3));
  EXPECT_EQ(loops[1].depth, 2u);
  EXPECT_EQ(loops[1].parent, 0);
}

TEST(Loops, TwoBackEdgesAreOneLoop) {
  // 1 header; 2 continues to 1 or goes on; 3 back to 1.
  auto loops = find_loops(code({{}, {}, {1}, {1}, {-1, false}}));
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_THAT(loops[0].instructions, ElementsAre(1, 2, 3));
}

TEST(Loops, ExitsAndOtherPathsStayOutside) {
  // 1: header, may leave to 4; 2: body; 3: s_branch 1; 4: end.
  auto loops = find_loops(code({{}, {4}, {}, {1, false}, {-1, false}}));
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_THAT(loops[0].instructions, ElementsAre(1, 2, 3));
}

TEST(Loops, TwoEntriesAreNoNaturalLoop) {
  // 0 jumps into the middle (3) of what 4 repeats from 2.
  EXPECT_TRUE(find_loops(code({{3}, {}, {}, {}, {2}, {-1, false}})).empty());
}

TEST(Loops, UnreachableCodeIsIgnored) {
  auto loops = find_loops(code({{-1, false}, {1}, {1, false}}));
  EXPECT_TRUE(loops.empty());
}

// Against the definition, on random control flow: header dominates (by removing it and searching), members reach the
// back edge without the header.
TEST(Loops, AgreesWithBruteForce) {
  std::mt19937 random(5);
  unsigned found = 0;
  for (int round = 0; round < 400; ++round) {
    const int n = 3 + static_cast<int>(random() % 12);
    std::vector<Step> steps(static_cast<std::size_t>(n));
    for (Step& s : steps)
      if (random() % 2)
        s.target = static_cast<int>(random() % static_cast<unsigned>(n)), s.falls_through = random() % 3 != 0;
    steps.back() = {-1, false};
    auto edges = [&](int i) {
      std::vector<int> out;
      const Step& s = steps[static_cast<std::size_t>(i)];
      if (s.target >= 0) out.push_back(s.target);
      if (s.falls_through && i + 1 < n) out.push_back(i + 1);
      return out;
    };
    auto reach = [&](int from, int without) {
      std::set<int> seen;
      std::vector<int> todo = {from};
      while (!todo.empty()) {
        const int i = todo.back();
        todo.pop_back();
        if (i == without || !seen.insert(i).second) continue;
        for (int e : edges(i)) todo.push_back(e);
      }
      return seen;
    };
    const std::set<int> live = reach(0, -1);
    std::map<int, std::set<std::size_t>> expected;
    for (int tail : live)
      for (int head : edges(tail)) {
        if (head != tail && head != 0 && reach(0, head).contains(tail)) continue;
        auto& body = expected[head];
        body.insert(static_cast<std::size_t>(head));
        for (int m : live)
          if (m != head && reach(m, head).contains(tail)) body.insert(static_cast<std::size_t>(m));
      }
    auto loops = find_loops(code(steps));
    ASSERT_EQ(loops.size(), expected.size());
    for (const Loop& loop : loops) {
      const auto& body = expected.at(static_cast<int>(loop.header));
      EXPECT_EQ(std::set<std::size_t>(loop.instructions.begin(), loop.instructions.end()), body);
      ++found;
    }
  }
  EXPECT_GT(found, 300u);
}

TEST(Report, TheMatrixLoop) {
  for (Arch arch : {Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950}) {
    auto image = compile_text(lds_mfma(arch), arch);
    ASSERT_TRUE(image) << image.error().message;
    auto reports = report(image->bytes);
    ASSERT_TRUE(reports) << reports.error().message;
    ASSERT_EQ(reports->size(), 1u);
    const KernelReport& k = reports->front();
    ASSERT_EQ(k.loops.size(), 1u);
    const LoopReport& loop = k.loops[0];
    EXPECT_EQ(loop.all[InstructionClass::Mfma], arch == Arch::Gfx950 ? 1u : 2u);
    EXPECT_EQ(loop.all[InstructionClass::VmemLoad], 1u);
    EXPECT_EQ(loop.all[InstructionClass::Lds], 2u);
    EXPECT_EQ(loop.all[InstructionClass::Barrier], 2u);
    EXPECT_GE(loop.all[InstructionClass::Wait], 2u);
    EXPECT_EQ(loop.all[InstructionClass::VmemStore], 0u);
    EXPECT_EQ(loop.lines.file, "mm.tile");
    EXPECT_EQ(loop.lines.first, 20u);
    EXPECT_EQ(loop.lines.last, 23u);
    EXPECT_EQ(k.mix[InstructionClass::VmemStore], 1u);
    bool line_23 = false;
    std::uint32_t located = 0;
    for (const LineReport& l : k.lines) {
      located += l.mix.total();
      if (l.line == 23) line_23 = l.mix[InstructionClass::Mfma] == loop.all[InstructionClass::Mfma];
    }
    EXPECT_TRUE(line_23);
    EXPECT_LE(located, k.mix.total());
    const std::string text = to_text(*reports);
    EXPECT_THAT(text, HasSubstr("kernel mm for " + std::string(name(arch))));
    EXPECT_THAT(text, HasSubstr("lines 20 to 23 of mm.tile"));
    EXPECT_THAT(text, HasSubstr("mfma"));
    const nlohmann::json j = to_json(*reports);
    EXPECT_EQ(j["kernels"][0]["resources"]["lds"], 4096);
    EXPECT_EQ(j["kernels"][0]["loops"][0]["instructions"]["barriers"], 2);
    EXPECT_EQ(j["kernels"][0]["instructions"]["total"], k.mix.total());
  }
}

}  // namespace
}  // namespace tile::codegen
