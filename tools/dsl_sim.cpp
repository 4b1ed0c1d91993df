// dsl-sim: runs AMDGPU code objects on the CPU.
//   dsl-sim X.hsaco                            lists the kernels
//   dsl-sim X.hsaco KERNEL ARGS... [--grid ..] launches one; ARGS are i32:5, f32:1.5, buf:4096, buf:4096:fill, in:FILE, out:FILE:BYTES
//   dsl-sim --case DIR                         runs a recorded launch and compares its outputs
//   dsl-sim --cases 'GLOB'                     runs many, with a summary line
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <glob.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>

#include "interpreter/machine/coverage.h"
#include "interpreter/machine/recorded.h"

namespace {

using namespace tile;

struct Settings {
  sim::Options options;
  std::vector<uint32_t> grid{1}, block{64};
  uint32_t lds = 0;
  bool verbose = false;
};

int run_cases(const std::string& pattern, const Settings& s) {
  glob_t g{};
  std::vector<std::string> folders;
  if (glob(pattern.c_str(), 0, nullptr, &g) == 0)
    for (size_t k = 0; k < g.gl_pathc; ++k) folders.emplace_back(g.gl_pathv[k]);
  globfree(&g);
  std::erase_if(folders, [](const std::string& f) { return !std::ifstream(f + "/case.json"); });
  if (folders.empty()) {
    fmt::print(stderr, "dsl-sim: no folder with a case.json matches '{}'\n", pattern);
    return 1;
  }
  std::atomic<size_t> next{0}, passed{0};
  std::mutex mutex;
  uint64_t instructions = 0;
  const auto start = std::chrono::steady_clock::now();
  auto work = [&] {
    for (size_t k = next++; k < folders.size(); k = next++) {
      sim::Options o = s.options;
      o.threads = 1;
      const auto t0 = std::chrono::steady_clock::now();
      const sim::CaseResult r = sim::run_case(folders[k], o);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
      passed += r.passed;
      std::lock_guard lock(mutex);
      instructions += r.stats.instructions;
      if (!r.passed) fmt::print("FAIL {}: {}\n", folders[k], r.message);
      else if (s.verbose) fmt::print("ok   {} ({} instructions, {:.3f} s)\n", folders[k], r.stats.instructions, seconds);
      for (const auto& f : r.stats.findings) fmt::print("     {}: {}\n", folders[k], f.text());
    }
  };
  std::vector<std::thread> pool;
  const unsigned n = s.options.threads ? s.options.threads : std::max(1u, std::thread::hardware_concurrency());
  for (unsigned t = 0; t < n; ++t) pool.emplace_back(work);
  for (auto& t : pool) t.join();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{} of {} cases passed, {} wave-instructions, {:.1f} s\n", passed.load(), folders.size(), instructions, seconds);
  return passed == folders.size() ? 0 : 1;
}

Result<std::vector<uint8_t>> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{fmt::format("cannot read {}", path)};
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(in), {});
}

// One argument of the command line placed in the kernarg segment.
struct Argument {
  std::vector<uint8_t> bytes;      // of a scalar
  std::vector<uint8_t> buffer;
  bool is_buffer = false;
  std::string out;                 // file to write afterwards
};

Result<Argument> parse_argument(const std::string& a) {
  const size_t colon = a.find(':');
  if (colon == a.npos) return Error{fmt::format("'{}' is not an argument", a), "write i32:5, u64:1, f32:1.5, buf:BYTES[:FILL], in:FILE or out:FILE:BYTES"};
  const std::string kind = a.substr(0, colon), rest = a.substr(colon + 1);
  Argument r;
  auto scalar = [&](auto x) {
    r.bytes.resize(sizeof x);
    std::memcpy(r.bytes.data(), &x, sizeof x);
  };
  try {
    if (kind == "i32" || kind == "u32") scalar(uint32_t(std::stoll(rest, nullptr, 0)));
    else if (kind == "i64") scalar(int64_t(std::stoll(rest, nullptr, 0)));
    else if (kind == "u64") scalar(uint64_t(std::stoull(rest, nullptr, 0)));
    else if (kind == "i16" || kind == "u16") scalar(uint16_t(std::stoll(rest, nullptr, 0)));
    else if (kind == "i8" || kind == "u8") scalar(uint8_t(std::stoll(rest, nullptr, 0)));
    else if (kind == "f32") scalar(std::stof(rest));
    else if (kind == "f64") scalar(std::stod(rest));
    else if (kind == "buf") {
      const size_t second = rest.find(':');
      r.is_buffer = true;
      r.buffer.assign(std::stoull(rest.substr(0, second)), second == rest.npos ? 0 : uint8_t(std::stoul(rest.substr(second + 1), nullptr, 0)));
    } else if (kind == "in") {
      auto data = read_file(rest);
      if (!data) return data.error();
      r.is_buffer = true;
      r.buffer = std::move(*data);
    } else if (kind == "out") {
      const size_t second = rest.rfind(':');
      if (second == rest.npos) return Error{fmt::format("'{}' has no size", a), "write out:FILE:BYTES"};
      r.is_buffer = true;
      r.out = rest.substr(0, second);
      r.buffer.assign(std::stoull(rest.substr(second + 1)), 0);
    } else {
      return Error{fmt::format("unknown kind of argument '{}'", kind), "write i32, u32, i64, u64, f32, f64, buf, in or out"};
    }
  } catch (const std::exception&) {
    return Error{fmt::format("'{}' is not a number of type {}", rest, kind)};
  }
  return r;
}

