#pragma once
// Expected text beside the input. With TILE_UPDATE=1 in the environment the tests write it anew; review the diff.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace tile::testing {

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

inline bool updating() { return std::getenv("TILE_UPDATE") != nullptr; }

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace tile::testing
