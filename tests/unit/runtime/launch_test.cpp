#include <gtest/gtest.h>

#include "runtime/compare.h"
#include "runtime/launch.h"
#include "runtime/materialize.h"
#include "runtime/value_spec.h"

namespace tile {
namespace {

ManifestArg view(std::string name, std::string dtype, std::vector<std::string> extents, std::vector<std::string> strides) {
  ManifestArg a;
  a.name = std::move(name);
  a.kind = ArgKind::View;
  a.dtype = std::move(dtype);
  a.size = 8;
  a.align = 16;
  a.extents = std::move(extents);
  a.strides = std::move(strides);
  a.reads = a.writes = true;
  return a;
}

ManifestArg scalar(std::string name, std::string dtype) {
  ManifestArg a;
  a.name = std::move(name);
  a.dtype = std::move(dtype);
  a.size = 4;
  return a;
}

// kernel k(a: f32[M, K] stride (lda, 1), c: f32[M], M, K, lda) grid (cdiv(M, 16)) requires lda % 4 == 0
KernelManifest kernel() {
  KernelManifest k;
  k.name = "k";
  k.args = {view("a", "f32", {"M", "K"}, {"lda", "1"}), view("c", "f32", {"M"}, {"1"}), scalar("M", "i32"),
            scalar("K", "i32"), scalar("lda", "i32")};
  k.grid = {"cdiv(M, 16)"};
  k.requires_ = {"lda % 4 == 0"};
  k.waves = 4;
  return k;
}

std::string failure(const KernelManifest& k, const LaunchValues& v) {
  Result<BoundLaunch> b = bind_launch(k, v);
  return b ? "no error" : b.error().message;
}

TEST(Launch, ScalarsComeFromArrays) {
  Array a(DType::F32, {33, 8}), c(DType::F32, {33});
  LaunchValues v;
  v.arrays = {{"a", &a}, {"c", &c}};
  Result<BoundLaunch> b = bind_launch(kernel(), v);
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ(b->scalars.at("M"), 33);
  EXPECT_EQ(b->scalars.at("K"), 8);
  EXPECT_EQ(b->scalars.at("lda"), 8);
  EXPECT_EQ(b->grid.x, 3u);
  EXPECT_EQ(b->args[4].scalar, 8u);
}

TEST(Launch, AnExplicitExtentMayBeSmaller) {
  Array a(DType::F32, {33, 8}), c(DType::F32, {33});
  LaunchValues v;
  v.arrays = {{"a", &a}, {"c", &c}};
  v.scalars = {{"M", 20}, {"K", 5}};
  Result<BoundLaunch> b = bind_launch(kernel(), v);
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ(b->scalars.at("lda"), 8);
  EXPECT_EQ(b->grid.x, 2u);
}

TEST(Launch, MistakesNameTheArgumentAndTheRule) {
  Array a(DType::F32, {33, 8}), c(DType::F32, {33}), half(DType::F16, {33, 8}), odd(DType::F32, {33, 7}), cube(DType::F32, {2, 2, 2});
  LaunchValues good;
  good.arrays = {{"a", &a}, {"c", &c}};
  auto with = [&](auto change) {
    LaunchValues v = good;
    change(v);
    return failure(kernel(), v);
  };
  EXPECT_EQ(with([](LaunchValues&) {}), "no error");
  EXPECT_EQ(with([](LaunchValues& v) { v.arrays.erase("c"); }), "argument 'c' of kernel k got no value");
  EXPECT_EQ(with([&](LaunchValues& v) { v.arrays["b"] = &a; }), "kernel k has no argument 'b'");
  EXPECT_EQ(with([&](LaunchValues& v) { v.arrays["a"] = &half; }), "argument 'a' has elements of f16, the kernel takes f32");
  EXPECT_EQ(with([&](LaunchValues& v) { v.arrays["M"] = &a; }), "argument 'M' is a scalar of type i32, not an array");
  EXPECT_EQ(with([](LaunchValues& v) { v.scalars["a"] = 1; }), "argument 'a' is f32[M, K], not a number");
  EXPECT_EQ(with([](LaunchValues& v) { v.scalars["M"] = 34; }),
            "the view 'a' of extents [34, 8] and strides (8, 1) leaves its array f32[33, 8]");
  EXPECT_EQ(with([](LaunchValues& v) { v.scalars["M"] = 0xffffffffu; }), "extent 0 of argument 'a' is negative: M = -1");
  EXPECT_NE(with([&](LaunchValues& v) { v.arrays["a"] = &odd; }).find("lda % 4 == 0"), std::string::npos);
  EXPECT_NE(with([&](LaunchValues& v) { v.arrays["a"] = &cube; }).find("3 dimensions"), std::string::npos);
}

TEST(Launch, ArraysAgreeAboutExtents) {
  Array a(DType::F32, {33, 8}), longer(DType::F32, {40}), wide(DType::F32, {33, 12}), c(DType::F32, {33});
  LaunchValues v;
  v.arrays = {{"a", &a}, {"c", &longer}};
  EXPECT_EQ(failure(kernel(), v), "argument 'c' is f32[40], but dimension 0 of f32[M] is M = 33");
  v.scalars = {{"M", 20}};
  EXPECT_EQ(failure(kernel(), v), "no error");
  KernelManifest literal = kernel();
  literal.args[0].extents = {"M", "8"};
  literal.args[0].strides = {"8", "1"};
  LaunchValues w;
  w.arrays = {{"a", &wide}, {"c", &c}};
  w.scalars = {{"K", 8}, {"lda", 8}};
  EXPECT_EQ(failure(literal, w), "argument 'a' is f32[33, 12], but dimension 1 of f32[M, 8] is 8");
  KernelManifest shared = kernel();
  shared.args.push_back(view("b", "f32", {"2", "K"}, {"lda", "1"}));
  Array narrow(DType::F32, {2, 8}), big(DType::F32, {33, 8});
  LaunchValues u;
  u.arrays = {{"a", &big}, {"c", &c}, {"b", &narrow}};
  EXPECT_EQ(failure(shared, u), "no error");
  u.scalars = {{"K", 8}};
  Array other(DType::F32, {2, 16});
  u.arrays["b"] = &other;
  EXPECT_EQ(failure(shared, u), "argument 'b' is f32[2, 16] with stride 16 in dimension 0, but lda = 8");
}

TEST(Materialize, OnlyOutputsAreMade) {
  KernelManifest k = kernel();
  k.args[0].writes = false;
  EXPECT_FALSE(materialize(k, {{"a", "zeros:f32[4,8]"}, {"a", "zeros:f32[4,8]"}}));
  Result<OwnedValues> made = materialize(k, {{"a", "zeros:f32[4,8]"}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->created, std::vector<std::string>{"c"});
  Result<OwnedValues> missing = materialize(k, {{"c", "zeros:f32[4]"}, {"M", "4"}, {"K", "8"}, {"lda", "8"}});
  ASSERT_TRUE(missing) << missing.error().message;
  EXPECT_EQ(failure(k, missing->values), "argument 'a' of kernel k got no value");
}

TEST(Launch, NoaliasIsChecked) {
  KernelManifest k = kernel();
  k.args[0].noalias = true;
  Array a(DType::F32, {33, 8});
  Array c(DType::F32, {33});
  LaunchValues v;
  v.arrays = {{"a", &a}, {"c", &c}};
  EXPECT_EQ(failure(k, v), "no error");
  k.args[1].extents = {"M", "K"};
  k.args[1].strides = {"lda", "1"};
  v.arrays["c"] = &a;
  EXPECT_EQ(failure(k, v), "argument 'a' is noalias but shares memory with 'c'");
}

TEST(Launch, ScalarsMayHaveDefaults) {
  KernelManifest k = kernel();
  k.args.push_back(scalar("eps", "f32"));
  k.args.push_back(scalar("top", "i32"));
  Array a(DType::F32, {33, 8}), c(DType::F32, {33});
  LaunchValues v;
  v.arrays = {{"a", &a}, {"c", &c}};
  EXPECT_EQ(failure(k, v), "argument 'eps' of kernel k got no value");
  k.args[5].default_value = "0.5";
  k.args[6].default_value = "-3";
  v.scalars["top"] = 7;
  Result<BoundLaunch> b = bind_launch(k, v);
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ(b->args[5].scalar, 0x3f000000u);
  EXPECT_EQ(b->args[6].scalar, 7u);
  v.scalars.erase("top");
  EXPECT_EQ(bind_launch(k, v)->scalars.at("top"), -3);
}

TEST(Launch, AnEmptyGridDoesNothing) {
  Array a(DType::F32, {0, 8}), c(DType::F32, {0});
  LaunchValues v;
  v.arrays = {{"a", &a}, {"c", &c}};
  Result<BoundLaunch> b = bind_launch(kernel(), v);
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_TRUE(b->empty());
}

TEST(ValueSpec, Forms) {
  EXPECT_EQ(parse_value("3")->kind, ValueKind::Number);
  EXPECT_EQ(parse_value("-1e-5")->kind, ValueKind::Number);
  Result<ValueSpec> randn = parse_value("randn:f16[512,16]:seed=3:std=0.5");
  ASSERT_TRUE(randn);
  EXPECT_EQ(randn->kind, ValueKind::Randn);
  EXPECT_EQ(*randn->dtype, DType::F16);
  EXPECT_EQ(*randn->shape, (std::vector<int64_t>{512, 16}));
  EXPECT_EQ(randn->seed, 3u);
  EXPECT_EQ(randn->options.at("std"), 0.5);
  Result<ValueSpec> file = parse_value("a/b.npy:f8e4m3");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->text, "a/b.npy");
  EXPECT_EQ(*file->dtype, DType::F8E4M3);
  EXPECT_FALSE(parse_value("zeros")->shape);
}

TEST(ValueSpec, MistakesAreNamed) {
  auto message = [](const char* text) { return parse_value(text).error().message; };
  EXPECT_EQ(message("rand:f16[3]"), "'rand:f16[3]' is neither a number, an .npy file nor a generator");
  EXPECT_EQ(message("randn:f17[3]"), "'f17' is no element type");
  EXPECT_EQ(message("randn:f16[3"), "the shape in 'f16[3' has no closing bracket");
  EXPECT_EQ(message("randn:f16[-3]"), "'-3' is no extent");
  EXPECT_EQ(message("randn:f16[3]:low=1"), "'low=1' is no option of randn");
  EXPECT_EQ(message("full:f16[3]:value=x"), "'x' is no number");
  EXPECT_EQ(message("x.npy:f17"), "'f17' is no element type");
}

TEST(ValueSpec, ScalarsAreChecked) {
  EXPECT_EQ(*parse_scalar("-1", DType::I8), 0xffu);
  EXPECT_EQ(*parse_scalar("0x7f", DType::I8), 0x7fu);
  EXPECT_EQ(*parse_scalar("1", DType::F16), 0x3c00u);
  EXPECT_EQ(*parse_scalar("1e-5", DType::F32), 0x3727c5acu);
  EXPECT_EQ(*parse_scalar("18446744073709551615", DType::U64), ~uint64_t{0});
  for (const char* bad : {"128", "-129", "1.5", "x", ""}) EXPECT_FALSE(parse_scalar(bad, DType::I8)) << bad;
  EXPECT_FALSE(parse_scalar("-1", DType::U32));
}

TEST(Compare, TolerancesAndNan) {
  Array a(DType::F32, {2}), b(DType::F32, {2});
  a.set_bits(0, 0x3f800000), b.set_bits(0, 0x3f800001);
  a.set_bits(1, 0x7fc00000), b.set_bits(1, 0xffc12345);
  EXPECT_TRUE(difference(a, b, {}));
  EXPECT_FALSE(difference(a, b, {0, 0, 1, false}));
  EXPECT_FALSE(difference(a, b, {1e-6, 0, 0, false}));
  EXPECT_FALSE(difference(a, b, {0, 1e-6, 0, false}));
  b.set_bits(0, 0x3f800000);
  EXPECT_FALSE(difference(a, b, {0, 0, 0, true}));
  a.set_bits(0, 0), b.set_bits(0, 0x80000000);
  EXPECT_FALSE(difference(a, b, {}));
  EXPECT_TRUE(difference(a, b, {0, 0, 0, true}));
}

}  // namespace
}  // namespace tile