int fail(const Error& e) {
  fmt::print(stderr, "dsl-sim: error: {}\n", e.message);
  if (!e.hint.empty()) fmt::print(stderr, "  {}\n", e.hint);
  return 1;
}

void print_kernels(const sim::CodeObject& code) {
  fmt::print("{}\n", code.target());
  for (const auto& k : code.kernels()) {
    fmt::print("{}: {} VGPRs ({} of them AGPRs), {} SGPRs, {} bytes of LDS, {} of scratch a lane, {} of arguments\n", k.name, k.vgprs, k.agprs, k.sgprs,
               k.lds_static, k.scratch_per_lane, k.kernarg_size);
    for (const auto& a : k.args) fmt::print("  {:4} {:2} {} {}\n", a.offset, a.size, a.kind, a.name);
  }
}

void print_profile(const sim::LaunchStats& stats) {
  fmt::print("{:>10} {:>12} {:>6} {:>10} {:>8}  {}\n", "address", "executed", "lanes", "LDS cycles", "blocks", "instruction");
  for (const auto& p : stats.profile) {
    if (!p.executed) continue;
    fmt::print("{:#10x} {:12} {:6.1f} {:10} {:8}  {}{}\n", p.pc, p.executed, double(p.lanes) / double(p.executed), p.bank_cycles, p.transactions, p.text,
               p.line.empty() ? "" : "  ; " + p.line);
  }
}

