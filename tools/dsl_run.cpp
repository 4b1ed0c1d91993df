// dsl-run: executes a kernel of a .tile file, or the file's tests.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "runtime/compare.h"
#include "runtime/device.h"
#include "runtime/device_compare.h"
#include "runtime/materialize.h"
#include "runtime/test_runner.h"
#ifdef TILE_WITH_SIMULATOR
#include "runtime/device_sim.h"
#endif

namespace {

using namespace tile;

struct Flags {
  std::string file, kernel, target = "gfx942", device = "interp";
  std::vector<std::string> defines, values, save, expect;
  double atol = 0, rtol = 0, ulp = 0;
  bool test = false, check = false, fidelity = false, quiet = false, target_given = false;
  std::optional<unsigned> waves;
  unsigned threads = 0;
  uint64_t max_instructions = 0;
};

int fail(const Error& e) {
  fmt::print(stderr, "error: {}\n", e.message);
  if (!e.hint.empty()) fmt::print(stderr, "  hint: {}\n", e.hint);
  return 1;
}

Result<std::pair<std::string, std::string>> split_pair(const std::string& text, const char* form) {
  size_t eq = text.find('=');
  if (eq == std::string::npos || eq == 0) return Error{fmt::format("'{}' is not of the form {}", text, form)};
  return std::pair(text.substr(0, eq), text.substr(eq + 1));
}

Result<SpecializeOptions> specialize_options(const Flags& f) {
  SpecializeOptions o;
  o.kernel = f.kernel;
  std::optional<Arch> arch = parse_arch(f.target);
  if (!arch) return Error{fmt::format("unknown target '{}'", f.target), "targets: gfx90a, gfx942, gfx950"};
  o.arch = *arch;
  if (f.waves) o.waves = *f.waves;
  for (const std::string& d : f.defines) {
    auto pair = split_pair(d, "NAME=VALUE");
    if (!pair) return pair.error();
    o.constants.push_back(*pair);
  }
  return o;
}

// `interp`, `sim`, `sim:gfx950`, or `interp,sim`: both, compared bit for bit.
Result<std::unique_ptr<Device>> make_device(Flags& f) {
  std::string device = f.device;
  if (size_t colon = device.rfind("sim:"); colon != std::string::npos) {
    f.target = device.substr(colon + 4);
    f.target_given = true;
    device.resize(colon + 3);
  }
  if (device == "interp") return make_interpreter_device();
#ifdef TILE_WITH_SIMULATOR
  if (device == "sim") return make_simulator_device();
  if (device == "interp,sim") return make_comparing_device(make_interpreter_device(), make_simulator_device());
  return Error{fmt::format("unknown device '{}'", f.device), "devices: interp, sim, sim:gfx950, interp,sim"};
#else
  return Error{fmt::format("unknown device '{}'", f.device), "devices: interp (this program was built without LLVM)"};
#endif
}

// The targets of --target, which may be several for --test.
Result<std::vector<Arch>> parse_targets(const std::string& text) {
  std::vector<Arch> list;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::optional<Arch> arch = parse_arch(text.substr(begin, end - begin));
    if (!arch) return Error{fmt::format("unknown target '{}'", text.substr(begin, end - begin)), "targets: gfx90a, gfx942, gfx950"};
    list.push_back(*arch);
    begin = end + 1;
  }
  return list;
}

void print_fidelity(const KernelManifest& m) {
  fmt::print("fidelity: {}\n", m.fidelity);
  for (const FidelityUse& u : m.fidelity_uses)
    fmt::print("  {}:{}:{}: {} is {}\n", u.file, u.line, u.column, u.op, u.cls);
}

// Compares outputs with the files of --expect.
int check_expected(const Flags& f, OwnedValues& owned) {
  int status = 0;
  for (const std::string& e : f.expect) {
    auto pair = split_pair(e, "NAME=file.npy");
    if (!pair) return fail(pair.error());
    auto it = owned.arrays.find(pair->first);
    if (it == owned.arrays.end()) return fail({fmt::format("--expect names no array argument: '{}'", pair->first)});
    DType t = it->second->dtype();
    bool raw = is_float(t) && t != DType::F16 && t != DType::F32 && t != DType::F64;
    Result<Array> want = read_npy(pair->second);
    if (raw && (!want || !is_float(want->dtype()))) want = read_npy(pair->second, &t);
    if (!want) return fail(want.error());
    Tolerances tolerances{f.atol, f.rtol, f.ulp, false};
    if (auto d = difference(*it->second, *want, tolerances)) {
      fmt::print("{} differs from {}: {}\n", pair->first, pair->second, *d);
      status = 1;
    } else {
      fmt::print("{} agrees with {}\n", pair->first, pair->second);
    }
  }
  return status;
}

