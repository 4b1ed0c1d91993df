// Layouts, memory and barriers judged by the faithful interpreter: tiles as registers of lanes and waves, LDS with races.
#include "interpreter/tile/verify_passes.h"
#include "tests/unit/dsl/passes/judge.h"
#include "tests/unit/dsl/passes/kernels.h"

namespace tile::passes::testing {
namespace {

using Scalars = std::map<std::string, int64_t>;

// What verify_each_pass finds; empty if nothing.
std::string difference(const Kernel& k, const Scalars& scalars, interp::Grid grid, const interp::VerifyPassesOptions& options = {}) {
  std::vector<std::vector<uint8_t>> arrays = filled_arrays(k, 1 << 14);
  auto r = interp::verify_each_pass(k, arguments(k, arrays, scalars), grid, options);
  if (!r.ok()) return "error: " + r.error().message;
  return r->difference ? r->difference->text(nullptr) : "";
}

TEST(Faithful, EveryKernel) {
  const Scalars scalars{{"M", 50}, {"N", 40}, {"K", 72}, {"n", 96}, {"rows", 70}};
  for (const NamedKernel& n : all_kernels()) {
    if (n.name.ends_with("waves 2") || n.name.ends_with("waves 8")) continue;
    SCOPED_TRACE(n.name);
    Scalars own = scalars;
    if (n.name.starts_with("oddities")) own["n"] = 5;
    interp::VerifyPassesOptions options;
    options.max_programs = 1;
    EXPECT_EQ(difference(parse(n.text), own, {1, 1, 1}, options), "");
    if (HasFailure()) return;
  }
}

// Instructions pad what is smaller; rows and columns of padding must not reach a result.
TEST(Faithful, ReductionsOfSmallDots) {
  for (auto [m, n] : {std::pair{1, 1}, {3, 5}, {5, 40}, {33, 7}, {17, 64}})
    for (int waves : {1, 4, 6}) {
      std::string mn = std::to_string(m) + ", " + std::to_string(n), M = std::to_string(m), N = std::to_string(n);
      Kernel k = kernel(R"(%1 = constant {value = 0x1} : i32
        %v = make_view %p, %n, %n, %n, %1 {align = 16} : view<f16, 2>
        %i = arange {start = 0} : i32[)" + M + R"(]
        %j = arange {start = 0} : i32[)" + N + R"(]
        %k = arange {start = 0} : i32[9]
        %ix = expand_dims %i {axis = 1} : i32[)" + M + R"(, 1]
        %kx = expand_dims %k {axis = 0} : i32[1, 9]
        %ky = expand_dims %k {axis = 1} : i32[9, 1]
        %jx = expand_dims %j {axis = 0} : i32[1, )" + N + R"(]
        %a = load_view %v, %ix, %kx : f16[)" + M + R"(, 9]
        %b = load_view %v, %ky, %jx : f16[9, )" + N + R"(]
        %z = constant {value = 0x0} : f32[)" + mn + R"(]
        %d = dot %a, %b, %z : f32[)" + mn + R"(]
        %r = reduce %d {axis = 0, combine = "sum"} : f32[)" + N + R"(]
        %s = reduce %d {axis = 1, combine = "sum"} : f32[)" + M + R"(]
        %t = reduce %r {axis = 0, combine = "sum"} : f32
        %w, %x = arg_reduce %d {axis = 1, combine = "max"} : f32[)" + M + "], i32[" + M + R"(]
        print %r, %s, %t, %w, %x {text = "{} {} {} {} {}"})", "%p: ptr<f16> {view, align = 16}, %n: i32", "target gfx942 waves " + std::to_string(waves));
      EXPECT_EQ(difference(k, {{"n", 64}}, {1, 1, 1}), "") << mn << " waves " << waves;
    }
}

// What --verify-each-pass says of each planted fault: by values, by races, or by the verifier's rules.
TEST(Faithful, FaultsShow) {
  Kernel k = parse(matmul("f16", "f32", 64, 64, 32, "target gfx942 waves 4", 2));
  Kernel rows = parse(softmax(1000, "target gfx942 waves 4"));
  for (const PassInfo& pass : pass_table()) {
    if (pass.name == "fix_values") continue;  // the judge
    interp::VerifyPassesOptions options;
    options.max_programs = 1;
    options.fault = pass.name;
    std::string found = difference(k, {{"M", 50}, {"N", 40}, {"K", 72}}, {1, 1, 1}, options);
    if (pass.name == "insert_barriers") found = difference(rows, {{"n", 800}, {"rows", 1}}, {1, 1, 1}, options) + found;
    EXPECT_THAT(found, HasSubstr(std::string(pass.name))) << found;
  }
}

}  // namespace
}  // namespace tile::passes::testing
