#include "runtime/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace tile {
namespace {

using json = nlohmann::json;
using testing::HasSubstr;

KernelManifest matmul() {
  KernelManifest k;
  k.name = k.symbol = "matmul";
  k.target = "gfx942";
  k.source = "matmul.tile";
  auto view = [](const char* name, std::uint32_t offset, std::vector<std::string> extents, const char* stride) {
    ManifestArg a;
    a.name = name, a.kind = ArgKind::View, a.dtype = "f16", a.offset = offset, a.size = 8, a.align = 16;
    a.extents = std::move(extents), a.strides = {stride, "1"}, a.reads = true;
    return a;
  };
  k.args = {view("a", 0, {"M", "K"}, "lda"), view("b", 8, {"K", "N"}, "N"), view("c", 16, {"M", "N"}, "N + 8")};
  k.args[2].writes = true;
  std::uint32_t offset = 24;
  for (const char* scalar : {"M", "N", "K", "lda"}) {
    ManifestArg a;
    a.name = scalar, a.dtype = "i32", a.offset = offset, a.size = 4;
    k.args.push_back(a);
    offset += 4;
  }
  k.kernarg_size = 40;
  k.constants = {{"BM", "128"}, {"BN", "64"}, {"T", "f16"}};
  k.grid = {"cdiv(M, BM) * cdiv(N, BN)"};
  k.waves = 4;
  k.lds = 16384;
  k.requires_ = {"lda % 8 == 0", "K > 0"};
  k.fidelity = "modelled";
  k.fidelity_uses = {{"modelled", "dot", "matmul.tile", 12, 11}};
  k.resources = {100, 32, 40, 0, 0, 0, 4, 2048};
  return k;
}

TEST(Manifest, RoundTrip) {
  const Manifest m{{matmul(), matmul()}};
  const std::string text = print_manifest(m);
  auto back = parse_manifest(text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(print_manifest(*back), text);
  EXPECT_EQ(back->kernels.size(), 2u);
  ASSERT_NE(back->find("matmul"), nullptr);
  EXPECT_EQ(back->find("softmax"), nullptr);
  const KernelManifest& k = back->kernels[0];
  EXPECT_EQ(k.args[2].strides[0], "N + 8");
  EXPECT_TRUE(k.args[2].writes);
  EXPECT_EQ(k.requires_, matmul().requires_);
  EXPECT_EQ(k.resources.occupancy, 4u);
}

TEST(Manifest, UnknownFieldsAreIgnored) {
  json j = to_json(Manifest{{matmul()}});
  j["added_later"] = 1;
  j["kernels"][0]["args"][0]["cache_policy"] = "nt";
  EXPECT_TRUE(manifest_from_json(j));
}

// Removing any field that the schema demands, or giving it another type, is an error that names the field.
TEST(Manifest, EachFieldIsChecked) {
  const json good = to_json(Manifest{{matmul()}});
  const std::vector<std::string> optional = {"noalias", "reads", "writes"};
  unsigned checked = 0;
  const json flat = good.flatten();
  for (const auto& [pointer, ignored] : flat.items()) {
    const json::json_pointer at(pointer);
    const std::string field = at.back();
    const json& parent = good[at.parent_pointer()];
    if (!parent.is_object() || at.parent_pointer().to_string().ends_with("constants")) continue;
    json changed = good;
    changed[at.parent_pointer()].erase(field);
    auto result = manifest_from_json(changed);
    const bool may_miss = std::count(optional.begin(), optional.end(), field) != 0;
    EXPECT_EQ(result.ok(), may_miss) << pointer;
    EXPECT_THAT(result ? field + " is missing" : result.error().message, HasSubstr(field + " is missing"));
    changed = good;
    changed[at] = json::array({1.5});
    result = manifest_from_json(changed);
    ASSERT_FALSE(result) << pointer;
    EXPECT_THAT(result.error().message, HasSubstr(field));
    ++checked;
  }
  EXPECT_GT(checked, 60u);
}

TEST(Manifest, Rules) {
  struct Case {
    std::function<void(KernelManifest&)> damage;
    const char* expected;
  };
  const Case cases[] = {
      {[](auto& k) { k.target = "gfx1100"; }, "unknown target 'gfx1100'"},
      {[](auto& k) { k.waves = 0; }, "has 0 waves"},
      {[](auto& k) { k.waves = 17; }, "has 17 waves"},
      {[](auto& k) { k.grid = {}; }, "one to three grid"},
      {[](auto& k) { k.grid = {"cdiv(M, "}; }, "grid[0]: expected"},
      {[](auto& k) { k.grid = {"cdiv(Q, 4)"}; }, "uses 'Q'"},
      {[](auto& k) { k.grid = {"T + 1"}; }, "uses 'T'"},
      {[](auto& k) { k.requires_[1] = "a > 0"; }, "requires[1] uses 'a'"},
      {[](auto& k) { k.args[0].extents[0] = "P"; }, "args[0].extents[0] uses 'P'"},
      {[](auto& k) { k.args[0].strides.pop_back(); }, "as many strides as extents"},
      {[](auto& k) { k.args[0].dtype = "float"; }, "unknown dtype 'float'"},
      {[](auto& k) { k.args[3].size = 8; }, "has size 8, not 4"},
      {[](auto& k) { k.args[1].offset = 12; }, "not a multiple of 8"},
      {[](auto& k) { k.args[1].offset = 0; }, "overlapping arguments"},
      {[](auto& k) { k.args[1].align = 12; }, "no power of two"},
      {[](auto& k) { k.args[4].name = "M"; }, "two arguments 'M'"},
      {[](auto& k) { k.kernarg_size = 36; }, "kernarg_size 36"},
      {[](auto& k) { k.fidelity = "good"; }, "unknown fidelity 'good'"},
      {[](auto& k) { k.symbol = ""; }, "no symbol"},
  };
  for (const Case& c : cases) {
    KernelManifest k = matmul();
    ASSERT_TRUE(validate(k));
    c.damage(k);
    Status s = validate(k);
    ASSERT_FALSE(s) << c.expected;
    EXPECT_THAT(s.error().message, HasSubstr(c.expected));
  }
}

TEST(Manifest, NotAManifest) {
  EXPECT_THAT(parse_manifest("{").error().message, HasSubstr("not JSON"));
  EXPECT_THAT(parse_manifest("[]").error().message, HasSubstr("must be an object"));
  EXPECT_THAT(parse_manifest("{}").error().message, HasSubstr("schema is missing"));
  json j = to_json(Manifest{{matmul()}});
  j["version"] = manifest_version + 1;
  EXPECT_THAT(manifest_from_json(j).error().message, HasSubstr("version 2 is not known"));
  j = to_json(Manifest{{matmul()}});
  j["kernels"][0]["args"][2]["offset"] = -8;
  EXPECT_THAT(manifest_from_json(j).error().message, HasSubstr("kernels[0].args[2].offset must be an integer"));
}

TEST(Manifest, Grid) {
  const KernelManifest k = matmul();
  auto grid = eval_grid(k, {{"M", 300}, {"N", 200}, {"K", 64}, {"lda", 64}});
  ASSERT_TRUE(grid) << grid.error().message;
  EXPECT_EQ(grid->x, 12u);
  EXPECT_EQ(grid->y, 1u);
  EXPECT_EQ(eval_grid(k, {{"M", 0}, {"N", 200}})->x, 0u);
  EXPECT_THAT(eval_grid(k, {{"M", -300}, {"N", 200}}).error().message, HasSubstr("-8 workgroups"));
  EXPECT_THAT(eval_grid(k, {{"N", 200}}).error().message, HasSubstr("'M' has no value"));
  KernelManifest wide = matmul();
  wide.grid = {"M", "N", "K"};
  EXPECT_TRUE(eval_grid(wide, {{"M", 0xffffffff / 256}, {"N", 0xffffffff}, {"K", 1}}));
  EXPECT_FALSE(eval_grid(wide, {{"M", 0xffffffff / 256 + 1}, {"N", 1}, {"K", 1}}));
  EXPECT_FALSE(eval_grid(wide, {{"M", 1}, {"N", std::int64_t{1} << 32}, {"K", 1}}));
}

TEST(Manifest, Requires) {
  const KernelManifest k = matmul();
  EXPECT_TRUE(check_requires(k, {{"lda", 64}, {"K", 1}}));
  Status s = check_requires(k, {{"lda", 63}, {"K", 0}});
  ASSERT_FALSE(s);
  EXPECT_THAT(s.error().message, HasSubstr("requires lda % 8 == 0, but lda = 63"));
  EXPECT_THAT(s.error().message, HasSubstr("requires K > 0, but K = 0"));
}

TEST(Manifest, DamagedTextNeverCrashes) {
  const std::string text = print_manifest(Manifest{{matmul()}});
  std::mt19937 random(3);
  unsigned rejected = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = text;
    for (unsigned n = 1 + random() % 3; n > 0; --n) damaged[random() % damaged.size()] = static_cast<char>(random());
    rejected += !parse_manifest(damaged).ok();
  }
  EXPECT_GT(rejected, 1000u);
}

}  // namespace
}  // namespace tile
