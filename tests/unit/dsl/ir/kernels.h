#pragma once
// Kernels as tile IR text, in the printer's own form.
#include <gtest/gtest.h>

#include <string>

#include "dsl/ir/ir.h"

namespace tile::ir::testing {

inline constexpr const char* vector_add = R"ir(kernel @vector_add(%x: ptr<f32> {view, align = 16, extents = ["n"], strides = ["1"]},
    %out: ptr<f32> {view, noalias, align = 16, extents = ["n"], strides = ["1"]},
    %n: i32 {divisor = 4, min = 1, max = 1048576})
  target gfx942 waves 4
  grid ["cdiv(n, 1024)"]
  requires ["n % 4 == 0"]
  expects ["spills == 0"]
  constants {BLOCK = "1024"}
{
  %0 = constant {value = 0x1} : i32
  %x.1 = make_view %x, %n, %0 {align = 16, param = "x"} : view<f32, 1>
  %out.2 = make_view %out, %n, %0 {align = 16, noalias = 1, param = "out"} : view<f32, 1>
  %3 = program_id {axis = 0} : i32
  %4 = constant {value = 0x400} : i32  // 1024
  %5 = mul.i %3, %4 : i32
  %6 = arange {start = 0} : i32[1024]
  %7 = splat %5 : i32[1024]
  %i.8 = add.i %7, %6 : i32[1024]
  %9 = load_view %x.1, %i.8 : f32[1024]
  %10 = add.f %9, %9 : f32[1024]
  store_view %out.2, %10, %i.8
  return
}
)ir";

inline constexpr const char* loops = R"ir(kernel @loops(%n: i32,
    %p: ptr<f16>)
  target gfx950 waves 2 contract
  grid ["n", "2"]
{
  %0 = constant {value = 0x0} : i32
  %1 = constant {value = 0x1} : i32
  %2 = constant {value = 0x0} : f32[16, 32]  // 0
  %acc.3 = for %0, %n, %1, %2 {pipeline = 2} : f32[16, 32] do (%i.4: i32, %acc.5: f32[16, 32]) {
    %6 = lt.s %i.4, %1 : bool
    %7 = if %6 : f32[16, 32] then {
      %8 = add.f %acc.5, %acc.5 : f32[16, 32]
      yield %8
    } else {
      print %i.4 {text = "say \"{}\"\n"}
      yield %acc.5
    }
    yield %7
  }
  %9 = while %n : i32 cond (%10: i32) {
    %11 = gt.s %10, %1 : bool
    condition %11, %10
  } do (%12: i32) {
    %13 = shr.s %12, %1 : i32
    yield %13
  }
  %14 = reduce %acc.3 {axis = 1, combine = "sum"} : f32[16]
  %15, %16 = arg_reduce %acc.3 {axis = 0, combine = "max"} : f32[32], i32[32]
  %17 = cast %14 {rounding = "rtz"} : f16[16]
  %18 = splat %p : ptr<f16>[16]
  %19 = arange {start = 0} : i32[16]
  %20 = addptr %18, %19 : ptr<f16>[16]
  store %20, %17
  return
}
)ir";

inline constexpr const char* with_layouts = R"ir(#L0 = #layout<reg=[(0,1),(0,2)], lane=[(0,4),(0,8),(0,16),(1,0),(2,0),(4,0)], wave=[(8,0)]>
#L1 = #layout<reg=[], lane=[0,0,0,1,2,4], wave=[8]>
kernel @rows(%p: ptr<f32>)
  target gfx90a waves 2
{
  %0 = splat %p : ptr<f32>[16, 32] #L0
  %1 = load %0 : f32[16, 32] #L0
  %2 = reduce %1 {axis = 1, combine = "sum", order = [0, 1, 2, 3, 4]} : f32[16] #L1
  %3 = expand_dims %2 {axis = 1} : f32[16, 1] #L2
  %4 = broadcast %3 : f32[16, 32] #L0
  store %0, %4
  return
}
)ir";

// The kernel that the text says; a failed check if it says none.
inline Kernel parse(const std::string& text) {
  SourceManager sources;
  Diagnostics diags;
  std::optional<Kernel> k = parse_ir(sources.add("test.ir", text), sources, diags);
  EXPECT_TRUE(k.has_value()) << render(diags, sources);
  return k ? std::move(*k) : Kernel{};
}

inline std::string parse_error(const std::string& text) {
  SourceManager sources;
  Diagnostics diags;
  bool ok = parse_ir(sources.add("test.ir", text), sources, diags).has_value();
  EXPECT_EQ(ok, !diags.has_errors());
  return ok ? "" : diags.all().front().message;
}

}  // namespace tile::ir::testing
