#pragma once
// The project's own source files, for tests about the tree.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace tile::meta {

inline std::string read_file(const std::filesystem::path& p) {
  std::ifstream in(p, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

// Paths relative to the source folder, sorted, of files below `folders` with one of the endings.
inline std::vector<std::string> source_files(const std::vector<std::string>& folders,
                                             const std::vector<std::string>& endings) {
  namespace fs = std::filesystem;
  fs::path root = TILE_SOURCE_DIR;
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file()) continue;
      std::string ending = entry.path().extension().string();
      for (const std::string& e : endings)
        if (e == ending) files.push_back(fs::relative(entry.path(), root).generic_string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace tile::meta
