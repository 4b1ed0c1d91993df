// Every #include of the tree is an edge that docs/layering.md allows; LLVM and Spirit stay where they belong.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "source_tree.h"

namespace tile::meta {
namespace {

using Edges = std::map<std::string, std::set<std::string>>;

// The table between the first pair of ``` lines.
Edges read_table() {
  std::istringstream in(read_file(std::string(TILE_SOURCE_DIR) + "/docs/layering.md"));
  Edges edges;
  std::string line;
  bool inside = false;
  while (std::getline(in, line)) {
    if (line.rfind("```", 0) == 0) {
      if (inside) break;
      inside = true;
      continue;
    }
    if (!inside) continue;
    std::istringstream words(line);
    std::string from, arrow, to;
    words >> from >> arrow;
    edges[from];
    while (words >> to) edges[from].insert(to);
  }
  return edges;
}

// The row of the table that a file belongs to: the longest that is a prefix of its path.
std::string row_of(const std::string& path, const Edges& edges) {
  std::string best;
  for (const auto& [row, to] : edges)
    if (path.rfind(row + "/", 0) == 0 && row.size() > best.size()) best = row;
  return best;
}

bool allowed(const std::string& from, const std::string& to, const Edges& edges) {
  if (from == to) return true;
  for (const std::string& target : edges.at(from))
    if (to == target || to.rfind(target + "/", 0) == 0) return true;
  return false;
}

std::vector<std::string> includes(const std::string& text) {
  std::vector<std::string> list;
  std::istringstream in(text);
  std::string line;
  while (std::getline(in, line)) {
    if (line.rfind("#include ", 0) != 0) continue;
    size_t begin = line.find_first_of("\"<"), end = line.find_first_of("\">", begin + 1);
    if (begin != std::string::npos && end != std::string::npos) list.push_back(line.substr(begin, end - begin + 1));
  }
  return list;
}

const std::vector<std::string> folders = {"dsl", "frontend", "codegen", "interpreter", "runtime", "tools"};

TEST(Layering, IncludesFollowTheTable) {
  Edges edges = read_table();
  ASSERT_GT(edges.size(), 10u);
  for (const std::string& file : source_files(folders, {".h", ".cpp", ".def", ".inc"})) {
    std::string from = row_of(file, edges);
    ASSERT_FALSE(from.empty()) << file << " is in no row of docs/layering.md";
    for (const std::string& include : includes(read_file(std::string(TILE_SOURCE_DIR) + "/" + file))) {
      if (include[0] != '"') continue;
      std::string to = row_of(include.substr(1), edges);
      if (to.empty()) continue;  // generated or beside the file
      EXPECT_TRUE(allowed(from, to, edges)) << file << " includes " << include << ", but docs/layering.md has no edge "
                                            << from << " -> " << to;
    }
  }
}

TEST(Layering, LlvmAndSpiritStayWhereTheyBelong) {
  for (const std::string& file : source_files(folders, {".h", ".cpp", ".def", ".inc"}))
    for (const std::string& include : includes(read_file(std::string(TILE_SOURCE_DIR) + "/" + file))) {
      bool llvm = include.rfind("<llvm", 0) == 0 || include.rfind("<lld", 0) == 0;
      bool dsl_or_tile = file.rfind("dsl/", 0) == 0 || file.rfind("interpreter/tile/", 0) == 0;
      EXPECT_FALSE(llvm && dsl_or_tile) << file << " includes " << include;
      if (include.rfind("<boost/spirit", 0) == 0) {
        EXPECT_EQ(file.rfind("dsl/syntax/", 0), 0u) << file << " includes " << include;
      }
    }
}

TEST(Layering, RowsAreNotCyclic) {
  Edges edges = read_table();
  // Folders by depth: a row may only name rows that have been placed before.
  std::set<std::string> placed;
  for (size_t round = 0; round < edges.size(); ++round)
    for (const auto& [row, to] : edges) {
      bool ready = true;
      for (const std::string& t : to)
        for (const auto& [other, unused] : edges)
          if ((other == t || other.rfind(t + "/", 0) == 0) && !placed.count(other)) ready = false;
      if (ready) placed.insert(row);
    }
  EXPECT_EQ(placed.size(), edges.size());
}

}  // namespace
}  // namespace tile::meta
