#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "dsl/prelude/prelude.h"
#include "dsl/sema/evaluator.h"
#include "dsl/sema/sema.h"

namespace tile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Sema : public testing::Test {
 protected:
  std::optional<ir::Kernel> build(const std::string& text, SpecializeOptions options = {}) {
    diags_.clear();
    Program p = Program::from_text("test.tile", text, sources_, diags_);
    if (diags_.has_errors()) return std::nullopt;
    std::optional<ir::Kernel> k = specialize(p, options, diags_);
    if (k) {
      EXPECT_THAT(ir::verify(*k, ir::Stage::Sema), testing::IsEmpty());
    }
    return k;
  }
  std::string messages() { return render(diags_, sources_); }

  SourceManager sources_;
  Diagnostics diags_;
};

TEST_F(Sema, ListsWhatAFileHas) {
  Program p = Program::from_text(
      "list.tile",
      "const A = 1;\nkernel a(x: f32[n], const T: type = f16, const B: i32 = 4 * A, const C: i32) grid (1) {}\n"
      "kernel b() grid (1) {}\ntest \"one\" {}\ntest \"two\" {}\n",
      sources_, diags_);
  EXPECT_FALSE(diags_.has_errors()) << messages();
  EXPECT_THAT(p.kernels(), ElementsAre("a", "b"));
  EXPECT_THAT(p.tests(), ElementsAre("one", "two"));
  EXPECT_EQ(p.find_kernel(""), nullptr);
  ASSERT_NE(p.find_kernel("a"), nullptr);
  std::vector<ConstParam> c = p.const_params(*p.find_kernel("a"));
  ASSERT_EQ(c.size(), 3u);
  EXPECT_EQ(c[0].type + " " + c[0].default_text, "type f16");
  EXPECT_EQ(c[1].type + " " + c[1].default_text, "i32 4 * A");
  EXPECT_EQ(c[2].default_text, "");
}

TEST_F(Sema, ConstantsFromTheCommandLine) {
  const char* text =
      "kernel k(x: T[n], n: i32, const T: type, const B: i32, const F: bool = false, const S: f32 = 1.0)\n"
      "    grid (cdiv(n, B)) { static if F { x[arange(B)] = S as T; } }\n";
  SpecializeOptions o;
  o.constants = {{"T", "bf16"}, {"B", "0x20"}, {"F", "true"}, {"S", "-1e3"}};
  std::optional<ir::Kernel> k = build(text, o);
  ASSERT_TRUE(k) << messages();
  EXPECT_THAT(k->constants, ElementsAre(testing::Pair("T", "bf16"), testing::Pair("B", "32"),
                                        testing::Pair("F", "true"), testing::Pair("S", "-1000.0")));
  EXPECT_THAT(k->grid, ElementsAre("cdiv(n, 32)"));
  EXPECT_THAT(ir::print(*k), HasSubstr("constant {value = 0xc47a} : bf16[32]"));
}

TEST_F(Sema, ImplicitExtentsAndDefaultStrides) {
  std::optional<ir::Kernel> k =
      build("kernel k(x: f32[rows, cols, 4], y: f16[rows], s: f32 = 0.5) grid (rows) { x[0, 0, 0] = s; y[0] = 1.0; }");
  ASSERT_TRUE(k) << messages();
  ASSERT_EQ(k->params.size(), 5u);
  EXPECT_EQ(k->params[3].name, "rows");
  EXPECT_EQ(k->params[4].name, "cols");
  EXPECT_TRUE(k->params[0].is_view);
  EXPECT_THAT(k->params[0].extents, ElementsAre("rows", "cols", "4"));
  EXPECT_THAT(k->params[0].strides, ElementsAre("cols * 4", "4", "1"));
  EXPECT_EQ(k->params[0].align, 16);
  EXPECT_EQ(k->params[2].default_value, "0.5");
}

TEST_F(Sema, FactsFromRequires) {
  std::optional<ir::Kernel> k = build(
      "kernel k(x: f32[m, n] stride (ld, 1), m: i32, n: i32, ld: i64, const B: i32 = 16) grid (1)\n"
      "requires ld % 4 == 0, ld % 6 == 0 && n >= B, m < 100, 7 <= m { x[0, 0] = 1.0; }");
  ASSERT_TRUE(k) << messages();
  EXPECT_EQ(k->params[3].divisor, 12);
  EXPECT_EQ(k->params[2].min, 16);
  EXPECT_EQ(k->params[1].max, 99);
  EXPECT_EQ(k->params[1].min, 7);
  EXPECT_THAT(k->requires_exprs, ElementsAre("ld % 4 == 0", "ld % 6 == 0 && n >= 16", "m < 100", "7 <= m"));
}

TEST_F(Sema, WavesAndTarget) {
  const char* text = "kernel k(x: f32[4]) grid (1) waves 2 { x[0] = 1.0; }";
  EXPECT_EQ(build(text)->waves, 2u);
  SpecializeOptions o;
  o.waves = 8;
  o.arch = Arch::Gfx950;
  EXPECT_EQ(build(text, o)->waves, 8u);
  EXPECT_EQ(build(text, o)->arch, Arch::Gfx950);
  o.waves = 5;
  EXPECT_FALSE(build(text, o));
}

TEST_F(Sema, AnErrorIsSilentLater) {
  EXPECT_FALSE(
      build("kernel k(x: f32[n], n: i32) grid (1) {\n  let a = nothing + 1;\n  let b = a * 2;\n  var c = b[0];\n"
            "  for i in range(0, a) { c = c + b; }\n  x[a] = sqrt(c);\n  if a { x[0] = exp(b); }\n}\n"));
  EXPECT_EQ(diags_.error_count(), 1u) << messages();
}

