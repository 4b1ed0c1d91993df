// Loops, branches, print, device_assert, from IR text; launches on several threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interpreter/tile/format.h"
#include "tests/unit/interpreter/tile/maker.h"

namespace tile::interp::test {
namespace {

struct Text {
  SourceManager sources;
  std::optional<ir::Kernel> kernel;
  explicit Text(const std::string& text) {
    FileId f = sources.add("test.ir", text);
    Diagnostics diags;
    kernel = ir::parse_ir(f, sources, diags);
    EXPECT_TRUE(kernel) << render(diags, sources);
    if (kernel) {
      EXPECT_THAT(ir::verify(*kernel, ir::Stage::Sema), testing::IsEmpty());
    }
  }
  RunResult run(const std::vector<Argument>& args, Grid grid = {1, 1, 1}, RunOptions o = {}, CompileOptions c = {}) {
    Result<RunResult> r = run_kernel(*kernel, args, grid, c, o);
    EXPECT_TRUE(r) << (r ? "" : r.error().message);
    return r ? *r : RunResult{};
  }
};

const char* const loop_text = R"(
kernel @k(%out: ptr<i32>, %low: i32, %high: i32, %step: i32) target gfx942 waves 4 {
  %0 = constant {value = 0x0} : i32
  %1 = constant {value = 0x3} : i32
  %2, %3 = for %low, %high, %step, %0, %1 : i32, i32 do (%iv: i32, %n: i32, %x: i32) {
    %4 = constant {value = 0x1} : i32
    %5 = add.i %n, %4 : i32
    %6 = mul.i %x, %1 : i32
    %7 = add.i %6, %iv : i32
    yield %5, %7
  }
  store %out, %2
  %8 = constant {value = 0x1} : i32
  %9 = addptr %out, %8 : ptr<i32>
  store %9, %3
  return
}
)";

TEST(Control, ForOverAnyRange) {
  Text t(loop_text);
  const int32_t ranges[][3] = {{0, 5, 1}, {0, 5, 2}, {5, 0, -1}, {5, 0, -2}, {3, 3, 1}, {4, 3, 1}, {-3, 3, 4},
                               {2147483640, 2147483647, 3}, {-2147483647, -2147483640, 5}, {2147483647, -2147483647, -2147483647}};
  for (auto [low, high, step] : ranges) {
    std::vector<int32_t> out(2, -1);
    ASSERT_TRUE(t.run({array(out), number(low), number(high), number(step)}).ok());
    uint32_t n = 0, x = 3;
    for (int64_t i = low; step > 0 ? i < high : i > high; i += step) {
      ++n;
      x = x * 3 + static_cast<uint32_t>(i);
    }
    EXPECT_EQ(out[0], static_cast<int32_t>(n)) << low << " " << high << " " << step;
    EXPECT_EQ(out[1], static_cast<int32_t>(x)) << low << " " << high << " " << step;
  }
  std::vector<int32_t> out(2);
  RunResult r = t.run({array(out), number(0), number(5), number(0)});
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.failure->message, testing::HasSubstr("step of a range is zero"));
}

