// The whole pipeline on every kernel of the repository, on every target, with few and many waves.
#include <filesystem>

#include "dsl/passes/hazards.h"
#include "dsl/sema/sema.h"
#include "tests/unit/dsl/passes/testing.h"

namespace tile::passes::testing {
namespace {

using Constants = std::vector<std::pair<std::string, std::string>>;

std::vector<std::filesystem::path> tile_files(const std::string& folder) {
  std::vector<std::filesystem::path> list;
  std::filesystem::path root = std::filesystem::path(TILE_SOURCE_DIR) / folder;
  if (std::filesystem::exists(root))
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
      if (entry.path().extension() == ".tile" && !entry.path().filename().string().starts_with("fail_")) list.push_back(entry.path());
  std::sort(list.begin(), list.end());
  return list;
}

// Kernels that need constants of their own (no defaults) are other tests' business. Returns whether it ran.
bool run_pipeline(const Program& program, const std::string& kernel, const Constants& constants, Arch arch, std::optional<unsigned> waves) {
  SpecializeOptions options;
  options.kernel = kernel;
  options.constants = constants;
  options.arch = arch;
  options.waves = waves;
  Diagnostics diags;
  std::optional<Kernel> k = specialize(program, options, diags);
  if (!k) return false;
  EXPECT_EQ(print(parse(print(*k))), print(*k));
  Status s = run_passes(*k);
  EXPECT_TRUE(s.ok()) << s.error().message << "\n" << print(*k);
  if (!s.ok()) return true;
  std::string text = print(*k);
  EXPECT_EQ(print(parse(text)), text);
  return true;
}

TEST(Pipeline, EveryKernelOnEveryTarget) {
  unsigned ran = 0;
  for (const char* folder : {"kernels", "tests/language", "tests/ops"})
    for (const auto& path : tile_files(folder)) {
      SourceManager sources;
      Diagnostics diags;
      Program program = Program::load(path.string(), sources, diags);
      if (diags.has_errors()) continue;
      for (const std::string& kernel : program.kernels())
        for (const ArchInfo& arch : arch_table)
          for (std::optional<unsigned> waves : {std::optional<unsigned>{}, {1u}, {3u}, {16u}}) {
            SCOPED_TRACE(path.filename().string() + " " + kernel + " " + std::string(arch.name) + " waves " + std::to_string(waves.value_or(0)));
            ran += run_pipeline(program, kernel, {}, arch.arch, waves);
            if (HasFailure()) return;
          }
    }
  EXPECT_GT(ran, 100u);
}

TEST(Pipeline, MatmulOfEachType) {
  SourceManager sources;
  Diagnostics diags;
  Program program = Program::load(std::string(TILE_SOURCE_DIR) + "/kernels/matmul.tile", sources, diags);
  ASSERT_FALSE(diags.has_errors());
  for (const char* type : {"f16", "bf16", "f32", "f64", "i8", "f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz"})
    for (const ArchInfo& arch : arch_table)
      for (const char* size : {"16", "32", "64"}) {
        SCOPED_TRACE(std::string(type) + " " + std::string(arch.name) + " " + size);
        EXPECT_TRUE(run_pipeline(program, "matmul", {{"T", type}, {"BM", size}, {"BN", size}, {"BK", "32"}, {"ALIGN", "8"}}, arch.arch, {}));
        if (HasFailure()) return;
      }
}

// The same kernel and target give the same text, whatever was compiled before.
TEST(Pipeline, IsDeterministic) {
  SourceManager sources;
  Diagnostics diags;
  Program program = Program::load(std::string(TILE_SOURCE_DIR) + "/kernels/matmul.tile", sources, diags);
  std::string first;
  for (int i = 0; i < 3; ++i) {
    std::optional<Kernel> k = specialize(program, {.kernel = "matmul", .constants = {{"ALIGN", "8"}}, .arch = Arch::Gfx942, .waves = {}}, diags);
    ASSERT_TRUE(k.has_value());
    ASSERT_TRUE(run_passes(*k).ok());
    if (i == 0) first = print(*k);
    EXPECT_EQ(print(*k), first);
  }
}

}  // namespace
}  // namespace tile::passes::testing
