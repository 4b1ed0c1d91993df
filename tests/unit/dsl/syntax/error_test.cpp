// Messages for wrong texts: tests/data/syntax/errors.txt holds, per case, `=== title`, the text, `--- messages` and the
// messages word by word.
#include <gtest/gtest.h>

#include "dsl/syntax/parse.h"
#include "tests/unit/dsl/syntax/golden.h"

namespace tile {
namespace {

struct Case {
  std::string title, text, messages;
};

constexpr std::string_view title_mark = "=== ", messages_mark = "--- messages\n";

std::vector<Case> read_cases(std::string_view all) {
  std::vector<Case> cases;
  while (all.starts_with(title_mark)) {
    size_t line = all.find('\n'), end = all.find("\n=== ", line);
    std::string_view one = all.substr(0, end == std::string_view::npos ? end : end + 1);
    size_t mark = one.find(messages_mark, line);
    if (mark == std::string_view::npos) return {};
    cases.push_back({std::string(one.substr(title_mark.size(), line - title_mark.size())),
                     std::string(one.substr(line + 1, mark - line - 1)),
                     std::string(one.substr(mark + messages_mark.size()))});
    all.remove_prefix(one.size());
  }
  return cases;
}

TEST(SyntaxErrors, AreAsExpected) {
  std::string path = std::string(TILE_TEST_DATA) + "/syntax/errors.txt", out;
  std::vector<Case> cases = read_cases(testing::read_file(path));
  ASSERT_GT(cases.size(), 40u);
  for (const Case& c : cases) {
    SourceManager sources;
    FileId file = sources.add("t.tile", c.text);
    Diagnostics diags;
    parse(file, sources, diags);
    EXPECT_TRUE(diags.has_errors()) << c.title;
    std::string messages = render(diags, sources);
    if (!testing::updating()) {
      EXPECT_EQ(messages, c.messages) << c.title;
    }
    out += std::string(title_mark) + c.title + "\n" + c.text + std::string(messages_mark) + messages;
  }
  if (testing::updating()) testing::write_file(path, out);
}

}  // namespace
}  // namespace tile