// Carried tiles that change places, an inner loop, values from outside.
TEST(Control, CarriedTilesSwap) {
  Text t(R"(
kernel @k(%a: ptr<f32>, %n: i32) target gfx942 waves 4 {
  %0 = constant {value = 0x0} : i32
  %1 = constant {value = 0x1} : i32
  %2 = constant {value = 0x8} : i64
  %3 = constant {value = 0x1} : i64
  %v = make_view %a, %2, %3 : view<f32, 1>
  %i = arange {start = 0} : i32[4]
  %j = arange {start = 4} : i32[4]
  %x = load_view %v, %i : f32[4]
  %y = load_view %v, %j : f32[4]
  %p, %q = for %0, %n, %1, %x, %y : f32[4], f32[4] do (%iv: i32, %s: f32[4], %t: f32[4]) {
    %z = for %0, %iv, %1, %s : f32[4] do (%iw: i32, %u: f32[4]) {
      %w = add.f %u, %x : f32[4]
      yield %w
    }
    yield %t, %z
  }
  store_view %v, %p, %i
  store_view %v, %q, %j
  return
}
)");
  for (int n : {0, 1, 2, 5}) {
    std::vector<float> a{1, 2, 3, 4, 10, 20, 30, 40}, s(a.begin(), a.begin() + 4), y(a.begin() + 4, a.end()), x = s;
    ASSERT_TRUE(t.run({array(a), number(n)}).ok());
    for (int iv = 0; iv < n; ++iv) {
      std::vector<float> z = s;
      for (int w = 0; w < iv; ++w)
        for (int e = 0; e < 4; ++e) z[e] += x[e];
      s = y;
      y = z;
    }
    for (int e = 0; e < 4; ++e) {
      EXPECT_EQ(a[e], s[e]) << n;
      EXPECT_EQ(a[e + 4], y[e]) << n;
    }
  }
}

const char* const collatz = R"(
kernel @k(%out: ptr<i32>) target gfx942 waves 4 {
  %pid = program_id {axis = 0} : i32
  %0 = constant {value = 0x0} : i32
  %1 = constant {value = 0x1} : i32
  %2 = constant {value = 0x2} : i32
  %3 = constant {value = 0x3} : i32
  %start = add.i %pid, %1 : i32
  %end, %steps = while %start, %0 : i32, i32 cond (%x: i32, %n: i32) {
    %c = ne.i %x, %1 : bool
    condition %c, %x, %n
  } do (%x2: i32, %n2: i32) {
    %r = rem.s %x2, %2 : i32
    %odd = eq.i %r, %1 : bool
    %next = if %odd : i32 then {
      %t = mul.i %x2, %3 : i32
      %u = add.i %t, %1 : i32
      yield %u
    } else {
      %h = div.s %x2, %2 : i32
      yield %h
    }
    %n3 = add.i %n2, %1 : i32
    yield %next, %n3
  }
  %p = addptr %out, %pid : ptr<i32>
  store %p, %steps
  return
}
)";

TEST(Control, WhileAndIf) {
  Text t(collatz);
  for (unsigned threads : {1u, 2u, 5u}) {
    std::vector<int32_t> out(1000, -1);
    RunOptions o;
    o.threads = threads;
    RunResult r = t.run({array(out)}, {1000, 1, 1}, o);
    ASSERT_TRUE(r.ok());
    EXPECT_EQ(r.report.programs, 1000);
    for (int i = 0; i < 1000; ++i) {
      int64_t x = i + 1;
      int n = 0;
      for (; x != 1; ++n) x = x % 2 ? x * 3 + 1 : x / 2;
      ASSERT_EQ(out[i], n);
    }
  }
}

TEST(Control, EndlessLoopRunsIntoTheBudget) {
  Text t(R"(
kernel @k(%n: i32) target gfx942 waves 4 {
  %e = while %n : i32 cond (%x: i32) {
    %c = eq.i %x, %x : bool
    condition %c, %x
  } do (%y: i32) {
    yield %y
  }
  return
}
)");
  RunOptions o;
  o.max_instructions = 10000;
  RunResult r = t.run({number(1)}, {3, 1, 1}, o);
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.failure->message, testing::HasSubstr("more than 10000 instructions"));
  EXPECT_EQ(r.failure->program, 0);
}

