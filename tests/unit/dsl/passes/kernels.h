#pragma once
// Whole kernels in the form that sema gives them, for tests of the pipeline.
#include <string>
#include <vector>

namespace tile::passes::testing {

struct NamedKernel {
  std::string name, text;
};

// c[m, n] = a[m, k] @ b[k, n], tiles BM x BN x BK.
inline std::string matmul(const std::string& t, const std::string& acc, int bm, int bn, int bk, const std::string& header, int stages = 1) {
  auto n = [](int x) { return std::to_string(x); };
  auto hex = [](int x) { char s[16]; snprintf(s, sizeof s, "0x%x", static_cast<unsigned>(x)); return std::string(s); };
  return "kernel @matmul(%a: ptr<" + t + "> {view, noalias, align = 16}, %b: ptr<" + t + "> {view, noalias, align = 16}, %c: ptr<" + acc +
         "> {view, noalias, align = 16}, %M: i32 {min = 1}, %N: i32 {min = 1, divisor = 8}, %K: i32 {min = 1, divisor = 8}) " + header + R"( {
    %0 = constant {value = 0x0} : i32
    %1 = constant {value = 0x1} : i32
    %bk = constant {value = )" + hex(bk) + R"(} : i32
    %va = make_view %a, %M, %K, %K, %1 {align = 16, noalias = 1, param = "a"} : view<)" + t + R"(, 2>
    %vb = make_view %b, %K, %N, %N, %1 {align = 16, noalias = 1, param = "b"} : view<)" + t + R"(, 2>
    %vc = make_view %c, %M, %N, %N, %1 {align = 16, noalias = 1, param = "c"} : view<)" + acc + R"(, 2>
    %pm = program_id {axis = 0} : i32
    %pn = program_id {axis = 1} : i32
    %bm = constant {value = )" + hex(bm) + R"(} : i32
    %bn = constant {value = )" + hex(bn) + R"(} : i32
    %m0 = mul.i %pm, %bm : i32
    %n0 = mul.i %pn, %bn : i32
    %m1 = splat %m0 : i32[)" + n(bm) + R"(]
    %m2 = arange {start = 0} : i32[)" + n(bm) + R"(]
    %m = add.i %m1, %m2 : i32[)" + n(bm) + R"(]
    %n1 = splat %n0 : i32[)" + n(bn) + R"(]
    %n2 = arange {start = 0} : i32[)" + n(bn) + R"(]
    %n = add.i %n1, %n2 : i32[)" + n(bn) + R"(]
    %acc = constant {value = 0x0} : )" + acc + "[" + n(bm) + ", " + n(bn) + R"(]
    %mx = expand_dims %m {axis = 1} : i32[)" + n(bm) + R"(, 1]
    %nx = expand_dims %n {axis = 0} : i32[1, )" + n(bn) + R"(]
    %r = for %0, %K, %bk, %acc {pipeline = )" + n(stages) + "} : " + acc + "[" + n(bm) + ", " + n(bn) + "] do (%k0: i32, %x: " + acc + "[" + n(bm) + ", " + n(bn) + R"(]) {
      %k1 = splat %k0 : i32[)" + n(bk) + R"(]
      %k2 = arange {start = 0} : i32[)" + n(bk) + R"(]
      %k = add.i %k1, %k2 : i32[)" + n(bk) + R"(]
      %kr = expand_dims %k {axis = 0} : i32[1, )" + n(bk) + R"(]
      %kc = expand_dims %k {axis = 1} : i32[)" + n(bk) + R"(, 1]
      %ta = load_view %va, %mx, %kr : )" + t + "[" + n(bm) + ", " + n(bk) + R"(]
      %tb = load_view %vb, %kc, %nx : )" + t + "[" + n(bk) + ", " + n(bn) + R"(]
      %y = dot %ta, %tb, %x : )" + acc + "[" + n(bm) + ", " + n(bn) + R"(]
      yield %y
    }
    store_view %vc, %r, %mx, %nx
    return
  })";
}

