// What the code looks like: instructions, line tables, arguments.
#include <gtest/gtest.h>

#include <set>

#include "codegen/disassemble.h"
#include "dsl/sema/sema.h"
#include "runtime/compiler.h"
#include "dsl/passes/passes.h"

namespace tile {
namespace {

std::optional<CompiledKernel> compiled(const std::string& source, Arch arch, Diagnostics& diags, SourceManager& sources,
                                       std::vector<std::pair<std::string, std::string>> constants = {}) {
  Program program = Program::from_text("test.tile", source, sources, diags);
  SpecializeOptions options;
  options.arch = arch;
  options.constants = std::move(constants);
  std::optional<ir::Kernel> k = specialize(program, options, diags);
  if (!k) return std::nullopt;
  passes::PassOptions fix;
  fix.last = "fix_values";
  if (!passes::run_passes(*k, fix)) return std::nullopt;
  CompileFlags flags;
  flags.keep_asm = true;
  return compile_kernel(*k, sources, flags, diags);
}

constexpr const char* add = R"(kernel add(x: f32[n], y: f32[n], out: f32[n], n: i32)
    grid (cdiv(n, 1024))
    requires n % 4 == 0
{
    let i = program_id(0) * 1024 + arange(1024);
    out[i] = x[i]
           + y[i];
})";

TEST(Lower, WideAccessesAndLines) {
  Diagnostics diags;
  SourceManager sources;
  auto k = compiled(add, Arch::Gfx942, diags, sources);
  ASSERT_TRUE(k) << render(diags, sources);
  EXPECT_NE(k->assembly.find("buffer_load_dwordx4"), std::string::npos);
  EXPECT_NE(k->assembly.find("buffer_store_dwordx4"), std::string::npos);
  // num_records bounds the access: nothing is compared.
  EXPECT_EQ(k->assembly.find("v_cmp"), std::string::npos) << k->assembly;
  auto code = codegen::disassemble(k->hsaco);
  ASSERT_TRUE(code);
  std::set<unsigned> load_lines;
  for (const codegen::Instruction& i : code->kernels[0].instructions)
    if (i.text.find("buffer_load") != std::string::npos) load_lines.insert(i.line);
  EXPECT_EQ(load_lines, (std::set<unsigned>{6, 7}));
  EXPECT_EQ(code->files.at(0), "test.tile");
}

TEST(Lower, SameBytesOnRepeat) {
  std::vector<std::vector<uint8_t>> images;
  for (int round = 0; round < 3; ++round) {
    Diagnostics diags;
    SourceManager sources;
    auto k = compiled(add, Arch::Gfx950, diags, sources);
    ASSERT_TRUE(k);
    images.push_back(k->hsaco);
  }
  EXPECT_EQ(images[0], images[1]);
  EXPECT_EQ(images[0], images[2]);
}

TEST(Lower, ExpectsThatDoesNotHoldIsAnError) {
  Diagnostics diags;
  SourceManager sources;
  std::string source = add;
  source.replace(source.find("requires n % 4 == 0"), 19, "expects vgprs <= 1, spills == 0");
  EXPECT_FALSE(compiled(source, Arch::Gfx942, diags, sources));
  ASSERT_EQ(diags.error_count(), 1u);
  EXPECT_EQ(diags.all()[0].kind, DiagKind::ResourceExceeded);
  EXPECT_NE(diags.all()[0].message.find("vgprs is "), std::string::npos) << diags.all()[0].message;
}

TEST(Lower, DroppedPrintIsARemark) {
  Diagnostics diags;
  SourceManager sources;
  auto k = compiled("kernel k(x: i32[4]) grid (1) { let v = x[arange(4)]; print(\"{}\", v); device_assert(v >= 0, \"sign\"); x[arange(4)] = v + 1; }", Arch::Gfx942, diags, sources);
  ASSERT_TRUE(k) << render(diags, sources);
  unsigned remarks = 0;
  for (const Diagnostic& d : diags.all()) remarks += d.kind == DiagKind::PrintDropped;
  EXPECT_EQ(remarks, 2u);
}

TEST(Lower, ReachOfATileIsRequiredOfStrides) {
  Diagnostics diags;
  SourceManager sources;
  const char* source = R"(kernel k(x: f16[M, N] stride (lda, 1), M: i32, N: i32, lda: i32) grid (1) {
    x[arange(100), arange(64)] = x[arange(100), arange(64)];
})";
  auto k = compiled(source, Arch::Gfx942, diags, sources);
  ASSERT_TRUE(k) << render(diags, sources);
  ASSERT_EQ(k->manifest.requires_.size(), 1u);
  auto e = Expr::parse(k->manifest.requires_[0]);
  ASSERT_TRUE(e);
  EXPECT_EQ(*e->eval({{"lda", 64}}), 1);
  EXPECT_EQ(*e->eval({{"lda", 10'000'000}}), 0);  // 127 rows of 20 MB
}

}  // namespace
}  // namespace tile
