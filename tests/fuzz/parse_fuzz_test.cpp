// Mutated texts: the parser ends, and every error has a place inside of the text. What does not crash here must not
// crash under AddressSanitizer either (preset asan runs the same test).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "dsl/syntax/parse.h"

namespace tile {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> originals() {
  std::vector<fs::path> paths;
  for (const char* dir : {"/tests/data/syntax", "/kernels", "/dsl/prelude"})
    for (const auto& entry : fs::recursive_directory_iterator(std::string(TILE_SOURCE_DIR) + dir))
      if (entry.path().extension() == ".tile") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const fs::path& p : paths) {
    std::stringstream s;
    s << std::ifstream(p, std::ios::binary).rdbuf();
    texts.push_back(s.str());
  }
  return texts;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    for (size_t n = 1 + below(3); n > 0 && !text.empty(); --n) once(text);
    return text;
  }

 private:
  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }

  // A run of letters and digits, or one other character.
  std::pair<size_t, size_t> token_at(const std::string& text) {
    size_t begin = below(text.size()), end = begin + 1;
    auto word = [&](size_t i) { return std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_'; };
    if (!word(begin)) return {begin, 1};
    while (begin > 0 && word(begin - 1)) --begin;
    while (end < text.size() && word(end)) ++end;
    return {begin, end - begin};
  }

  void swap_lines(std::string& text) {
    std::vector<std::string> lines;
    std::stringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
    std::swap(lines[below(lines.size())], lines[below(lines.size())]);
    text.clear();
    for (const std::string& line : lines) text += line;
  }

  void once(std::string& text) {
    switch (below(8)) {
      case 0:
        text[below(text.size())] ^= static_cast<char>(1 << below(8));
        break;
      case 1:
        text[below(text.size())] = static_cast<char>(below(256));
        break;
      case 2: {
        auto [begin, size] = token_at(text);
        text.erase(begin, size);
        break;
      }
      case 3: {
        auto [begin, size] = token_at(text);
        text.insert(begin, text.substr(begin, size) + " ");
        break;
      }
      case 4: {  // one token in another's place
        auto [from, size] = token_at(text);
        std::string token = text.substr(from, size);
        auto [begin, old_size] = token_at(text);
        text.replace(begin, old_size, token);
        break;
      }
      case 5:
        swap_lines(text);
        break;
      case 6:
        text.erase(below(text.size()));
        break;
      case 7: {
        static constexpr std::string_view brackets = "(){}[]<>;,:=\"/*'";
        text.insert(below(text.size()), 1, brackets[below(brackets.size())]);
        break;
      }
    }
  }

  std::mt19937_64 random_;
};

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