int run_kernel(const Flags& f, Session& session, Device& device) {
  Result<SpecializeOptions> options = specialize_options(f);
  if (!options) return fail(options.error());
  std::shared_ptr<const SpecializedKernel> kernel = session.specialize(*options);
  fmt::print(stderr, "{}", render(session.diagnostics(), session.sources()));
  if (!kernel) return 1;
  std::vector<std::pair<std::string, std::string>> named;
  for (const std::string& v : f.values) {
    auto pair = split_pair(v, "NAME=VALUE");
    if (!pair) return fail(pair.error());
    named.push_back(*pair);
  }
  Result<OwnedValues> owned = materialize(kernel->manifest, named);
  if (!owned) return fail(owned.error());
  Result<BoundLaunch> launch = bind_launch(kernel->manifest, owned->values);
  if (!launch) return fail(launch.error());
  DeviceOptions device_options{f.check, f.threads, f.max_instructions};
  LaunchReport report;
  if (!launch->empty()) {
    Result<LaunchReport> r = device.launch(session, *kernel, *launch, device_options);
    if (!r) return fail(r.error());
    report = std::move(*r);
  }
  for (const std::string& line : report.prints) fmt::print("{}\n", line);
  for (const std::string& line : report.checks) fmt::print("check: {}\n", line);
  const KernelManifest& m = kernel->manifest;
  if (!f.quiet) {
    fmt::print("{} on {} as {}: grid {} x {} x {}, {} waves, {:.3f} ms\n", m.name, device.name(), m.target,
               launch->grid.x, launch->grid.y, launch->grid.z, m.waves, report.seconds * 1e3);
    for (const ManifestArg& a : m.args)
      if (a.writes && owned->arrays.count(a.name)) fmt::print("  {}\n", summary(a.name, *owned->arrays.at(a.name)));
  }
  if (f.fidelity) print_fidelity(m);
  else if (!f.quiet && m.fidelity != "exact") fmt::print("  fidelity: {}\n", m.fidelity);
  for (const std::string& s : f.save) {
    auto pair = split_pair(s, "NAME=file.npy");
    if (!pair) return fail(pair.error());
    auto it = owned->arrays.find(pair->first);
    if (it == owned->arrays.end()) return fail({fmt::format("--save names no array argument: '{}'", pair->first)});
    if (Status w = write_npy(pair->second, *it->second); !w) return fail(w.error());
  }
  int status = check_expected(f, *owned);
  return report.checks.empty() ? status : 1;
}

int run_tests(const Flags& f, Session& session, Device& device) {
  if (!f.values.empty()) return fail({fmt::format("--test takes no arguments, but '{}' is given", f.values[0])});
  TestOptions options;
  if (f.target_given) {
    Result<std::vector<Arch>> targets = parse_targets(f.target);
    if (!targets) return fail(targets.error());
    options.targets = *targets;
  }
  options.device = {f.check, f.threads, f.max_instructions};
  TestSummary s = run_tests(session, device, options, [](const std::string& line) { fmt::print("{}\n", line); });
  fmt::print(stderr, "{}", render(session.diagnostics(), session.sources()));
  fmt::print("{} passed, {} failed\n", s.passed, s.failed);
  if (s.passed + s.failed == 0) return fail({fmt::format("{} has no tests", f.file)});
  return s.failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Flags f;
  CLI::App app{"Runs a kernel of a .tile file on the CPU, bit for bit as the GPU would, or the file's tests.\n"
               "VALUE is a number, an .npy file (x.npy, x.npy:f8e4m3) or a generator: zeros, full:f32[8]:value=1,\n"
               "arange:i32[8], randn:f16[512,512]:seed=3, uniform:f32[8]:low=-1:high=1, randint:i32[8]:low=0:high=9."};
  app.name("dsl-run");
  app.add_option("file", f.file, ".tile file")->required();
  app.add_option("values", f.values, "NAME=VALUE for each argument; outputs may be left out");
  app.add_option("--kernel", f.kernel, "the kernel, when the file has several");
  app.add_option("-D", f.defines, "NAME=VALUE for a `const` parameter")->allow_extra_args(false);
  auto* target = app.add_option("--target", f.target, "gfx90a, gfx942 (default) or gfx950; several with --test: gfx942,gfx950");
  app.add_option("--device", f.device, "interp (default); sim or sim:gfx950: compile and run the machine code on the\n"
                 "simulator; interp,sim: both, compared bit for bit");
  app.add_option("--waves", f.waves, "waves a workgroup, instead of the `waves` clause");
  app.add_option("--save", f.save, "NAME=file.npy: write an array after the run")->allow_extra_args(false);
  app.add_option("--expect", f.expect, "NAME=file.npy: compare an array after the run")->allow_extra_args(false);
  CLI::Validator tolerance(
      [](const std::string& text) {
        double v = 0;
        return CLI::detail::lexical_cast(text, v) && v >= 0 ? std::string() : fmt::format("{} is no tolerance: a number from 0", text);
      },
      "");
  app.add_option("--atol", f.atol, "absolute tolerance of --expect")->check(tolerance);
  app.add_option("--rtol", f.rtol, "relative tolerance of --expect")->check(tolerance);
  app.add_option("--ulp", f.ulp, "tolerance of --expect in units in the last place")->check(tolerance);
  app.add_flag("--test", f.test, "run the file's test blocks");
  app.add_flag("--check", f.check, "report doubtful operations: division by zero, masked-off values in use, races");
  app.add_flag("--fidelity", f.fidelity, "list operations that are less than exact");
  app.add_flag("-q,--quiet", f.quiet, "print only what the kernel prints and what differs");
  app.add_option("--threads", f.threads, "threads to use (default: all cores)");
  app.add_option("--max-instructions", f.max_instructions, "stop a program that executes more");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) ? 1 : 0;
  }
  f.target_given = target->count() > 0;
  Result<std::unique_ptr<Device>> device = make_device(f);
  if (!device) return fail(device.error());
  Session session(f.file);
  if (!session.ok()) {
    fmt::print(stderr, "{}", render(session.diagnostics(), session.sources()));
    return 1;
  }
  return f.test ? run_tests(f, session, **device) : run_kernel(f, session, **device);
}
