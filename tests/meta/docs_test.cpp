// Examples in the docs are programs: every block marked ```tile is read, all blocks of one page together as one file.
// Their kernels are specialised for each target and their tests run on the interpreter.
#include <gtest/gtest.h>

#include "dsl/passes/passes.h"
#include "runtime/device.h"
#include "runtime/test_runner.h"
#include "source_tree.h"

namespace tile::meta {
namespace {

std::string tile_blocks(const std::string& text) {
  std::istringstream in(text);
  std::string line, out;
  bool inside = false;
  while (std::getline(in, line)) {
    if (line.rfind("```", 0) == 0) inside = !inside && line == "```tile";
    else if (inside) out += line + "\n";
  }
  return out;
}

TEST(Docs, ExamplesWork) {
  std::vector<std::string> pages = source_files({"docs"}, {".md"});
  pages.push_back("README.md");
  size_t kernels = 0;
  for (const std::string& page : pages) {
    std::string program = tile_blocks(read_file(std::string(TILE_SOURCE_DIR) + "/" + page));
    if (program.empty()) continue;
    std::string path = ::testing::TempDir() + "/docs_example.tile";
    std::ofstream(path) << program;
    Session session(path);
    ASSERT_TRUE(session.ok()) << page << "\n" << render(session.diagnostics(), session.sources());
    for (const std::string& kernel : session.program().kernels())
      for (const ArchInfo& arch : arch_table) {
        SpecializeOptions options;
        options.kernel = kernel;
        options.arch = arch.arch;
        EXPECT_TRUE(session.specialize(options)) << page << "\n" << render(session.diagnostics(), session.sources());
        ++kernels;
      }
    std::unique_ptr<Device> device = make_interpreter_device();
    TestSummary s = run_tests(session, *device, {}, [&](const std::string& line) {
      if (line.rfind("ok", 0) != 0) ADD_FAILURE() << page << ": " << line;
    });
    EXPECT_EQ(s.failed, 0) << page;
  }
  EXPECT_GE(kernels, 3u);
}

// Every relative link of the docs leads to a file.
TEST(Docs, LinksLeadSomewhere) {
  std::vector<std::string> pages = source_files({"docs"}, {".md"});
  pages.push_back("README.md");
  for (const std::string& page : pages) {
    std::string text = read_file(std::string(TILE_SOURCE_DIR) + "/" + page);
    std::string folder = page.find('/') == std::string::npos ? "" : page.substr(0, page.rfind('/') + 1);
    for (size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
      std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
      if (target.empty() || target.find("://") != std::string::npos || target[0] == '#' ||
          target.find(' ') != std::string::npos)
        continue;
      target = target.substr(0, target.find('#'));
      if (target.find('.') == std::string::npos && target.find('/') == std::string::npos) continue;
      EXPECT_TRUE(std::filesystem::exists(std::string(TILE_SOURCE_DIR) + "/" + folder + target)) << page << " links to " << target;
    }
  }
}

}  // namespace
}  // namespace tile::meta