int launch(const std::string& file, const std::string& kernel, const std::vector<std::string>& words, const Settings& s) {
  auto bytes = read_file(file);
  if (!bytes) return fail(bytes.error());
  auto code = sim::CodeObject::load(*bytes);
  if (!code) return fail(code.error());
  if (kernel.empty()) {
    print_kernels(*code);
    if (s.verbose) fmt::print("{}", code->disassembly());
    return 0;
  }
  const sim::Kernel* k = code->find(kernel);
  if (!k) return fail({fmt::format("no kernel '{}' in {}", kernel, file)});
  std::vector<Argument> args;
  for (const auto& w : words) {
    auto a = parse_argument(w);
    if (!a) return fail(a.error());
    args.push_back(std::move(*a));
  }
  sim::Memory memory;
  std::vector<uint8_t> kernarg(k->kernarg_size);
  size_t at = 0;
  std::vector<sim::KernelArg> explicit_args;
  for (const auto& a : k->args)
    if (!a.hidden()) explicit_args.push_back(a);
  if (!k->args.empty() && explicit_args.size() != args.size()) return fail({fmt::format("the kernel takes {} arguments, {} are given", explicit_args.size(), args.size())});
  for (size_t n = 0; n < args.size(); ++n) {
    Argument& a = args[n];
    if (a.is_buffer) {
      const uint64_t address = memory.map(fmt::format("argument {}", n), a.buffer.data(), a.buffer.size());
      a.bytes.resize(8);
      std::memcpy(a.bytes.data(), &address, 8);
    }
    if (n < explicit_args.size()) at = explicit_args[n].offset;
    else at = (at + a.bytes.size() - 1) / a.bytes.size() * a.bytes.size();
    if (at + a.bytes.size() > kernarg.size()) return fail({fmt::format("argument {} does not fit into {} bytes", n, kernarg.size())});
    std::memcpy(kernarg.data() + at, a.bytes.data(), a.bytes.size());
    at += a.bytes.size();
  }
  sim::LaunchConfig c;
  for (size_t d = 0; d < 3; ++d) {
    if (d < s.grid.size()) c.grid[d] = s.grid[d];
    if (d < s.block.size()) c.block[d] = s.block[d];
  }
  c.lds_dynamic = s.lds;
  c.kernarg = kernarg;
  auto stats = sim::launch(*code, kernel, c, memory, s.options);
  if (!stats) return fail(stats.error());
  for (const auto& a : args) {
    if (a.out.empty()) continue;
    std::ofstream o(a.out, std::ios::binary);
    o.write(reinterpret_cast<const char*>(a.buffer.data()), std::streamsize(a.buffer.size()));
    if (!o) return fail({fmt::format("cannot write {}", a.out)});
  }
  for (const auto& f : stats->findings) fmt::print("{}\n", f.text());
  if (s.options.counters) print_profile(*stats);
  if (s.options.cycles)
    fmt::print("{} cycles, MFMA busy {} ({:.1f}%); loop {} cycles, MFMA busy {} ({:.1f}%)\n", stats->cycles.elapsed, stats->cycles.mfma_busy,
               stats->cycles.elapsed ? 100.0 * double(stats->cycles.mfma_busy) / double(stats->cycles.elapsed) : 0.0, stats->cycles.loop_elapsed,
               stats->cycles.loop_mfma_busy,
               stats->cycles.loop_elapsed ? 100.0 * double(stats->cycles.loop_mfma_busy) / double(stats->cycles.loop_elapsed) : 0.0);
  fmt::print("{} waves, {} wave-instructions, {:.3f} s ({:.1f} M/s)\n", stats->waves, stats->instructions, stats->seconds,
             double(stats->instructions) / stats->seconds / 1e6);
  return stats->findings.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs AMDGPU code objects (gfx90a, gfx942, gfx950) on the CPU"};
  std::string file, kernel, one, many;
  int trace_wave = -1;
  uint64_t trace_group = 0;
  std::vector<std::string> words;
  Settings s;
  bool fast = false, go_on = false, list = false;
  app.add_option("hsaco", file, "code object: ELF or offload bundle");
  app.add_option("kernel", kernel, "kernel to launch; without it the kernels are listed");
  app.add_option("args", words, "arguments: i32:5, f32:1.5, buf:BYTES[:FILL], in:FILE, out:FILE:BYTES");
  app.add_option("--case", one, "run a recorded launch (folder with case.json)");
  app.add_option("--cases", many, "run all recorded launches that match a pattern");
  app.add_option("--grid", s.grid, "workgroups, up to three numbers")->delimiter(',');
  app.add_option("--block", s.block, "work-items of a workgroup, up to three numbers")->delimiter(',');
  app.add_option("--lds", s.lds, "bytes of dynamic LDS");
  app.add_option("--threads", s.options.threads, "host threads (0: all cores)");
  app.add_option("--budget", s.options.instruction_budget, "instructions a wave may execute");
  app.add_flag("--fast", fast, "without the checks");
  app.add_flag("--keep-going", go_on, "collect the findings of the checks instead of stopping at the first");
  app.add_flag("--profile", s.options.counters, "print counts an instruction");
  app.add_flag("--cycles", s.options.cycles, "run the timing model");
  app.add_option("--latency-scale", s.options.latency_scale, "factor on the timing model's latencies");
  app.add_option("--trace", trace_wave, "print every instruction of this wave (of --trace-group)");
  app.add_option("--trace-group", trace_group, "workgroup of the trace");
  app.add_option("--trace-lane", s.options.trace_lane, "lane whose values the trace shows; otherwise a hash over the lanes");
  app.add_flag("--coverage", list, "print which instructions the simulator knows, as Markdown");
  app.add_flag("-v,--verbose", s.verbose, "more output");
  CLI11_PARSE(app, argc, argv);
  s.options.checks = !fast;
  s.options.stop_at_first = !go_on;
  if (trace_wave >= 0) {
    s.options.trace_wave = [=](uint64_t group, int wave) { return group == trace_group && wave == trace_wave; };
    s.options.trace_line = [](const std::string& line) { fmt::print("{}\n", line); };
  }
  if (list) {
    fmt::print("{}", sim::coverage_markdown());
    return 0;
  }
  if (!many.empty()) return run_cases(many, s);
  if (!one.empty()) {
    const sim::CaseResult r = sim::run_case(one, s.options);
    for (const auto& f : r.stats.findings) fmt::print("{}\n", f.text());
    if (!r.passed) fmt::print("FAIL {}: {}\n", one, r.message);
    else fmt::print("ok   {} ({} wave-instructions, {:.3f} s)\n", one, r.stats.instructions, r.stats.seconds);
    return r.passed ? 0 : 1;
  }
  if (file.empty()) {
    fmt::print(stderr, "dsl-sim: give a code object, --case or --cases (see --help)\n");
    return 1;
  }
  return launch(file, kernel, words, s);
}