// Rows of `cols` columns in one tile, a row a program: out = softmax(x).
inline std::string softmax(int cols, const std::string& header) {
  std::string n = std::to_string(cols);
  return "kernel @softmax(%x: ptr<f32> {view, align = 16}, %o: ptr<f32> {view, align = 16}, %rows: i32, %n: i32 {divisor = 4}) " + header + R"( {
    %1 = constant {value = 0x1} : i32
    %vx = make_view %x, %rows, %n, %n, %1 {align = 16, param = "x"} : view<f32, 2>
    %vo = make_view %o, %rows, %n, %n, %1 {align = 16, param = "o"} : view<f32, 2>
    %row = program_id {axis = 0} : i32
    %i = arange {start = 0} : i32[)" + n + R"(]
    %inf = constant {value = 0xff800000} : f32
    %t = load_view %vx, %row, %i, %inf {has_other = 1} : f32[)" + n + R"(]
    %m = reduce %t {axis = 0, combine = "max"} : f32
    %mm = splat %m : f32[)" + n + R"(]
    %d = sub.f %t, %mm : f32[)" + n + R"(]
    %e = fast_exp2 %d : f32[)" + n + R"(]
    %s = reduce %e {axis = 0, combine = "sum"} : f32
    %ss = splat %s : f32[)" + n + R"(]
    %q = div.f %e, %ss : f32[)" + n + R"(]
    store_view %vo, %q, %row, %i
    return
  })";
}

// Softmax in blocks of rows, with row statistics as tiles; then an index of the maximum.
inline std::string row_softmax(int rows, int cols, const std::string& header) {
  std::string r = std::to_string(rows), c = std::to_string(cols), rc = r + ", " + c;
  return "kernel @row_softmax(%x: ptr<f16> {view, align = 16}, %o: ptr<f16> {view, align = 16}, %j: ptr<i32>, %rows: i32, %n: i32) " + header + R"( {
    %1 = constant {value = 0x1} : i32
    %vx = make_view %x, %rows, %n, %n, %1 {align = 16, param = "x"} : view<f16, 2>
    %vo = make_view %o, %rows, %n, %n, %1 {align = 16, param = "o"} : view<f16, 2>
    %p = program_id {axis = 0} : i32
    %b = constant {value = 0x8} : i32
    %r0 = mul.i %p, %b : i32
    %r1 = splat %r0 : i32[)" + r + R"(]
    %r2 = arange {start = 0} : i32[)" + r + R"(]
    %r = add.i %r1, %r2 : i32[)" + r + R"(]
    %rx = expand_dims %r {axis = 1} : i32[)" + r + R"(, 1]
    %i = arange {start = 0} : i32[)" + c + R"(]
    %ix = expand_dims %i {axis = 0} : i32[1, )" + c + R"(]
    %h = load_view %vx, %rx, %ix : f16[)" + rc + R"(]
    %t = cast %h : f32[)" + rc + R"(]
    %m = reduce %t {axis = 1, combine = "max"} : f32[)" + r + R"(]
    %mx = expand_dims %m {axis = 1} : f32[)" + r + R"(, 1]
    %mb = broadcast %mx : f32[)" + rc + R"(]
    %d = sub.f %t, %mb : f32[)" + rc + R"(]
    %e = fast_exp2 %d : f32[)" + rc + R"(]
    %s = reduce %e {axis = 1, combine = "sum"} : f32[)" + r + R"(]
    %sx = expand_dims %s {axis = 1} : f32[)" + r + R"(, 1]
    %sb = broadcast %sx : f32[)" + rc + R"(]
    %q = div.f %e, %sb : f32[)" + rc + R"(]
    %qh = cast %q : f16[)" + rc + R"(]
    store_view %vo, %qh, %rx, %ix
    %v, %w = arg_reduce %t {axis = 1, combine = "max"} : f32[)" + r + "], i32[" + r + R"(]
    %jp = splat %j : ptr<i32>[)" + r + R"(]
    %ja = addptr %jp, %r : ptr<i32>[)" + r + R"(]
    %lim = splat %rows : i32[)" + r + R"(]
    %ok = lt.s %r, %lim : bool[)" + r + R"(]
    store %ja, %w, %ok {has_mask = 1}
    return
  })";
}

