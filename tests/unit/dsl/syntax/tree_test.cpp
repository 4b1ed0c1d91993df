// Trees of valid texts: tests/data/syntax/NAME.tile gives NAME.tree.
#include <gtest/gtest.h>

#include "dsl/syntax/parse.h"
#include "tests/unit/dsl/syntax/golden.h"

namespace tile {
namespace {

class Tree : public ::testing::TestWithParam<const char*> {};

TEST_P(Tree, IsAsExpected) {
  std::string base = std::string(TILE_TEST_DATA) + "/syntax/" + GetParam();
  SourceManager sources;
  std::string text = testing::read_file(base + ".tile");
  ASSERT_FALSE(text.empty());
  FileId file = sources.add(std::string(GetParam()) + ".tile", text);
  Diagnostics diags;
  ast::File tree = parse(file, sources, diags);
  EXPECT_EQ(render(diags, sources), "");
  std::string dump = ast::dump(tree, sources);
  if (testing::updating()) testing::write_file(base + ".tree", dump);
  EXPECT_EQ(dump, testing::read_file(base + ".tree"));
}

INSTANTIATE_TEST_SUITE_P(Syntax, Tree, ::testing::Values("design", "forms"),
                         [](const auto& p) { return std::string(p.param); });

}  // namespace
}  // namespace tile
