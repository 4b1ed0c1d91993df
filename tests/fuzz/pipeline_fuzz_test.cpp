// Mutated kernels through everything that needs no LLVM: parser, semantic analysis, all passes. Each text either gives a
// valid kernel or at least one error with a place; nothing crashes, throws or hangs (preset asan runs the same test).
#include <gtest/gtest.h>

#include "dsl/ir/ir.h"
#include "dsl/passes/passes.h"
#include "dsl/sema/sema.h"
#include "mutate.h"

namespace tile {
namespace {

// Number of errors; every one must have a place in a file.
size_t errors(const Diagnostics& diags, const SourceManager& sources) {
  for (const Diagnostic& d : diags.all()) {
    EXPECT_FALSE(d.message.empty());
    EXPECT_NE(d.kind, DiagKind::InternalError) << d.message;
    EXPECT_NE(render(d, sources).find(":"), std::string::npos);
    if (info(d.kind).severity == Severity::Error) {
      EXPECT_NE(d.range.file, 0u) << d.message;
    }
  }
  return diags.error_count();
}

// Errors of the whole pipeline on a text, for one target.
size_t check(const std::string& text, Arch arch) {
  SourceManager sources;
  Diagnostics diags;
  Program program = Program::from_text("fuzz.tile", text, sources, diags);
  if (diags.has_errors()) return errors(diags, sources);
  size_t wrong = 0;
  for (const std::string& name : program.kernels()) {
    Diagnostics own;
    SpecializeOptions options;
    options.kernel = name;
    options.arch = arch;
    std::optional<ir::Kernel> kernel = specialize(program, options, own);
    if (!kernel) {
      EXPECT_TRUE(own.has_errors()) << "no kernel and no error";
      wrong += errors(own, sources);
      continue;
    }
    passes::PassOptions pass_options;
    pass_options.diags = &own;
    Status s = passes::run_passes(*kernel, pass_options);
    if (s) continue;
    EXPECT_FALSE(s.error().message.empty());
    EXPECT_EQ(s.error().message.find("verif"), std::string::npos) << s.error().message;
    ++wrong;
  }
  return wrong;
}

TEST(PipelineFuzz, OriginalsAreAccepted) {
  for (const std::string& text : fuzz::originals({"/kernels"}))
    for (Arch arch : {Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950}) EXPECT_EQ(check(text, arch), 0u) << text.substr(0, 200);
}

TEST(PipelineFuzz, MutantsGiveKernelsOrErrors) {
  std::vector<std::string> texts = fuzz::originals({"/kernels"});
  ASSERT_FALSE(texts.empty());
  fuzz::Mutator mutator(20261201);
  size_t wrong = 0;
  constexpr size_t mutants = 1000;
  for (size_t i = 0; i < mutants; ++i) {
    std::string text = mutator.mutate(texts[i % texts.size()]);
    wrong += check(text, static_cast<Arch>(i / texts.size() % num_archs)) != 0;
    ASSERT_FALSE(::testing::Test::HasFailure()) << "mutant " << i << ":\n" << text;
  }
  EXPECT_GT(wrong, mutants / 3);
  EXPECT_LT(wrong, mutants);
}

}  // namespace
}  // namespace tile