// Attention over blocks of 64 keys: two dots, running maximum and sum, carried through the loop.
inline std::string attention(int bm, const std::string& header) {
  std::string m = std::to_string(bm), m64 = m + ", 64";
  return "kernel @attention(%q: ptr<f16> {view, noalias, align = 16}, %k: ptr<f16> {view, noalias, align = 16}, %v: ptr<f16> {view, noalias, align = 16}, "
         "%o: ptr<f16> {view, noalias, align = 16}, %n: i32) " + header + R"( {
    %0 = constant {value = 0x0} : i32
    %1 = constant {value = 0x1} : i32
    %64 = constant {value = 0x40} : i32
    %vq = make_view %q, %n, %64, %64, %1 {align = 16, noalias = 1, param = "q"} : view<f16, 2>
    %vk = make_view %k, %n, %64, %64, %1 {align = 16, noalias = 1, param = "k"} : view<f16, 2>
    %vv = make_view %v, %n, %64, %64, %1 {align = 16, noalias = 1, param = "v"} : view<f16, 2>
    %vo = make_view %o, %n, %64, %64, %1 {align = 16, noalias = 1, param = "o"} : view<f16, 2>
    %p = program_id {axis = 0} : i32
    %bm = constant {value = 0x40} : i32
    %m0 = mul.i %p, %bm : i32
    %m1 = splat %m0 : i32[)" + m + R"(]
    %m2 = arange {start = 0} : i32[)" + m + R"(]
    %m = add.i %m1, %m2 : i32[)" + m + R"(]
    %mx = expand_dims %m {axis = 1} : i32[)" + m + R"(, 1]
    %h = arange {start = 0} : i32[64]
    %hx = expand_dims %h {axis = 0} : i32[1, 64]
    %tq = load_view %vq, %mx, %hx : f16[)" + m64 + R"(]
    %zero = constant {value = 0x0} : f32[)" + m64 + R"(]
    %low = constant {value = 0xff800000} : f32[)" + m + R"(]
    %none = constant {value = 0x0} : f32[)" + m + R"(]
    %acc, %mi, %li = for %0, %n, %64, %zero, %low, %none {pipeline = 2} : f32[)" + m64 + "], f32[" + m + "], f32[" + m + R"(] do (%k0: i32, %ac: f32[)" + m64 + "], %mo: f32[" + m + "], %lo: f32[" + m + R"(]) {
      %j1 = splat %k0 : i32[64]
      %j = add.i %j1, %h : i32[64]
      %jx = expand_dims %j {axis = 1} : i32[64, 1]
      %tk = load_view %vk, %jx, %hx : f16[64, 64]
      %kt = trans %tk {perm = [1, 0]} : f16[64, 64]
      %s = dot %tq, %kt, %zero : f32[)" + m64 + R"(]
      %sm = reduce %s {axis = 1, combine = "max"} : f32[)" + m + R"(]
      %mn = max.f %mo, %sm : f32[)" + m + R"(]
      %mnx = expand_dims %mn {axis = 1} : f32[)" + m + R"(, 1]
      %mnb = broadcast %mnx : f32[)" + m64 + R"(]
      %sd = sub.f %s, %mnb : f32[)" + m64 + R"(]
      %pp = fast_exp2 %sd : f32[)" + m64 + R"(]
      %ps = reduce %pp {axis = 1, combine = "sum"} : f32[)" + m + R"(]
      %md = sub.f %mo, %mn : f32[)" + m + R"(]
      %al = fast_exp2 %md : f32[)" + m + R"(]
      %ls = mul.f %lo, %al : f32[)" + m + R"(]
      %ln = add.f %ls, %ps : f32[)" + m + R"(]
      %alx = expand_dims %al {axis = 1} : f32[)" + m + R"(, 1]
      %alb = broadcast %alx : f32[)" + m64 + R"(]
      %as = mul.f %ac, %alb : f32[)" + m64 + R"(]
      %ph = cast %pp : f16[)" + m64 + R"(]
      %tv = load_view %vv, %jx, %hx : f16[64, 64]
      %an = dot %ph, %tv, %as : f32[)" + m64 + R"(]
      yield %an, %mn, %ln
    }
    %lx = expand_dims %li {axis = 1} : f32[)" + m + R"(, 1]
    %lb = broadcast %lx : f32[)" + m64 + R"(]
    %out = div.f %acc, %lb : f32[)" + m64 + R"(]
    %oh = cast %out : f16[)" + m64 + R"(]
    store_view %vo, %oh, %mx, %hx
    return
  })";
}

