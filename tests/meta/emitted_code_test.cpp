// No flag that lets LLVM change a value reaches the LLVM IR of any kernel, and no instruction that computes something else
// than tile IR says reaches the machine code: all kernels of kernels/, all math functions, on all targets.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "dsl/passes/passes.h"
#include "dsl/prelude/prelude.h"
#include "dsl/sema/sema.h"
#include "runtime/compiler.h"
#include "tests/meta/source_tree.h"

namespace tile::meta {
namespace {

constexpr Arch targets[] = {Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950};

struct Emitted {
  std::string name, llvm_ir, assembly;
  bool fast = false;  // uses a fast:: operation
};

// Compiles a kernel of `text`; `kernel` empty: the only one. Kernels with constants that nobody gives are left out.
std::optional<Emitted> emit(const std::string& path, const std::string& text, const std::string& kernel, Arch arch) {
  SourceManager sources;
  Diagnostics diags;
  Program program = Program::from_text(path, text, sources, diags);
  const ast::Kernel* k = program.find_kernel(kernel);
  if (k == nullptr) return ADD_FAILURE() << path << ": " << render(diags, sources), std::nullopt;
  for (const ConstParam& c : program.const_params(*k))
    if (c.default_text.empty()) return std::nullopt;
  SpecializeOptions options;
  options.kernel = kernel;
  options.arch = arch;
  std::optional<ir::Kernel> fixed = specialize(program, options, diags);
  if (!fixed) return ADD_FAILURE() << path << ": " << render(diags, sources), std::nullopt;
  passes::PassOptions pass_options;
  pass_options.last = "fix_values";
  if (Status s = passes::run_passes(*fixed, pass_options); !s) return ADD_FAILURE() << path << ": " << s.error().message, std::nullopt;
  CompileFlags flags;
  flags.keep_llvm = flags.keep_asm = true;
  std::optional<CompiledKernel> compiled = compile_kernel(*fixed, sources, flags, diags);
  if (!compiled) return ADD_FAILURE() << path << " " << kernel << ": " << render(diags, sources), std::nullopt;
  Emitted e{fmt::format("{} {} {}", path, kernel, name(arch)), compiled->llvm_ir, compiled->assembly};
  fixed->walk([&](ir::OpId o) { e.fast = e.fast || mnemonic(fixed->op(o).kind).starts_with("fast"); });
  return e;
}

// The lines of `text` where `pattern` occurs, at most five.
std::string lines_with(const std::string& text, const std::regex& pattern) {
  std::string found;
  int n = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (std::regex_search(line, pattern) && n++ < 5) found += line + "\n";
  return found;
}

// Fast-math flags stand between the operation and its type or callee.
const std::regex fast_math("= (tail |musttail |notail )?(fadd|fsub|fmul|fdiv|frem|fneg|fcmp|fptrunc|fpext|select|phi|call) "
                           "([a-z]+ )*?(fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) ");
const std::regex denormals("\"denormal-fp-math(-f32)?\"=\"(?!ieee)");
const std::regex unsafe("unsafe-fp-math\"=\"true|no-nans-fp-math\"=\"true|no-infs-fp-math\"=\"true|no-signed-zeros-fp-math\"=\"true|approx-func-fp-math\"=\"true|!fpmath");
// Dot products with their own rounding, multiply-adds of two roundings that flush, and approximations. (The expansions of
// f32, f64 and integer division and square root use v_rcp, v_rsq and v_sqrt as first guesses and correct them.)
const std::regex wrong_code("\\b(v_dot2c?_|v_dot[48]|v_mac_f|v_mad_f|v_madmk_f|v_madak_f|v_mad_legacy|v_mul_legacy|v_fma_legacy|v_mad_mix)");
const std::regex approximate("\\b(v_exp_|v_log_|v_sin_|v_cos_|v_sqrt_f16|v_rcp_f16|v_rsq_f16)");

void check(const Emitted& e) {
  EXPECT_EQ(lines_with(e.llvm_ir, fast_math), "") << e.name;
  EXPECT_EQ(lines_with(e.llvm_ir, denormals), "") << e.name;
  EXPECT_EQ(lines_with(e.llvm_ir, unsafe), "") << e.name;
  EXPECT_EQ(lines_with(e.assembly, wrong_code), "") << e.name;
  if (!e.fast) {
    EXPECT_EQ(lines_with(e.assembly, approximate), "") << e.name;
  }
  EXPECT_NE(e.assembly.find("s_endpgm"), std::string::npos) << e.name;
}

TEST(EmittedCode, KernelsOfTheLibrary) {
  int compiled = 0;
  for (const std::string& file : source_files({"kernels"}, {".tile"})) {
    std::string path = std::string(TILE_SOURCE_DIR) + "/" + file, text = read_file(path);
    SourceManager sources;
    Diagnostics diags;
    Program program = Program::from_text(path, text, sources, diags);
    for (const std::string& kernel : program.kernels())
      for (Arch arch : targets)
        if (std::optional<Emitted> e = emit(path, text, kernel, arch)) check(*e), ++compiled;
  }
  EXPECT_GE(compiled, 12);  // four files on three targets, at least
}

std::string elementwise_kernel(const std::string& type, const std::string& value, const std::string& clause = "") {
  return fmt::format("kernel k(x: {0}[n], y: {0}[n], z: {0}[n], o: {0}[n], n: i32) grid (cdiv(n, 256)) {2} {{\n"
                     "    let i = program_id(0) * 256 + arange(256);\n    let a = x[i];\n    let b = y[i];\n    let c = z[i];\n"
                     "    o[i] = {1};\n}}\n", type, value, clause);
}

TEST(EmittedCode, MathFunctions) {
  for (const char* function : {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
                               "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid", "erf", "rsqrt", "cbrt", "round", "atan2",
                               "pow", "fmod"}) {
    ASSERT_TRUE(prelude::part_of(function)) << function;
    bool two = std::string(function) == "atan2" || std::string(function) == "pow" || std::string(function) == "fmod";
    for (const char* type : {"f32", "f16"})
      if (auto e = emit(function, elementwise_kernel(type, fmt::format("{}({})", function, two ? "a, b" : "a")), "", Arch::Gfx942)) check(*e);
  }
  for (const char* function : {"exp", "log", "sin", "tanh"})
    if (auto e = emit(function, elementwise_kernel("f64", fmt::format("{}(a)", function)), "", Arch::Gfx90a)) check(*e);
}

TEST(EmittedCode, Arithmetic) {
  for (Arch arch : targets)
    for (const char* type : {"f16", "bf16", "f32", "f64"})
      for (const char* value : {"a * b + c", "a / b", "sqrt(a)", "min(a, b) + max(b, c)", "fma(a, b, c)", "floor(a) - rint(b)"})
        if (auto e = emit(value, elementwise_kernel(type, value), "", arch)) check(*e);
}

// A product and a sum are one instruction only where tile IR has an fma.
TEST(EmittedCode, ContractionIsTheProgramsChoice) {
  const std::regex fused("\\bv_(pk_)?fmac?_|\\bv_(pk_)?fma[am]k_");
  for (Arch arch : targets) {
    for (const char* type : {"f16", "f32", "f64"}) {
      auto plain = emit("plain", elementwise_kernel(type, "a * b + c"), "", arch);
      auto written = emit("written", elementwise_kernel(type, "fma(a, b, c)"), "", arch);
      auto on = emit("on", elementwise_kernel(type, "a * b + c", "contract on"), "", arch);
      ASSERT_TRUE(plain && written && on);
      EXPECT_EQ(lines_with(plain->assembly, fused), "") << plain->name << type;
      EXPECT_NE(lines_with(written->assembly, fused), "") << written->name << type;
      EXPECT_NE(lines_with(on->assembly, fused), "") << on->name << type;
    }
  }
}

// The patterns find what they are for.
TEST(EmittedCode, PatternsFindViolations) {
  for (const char* line : {"  %1 = fadd contract float %a, %b", "  %1 = fmul fast float %a, %b", "  %3 = call reassoc nsz float @llvm.fma.f32(",
                           "  %1 = tail call nnan float @llvm.maxnum.f32(float %a", "  %2 = fdiv arcp float"})
    EXPECT_NE(lines_with(line, fast_math), "") << line;
  for (const char* line : {"  %1 = fadd float %contract, %b", "  %fast = fmul float %a, %b", "  %3 = call float @llvm.fma.f32(float %nnan",
                           "  %3 = select i1 %c, float %fast , float %b"})
    EXPECT_EQ(lines_with(line, fast_math), "") << line;
  EXPECT_NE(lines_with("attributes #0 = { \"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\" }", denormals), "");
  EXPECT_EQ(lines_with("attributes #0 = { \"denormal-fp-math\"=\"ieee,ieee\" }", denormals), "");
  for (const char* line : {"v_dot2c_f32_f16 v0, v1, v2", "v_mac_f32_e32 v0, v1, v2", "v_mad_f32 v0, v1, v2, v3", "v_mad_mix_f32 v0, v1, v2, v3"})
    EXPECT_NE(lines_with(line, wrong_code), "") << line;
  for (const char* line : {"v_mad_u32_u24 v0, v1, v2, v3", "v_fma_f32 v0, v1, v2, v3", "v_mad_u64_u32 v[0:1]"})
    EXPECT_EQ(lines_with(line, wrong_code), "") << line;
}

}  // namespace
}  // namespace tile::meta
