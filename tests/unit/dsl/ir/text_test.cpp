#include <random>

#include "tests/unit/dsl/ir/kernels.h"
#include "dsl/layout/linear_layout.h"

namespace tile::ir::testing {
namespace {

TEST(IrText, PrintAfterParseIsTheText) {
  for (const char* text : {vector_add, loops}) EXPECT_EQ(print(parse(text)), text);
}

TEST(IrText, LayoutsAreAliases) {
  std::string text = with_layouts;
  text.insert(text.find("kernel"), "#L2 = #layout<reg=[], lane=[(0,0),(0,0),(0,0),(1,0),(2,0),(4,0)], wave=[(8,0)]>\n");
  Kernel k = parse(text);
  std::string once = print(k);
  EXPECT_EQ(print(parse(once)), once);
  EXPECT_EQ(verify(k, Stage::Layout), std::vector<std::string>{});
  EXPECT_NE(once.find("f32[16, 32] #L0"), std::string::npos);
}

TEST(IrText, HeaderComesBack) {
  Kernel k = parse(vector_add);
  ASSERT_EQ(k.params.size(), 3u);
  EXPECT_TRUE(k.params[0].is_view);
  EXPECT_EQ(k.params[0].extents, std::vector<std::string>{"n"});
  EXPECT_TRUE(k.params[1].noalias);
  EXPECT_EQ(k.params[2].divisor, 4);
  EXPECT_EQ(k.params[2].max, 1048576);
  EXPECT_EQ(k.grid, std::vector<std::string>{"cdiv(n, 1024)"});
  EXPECT_EQ(k.constants.at(0).second, "1024");
  EXPECT_EQ(k.arch, Arch::Gfx942);
}

TEST(IrText, ErrorsNameTheCause) {
  std::string text = vector_add;
  auto with = [&](const std::string& from, const std::string& to) {
    std::string t = text;
    size_t at = t.find(from);
    EXPECT_NE(at, std::string::npos);
    return parse_error(t.replace(at, from.size(), to));
  };
  EXPECT_EQ(with("add.i %7", "add.q %7"), "`add.q` is not an operation");
  EXPECT_EQ(with("%7, %6", "%7, %66"), "`%66` is not defined before this");
  EXPECT_EQ(with("i32[1024]", "i33[1024]"), "`i33` is not a type");
  EXPECT_EQ(with("i32[1024]", "i32[-4]"), "extents are positive and a tile has at most 2^31 elements");
  EXPECT_EQ(with("{axis = 0}", "{axes = 0}"), "`axes` is not an attribute");
  EXPECT_EQ(with("{axis = 0}", "{axis = 99999999999999999999}"), "`99999999999999999999` is not a number that fits");
  EXPECT_EQ(with("%3 = program_id", "%0 = program_id"), "`%0` is defined twice");
  EXPECT_EQ(with("f32[1024]", "f32[1024] #L7"), "layout `#L7` is not defined");
  EXPECT_EQ(with("gfx942", "gfx1100"), "`gfx1100` is not an architecture");
  EXPECT_EQ(with("waves 4", "waves 17"), "a workgroup has 1 to 16 waves");
}

TEST(IrText, NestingHasALimit) {
  std::string text = "kernel @k(%c: bool) target gfx942 waves 1 {\n";
  for (int i = 0; i < 100000; ++i) text += "if %c then {\n";
  EXPECT_EQ(parse_error(text), "blocks are nested too deep");
}

// Any text gives a kernel or a message, and verify() survives what parses.
TEST(IrText, DamagedTextIsHarmless) {
  std::mt19937 random(1);
  for (const char* source : {vector_add, loops, with_layouts}) {
    for (int i = 0; i < 2000; ++i) {
      std::string text = source;
      for (unsigned n = random() % 3 + 1; n > 0; --n) {
        size_t at = random() % text.size(), length = std::min<size_t>(random() % 12, text.size() - at);
        switch (random() % 3) {
          case 0: text.erase(at, length); break;
          case 1: text.insert(at, text.substr(random() % text.size(), length)); break;
          default: text[at] = static_cast<char>(random() % 96 + 32);
        }
        if (text.empty()) text = " ";
      }
      SourceManager sources;
      Diagnostics diags;
      auto k = parse_ir(sources.add("damaged.ir", text), sources, diags);
      EXPECT_NE(k.has_value(), diags.has_errors());
      if (!k) continue;
      for (Stage stage : {Stage::Sema, Stage::Fixed, Stage::Layout, Stage::Final}) (void)verify(*k, stage);
      std::string once = print(*k);
      EXPECT_EQ(print(parse(once)), once);
    }
  }
}

}  // namespace
}  // namespace tile::ir::testing
