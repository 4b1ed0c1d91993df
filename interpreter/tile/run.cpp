#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "dsl/num/storage.h"
#include "dsl/target/mfma.h"
#include "interpreter/tile/check.h"
#include "interpreter/tile/code.h"

namespace tile::interp {

int64_t read_int(const void* p, DType t) {
  int64_t value = 0;
  num::visit_dtype(t, [&]<DType T>() {
    num::storage_t<T> x;
    std::memcpy(&x, p, sizeof x);
    value = static_cast<int64_t>(x);
  });
  return value;
}

Worker::Worker(const Code& c, const RunOptions& o, const MemoryMap& m) : code(&c), options(&o), memory(&m) {
  storage.resize(c.arena_bytes + arena_align);
  auto p = reinterpret_cast<uintptr_t>(storage.data());
  arena = reinterpret_cast<std::byte*>((p + arena_align - 1) / arena_align * arena_align);
  constants = c.constant_base();
}

void Worker::bind(const std::vector<Argument>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const ir::Type& t = code->kernel.type(code->kernel.params[i].value);
    std::byte* slot = at(code->params[i]);
    if (t.is_ptr()) {
      auto address = reinterpret_cast<uint64_t>(args[i].data);
      std::memcpy(slot, &address, sizeof address);
    } else {
      uint64_t bits = is_bool(t.dtype) ? args[i].bits & 1 : args[i].bits;
      std::memcpy(slot, &bits, buffer_bytes(t.dtype));
    }
  }
}

std::byte* Worker::need_scratch(size_t bytes) {
  if (scratch.size() < bytes + arena_align) scratch.resize(bytes + arena_align);
  auto p = reinterpret_cast<uintptr_t>(scratch.data());
  return reinterpret_cast<std::byte*>((p + arena_align - 1) / arena_align * arena_align);
}

void Worker::fail(std::string message) {
  if (failed) return;
  failed = true;
  failure.message = std::move(message);
  failure.op = code->instrs[pc - 1].op;
  if (failure.op.valid()) failure.range = code->kernel.op(failure.op).range;
  failure.program = program;
}

void Worker::start_program(int64_t linear) {
  program = linear;
  position = {linear % grid[0], linear / grid[0] % grid[1], linear / grid[0] / grid[1]};
  pc = 0;
}

const Trace* Worker::step() {
  observed = nullptr;
  while (pc < code->instrs.size() && !failed && !observed) {
    const Instr& i = code->instrs[pc++];
    i.fn(*this, i.payload);
  }
  return observed;
}

bool Worker::run_program(int64_t linear) {
  start_program(linear);
  const std::vector<Instr>& list = code->instrs;
  uint64_t limit = options->max_instructions ? options->max_instructions : UINT64_MAX, n = 0;
  while (pc < list.size()) {
    const Instr& i = list[pc++];
    i.fn(*this, i.payload);
    if (++n > limit) fail(fmt::format("the program executed more than {} instructions; does a loop never end?", limit));
    if (failed) break;
  }
  executed += n;
  return !failed;
}

std::string Failure::text(const SourceManager* sources) const {
  std::string where = sources && (range.begin || range.end) && range.file < sources->size() ? sources->where(range) : "";
  std::string text = where.empty() ? message : where + ": " + message;
  if (program >= 0) text += fmt::format(" (program {})", program);
  return text;
}

namespace {

Failure launch_failure(std::string message) {
  Failure f;
  f.message = std::move(message);
  return f;
}

std::optional<Failure> check_arguments(const ir::Kernel& k, const std::vector<Argument>& args, Grid grid) {
  if (args.size() != k.params.size())
    return launch_failure(fmt::format("kernel '{}' has {} parameters, {} arguments were given", k.name, k.params.size(), args.size()));
  for (size_t i = 0; i < args.size(); ++i)
    if (k.type(k.params[i].value).is_ptr() && !args[i].data && args[i].bytes)
      return launch_failure(fmt::format("argument '{}' is a null array of {} bytes", k.params[i].name, args[i].bytes));
  for (int64_t extent : grid)
    if (extent < 0 || extent > INT32_MAX) return launch_failure(fmt::format("a grid extent of {} is not between 0 and 2147483647", extent));
  return std::nullopt;
}

// What the worker threads share.
struct Launch {
  int64_t programs = 0, batch = 1;
  std::atomic<int64_t> next{0}, first_failure{INT64_MAX};
  std::mutex mutex;
};

void work(Worker& w, Launch& launch) {
  for (;;) {
    int64_t begin = launch.next.fetch_add(launch.batch);
    int64_t end = std::min(begin + launch.batch, launch.programs);
    if (begin >= launch.programs) return;
    for (int64_t p = begin; p < end; ++p) {
      // Programs before the first one that fails are all executed, so that the same one is reported every time.
      if (p > launch.first_failure.load()) return;
      if (w.run_program(p)) continue;
      int64_t seen = launch.first_failure.load();
      while (p < seen && !launch.first_failure.compare_exchange_weak(seen, p)) {
      }
      return;
    }
  }
}

std::vector<std::string> collect_prints(std::vector<std::unique_ptr<Worker>>& workers, int64_t last) {
  std::vector<std::pair<int64_t, std::string>> all;
  for (auto& w : workers) std::move(w->prints.begin(), w->prints.end(), std::back_inserter(all));
  std::stable_sort(all.begin(), all.end(), [](auto& x, auto& y) { return x.first < y.first; });
  std::vector<std::string> lines;
  for (auto& [program, line] : all)
    if (program <= last) lines.push_back(std::move(line));
  return lines;
}

}  // namespace

