// docs/diagnostics.md is generated from diag.def. With TILE_UPDATE=1 in the environment this test writes it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "dsl/diag/diag.h"

namespace tile {
namespace {

namespace fs = std::filesystem;

constexpr const char* areas[] = {"",
                                 "Text and syntax",
                                 "Names",
                                 "Types and shapes",
                                 "Constants and specialisation",
                                 "Control flow",
                                 "Memory and views",
                                 "Functions and imports",
                                 "Tests and launches",
                                 "Compiler and targets"};

std::string snake_case(std::string_view name) {
  std::string out;
  for (char c : name) {
    bool upper = c >= 'A' && c <= 'Z';
    if (upper && !out.empty()) out += '_';
    out += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

std::string example(const DiagInfo& row) {
  const char* prefix = row.severity == Severity::Error ? "fail" : row.severity == Severity::Warning ? "warn" : "remark";
  std::string path = fmt::format("tests/language/{}_{}.tile", prefix, snake_case(row.name));
  return fs::exists(fs::path(TILE_SOURCE_DIR) / path) ? fmt::format("[example](../{})", path) : "";
}

std::string document() {
  std::string out =
      "# Diagnostics\n\n"
      "Generated from `dsl/diag/diag.def`; `TILE_UPDATE=1 sema_test` rewrites it.\n\n"
      "A message names the place, what was found and what was expected, with notes at further places and a hint where "
      "a\n"
      "fix is likely. Codes are stable: T is an error, W a warning, P a remark. The examples are tests: they hold the\n"
      "messages below the lines that cause them.\n";
  int area = 0;
  for (const DiagInfo& row : diag_table()) {
    int here = (row.code[1] - '0') * 10 + row.code[2] - '0';
    if (here != area) {
      area = here;
      out += fmt::format("\n## {:02} {}\n\n| code | what went wrong | |\n|---|---|---|\n", area, areas[area]);
    }
    out += fmt::format("| {} | {} | {} |\n", row.code, row.title, example(row));
  }
  return out;
}

TEST(DiagnosticsDoc, IsUpToDate) {
  fs::path path = fs::path(TILE_SOURCE_DIR) / "docs/diagnostics.md";
  if (std::getenv("TILE_UPDATE") != nullptr) std::ofstream(path, std::ios::binary) << document();
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), document());
}

TEST(DiagnosticsDoc, CodesAreUniqueAndFitTheirSeverity) {
  std::set<std::string_view> codes;
  for (const DiagInfo& row : diag_table()) {
    EXPECT_TRUE(codes.insert(row.code).second) << row.code;
    ASSERT_EQ(row.code.size(), 5u) << row.code;
    char expected = row.severity == Severity::Error ? 'T' : row.severity == Severity::Warning ? 'W' : 'P';
    EXPECT_EQ(row.code[0], expected) << row.code;
  }
}

}  // namespace
}  // namespace tile
