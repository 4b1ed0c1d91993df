// dsl-compile as a user calls it: files, messages, exit status.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/manifest.h"

namespace tile {
namespace {

namespace fs = std::filesystem;

struct Output {
  int status;
  std::string text;  // both streams
};

Output run(const std::string& arguments) {
  std::string command = std::string(TILE_DSL_COMPILE) + " " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return {-1, "popen"};
  Output r{0, {}};
  std::array<char, 4096> chunk;
  while (size_t n = fread(chunk.data(), 1, chunk.size(), pipe)) r.text.append(chunk.data(), n);
  int raw = pclose(pipe);
  r.status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128;
  return r;
}

std::string read(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

class DslCompile : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::temp_directory_path() / ("dsl_compile_test_" + std::to_string(getpid()) + "_" + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }
  std::string out(const std::string& name) const { return (dir_ / name).string(); }
  std::string kernel(const std::string& name) const { return std::string(TILE_SOURCE_DIR) + "/kernels/" + name + ".tile"; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / name) << text;
    return out(name);
  }
  fs::path dir_;
};

TEST_F(DslCompile, WritesHsacoAndManifestForSeveralTargets) {
  for (const char* name : {"vector_add", "softmax", "rmsnorm", "matmul"}) {
    Output r = run(kernel(name) + " --target gfx90a,gfx942,gfx950 -o " + out(name));
    ASSERT_EQ(r.status, 0) << r.text;
    for (const char* target : {"gfx90a", "gfx942", "gfx950"}) {
      std::string stem = out(std::string(name) + "-" + target);
      EXPECT_EQ(read(stem + ".hsaco").substr(0, 4), "\x7f" "ELF");
      auto m = parse_manifest(read(stem + ".json"));
      ASSERT_TRUE(m) << m.error().message;
      EXPECT_EQ(m->kernels.at(0).name, name);
      EXPECT_EQ(m->kernels[0].target, target);
      EXPECT_EQ(m->kernels[0].resources.vgpr_spills + m->kernels[0].resources.sgpr_spills, 0u) << name << " " << target;
      EXPECT_GT(m->kernels[0].resources.code_size, 0u);
    }
  }
}

TEST_F(DslCompile, SameBytesOnRepeat) {
  ASSERT_EQ(run(kernel("softmax") + " -q -o " + out("a")).status, 0);
  ASSERT_EQ(run(kernel("softmax") + " -q -o " + out("b")).status, 0);
  EXPECT_EQ(read(out("a.hsaco")), read(out("b.hsaco")));
  EXPECT_EQ(read(out("a.json")), read(out("b.json")));
}

TEST_F(DslCompile, MatmulUsesMatrixInstructionsAndWideLoads) {
  Output r = run(kernel("matmul") + " -D ALIGN=8 --emit=asm");
  ASSERT_EQ(r.status, 0) << r.text;
  EXPECT_NE(r.text.find("v_mfma_f32_"), std::string::npos);
  EXPECT_NE(r.text.find("buffer_load_dwordx4"), std::string::npos);
  Output w = run(kernel("matmul") + " -D ALIGN=8 --report -o " + out("m"));
  ASSERT_EQ(w.status, 0) << w.text;
  EXPECT_NE(w.text.find("mfma"), std::string::npos) << w.text;
}

TEST_F(DslCompile, EveryFormIsPrinted) {
  for (auto [form, word] : {std::pair{"ast", "kernel"}, {"ir", "kernel @vector_add"}, {"layouts", "#layout<"}, {"llvm", "define"}, {"asm", "s_endpgm"}}) {
    Output r = run(kernel("vector_add") + " --emit=" + form);
    EXPECT_EQ(r.status, 0) << r.text;
    EXPECT_NE(r.text.find(word), std::string::npos) << form << ": " << r.text;
  }
  Output all = run(kernel("vector_add") + " -q --print-after=all -o " + out("v"));
  EXPECT_EQ(all.status, 0);
  for (const char* pass : {"// after fix_values", "// after assign_layouts", "// after plan_memory"})
    EXPECT_NE(all.text.find(pass), std::string::npos) << pass;
}

TEST_F(DslCompile, MistakesAreExplained) {
  auto fails = [&](const std::string& arguments, const std::string& text) {
    Output r = run(arguments);
    EXPECT_EQ(r.status, 1) << arguments;
    EXPECT_NE(r.text.find(text), std::string::npos) << arguments << ": " << r.text;
  };
  fails(kernel("vector_add") + " --target gfx1100", "unknown target 'gfx1100'");
  fails(kernel("vector_add") + " --emit=elf", "unknown form 'elf'");
  fails(kernel("vector_add") + " --print-after=nothing", "there is no pass 'nothing'");
  fails(kernel("vector_add") + " -D BLOCKS=3", "BLOCKS");
  fails(kernel("vector_add") + " -o " + out("no/such/folder/x"), "cannot write");
  fails(out("missing.tile"), "missing.tile");
  fails(write("bad.tile", "kernel k(x: f32[n], n: i32) grid (1) { x[arange(8)] = y; }"), "bad.tile:1:");
  fails(write("expects.tile", "kernel k(x: f32[n], n: i32) grid (1) expects vgprs <= 1 { x[arange(8)] = x[arange(8)] + 1.0; }"), "T0902");
}

}  // namespace
}  // namespace tile
