// Launching: kernarg segment, initial registers, workgroups on threads, the run loop.
#include <fmt/format.h>

#include <cfenv>
#include <chrono>
#include <thread>

#include "interpreter/machine/checks.h"
#include "interpreter/machine/counters.h"
#include "interpreter/machine/exec.h"
#include "interpreter/machine/program.h"
#include "interpreter/machine/wave.h"

namespace tile::sim {

const char* fault_name(FaultKind k) {
  switch (k) {
    case FaultKind::unknown_instruction: return "unknown instruction";
    case FaultKind::out_of_bounds: return "out of bounds";
    case FaultKind::misaligned: return "misaligned";
    case FaultKind::read_only: return "read-only memory";
    case FaultKind::missing_wait: return "missing wait";
    case FaultKind::undefined_use: return "undefined value";
    case FaultKind::lds_uninitialised: return "uninitialised LDS";
    case FaultKind::barrier_divergence: return "barrier divergence";
    case FaultKind::lds_race: return "LDS race";
    case FaultKind::hazard: return "hazard";
    case FaultKind::budget: return "instruction budget";
    case FaultKind::bad_jump: return "bad jump";
    case FaultKind::trap: return "trap";
    case FaultKind::unsupported: return "unsupported";
    case FaultKind::ambiguous_bounds: return "ambiguous buffer bounds";
    case FaultKind::invalid: return "invalid";
  }
  return "?";
}

std::string Finding::text() const {
  return fmt::format("{}{}: {} [{:#x}: {}; workgroup ({}, {}, {}), wave {}{}]", line.empty() ? "" : line + ": ", fault_name(kind), what, pc, instruction,
                     group[0], group[1], group[2], wave, lane < 0 ? "" : fmt::format(", lane {}", lane));
}

namespace {

// Findings that are the simulator's own judgement and need not end the launch.
bool is_check(FaultKind k) {
  switch (k) {
    case FaultKind::missing_wait: case FaultKind::undefined_use: case FaultKind::lds_uninitialised: case FaultKind::lds_race:
    case FaultKind::hazard: case FaultKind::ambiguous_bounds: case FaultKind::misaligned: return true;
    default: return false;
  }
}

}  // namespace

void fault(Wave& w, FaultKind kind, std::string what, int lane) {
  Launch& launch = *w.launch;
  const bool go_on = is_check(kind) && !launch.options->stop_at_first;
  if (!go_on) w.state = WaveState::fault;
  Finding f;
  f.kind = kind;
  f.what = std::move(what);
  f.pc = w.at ? w.at->pc : 0;
  f.lane = lane;
  f.wave = w.index;
  if (w.group) std::copy(w.group->id, w.group->id + 3, f.group);
  std::lock_guard lock(launch.mutex);
  if (go_on) {
    // One finding an instruction and kind is enough.
    for (const Finding& old : launch.findings)
      if (old.kind == f.kind && old.pc == f.pc) return;
    if (launch.findings.size() >= launch.options->max_findings) return;
  } else {
    if (launch.failed) return;
    launch.failed = true;
    launch.stop = true;
  }
  f.instruction = launch.program->text_of(f.pc);
  f.line = launch.program->line_of(f.pc);
  if (go_on) launch.findings.push_back(std::move(f));
  else launch.findings.insert(launch.findings.begin(), std::move(f));
}

void apply_host_rounding(Wave& w) {
  static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  if (w.host_round == w.round32) return;
  w.host_round = w.round32;
  std::fesetround(modes[w.round32]);
}

void step(Wave& w, const Inst& i) {
  w.at = &i;
  if (w.checks) {
    check_before(w, i);
    if (w.state == WaveState::fault) return;
    shadow_before(w, i);
  }
  if (InstCounter* c = w.counters ? counter_of(w, i) : nullptr) {
    ++c->executed;
    c->lanes += uint64_t(__builtin_popcountll(w.exec()));
  }
  i.fn(w, i);
  if (w.checks) shadow_after(w, i);
  if (w.traced) w.launch->options->trace_line(trace_text(w, i));
}

void run_indexed(Wave& w) {
  while (w.state == WaveState::running) {
    const Inst& i = *w.ip;
    w.ip = &i + 1;
    ++w.executed;
    const bool vector = i.op->cls == InstClass::valu || i.op->cls == InstClass::trans;
    if (!vector) {
      step(w, i);
      if (i.name && *i.name == "S_SET_GPR_IDX_OFF") return;
      continue;
    }
    Inst moved = i;
    const uint16_t index = w.s[reg_m0] & 255;
    const uint32_t mode = w.s[reg_m0] >> 12;
    for (int k = 0; k < 3; ++k)
      if ((mode >> k & 1) && moved.src[k].kind == SrcKind::vgpr) moved.src[k].reg = uint16_t(std::min(moved.src[k].reg + index, 511));
    if (mode >> 3 & 1) moved.dst = uint16_t(std::min(moved.dst + index, 511));
    step(w, moved);
  }
}

namespace {

// Hidden arguments of code object v5 by metadata name.
void write_hidden(const Kernel& k, const LaunchConfig& c, std::vector<uint8_t>& out) {
  auto put = [&](const KernelArg& a, uint64_t v) {
    if (a.offset + a.size <= out.size()) std::memcpy(out.data() + a.offset, &v, std::min<size_t>(a.size, 8));
  };
  for (const KernelArg& a : k.args) {
    const std::string& n = a.kind;
    if (n == "hidden_block_count_x") put(a, c.grid[0]);
    else if (n == "hidden_block_count_y") put(a, c.grid[1]);
    else if (n == "hidden_block_count_z") put(a, c.grid[2]);
    else if (n == "hidden_group_size_x") put(a, c.block[0]);
    else if (n == "hidden_group_size_y") put(a, c.block[1]);
    else if (n == "hidden_group_size_z") put(a, c.block[2]);
    else if (n == "hidden_grid_dims") put(a, c.grid[2] * c.block[2] > 1 ? 3 : c.grid[1] * c.block[1] > 1 ? 2 : 1);
    else if (n == "hidden_dynamic_lds_size") put(a, c.lds_dynamic);
    else if (n == "hidden_private_base") put(a, private_aperture >> 32);
    else if (n == "hidden_shared_base") put(a, shared_aperture >> 32);
  }
}


void init_sgprs(Wave& w, const Launch& l) {
  const Kernel& k = *l.kernel;
  int s = 0;
  auto push = [&](uint32_t x) { if (s < 104) w.s[s++] = x; };
  auto push64 = [&](uint64_t x) { push(uint32_t(x)); push(uint32_t(x >> 32)); };
  if (k.properties & 1) {   // private segment buffer: swizzled, element 4 bytes, index stride 64, thread id added
    push64(scratch_base | uint64_t(1) << 63);
    push(0xffffffffu);
    push(1u << 19 | 3u << 21 | 1u << 23);
  }
  if (k.properties & 2) push64(l.packet_address);
  if (k.properties & 4) push64(0);                 // queue
  if (k.properties & 8) push64(l.kernarg_address);
  if (k.properties & 16) push64(0);                // dispatch id
  if (k.properties & 32) push64(scratch_base);     // flat scratch init
  if (k.properties & 64) push(w.scratch_lane);
  const int preload = k.preload & 127, from = k.preload >> 7;
  for (int j = 0; j < preload; ++j) {
    uint32_t x = 0;
    const size_t at = size_t(from + j) * 4;
    if (at + 4 <= l.kernarg.size()) std::memcpy(&x, l.kernarg.data() + at, 4);
    push(x);
  }
  if (k.rsrc2 >> 7 & 1) push(w.group->id[0]);
  if (k.rsrc2 >> 8 & 1) push(w.group->id[1]);
  if (k.rsrc2 >> 9 & 1) push(w.group->id[2]);
  if (k.rsrc2 >> 10 & 1) push(0);                  // workgroup info
  if (k.rsrc2 & 1) push(0);                        // scratch wave offset: every wave has the same range to itself
  if (w.checks)
    for (int r = 0; r < s; ++r) w.checks->s_undef[r] = 0;
}

void init_vgprs(Wave& w, const Launch& l) {
  const auto& b = l.config->block;
  const uint64_t total = uint64_t(b[0]) * b[1] * b[2];
  uint64_t exec = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    const uint64_t id = uint64_t(w.index) * lanes + uint64_t(lane);
    if (id >= total) continue;
    exec |= uint64_t{1} << lane;
    const uint32_t x = uint32_t(id % b[0]), y = uint32_t(id / b[0] % b[1]), z = uint32_t(id / b[0] / b[1]);
    w.v[0][lane] = x | y << 10 | z << 20;
  }
  w.set_s64(reg_exec, exec);
  if (w.checks) std::memset(w.checks->v_undef[0], 0, sizeof w.checks->v_undef[0]);
}

struct Group {
  Workgroup g;
  std::vector<std::unique_ptr<Wave>> waves;
  std::vector<std::unique_ptr<WaveChecks>> checks;
  std::vector<InstCounter> counters;   // of this host thread
};

size_t wave_count(const Launch& l) {
  const uint64_t total = uint64_t(l.config->block[0]) * l.config->block[1] * l.config->block[2];
  return size_t((total + lanes - 1) / lanes);
}

void init_group(Group& group, Launch& l, uint64_t id) {
  const auto& c = *l.config;
  Workgroup& g = group.g;
  g.id[0] = uint32_t(id % c.grid[0]);
  g.id[1] = uint32_t(id / c.grid[0] % c.grid[1]);
  g.id[2] = uint32_t(id / c.grid[0] / c.grid[1]);
  g.lds_size = l.kernel->lds_static + c.lds_dynamic;
  g.lds.assign(g.lds_size, 0xa5);
  if (l.options->checks) {
    g.checks = std::make_unique<GroupChecks>();
    g.checks->lds.assign(g.lds_size, {});
  }
  const size_t n = wave_count(l);
  while (group.waves.size() < n) {
    group.waves.push_back(std::make_unique<Wave>());
    group.checks.push_back(l.options->checks ? std::make_unique<WaveChecks>() : nullptr);
  }
  for (size_t k = 0; k < n; ++k) {
    Wave& w = *group.waves[k];
    std::memset(w.v, 0x7b, sizeof w.v);
    std::memset(w.s, 0x7b, sizeof w.s);
    w.mask_exec = 0;
    std::memset(w.lane_mask, 0, sizeof w.lane_mask);
    w.scc = 0;
    w.state = WaveState::running;
    w.executed = 0;
    w.group = &g;
    w.launch = &l;
    w.program = l.program;
    w.index = int(k);
    w.at = nullptr;
    w.last_alloc = nullptr;
    w.counters = group.counters.empty() ? nullptr : group.counters.data();
    w.cost = nullptr;
    w.traced = l.options->trace_line && (!l.options->trace_wave || l.options->trace_wave(id, int(k)));
    w.host_round = -1;
    w.mode = (l.kernel->rsrc1 >> 12 & 0xff) | (l.kernel->rsrc1 >> 21 & 1) << 8 | (l.kernel->rsrc1 >> 23 & 1) << 9 | (l.kernel->rsrc1 >> 26 & 1) << 23;
    apply_mode(w);
    w.checks = group.checks[k].get();
    if (w.checks) reset_checks(*w.checks);
    w.scratch_lane = (l.kernel->scratch_per_lane + 3) / 4 * 4;
    if (l.kernel->dynamic_stack) w.scratch_lane += 16384;
    w.scratch.assign(size_t(w.scratch_lane) * lanes, 0xa5);
    w.scratch_shadow.assign(w.checks ? size_t(w.scratch_lane) * lanes : 0, 0xff);
    w.s[reg_m0] = 0xffffffffu;
    init_sgprs(w, l);
    init_vgprs(w, l);
    w.ip = l.program->at(l.kernel->entry);
  }
}

// Instructions a wave may run before the others get their turn (a wave may spin on a flag in LDS).
constexpr uint64_t turn = 20000;

void run_turn(Wave& w) {
  apply_host_rounding(w);
  uint64_t n = 0;
  if (!w.checks && !w.counters && !w.traced) {
    for (; n < turn && w.state == WaveState::running; ++n) {
      const Inst& i = *w.ip;
      w.at = &i;
      w.ip = &i + 1;
      i.fn(w, i);
    }
  } else {
    for (; n < turn && w.state == WaveState::running; ++n) {
      const Inst& i = *w.ip;
      w.ip = &i + 1;
      step(w, i);
    }
  }
  w.executed += n;
  w.host_round = -1;
  if (w.executed > w.launch->options->instruction_budget && w.state == WaveState::running)
    fault(w, FaultKind::budget, fmt::format("the wave has executed {} instructions: an endless loop?", w.executed));
}

// Runs the waves in the order in which the timing model lets them issue.
void run_timed(Group& group, Launch& l, size_t n, Cycles& longest) {
  Timing timing(n, l.options->latency_scale);
  MemoryCost cost;
  for (size_t k = 0; k < n; ++k) group.waves[k]->cost = &cost;
  while (!l.stop) {
    size_t best = n;
    std::vector<size_t> waiting;
    for (size_t k = 0; k < n; ++k) {
      if (group.waves[k]->state == WaveState::barrier) waiting.push_back(k);
      if (group.waves[k]->state == WaveState::running && (best == n || timing.ready(k) < timing.ready(best))) best = k;
    }
    if (best == n && waiting.empty()) break;
    if (best == n) {
      if (group.g.checks) check_barrier(group.g, group.waves, n);
      timing.barrier(waiting);
      for (size_t k : waiting) group.waves[k]->state = WaveState::running;
      continue;
    }
    Wave& w = *group.waves[best];
    apply_host_rounding(w);
    const Inst& i = *w.ip;
    w.ip = &i + 1;
    cost = {};
    step(w, i);
    w.host_round = -1;
    if (++w.executed > l.options->instruction_budget) fault(w, FaultKind::budget, "the wave has executed its budget of instructions: an endless loop?");
    timing.issue(best, w, i, cost);
    if (w.state == WaveState::fault) break;
  }
  const Cycles c = timing.result();
  if (c.elapsed > longest.elapsed) longest = c;
}

void run_group(Group& group, Launch& l, uint64_t id) {
  init_group(group, l, id);
  const size_t n = wave_count(l);
  if (!group.waves[0]->ip) return fault(*group.waves[0], FaultKind::bad_jump, "the kernel's entry point is not an instruction");
  if (l.options->cycles) run_timed(group, l, n, l.cycles);
  while (!l.stop && !l.options->cycles) {
    size_t running = 0, waiting = 0;
    for (size_t k = 0; k < n; ++k) {
      Wave& w = *group.waves[k];
      if (w.state == WaveState::running) run_turn(w);
      if (w.state == WaveState::fault) break;
      running += w.state == WaveState::running;
      waiting += w.state == WaveState::barrier;
    }
    if (l.stop || (running == 0 && waiting == 0)) break;
    if (running == 0) {
      // All waves that still run have arrived; ended ones count as arrived.
      if (group.g.checks) check_barrier(group.g, group.waves, n);
      for (size_t k = 0; k < n; ++k)
        if (group.waves[k]->state == WaveState::barrier) group.waves[k]->state = WaveState::running;
    }
  }
  uint64_t executed = 0;
  for (size_t k = 0; k < n; ++k) {
    executed += group.waves[k]->executed;
  }
  l.instructions += executed;
  l.waves += n;
}

Status validate(const Kernel& k, const LaunchConfig& c) {
  const uint64_t block = uint64_t(c.block[0]) * c.block[1] * c.block[2];
  if (block == 0) return Error{"the workgroup is empty"};
  if (block > 1024) return Error{fmt::format("a workgroup of {} work-items is too large: at most 1024", block)};
  if (block > k.max_block) return Error{fmt::format("a workgroup of {} work-items is more than the kernel was compiled for ({})", block, k.max_block)};
  if (uint64_t(k.lds_static) + c.lds_dynamic > 163840) return Error{fmt::format("{} bytes of LDS are more than there are", k.lds_static + c.lds_dynamic)};
  return Unit{};
}

void prepare(Launch& l, const LaunchConfig& c) {
  l.kernarg = make_kernarg(*l.kernel, c);
  // The compiler may read whole aligned blocks with scalar loads (s_load_dwordx8 for the last two of six dwords): what it
  // reads behind the arguments is of no effect, and hardware can't fault within a 64-byte line of the scalar cache.
  l.kernarg.resize((l.kernarg.size() + 63) / 64 * 64);
  l.kernarg_address = image_address + (uint64_t{1} << 36);
  l.packet_address = l.kernarg_address + (uint64_t{1} << 24);
  l.packet.assign(64, 0);
  auto put = [&](size_t at, auto x) { std::memcpy(l.packet.data() + at, &x, sizeof x); };
  for (size_t d = 0; d < 3; ++d) {
    put(4 + 2 * d, uint16_t(c.block[d]));
    put(12 + 4 * d, uint32_t(c.grid[d] * c.block[d]));
  }
  put(28, uint32_t(l.kernel->lds_static + c.lds_dynamic));
  put(40, l.kernarg_address);
  l.internal.push_back({image_address, l.program->image.size(), l.program->image.data(), true, "the code object"});
  l.internal.push_back({l.kernarg_address, l.kernarg.size(), l.kernarg.data(), false, "the kernel arguments"});
  l.internal.push_back({l.packet_address, l.packet.size(), l.packet.data(), false, "the dispatch packet"});
}

}  // namespace

