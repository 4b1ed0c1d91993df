// Runs every .tile file of this folder; `--update` rewrites the expectations in the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/language/golden.h"

namespace tile {
namespace {

namespace fs = std::filesystem;

bool update = false;

std::string read(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  std::ostringstream s;
  s << in.rdbuf();
  return s.str();
}

fs::path folder() { return fs::path(TILE_SOURCE_DIR) / "tests/language"; }

std::vector<fs::path> files() {
  std::vector<fs::path> list;
  for (const fs::directory_entry& e : fs::directory_iterator(folder()))
    if (e.path().extension() == ".tile") list.push_back(e.path());
  std::sort(list.begin(), list.end());
  return list;
}

class GoldenFile : public testing::Test {
 public:
  explicit GoldenFile(fs::path path) : path_(std::move(path)) {}
  void TestBody() override {
    std::string text = read(path_);
    // Paths in messages are relative, so that they are the same everywhere.
    fs::current_path(folder());
    golden::Outcome o = golden::check(path_.filename().string(), text);
    for (const std::string& d : o.defects) ADD_FAILURE() << d;
    std::string stem = path_.stem().string();
    EXPECT_EQ(o.has_errors, stem.starts_with("fail_"))
        << "files whose name starts with fail_ give an error, others give none";
    if (update) std::ofstream(path_, std::ios::binary) << o.text;
    else EXPECT_EQ(o.text, text);
    if (!stem.starts_with("fail_") && !stem.starts_with("warn_") && !stem.starts_with("remark_")) return;
    // The kind that the file is named for must be there; what follows a `-` tells variants apart.
    std::string kind = stem.substr(stem.find('_') + 1);
    kind = kind.substr(0, kind.find('-'));
    bool found = std::any_of(o.kinds.begin(), o.kinds.end(),
                             [&](DiagKind k) { return golden::snake_case(info(k).name) == kind; });
    EXPECT_TRUE(found) << "no message of the kind " << kind;
  }

 private:
  fs::path path_;
};

// Kinds that no text of this folder can cause.
const std::set<std::string> not_from_a_kernel = {
    "ExpectFailed",        "LaunchMismatch",   "AssertFailed",  // run time of test blocks
    "UnsupportedOnTarget", "ResourceExceeded", "BackendError",
    "InternalError",       "EmulatedType",     "PrintDropped",  // the compiler
};

TEST(Language, EveryKindHasAFile) {
  std::set<std::string> stems;
  for (const fs::path& p : files()) {
    std::string stem = p.stem().string();
    if (size_t at = stem.find('_'); at != std::string::npos) stems.insert(stem.substr(at + 1, stem.find('-') - at - 1));
  }
  size_t covered = 0;
  for (const DiagInfo& row : diag_table()) {
    if (not_from_a_kernel.contains(std::string(row.name))) continue;
    EXPECT_TRUE(stems.contains(golden::snake_case(row.name))) << row.code << " " << row.name;
    ++covered;
  }
  EXPECT_GE(covered, 45u);
}

}  // namespace
}  // namespace tile

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) tile::update |= std::string_view(argv[i]) == "--update";
  for (const tile::fs::path& p : tile::files())
    testing::RegisterTest("Language", p.stem().string().c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [p]() -> testing::Test* { return new tile::GoldenFile(p); });
  return RUN_ALL_TESTS();
}
