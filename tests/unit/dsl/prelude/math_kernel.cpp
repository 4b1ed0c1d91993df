#include "tests/unit/dsl/prelude/math_kernel.h"

#include <fmt/format.h>

#include "dsl/diag/diag.h"
#include "dsl/passes/passes.h"
#include "dsl/sema/sema.h"
#include "tests/unit/dsl/prelude/reference.h"

namespace tile::test {
namespace {

constexpr int64_t block = 1024;

}  // namespace

Result<MathKernel> MathKernel::make(const std::string& function, DType dtype) {
  bool two = arity(function) == 2;
  std::string text = fmt::format(
      "kernel k(x: T[n], y: T[n], o: T[n], n: i32, const T: type = {}) grid (cdiv(n, {})) {{\n"
      "    let i = program_id(0) * {} + arange({});\n"
      "    o[i] = {}({});\n}}\n",
      name(dtype), block, block, block, function, two ? "x[i], y[i]" : "x[i]");
  SourceManager sources;
  Diagnostics diags;
  Program program = Program::from_text(function + ".tile", text, sources, diags);
  std::optional<ir::Kernel> kernel = specialize(program, {}, diags);
  for (const Diagnostic& d : diags.all())
    if (!kernel) return Error{d.message};
  if (!kernel) return Error{"the kernel was not specialised"};
  passes::PassOptions options;
  options.last = "fix_values";
  if (Status s = passes::run_passes(*kernel, options); !s) return s.error();
  Result<interp::Executable> e = interp::compile_kernel(*kernel);
  if (!e) return e.error();
  return MathKernel(std::move(*e), two, dtype);
}

Status MathKernel::run(const void* x, const void* y, void* out, size_t n) const {
  uint64_t bytes = n * buffer_bytes(dtype_);
  auto array = [&](const void* p) { return interp::Argument::array(const_cast<void*>(p), bytes); };
  interp::RunOptions options;
  options.threads = 1;
  interp::RunResult r = executable_.run({array(x), array(two_ ? y : x), array(out), interp::Argument::scalar(n)},
                                        {(static_cast<int64_t>(n) + block - 1) / block, 1, 1}, options);
  if (!r.ok()) return Error{r.failure->text(nullptr)};
  return Unit{};
}

}  // namespace tile::test