std::vector<uint8_t> make_kernarg(const Kernel& kernel, const LaunchConfig& config) {
  std::vector<uint8_t> out(std::max<size_t>(kernel.kernarg_size, config.kernarg.size()), 0);
  std::copy(config.kernarg.begin(), config.kernarg.end(), out.begin());
  if (config.fill_hidden) write_hidden(kernel, config, out);
  return out;
}

Result<LaunchStats> launch(const CodeObject& code, const std::string& kernel, const LaunchConfig& config, Memory& memory, const Options& options) {
  const Kernel* k = code.find(kernel);
  if (!k) return Error{fmt::format("no kernel '{}' in the code object", kernel)};
  if (Status s = validate(*k, config); !s) return s.error();
  Launch l;
  l.code = &code;
  l.program = code.program().get();
  l.kernel = k;
  l.config = &config;
  l.options = &options;
  l.memory = &memory;
  prepare(l, config);
  const uint64_t groups = uint64_t(config.grid[0]) * config.grid[1] * config.grid[2];
  const auto start = std::chrono::steady_clock::now();
  std::atomic<uint64_t> next{0};
  auto work = [&] {
    std::fenv_t env;
    std::fegetenv(&env);
    Group group;
    if (options.counters || options.cycles) group.counters.resize(l.program->code.size());
    for (uint64_t id = next++; id < groups && !l.stop; id = next++) run_group(group, l, id);
    std::fesetenv(&env);
    std::lock_guard lock(l.mutex);
    l.counters.resize(std::max(l.counters.size(), group.counters.size()));
    for (size_t k = 0; k < group.counters.size(); ++k) l.counters[k].add(group.counters[k]);
  };
  unsigned threads = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  if (options.cycles || options.trace_line) threads = 1;
  threads = unsigned(std::min<uint64_t>(threads, groups));
  if (threads <= 1) {
    work();
  } else {
    std::vector<std::thread> pool;
    for (unsigned t = 0; t < threads; ++t) pool.emplace_back(work);
    for (auto& t : pool) t.join();
  }
  if (l.failed) return Error{l.findings.front().text()};
  LaunchStats stats;
  stats.instructions = l.instructions;
  stats.waves = l.waves;
  stats.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  stats.findings = std::move(l.findings);
  stats.cycles = l.cycles;
  if (options.counters) fill_profile(l, l.counters, stats);
  return stats;
}

}  // namespace tile::sim