// Pointers that a loop carries, branches with tiles, a while loop, reshapes that move values, odd extents.
inline std::string oddities(const std::string& header) {
  return "kernel @oddities(%p: ptr<f32> {align = 16}, %n: i32) " + header + R"( {
    %0 = constant {value = 0x0} : i32
    %1 = constant {value = 0x1} : i32
    %step = constant {value = 0x64} : i32[100]
    %i = arange {start = 0} : i32[100]
    %ps = splat %p : ptr<f32>[100]
    %pi = addptr %ps, %i : ptr<f32>[100]
    %sum = constant {value = 0x0} : f32[100]
    %s, %pe = for %0, %n, %1, %sum, %pi : f32[100], ptr<f32>[100] do (%k: i32, %a: f32[100], %pk: ptr<f32>[100]) {
      %x = load %pk : f32[100]
      %b = add.f %a, %x : f32[100]
      %pn = addptr %pk, %step : ptr<f32>[100]
      yield %b, %pn
    }
    %c = lt.s %0, %n : bool
    %t = if %c : f32[100] then {
      %u = add.f %s, %s : f32[100]
      yield %u
    } else {
      %z = constant {value = 0x3f800000} : f32[100]
      yield %z
    }
    %w, %wn = while %t, %n : f32[100], i32 cond (%wa: f32[100], %wi: i32) {
      %wc = gt.s %wi, %0 : bool
      condition %wc, %wa, %wi
    } do (%wb: f32[100], %wj: i32) {
      %wd = mul.f %wb, %wb : f32[100]
      %wk = sub.i %wj, %1 : i32
      yield %wd, %wk
    }
    %r = reshape %w : f32[4, 25]
    %rt = trans %r {perm = [1, 0]} : f32[25, 4]
    %m = reduce %rt {axis = 0, combine = "sum"} : f32[4]
    %f = reshape %rt : f32[100]
    store %pi, %f
    %g = reshape %f : f32[5, 20]
    %h = reduce %g {axis = 1, combine = "sum"} : f32[5]
    %hx = expand_dims %h {axis = 1} : f32[5, 1]
    %hb = broadcast %hx : f32[5, 4]
    %mx = expand_dims %m {axis = 0} : f32[1, 4]
    %mb = broadcast %mx : f32[5, 4]
    %o = mul.f %hb, %mb : f32[5, 4]
    print %o {text = "{}"}
    device_assert %c {text = "n"}
    return
  })";
}

// All of them, on the targets and numbers of waves that matter.
inline std::vector<NamedKernel> all_kernels() {
  std::vector<NamedKernel> list;
  for (const char* arch : {"gfx90a", "gfx942", "gfx950"})
    for (int waves : {1, 2, 3, 4, 8, 16}) {
      std::string header = std::string("target ") + arch + " waves " + std::to_string(waves);
      auto add = [&](const std::string& name, std::string text) { list.push_back({name + " " + header, std::move(text)}); };
      add("matmul f16", matmul("f16", "f32", 128, 128, 64, header));
      add("matmul f16 pipelined", matmul("f16", "f32", 64, 64, 32, header, 2));
      add("matmul bf16 deep", matmul("bf16", "f32", 32, 64, 16, header, 3));
      add("matmul f32 odd", matmul("f32", "f32", 48, 20, 10, header, 2));
      add("matmul f64", matmul("f64", "f64", 32, 32, 16, header));
      add("matmul i8", matmul("i8", "i32", 64, 32, 64, header, 2));
      add("matmul fp8", matmul("f8e4m3", "f32", 64, 64, 64, header));
      add("matmul tiny", matmul("f16", "f32", 1, 1, 1, header));
      add("softmax 1000", softmax(1000, header));
      add("softmax 4096", softmax(4096, header));
      add("softmax 3", softmax(3, header));
      add("row softmax", row_softmax(8, 100, header));
      add("row softmax wide", row_softmax(2, 2048, header));
      add("row softmax tall", row_softmax(256, 4, header));
      add("attention 64", attention(64, header));
      add("attention 16", attention(16, header));
      add("oddities", oddities(header));
    }
  return list;
}

}  // namespace tile::passes::testing
