// The kernels of kernels/*.tile through verify_each_pass, on small inputs, for all targets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interpreter/tile/verify_passes.h"
#include "runtime/materialize.h"
#include "runtime/session.h"

namespace tile::interp::test {
namespace {

struct Case {
  const char* name;
  const char* file;
  std::vector<std::pair<std::string, std::string>> constants, values;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {"vector_add", "vector_add.tile", {}, {{"x", "randn:f32[3000]:seed=1"}, {"y", "randn:f32[3000]:seed=2"}}},
      {"softmax_long_rows", "softmax.tile", {}, {{"x", "randn:f32[3,2500]:seed=1"}}},
      {"softmax_bf16", "softmax.tile", {{"T", "bf16"}, {"BLOCK", "256"}}, {{"x", "randn:bf16[2,300]:seed=1"}}},
      {"rmsnorm", "rmsnorm.tile", {}, {{"x", "randn:bf16[2,1000]:seed=1"}, {"weight", "randn:bf16[1000]:seed=2"}}},
      {"matmul_f16", "matmul.tile", {{"BM", "64"}, {"BN", "64"}, {"BK", "32"}}, {{"a", "randn:f16[70,100]:seed=1"}, {"b", "randn:f16[100,80]:seed=2"}}},
      {"matmul_f16_large_block", "matmul.tile", {}, {{"a", "randn:f16[128,64]:seed=1"}, {"b", "randn:f16[64,128]:seed=2"}}},
      {"matmul_f16_aligned", "matmul.tile", {{"ALIGN", "8"}, {"BK", "32"}}, {{"a", "randn:f16[100,64]:seed=1"}, {"b", "randn:f16[64,136]:seed=2"}}},
      {"matmul_bf16", "matmul.tile", {{"T", "bf16"}, {"BM", "32"}, {"BN", "32"}, {"BK", "32"}}, {{"a", "randn:bf16[33,40]:seed=1"}, {"b", "randn:bf16[40,30]:seed=2"}}},
      {"matmul_f32", "matmul.tile", {{"T", "f32"}, {"BM", "32"}, {"BN", "32"}, {"BK", "32"}}, {{"a", "randn:f32[33,40]:seed=1"}, {"b", "randn:f32[40,30]:seed=2"}}},
      {"matmul_f64", "matmul.tile", {{"T", "f64"}, {"BM", "32"}, {"BN", "32"}, {"BK", "16"}}, {{"a", "randn:f64[33,40]:seed=1"}, {"b", "randn:f64[40,30]:seed=2"}}},
      {"matmul_i8", "matmul.tile", {{"T", "i8"}, {"BM", "32"}, {"BN", "32"}, {"BK", "64"}}, {{"a", "randint:i8[33,70]:low=-128:high=128:seed=1"}, {"b", "randint:i8[70,30]:low=-128:high=128:seed=2"}}},
      {"matmul_fp8", "matmul.tile", {{"T", "f8e4m3"}, {"BM", "32"}, {"BN", "32"}, {"BK", "64"}}, {{"a", "randn:f8e4m3[33,70]:seed=1"}, {"b", "randn:f8e4m3[70,30]:seed=2"}}},
  };
  return list;
}

class Kernels : public testing::TestWithParam<Case> {};

TEST_P(Kernels, EveryPassKeepsTheirMeaning) {
  const Case& c = GetParam();
  Session session(std::string(TILE_SOURCE_DIR) + "/kernels/" + c.file);
  ASSERT_TRUE(session.ok()) << render(session.diagnostics(), session.sources());
  for (Arch arch : {Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950}) {
    SpecializeOptions o;
    o.constants = c.constants;
    o.arch = arch;
    auto fixed = session.specialize(o);
    ASSERT_TRUE(fixed) << render(session.diagnostics(), session.sources());
    auto owned = materialize(fixed->manifest, c.values);
    ASSERT_TRUE(owned) << owned.error().message;
    auto launch = bind_launch(fixed->manifest, owned->values);
    ASSERT_TRUE(launch) << launch.error().message;
    std::vector<Argument> args;
    for (const BoundArg& a : launch->args) args.push_back(a.array ? Argument::array(a.array->data(), a.array->bytes()) : Argument::scalar(a.scalar));
    Diagnostics diags;
    std::optional<ir::Kernel> kernel = specialize(session.program(), o, diags);
    ASSERT_TRUE(kernel) << render(diags, session.sources());
    auto r = verify_each_pass(*kernel, args, {launch->grid.x, launch->grid.y, launch->grid.z});
    ASSERT_TRUE(r) << r.error().message;
    EXPECT_FALSE(r->difference) << tile::name(arch) << ": " << r->difference->text(&session.sources());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::ValuesIn(cases()), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tile::interp::test
