#include <fmt/format.h>

#include <chrono>

#include "interpreter/tile/interpreter.h"
#include "runtime/device.h"

namespace tile {
namespace {

class InterpreterDevice : public Device {
 public:
  std::string name() const override { return "interp"; }

  Result<LaunchReport> launch(const Session& session, const SpecializedKernel& kernel, const BoundLaunch& launch,
                              const DeviceOptions& options) override {
    interp::CompileOptions compile;
    compile.check = options.check;
    Result<interp::Executable> code = interp::compile_kernel(kernel.kernel, compile);
    if (!code) return code.error();
    std::vector<interp::Argument> args;
    for (size_t i = 0; i < launch.args.size(); ++i) {
      const BoundArg& a = launch.args[i];
      args.push_back(a.array ? interp::Argument::array(a.array->data(), a.array->bytes())
                             : interp::Argument::scalar(a.scalar));
    }
    interp::RunOptions run_options;
    run_options.threads = options.threads;
    run_options.max_instructions = options.max_instructions;
    auto start = std::chrono::steady_clock::now();
    interp::RunResult result = code->run(args, {launch.grid.x, launch.grid.y, launch.grid.z}, run_options);
    LaunchReport report;
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (result.failure) {
      std::string text;
      for (const std::string& line : result.failure->prints) text += line + "\n";
      return Error{text + result.failure->text(&session.sources())};
    }
    report.programs = result.report.programs;
    report.prints = std::move(result.report.prints);
    for (const interp::Check& c : result.report.checks) {
      std::string where = session.sources().where(c.range);
      report.checks.push_back(fmt::format("{}{}{}: {} (program {}, element {}, {} times)", where,
                                          where.empty() ? "" : ": ", interp::name(c.kind), c.message, c.program,
                                          c.element, c.count));
    }
    return report;
  }
};

}  // namespace

std::unique_ptr<Device> make_interpreter_device() { return std::make_unique<InterpreterDevice>(); }

}  // namespace tile
