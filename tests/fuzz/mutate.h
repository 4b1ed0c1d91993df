#pragma once
// Original texts and seeded mutations of them: bytes flipped, tokens dropped or doubled, lines swapped.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tile::fuzz {

namespace fs = std::filesystem;

// Texts of the .tile files below `folders` of the source tree, in order of their paths.
inline std::vector<std::string> originals(const std::vector<std::string>& folders) {
  std::vector<fs::path> paths;
  for (const std::string& dir : folders)
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

}  // namespace tile::fuzz