RunResult Executable::run(const std::vector<Argument>& args, Grid grid, const RunOptions& options) const {
  RunResult result;
  const Code& code = *code_;
  result.report.fidelity = code.fidelity;
  if ((result.failure = check_arguments(code.kernel, args, grid))) return result;
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return result;
  int64_t programs;
  if (__builtin_mul_overflow(grid[0] * grid[1], grid[2], &programs)) {
    result.failure = launch_failure("the grid has too many programs");
    return result;
  }
  MemoryMap memory;
  for (unsigned i = 0; i < args.size(); ++i) {
    auto begin = reinterpret_cast<uint64_t>(args[i].data);
    if (code.kernel.type(code.kernel.params[i].value).is_ptr() && args[i].bytes)
      memory.add({begin, begin + args[i].bytes, args[i].writable, args[i].uninitialised, i});
  }
  std::optional<CheckState> check;
  if (code.options.check) check.emplace(memory);
  bool single = code.options.check || code.options.trace || options.on_store;
  unsigned threads = single ? 1 : options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  threads = static_cast<unsigned>(std::min<int64_t>(threads, programs));

  Launch launch;
  launch.programs = programs;
  launch.batch = std::clamp<int64_t>(programs / (threads * 8), 1, 64);
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned t = 0; t < threads; ++t) {
    workers.push_back(std::make_unique<Worker>(code, options, memory));
    workers.back()->grid = grid;
    workers.back()->check = check ? &*check : nullptr;
    workers.back()->bind(args);
  }
  std::vector<std::thread> pool;
  for (unsigned t = 1; t < threads; ++t) pool.emplace_back([&, t] { work(*workers[t], launch); });
  work(*workers[0], launch);
  for (std::thread& t : pool) t.join();

  for (auto& w : workers) {
    result.report.instructions += w->executed;
    if (w->failed && w->program == launch.first_failure.load()) result.failure = w->failure;
  }
  int64_t last = result.failure ? result.failure->program : programs - 1;
  result.report.programs = last + 1;
  result.report.prints = collect_prints(workers, last);
  if (result.failure) result.failure->prints = result.report.prints;
  if (check) result.report.checks = std::move(check->found);
  return result;
}

const FidelitySummary& Executable::fidelity() const { return code_->fidelity; }

Result<RunResult> run_kernel(const ir::Kernel& kernel, const std::vector<Argument>& args, Grid grid, const CompileOptions& compile,
                             const RunOptions& options) {
  Result<Executable> e = compile_kernel(kernel, compile);
  if (!e) return e.error();
  return e->run(args, grid, options);
}

FidelitySummary fidelity_of(const ir::Kernel& k) {
  FidelitySummary s;
  auto note = [&](Fidelity f, ir::OpId id, std::string what) {
    if (f == Fidelity::Exact) return;
    s.notes.push_back({f, id, k.op(id).range, std::move(what)});
    s.lowest = std::max(s.lowest, f);
  };
  k.walk([&](ir::OpId id) {
    const ir::Op& op = k.op(id);
    if (is_elementwise(op.kind)) note(info(op.kind).fidelity, id, std::string(info(op.kind).spelling));
    if (op.kind != OpKind::Dot) return;
    std::string name = op.get_text(AttrKey::Mfma);
    for (const MfmaInfo& row : mfma_table) {
      if (row.kind != name && row.intrinsic != name) continue;
      MfmaStatus status = status_of(row.id, k.arch);
      Fidelity f = status == MfmaStatus::Modelled ? Fidelity::Modelled : status == MfmaStatus::Provisional ? Fidelity::Provisional : Fidelity::Exact;
      note(f, id, fmt::format("{} on {}", mfma_mnemonic(row.id, k.arch), tile::name(k.arch)));
    }
  });
  return s;
}

}  // namespace tile::interp
