// Mutated texts: the parser ends, and every error has a place inside of the text. What does not crash here must not
// crash under AddressSanitizer either (preset asan runs the same test).
#include <gtest/gtest.h>

#include <random>

#include "dsl/syntax/parse.h"
#include "mutate.h"

namespace tile {
namespace {

using fuzz::Mutator;

std::vector<std::string> originals() { return fuzz::originals({"/tests/data/syntax", "/kernels", "/dsl/prelude"}); }

class ParseFuzz : public ::testing::Test {
 protected:
  // True if the text has errors.
  bool check(const std::string& text) {
    SourceManager sources;
    FileId file = sources.add("fuzz.tile", text);
    Diagnostics diags;
    ast::File tree = parse(file, sources, diags);
    for (const Diagnostic& d : diags.all()) {
      EXPECT_EQ(d.range.file, file);
      EXPECT_LE(d.range.begin, d.range.end);
      EXPECT_LE(d.range.end, text.size());
      EXPECT_FALSE(d.message.empty());
      EXPECT_NE(render(d, sources).find("fuzz.tile:"), std::string::npos);
      for (const Note& n : d.notes) EXPECT_EQ(n.range.file, file);
    }
    EXPECT_FALSE(ast::dump(tree, sources).empty() && !diags.has_errors() && text.size() > 1000);
    return diags.has_errors();
  }
};

TEST_F(ParseFuzz, OriginalsAreAccepted) {
  ASSERT_FALSE(originals().empty());
  for (const std::string& text : originals()) EXPECT_FALSE(check(text)) << text.substr(0, 200);
}

TEST_F(ParseFuzz, MutantsGiveMessagesWithPlaces) {
  std::vector<std::string> texts = originals();
  Mutator mutator(20240607);
  size_t wrong = 0;
  constexpr size_t mutants = 2000;
  for (size_t i = 0; i < mutants; ++i) {
    std::string text = mutator.mutate(texts[i % texts.size()]);
    bool bad = check(text);
    wrong += bad;
    ASSERT_FALSE(HasFailure()) << "mutant " << i << ":\n" << text;
  }
  EXPECT_GT(wrong, mutants / 3);
  EXPECT_LT(wrong, mutants);
}

// Bytes without any structure, and cuts of texts at every place.
TEST_F(ParseFuzz, NoiseAndCuts) {
  std::mt19937_64 random(7);
  for (size_t i = 0; i < 300; ++i) {
    std::string text(random() % 400, '\0');
    for (char& c : text) c = static_cast<char>(random() % (i % 2 ? 256 : 96) + (i % 2 ? 0 : 32));
    check(text);
  }
  std::string text = originals().front();
  for (size_t n = 0; n < text.size(); n += 3) check(text.substr(0, n));
  ASSERT_FALSE(HasFailure());
}

}  // namespace
}  // namespace tile
