#include <fmt/format.h>

#include <chrono>

#include "dsl/passes/hazards.h"
#include "dsl/passes/passes.h"

namespace tile::passes {

const std::vector<PassInfo>& pass_table() {
  static const std::vector<PassInfo> table = {
#define TILE_PASS(name, stage, doc) {#name, ir::Stage::stage, doc, name},
#include "dsl/passes/passes.def"
  };
  return table;
}

const PassInfo* find_pass(std::string_view name) {
  for (const PassInfo& p : pass_table())
    if (p.name == name) return &p;
  return nullptr;
}

namespace {

Status check(const ir::Kernel& k, std::string_view name, ir::Stage stage) {
  std::vector<std::string> violations = ir::verify(k, stage);
  if (violations.empty() && stage == ir::Stage::Final) violations = verify_final(k, name == "insert_barriers");
  if (violations.empty()) return Unit{};
  return Error{fmt::format("tile IR is invalid after {}: {}", name, violations.front()),
               violations.size() > 1 ? fmt::format("{} more violations", violations.size() - 1) : ""};
}

Status run_one(ir::Kernel& k, const PassInfo& pass, const PassOptions& options) {
  PassContext context{options.diags, options.fault == pass.name};
  auto start = std::chrono::steady_clock::now();
  if (Status s = pass.run(k, context); !s) return s;
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  if (options.times) options.times->push_back({pass.name, time.count()});
  if (options.verify)
    if (Status s = check(k, pass.name, pass.stage); !s) return s;
  return options.after ? options.after(pass, k) : Status(Unit{});
}

}  // namespace

Status run_passes_after(ir::Kernel& k, std::string_view from, const PassOptions& options) {
  if (!from.empty() && !find_pass(from)) return Error{fmt::format("there is no pass `{}`", from)};
  if (!options.last.empty() && !find_pass(options.last)) return Error{fmt::format("there is no pass `{}`", options.last)};
  bool started = from.empty();
  if (started && options.verify)
    if (Status s = check(k, "sema", ir::Stage::Sema); !s) return s;
  for (const PassInfo& pass : pass_table()) {
    if (started)
      if (Status s = run_one(k, pass, options); !s) return s;
    started |= pass.name == from;
    if (pass.name == options.last) break;
  }
  return Unit{};
}

Status run_passes(ir::Kernel& k, const PassOptions& options) { return run_passes_after(k, {}, options); }

}  // namespace tile::passes
