// Compares a math function of the prelude, executed by the tile interpreter, with a more precise reference and prints the
// largest error and where it occurs. f16, bf16 and f32: every `step`-th bit pattern of the range, against the C library in
// double. f64, and two arguments: random points and edge values, f64 against MPFR. Exit status 1 from `limit` on.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

#include "tests/unit/dsl/prelude/reference.h"
#include "tests/unit/dsl/prelude/sweep.h"

using namespace tile;
using namespace tile::test;

namespace {

struct Options {
  std::string function = "all";
  std::string type = "f32";
  uint64_t first = 0, last = 0xffffffff, step = 1, points = 10'000'000, seed = 1;
  unsigned threads = 2;
  double limit = 1.0;
};

Result<Worst> sweep(const std::string& function, DType type, const Options& o) {
  Worst worst;
  std::mutex lock;
  std::optional<Error> error;
  uint64_t last = std::min<uint64_t>(o.last, bit_width(type) >= 32 ? 0xffffffff : 0xffff);
  bool exhaustive = arity(function) == 1 && type != DType::F64;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < o.threads; ++t) {
    threads.emplace_back([&, t] {
      uint64_t share = exhaustive ? (last + 1 - o.first + o.threads - 1) / o.threads : o.points / o.threads;
      Result<Worst> w = exhaustive ? sweep_patterns(function, type, o.first + t * share, std::min(last, o.first + (t + 1) * share - 1), o.step)
                                   : sweep_points(function, type, share, o.seed + t);
      std::lock_guard hold(lock);
      if (!w) error = w.error();
      else worst.take(*w);
    });
  }
  for (std::thread& t : threads) t.join();
  if (error) return *error;
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Largest error of the language's math functions");
  app.add_option("function", o.function, "a function, or all");
  app.add_option("--type", o.type, "f16, bf16, f32 or f64");
  app.add_option("--first", o.first, "first bit pattern (one argument, up to f32)");
  app.add_option("--last", o.last, "last bit pattern");
  app.add_option("--step", o.step, "distance of the bit patterns")->check(CLI::PositiveNumber);
  app.add_option("--points", o.points, "random points (f64, two arguments)");
  app.add_option("--seed", o.seed, "of the random points");
  app.add_option("--threads", o.threads, "threads")->check(CLI::Range(1, 64));
  app.add_option("--limit", o.limit, "an error of this size or more fails");
  CLI11_PARSE(app, argc, argv);
  std::optional<DType> type = parse_dtype(o.type);
  if (!type || !is_arith_float(*type)) return fmt::print(stderr, "unknown type {}\n", o.type), 1;
  std::vector<std::string> functions;
  for (int arguments : {1, 2})
    for (std::string_view f : math_functions(arguments))
      if (o.function == "all" || o.function == f) functions.emplace_back(f);
  if (functions.empty()) return fmt::print(stderr, "unknown function {}\n", o.function), 1;
  bool good = true;
  for (const std::string& f : functions) {
    Result<Worst> w = sweep(f, *type, o);
    if (!w) return fmt::print(stderr, "{}: {}\n", f, w.error().message), 1;
    fmt::print("{:8} {:5} {:.4f} ulp at {}\n", f, o.type, w->error, w->where(arity(f)));
    std::fflush(stdout);
    good = good && w->error < o.limit;
  }
  return good ? 0 : 1;
}
