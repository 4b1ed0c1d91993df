// Size is a tested budget: no source file over 600 lines.
#include <gtest/gtest.h>

#include "source_tree.h"

namespace tile::meta {
namespace {

TEST(Size, NoFileOver600Lines) {
  std::vector<std::string> folders = {"dsl",   "frontend", "codegen", "interpreter", "runtime",
                                      "tools", "tests",    "kernels", "bench",       "include"};
  for (const std::string& file : source_files(folders, {".h", ".cpp", ".def", ".inc", ".tile"})) {
    if (file.rfind("tests/data/", 0) == 0) continue;
    std::string text = read_file(std::string(TILE_SOURCE_DIR) + "/" + file);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 600) << file;
  }
}

// The repository stands alone: nothing in it names a machine path outside of itself.
TEST(Size, NoForeignPaths) {
  std::vector<std::string> folders = {"dsl",   "frontend", "codegen", "interpreter", "runtime", "tools",
                                      "tests", "kernels",  "bench",   "docs",        "cmake",   "include"};
  const std::string forbidden[] = {std::string("/wo") + "rk/", std::string("../sha") + "red", std::string(".libr") + "ary"};
  for (const std::string& file : source_files(folders, {".h", ".cpp", ".def", ".inc", ".tile", ".md", ".txt", ".sh", ".cmake"}))
    for (const std::string& word : forbidden)
      EXPECT_EQ(read_file(std::string(TILE_SOURCE_DIR) + "/" + file).find(word), std::string::npos)
          << file << " names " << word;
}

}  // namespace
}  // namespace tile::meta
