// Damaged programs: whatever the text, there is a verdict, an error has a message, and what passes is valid IR.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "dsl/sema/sema.h"

namespace tile {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> originals() {
  std::vector<std::string> texts;
  std::vector<fs::path> paths;
  for (const char* folder : {"kernels", "tests/language"})
    for (const fs::directory_entry& e : fs::directory_iterator(fs::path(TILE_SOURCE_DIR) / folder))
      if (e.path().extension() == ".tile") paths.push_back(e.path());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& p : paths) {
    std::ifstream in(p, std::ios::binary);
    std::ostringstream s;
    s << in.rdbuf();
    std::string text = s.str();
    if (size_t at = text.find("// IR:"); at != std::string::npos) text.resize(at);
    if (text.find("import \"") == std::string::npos && text.find("static range(60000)") == std::string::npos)
      texts.push_back(text);
  }
  return texts;
}

// One word, number or symbol, as a range of the text.
std::pair<size_t, size_t> token_at(const std::string& t, size_t at) {
  auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  size_t begin = at, end = at + 1;
  if (word(t[at])) {
    while (begin > 0 && word(t[begin - 1])) --begin;
    while (end < t.size() && word(t[end])) ++end;
  }
  return {begin, end};
}

std::string mutate(std::string t, std::mt19937& rng) {
  auto pick = [&](size_t n) { return static_cast<size_t>(rng() % n); };
  auto line = [&](size_t at) {
    size_t begin = t.rfind('\n', at);
    begin = begin == std::string::npos ? 0 : begin + 1;
    size_t end = t.find('\n', begin);
    return std::pair(begin, end == std::string::npos ? t.size() : end);
  };
  switch (pick(5)) {
    case 0:
      t[pick(t.size())] = static_cast<char>(rng());
      break;
    case 1: {
      auto [b, e] = token_at(t, pick(t.size()));
      t.erase(b, e - b);
      break;
    }
    case 2: {  // one token replaced by another of the file
      auto [b, e] = token_at(t, pick(t.size()));
      auto [c, f] = token_at(t, pick(t.size()));
      std::string other = t.substr(c, f - c);
      t.replace(b, e - b, other);
      break;
    }
    case 3: {  // two lines swapped
      auto a = line(pick(t.size())), b = line(pick(t.size()));
      if (a.first > b.first) std::swap(a, b);
      if (a.second > b.first) break;
      std::string first = t.substr(a.first, a.second - a.first), second = t.substr(b.first, b.second - b.first);
      t.replace(b.first, second.size(), first);
      t.replace(a.first, first.size(), second);
      break;
    }
    default: {
      auto [b, e] = token_at(t, pick(t.size()));
      const char* numbers[] = {"0", "-1", "99999999", "1e40", "0.5", "n", "x", "f8e4m3", "\"s\"", "(1, 2)", "true"};
      t.replace(b, e - b, numbers[pick(std::size(numbers))]);
    }
  }
  return t;
}

TEST(Mutation, EveryTextGetsAVerdict) {
  std::mt19937 rng(20261201);
  std::vector<std::string> texts = originals();
  ASSERT_FALSE(texts.empty());
  size_t good = 0, bad = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string text = texts[static_cast<size_t>(i) % texts.size()];
    for (unsigned n = 1 + rng() % 3; n > 0 && !text.empty(); --n) text = mutate(text, rng);
    SourceManager sources;
    Diagnostics diags;
    Program p = Program::from_text("mutant.tile", text, sources, diags);
    if (diags.has_errors()) {
      ++bad;
      continue;
    }
    for (const std::string& name : p.kernels()) {
      Diagnostics own;
      SpecializeOptions options;
      options.kernel = name;
      std::optional<ir::Kernel> k = specialize(p, options, own);
      EXPECT_EQ(k.has_value(), !own.has_errors()) << text;
      if (k) {
        std::vector<std::string> defects = ir::verify(*k, ir::Stage::Sema);
        EXPECT_TRUE(defects.empty()) << defects[0] << "\n" << text;
        ++good;
      } else {
        EXPECT_FALSE(render(own, sources).empty());
        ++bad;
      }
    }
  }
  EXPECT_GT(good, 50u);
  EXPECT_GT(bad, 500u);
}

}  // namespace
}  // namespace tile
