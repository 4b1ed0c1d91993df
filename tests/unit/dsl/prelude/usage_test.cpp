// Math functions on scalars and on tiles of any rank, with literals beside values, and what is an error.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "dsl/diag/diag.h"
#include "dsl/passes/passes.h"
#include "dsl/sema/sema.h"
#include "interpreter/tile/interpreter.h"
#include "tests/unit/dsl/prelude/math_kernel.h"
#include "tests/unit/dsl/prelude/reference.h"

namespace tile::test {
namespace {

// Messages of specialising a kernel whose body is `body`; empty if it is right. `kernel` takes the IR.
std::string specialize_body(const std::string& body, std::optional<ir::Kernel>* kernel = nullptr, const std::string& clause = "") {
  SourceManager sources;
  Diagnostics diags;
  std::string text = "kernel k(x: f32[n], y: f32[n], o: f32[n], n: i32) grid (1) " + clause + " {\n" + body + "\n}\n";
  Program program = Program::from_text("k.tile", text, sources, diags);
  std::optional<ir::Kernel> k = specialize(program, {}, diags);
  std::string messages;
  if (!k)
    for (const Diagnostic& d : diags.all()) messages += d.message + "\n";
  if (kernel != nullptr) *kernel = std::move(k);
  return messages;
}

std::vector<float> run(const std::string& body, std::vector<float> x, std::vector<float> y) {
  std::optional<ir::Kernel> kernel;
  std::string messages = specialize_body(body, &kernel);
  EXPECT_TRUE(kernel) << messages;
  std::vector<float> out(x.size());
  if (!kernel) return out;
  passes::PassOptions options;
  options.last = "fix_values";
  EXPECT_TRUE(passes::run_passes(*kernel, options));
  auto array = [](std::vector<float>& v) { return interp::Argument::array(v.data(), v.size() * 4); };
  Result<interp::RunResult> r = interp::run_kernel(*kernel, {array(x), array(y), array(out), interp::Argument::scalar(x.size())}, {1, 1, 1});
  EXPECT_TRUE(r && r->ok());
  return out;
}

TEST(Usage, ScalarsAndTilesOfAnyRankGiveTheSameBits) {
  std::vector<float> x = {0.3f, 0.7f, 0.9f, 0.999f}, y = {2.5f, 0.1f, -3.0f, 1.0f};
  for (int arguments : {1, 2}) {
    for (std::string_view f : math_functions(arguments)) {
      std::string second = arguments == 2 ? ", " : "";
      auto call = [&](std::string a, std::string b) { return fmt::format("{}({}{}{})", f, a, second, arguments == 2 ? b : ""); };
      std::vector<float> vector = run("let i = arange(4); o[i] = " + call("x[i]", "y[i]") + ";", x, y);
      std::vector<float> matrix = run("let i = arange(4); o[i] = " + call("x[i].reshape(2, 2)", "y[i].reshape(2, 2)") + ".reshape(4);", x, y);
      std::vector<float> scalar = run("for j in range(0, 4) { o[j] = " + call("x[j]", "y[j]") + "; }", x, y);
      EXPECT_EQ(std::memcmp(vector.data(), matrix.data(), 16), 0) << f;
      EXPECT_EQ(std::memcmp(vector.data(), scalar.data(), 16), 0) << f;
    }
  }
}

TEST(Usage, LiteralBesideAValue) {
  std::vector<float> x = {0.5f, 2.0f, 3.0f, 10.0f};
  EXPECT_THAT(run("let i = arange(4); o[i] = pow(x[i], 2.0);", x, x), testing::ElementsAre(0.25f, 4.0f, 9.0f, 100.0f));
  EXPECT_THAT(run("let i = arange(4); o[i] = pow(2.0, x[i]);", {0, 1, 2, 10}, x), testing::ElementsAre(1, 2, 4, 1024));
  EXPECT_THAT(run("let i = arange(4); o[i] = fmod(x[i], x[2]);", x, x), testing::ElementsAre(0.5f, 2.0f, 0.0f, 1.0f));
}

TEST(Usage, LiteralAloneIsF32) {
  EXPECT_THAT(run("o[0] = exp2(3.0); o[1] = pow(2.0, 0.5); o[2] = atan2(0.0, -1.0); o[3] = round(2.5) + exp(0);", {0, 0, 0, 0}, {0, 0, 0, 0}),
              testing::ElementsAre(8.0f, 0x1.6a09e6p0f, 0x1.921fb6p1f, 4.0f));
}

// Number of fma operations right after fix_values.
int fused(const std::string& body, const std::string& clause) {
  std::optional<ir::Kernel> kernel;
  std::string messages = specialize_body(body, &kernel, clause);
  EXPECT_TRUE(kernel) << messages;
  if (!kernel) return -1;
  passes::PassOptions options;
  options.last = "fix_values";
  EXPECT_TRUE(passes::run_passes(*kernel, options));
  int n = 0;
  kernel->walk([&](ir::OpId o) { n += kernel->op(o).kind == OpKind::FmaF; });
  return n;
}

// `contract on` is for the kernel's own sums; functions keep the roundings they are written with.
TEST(Usage, ContractionLeavesFunctionsAlone) {
  for (int arguments : {1, 2}) {
    for (std::string_view f : math_functions(arguments)) {
      std::string body = fmt::format("let i = arange(4); o[i] = {}({});", f, arguments == 2 ? "x[i], y[i]" : "x[i]");
      EXPECT_EQ(fused(body, "contract on"), fused(body, "")) << f;
    }
  }
  std::string sum = "let i = arange(4); o[i] = x[i] * y[i] + x[i];";
  EXPECT_EQ(fused(sum, ""), 0);
  EXPECT_EQ(fused(sum, "contract on"), 1);
}

TEST(Usage, IntegersAreAnError) {
  for (const char* call : {"exp(i)", "sin(i)", "pow(i, i)", "cbrt(i)", "pow(x[i], i)"})
    EXPECT_THAT(specialize_body(fmt::format("let i = arange(4); o[i] = {} as f32;", call)), testing::HasSubstr("takes floats")) << call;
}

TEST(Usage, HelpersOfThePreludeAreHidden) {
  EXPECT_THAT(specialize_body("o[0] = _sin(x[0]);"), testing::HasSubstr("_sin"));
}

}  // namespace
}  // namespace tile::test