TEST(Print, InOrderOfPrograms) {
  Text t(R"(
kernel @k(%x: f16) target gfx942 waves 4 {
  %pid = program_id {axis = 0} : i32
  %i = arange {start = 2} : i32[2]
  %c = expand_dims %i {axis = 0} : i32[1, 2]
  print %pid, %x, %c {text = "p {} of {}: {} {{}}"}
  %b = lt.s %i, %i : bool[2]
  print %b {text = "mask"}
  return
}
)");
  RunOptions o;
  o.threads = 4;
  RunResult r = t.run({number(0x3e00)}, {40, 1, 1}, o);
  ASSERT_TRUE(r.ok());
  ASSERT_EQ(r.report.prints.size(), 80u);
  for (int p = 0; p < 40; ++p) {
    EXPECT_EQ(r.report.prints[2 * p], "p " + std::to_string(p) + " of 1.5: [[2, 3]] {}");
    EXPECT_EQ(r.report.prints[2 * p + 1], "mask [false, false]");
  }
}

TEST(Print, LongTilesAreShortened) {
  std::vector<int32_t> v(40 * 50);
  for (int i = 0; i < 2000; ++i) v[i] = i;
  std::string s = format_value(Type::tile(DType::I32, {40, 50}), v.data());
  EXPECT_EQ(s.substr(0, 45), "[[0, 1, 2, ..., 47, 48, 49], [50, 51, 52, ...");
  EXPECT_THAT(s, testing::EndsWith("..., 1997, 1998, 1999]]"));
}

TEST(Assert, NamesTheFirstProgramAndElement) {
  Text t(R"(
kernel @k(%n: i32) target gfx942 waves 4 {
  %pid = program_id {axis = 0} : i32
  %i = arange {start = 0} : i32[8]
  %p = splat %pid : i32[8]
  %s = add.i %i, %p : i32[8]
  %l = splat %n : i32[8]
  %c = lt.s %s, %l : bool[8]
  print %pid {text = "program"}
  device_assert %c {text = "in range"}
  return
}
)");
  for (unsigned threads : {1u, 3u})
    for (int round = 0; round < 5; ++round) {
      RunOptions o;
      o.threads = threads;
      EXPECT_TRUE(t.run({number(1000)}, {50, 1, 1}, o).ok());
      RunResult r = t.run({number(40)}, {200, 1, 1}, o);
      ASSERT_FALSE(r.ok());
      EXPECT_TRUE(r.failure->is_assert);
      EXPECT_EQ(r.failure->program, 33);
      EXPECT_EQ(r.failure->message, "device_assert does not hold at element 7: in range");
      EXPECT_EQ(r.failure->prints.size(), 34u);
      EXPECT_THAT(r.failure->text(&t.sources), testing::AllOf(testing::HasSubstr("test.ir:10:"), testing::HasSubstr("(program 33)")));
    }
}

TEST(Trace, OneLineForEveryValue) {
  Text t(loop_text);
  std::vector<std::string> lines;
  RunOptions o;
  o.trace = [&](std::string_view line) { lines.emplace_back(line); };
  CompileOptions c;
  c.trace = true;
  std::vector<int32_t> out(2);
  ASSERT_TRUE(t.run({array(out), number(0), number(2), number(1)}, {1, 1, 1}, o, c).ok());
  EXPECT_THAT(lines, testing::Contains(testing::AllOf(testing::HasSubstr("mul"), testing::EndsWith("i32 = 9"))));
  EXPECT_THAT(lines, testing::Contains(testing::EndsWith("i32 = 28")));
}

TEST(Stores, AreSeenInOrder) {
  Text t(loop_text);
  std::vector<int32_t> out(2);
  std::vector<int64_t> programs;
  RunOptions o;
  o.on_store = [&](const StoreEvent& e) {
    programs.push_back(e.program);
    EXPECT_EQ(e.bytes, 4u);
    EXPECT_EQ(e.address, &out[programs.size() % 2 ? 0 : 1]);
  };
  ASSERT_TRUE(t.run({array(out), number(0), number(2), number(1)}, {2, 1, 1}, o).ok());
  EXPECT_EQ(programs, (std::vector<int64_t>{0, 0, 1, 1}));
}

}  // namespace
}  // namespace tile::interp::test