TEST_F(Sema, SeveralMistakesSeveralMessages) {
  EXPECT_FALSE(
      build("kernel k(x: f32[n], n: i32) grid (1) {\n  x[0] = one;\n  x[1] = two;\n  x[2] = 1.0 + three;\n}\n"));
  EXPECT_EQ(diags_.error_count(), 3u) << messages();
}

TEST_F(Sema, AMistakeInAFunctionShowsTheCall) {
  EXPECT_FALSE(
      build("fn inner(v) { return v + arange(8); }\nfn outer(v) { return inner(v); }\n"
            "kernel k(x: f32[n], n: i32) grid (1) { x[arange(4)] = outer(x[arange(4)]); }"));
  ASSERT_EQ(diags_.error_count(), 1u);
  std::string m = messages();
  EXPECT_THAT(m, HasSubstr("in the call of inner from here"));
  EXPECT_THAT(m, HasSubstr("in the call of outer from here"));
}

TEST_F(Sema, FilesImportEachOther) {
  namespace fs = std::filesystem;
  fs::path dir = fs::path(testing::TempDir()) / "tile_import_test";
  fs::create_directories(dir / "sub");
  std::ofstream(dir / "main.tile") << "import \"sub/a.tile\";\nimport \"sub/b.tile\";\n"
                                      "kernel k(x: f32[n], n: i32) grid (1) { x[0] = a(1.0) + b(2.0); }\n";
  std::ofstream(dir / "sub/a.tile") << "import \"b.tile\";\nfn a(v) { return b(v) * 2.0; }\n";
  std::ofstream(dir / "sub/b.tile") << "const ONE = 1.0;\nfn b(v) { return v + ONE; }\n";
  Program p = Program::load((dir / "main.tile").string(), sources_, diags_);
  ASSERT_FALSE(diags_.has_errors()) << messages();
  std::optional<ir::Kernel> k = specialize(p, {}, diags_);
  ASSERT_TRUE(k) << messages();
  EXPECT_THAT(ir::print(*k), HasSubstr("0x40e00000"));  // (1 + 1) * 2 + (2 + 1) = 7
  fs::remove_all(dir);
}

TEST_F(Sema, AMissingFileIsAMessage) {
  Program p = Program::load("/nowhere/at/all.tile", sources_, diags_);
  EXPECT_TRUE(diags_.has_errors());
  EXPECT_THAT(p.kernels(), testing::IsEmpty());
  EXPECT_FALSE(specialize(p, {}, diags_));
}

// Chains of calls, long sums and many early returns nest the evaluation; the stack is bounded all the same.
TEST_F(Sema, DeepNestingIsAnError) {
  std::string text;
  for (int i = 0; i < 90; ++i) {
    std::string sum = i == 89 ? "v" : "step_" + std::to_string(i + 1) + "(v)";
    for (int n = 0; n < 100; ++n) sum += " + v";
    text += "fn step_" + std::to_string(i) + "(v) { return " + sum + "; }\n";
  }
  EXPECT_FALSE(build(text + "kernel k(x: f32[n], n: i32) grid (1) { x[0] = step_0(x[1]); }"));
  EXPECT_THAT(messages(), HasSubstr("nested too deeply"));
  text = "kernel k(x: f32[n], n: i32) grid (1) {\n";
  for (int i = 0; i < 3000; ++i) text += "  if n == " + std::to_string(i) + " { return; }\n";
  EXPECT_FALSE(build(text + "}\n"));
  EXPECT_THAT(messages(), HasSubstr("nested too deeply"));
}

// Operations carry their place: line tables lead from the machine code back to the source.
TEST_F(Sema, OperationsHaveRanges) {
  std::optional<ir::Kernel> k =
      build("kernel k(x: f32[n], n: i32) grid (1) {\n  let i = arange(4);\n  x[i] = exp(x[i]) / 3.0;\n}\n");
  ASSERT_TRUE(k);
  k->walk([&](ir::OpId o) { EXPECT_NE(k->op(o).range.file, 0u) << mnemonic(k->op(o).kind); });
}

TEST(Prelude, EveryFunctionIsFoundAndParses) {
  EXPECT_FALSE(prelude::names().empty());
  for (const std::string& n : prelude::names()) {
    EXPECT_TRUE(prelude::part_of(n)) << n;
    EXPECT_TRUE(sema::is_builtin_name(n)) << n;
  }
  EXPECT_FALSE(prelude::part_of("_exp"));
  SourceManager sources;
  Diagnostics diags;
  Program p = Program::from_text("p.tile",
                                 "kernel k(x: f32[n], n: i32) grid (1) { let i = arange(4); x[i] = exp(x[i]) + "
                                 "log(x[i]) + rsqrt(x[i]) + exp2(x[i]) + log2(x[i]); }",
                                 sources, diags);
  EXPECT_TRUE(specialize(p, {}, diags)) << render(diags, sources);
}

TEST(Speed, AKernelIsReadAndCheckedInMilliseconds) {
  std::ifstream in(std::string(TILE_SOURCE_DIR) + "/kernels/softmax.tile");
  std::string text((std::istreambuf_iterator<char>(in)), {});
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    SourceManager sources;
    Diagnostics diags;
    auto start = std::chrono::steady_clock::now();
    Program p = Program::from_text("softmax.tile", text, sources, diags);
    EXPECT_TRUE(specialize(p, {}, diags)) << render(diags, sources);
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  RecordProperty("milliseconds", std::to_string(best));
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(best, 20.0);
#endif
}

}  // namespace
}  // namespace tile
