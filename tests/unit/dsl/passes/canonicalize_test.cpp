#include "tests/unit/dsl/passes/judge.h"
#include "tests/unit/dsl/passes/kernels.h"

namespace tile::passes::testing {
namespace {

std::string canonical(const std::string& text, const std::string& params = "%n: i32, %x: f32, %c: bool") {
  Kernel k = kernel(text, params);
  run_to(k, "canonicalize");
  return body(k);
}

struct Case {
  const char *before, *after;
};

// What a print of %9 shows, as the operations that are left.
void expect(const std::vector<Case>& cases) {
  for (const Case& c : cases)
    EXPECT_EQ(canonical(std::string(c.before) + "\nprint %9 {text = \"\"}"), std::string(c.after) + " {text = \"\"}\n  return\n") << c.before;
}

TEST(Canonicalize, Constants) {
  expect({
      {"%0 = constant {value = 0x7fffffff} : i32\n%1 = constant {value = 0x1} : i32\n%9 = add.i %0, %1 : i32",
       "  %0 = constant {value = 0x80000000} : i32  // -2147483648\n  print %0"},
      {"%0 = constant {value = 0x5} : i32\n%1 = constant {value = 0x0} : i32\n%9 = div.s %0, %1 : i32",
       "  %0 = constant {value = 0xffffffff} : i32  // -1\n  print %0"},
      {"%0 = constant {value = 0x3f800000} : f32\n%1 = constant {value = 0x33800000} : f32\n%9 = add.f %0, %1 : f32",
       "  %0 = constant {value = 0x3f800000} : f32  // 1\n  print %0"},
      {"%0 = constant {value = 0x461c4000} : f32\n%9 = cast %0 : f8e4m3", "  %0 = constant {value = 0x7e} : f8e4m3\n  print %0"},
      {"%0 = constant {value = 0x3f800000} : f32\n%9 = bitcast %0 : i32", "  %0 = constant {value = 0x3f800000} : i32  // 1065353216\n  print %0"},
      {"%0 = constant {value = 0x2} : i32[4]\n%1 = constant {value = 0x3} : i32[4]\n%9 = lt.s %0, %1 : bool[4]",
       "  %0 = constant {value = 0x1} : bool[4]  // true\n  print %0"},
      {"%0 = constant {value = 0x2} : i32\n%1 = splat %0 : i32[4]\n%9 = expand_dims %1 {axis = 0} : i32[1, 4]",
       "  %0 = constant {value = 0x2} : i32[1, 4]\n  print %0"},
  });
}

TEST(Canonicalize, Identities) {
  expect({
      {"%0 = constant {value = 0x0} : i32\n%9 = add.i %0, %n : i32", "  print %n"},
      {"%0 = constant {value = 0x1} : i32\n%9 = mul.i %n, %0 : i32", "  print %n"},
      {"%9 = sub.i %n, %n : i32", "  %0 = constant {value = 0x0} : i32\n  print %0"},
      {"%0 = not %c : bool\n%9 = not %0 : bool", "  print %c"},
      {"%0 = constant {value = 0x80000000} : f32\n%9 = add.f %x, %0 : f32", "  print %x"},
      {"%0 = constant {value = 0x3f800000} : f32\n%9 = mul.f %0, %x : f32", "  print %x"},
      {"%9 = where %c, %x, %x : f32", "  print %x"},
      {"%0 = splat %n : i32[4]\n%1 = splat %n : i32[4]\n%9 = add.i %0, %1 : i32[4]",
       "  %0 = add.i %n, %n : i32\n  %1 = splat %0 : i32[4]\n  print %1"},
      {"%0 = arange {start = 0} : i32[8]\n%1 = reshape %0 : i32[2, 4]\n%2 = trans %1 {perm = [1, 0]} : i32[4, 2]\n%3 = trans %2 {perm = [1, 0]} : i32[2, 4]\n%9 = reshape %3 : i32[8]",
       "  %0 = arange {start = 0} : i32[8]\n  print %0"},
  });
}

// x + 0 is not x for x = -0; x - x is not 0 for NaN; x * 0 is not 0 for Inf.
TEST(Canonicalize, FloatsKeepTheirCorners) {
  expect({
      {"%0 = constant {value = 0x0} : f32\n%9 = add.f %x, %0 : f32", "  %0 = constant {value = 0x0} : f32  // 0\n  %1 = add.f %x, %0 : f32\n  print %1"},
      {"%9 = sub.f %x, %x : f32", "  %0 = sub.f %x, %x : f32\n  print %0"},
      {"%0 = constant {value = 0x0} : f32\n%9 = mul.f %x, %0 : f32", "  %0 = constant {value = 0x0} : f32  // 0\n  %1 = mul.f %x, %0 : f32\n  print %1"},
      {"%9 = eq.f %x, %x : bool", "  %0 = eq.f %x, %x : bool\n  print %0"},
      // An approximate operation is the hardware's own.
      {"%0 = constant {value = 0x3f800000} : f32\n%9 = fast_exp2 %0 : f32", "  %0 = constant {value = 0x3f800000} : f32  // 1\n  %1 = fast_exp2 %0 : f32\n  print %1"},
  });
}

TEST(Canonicalize, SharesAndDrops) {
  EXPECT_EQ(canonical(R"(%0 = add.i %n, %n : i32
    %1 = add.i %n, %n : i32
    %2 = mul.i %0, %0 : i32
    if %c then {
      %3 = add.i %n, %n : i32
      print %3, %1 {text = ""}
      yield
    } else {
      yield
    })"), R"(  %0 = add.i %n, %n : i32
  if %c then {
    print %0, %0 {text = ""}
    yield
  } else {
    yield
  }
  return
)");
}

TEST(Canonicalize, LoopsReleaseWhatTheyDoNotChange) {
  EXPECT_EQ(canonical(R"(%0 = constant {value = 0x0} : i32
    %1 = constant {value = 0x1} : i32
    %2, %3, %4 = for %0, %n, %1, %x, %n, %1 : f32, i32, i32 do (%i: i32, %a: f32, %b: i32, %d: i32) {
      %5 = add.i %n, %n : i32
      %6 = mul.i %5, %b : i32
      print %6 {text = ""}
      %7 = add.f %a, %a : f32
      %8 = add.i %d, %i : i32
      yield %7, %b, %8
    }
    print %2 {text = ""})"), R"(  %0 = constant {value = 0x0} : i32
  %1 = constant {value = 0x1} : i32
  %2 = add.i %n, %n : i32
  %3 = mul.i %2, %n : i32
  %4 = for %0, %n, %1, %x : f32 do (%5: i32, %6: f32) {
    print %3 {text = ""}
    %7 = add.f %6, %6 : f32
    yield %7
  }
  print %4 {text = ""}
  return
)");
}

TEST(Canonicalize, KnownBranchesAndEmptyLoops) {
  EXPECT_EQ(canonical(R"(%0 = constant {value = 0x1} : bool
    %1 = if %0 : f32 then {
      %2 = add.f %x, %x : f32
      yield %2
    } else {
      yield %x
    }
    %3 = constant {value = 0x5} : i32
    %4 = constant {value = 0x1} : i32
    %5 = for %3, %4, %4, %1 : f32 do (%i: i32, %a: f32) {
      print %a {text = "never"}
      yield %a
    }
    print %5 {text = ""})"), "  %0 = add.f %x, %x : f32\n  print %0 {text = \"\"}\n  return\n");
}

// Every kernel acts the same after every pass, for extents that are no multiples of anything.
TEST(Passes, EachKeepsTheValues) {
  for (const NamedKernel& n : all_kernels()) {
    if (n.name.find("waves 4") == std::string::npos && n.name.find("waves 3") == std::string::npos) continue;
    SCOPED_TRACE(n.name);
    std::map<std::string, int64_t> scalars{{"M", 50}, {"N", 40}, {"K", 72}, {"n", 96}, {"rows", 70}};
    if (n.name.starts_with("softmax")) scalars["n"] = 200;
    if (n.name.starts_with("oddities")) scalars["n"] = 5;
    // Programs of `oddities` would write over each other.
    interp::Grid grid = n.name.starts_with("oddities") ? interp::Grid{1, 1, 1} : interp::Grid{2, 2, 1};
    EXPECT_EQ(first_wrong_pass(parse(n.text), scalars, grid), "");
    if (HasFailure()) return;
  }
}

TEST(Passes, FaultsAreNamed) {
  Kernel k = parse(matmul("f16", "f32", 32, 64, 16, "target gfx942 waves 4", 2));
  for (const char* pass : {"fix_values", "canonicalize", "pipeline_loops", "assign_layouts", "fold_convert_layout", "plan_shared"})
    EXPECT_EQ(first_wrong_pass(k, {{"M", 40}, {"N", 40}, {"K", 40}}, {2, 1, 1}, pass), pass);
}

TEST(Passes, TableIsWhole) {
  ASSERT_FALSE(pass_table().empty());
  EXPECT_EQ(pass_table().front().name, "fix_values");
  for (size_t i = 1; i < pass_table().size(); ++i) EXPECT_LE(pass_table()[i - 1].stage, pass_table()[i].stage);
  Kernel k = kernel("");
  PassOptions options;
  options.last = "no_pass";
  EXPECT_FALSE(run_passes(k, options).ok());
}

TEST(Passes, ResumeAfterAPass) {
  Kernel whole = parse(matmul("f16", "f32", 32, 32, 16, "target gfx942 waves 2", 2)), parts = whole;
  run_to(whole, "");
  PassOptions first;
  first.last = "fix_values";
  ASSERT_TRUE(run_passes(parts, first).ok());
  ASSERT_TRUE(run_passes_after(parts, "fix_values").ok());
  EXPECT_EQ(print(whole), print(parts));
}

}  // namespace
}  // namespace tile::passes::testing
