#include "codegen/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "codegen/loops.h"

namespace tile::codegen {
namespace {

// The lines of a loop. Code of other files (functions that were imported and inlined) does not widen the range.
LineRange lines_of(const Loop& loop, const std::vector<Instruction>& code, const std::vector<std::string>& files) {
  LineRange range;
  std::map<std::uint32_t, unsigned> votes;
  for (std::size_t i : loop.instructions)
    if (code[i].line) ++votes[code[i].file];
  if (votes.empty()) return range;
  const std::uint32_t file =
      std::max_element(votes.begin(), votes.end(), [](auto& a, auto& b) { return a.second < b.second; })->first;
  range.file = files[file];
  for (std::size_t i : loop.instructions) {
    if (!code[i].line || code[i].file != file) continue;
    range.first = range.first ? std::min(range.first, code[i].line) : code[i].line;
    range.last = std::max(range.last, code[i].line);
  }
  return range;
}

KernelReport report_kernel(const KernelCode& kernel, Arch arch, const std::vector<std::string>& files) {
  KernelReport r;
  r.arch = arch;
  r.resources = kernel.resources;
  std::map<std::pair<std::string, std::uint32_t>, Mix> by_line;
  for (const Instruction& i : kernel.instructions) {
    ++r.mix[i.cls];
    if (i.line) ++by_line[{files[i.file], i.line}][i.cls];
  }
  for (const auto& [place, mix] : by_line) r.lines.push_back({place.first, place.second, mix});
  for (const Loop& loop : find_loops(kernel.instructions)) {
    LoopReport l;
    l.address = kernel.instructions[loop.header].address;
    l.parent = loop.parent;
    l.depth = loop.depth;
    l.lines = lines_of(loop, kernel.instructions, files);
    for (std::size_t i : loop.instructions) ++l.all[kernel.instructions[i].cls];
    l.own = l.all;
    r.loops.push_back(std::move(l));
  }
  for (LoopReport& inner : r.loops)
    if (inner.parent >= 0)
      for (unsigned c = 0; c < num_instruction_classes; ++c)
        r.loops[static_cast<std::size_t>(inner.parent)].own.count[c] -= inner.all.count[c];
  return r;
}

std::string mix_text(const Mix& mix) {
  std::string out;
  for (unsigned c = 0; c < num_instruction_classes; ++c)
    if (mix.count[c])
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name(static_cast<InstructionClass>(c)), mix.count[c]);
  return out.empty() ? "nothing" : out;
}

std::string loop_text(const LoopReport& loop) {
  std::string place = fmt::format("at {:#x}", loop.address);
  if (!loop.lines.file.empty())
    place += loop.lines.first == loop.lines.last
                 ? fmt::format(", line {} of {}", loop.lines.first, loop.lines.file)
                 : fmt::format(", lines {} to {} of {}", loop.lines.first, loop.lines.last, loop.lines.file);
  const std::string indent(2 * loop.depth, ' ');
  std::string out =
      fmt::format("{}loop {}: {} instructions\n{}  {}\n", indent, place, loop.all.total(), indent, mix_text(loop.all));
  if (loop.own.count != loop.all.count) out += fmt::format("{}  without inner loops: {}\n", indent, mix_text(loop.own));
  return out;
}

nlohmann::json mix_json(const Mix& mix) {
  nlohmann::json j;
  for (unsigned c = 0; c < num_instruction_classes; ++c)
    j[std::string(name(static_cast<InstructionClass>(c)))] = mix.count[c];
  j["total"] = mix.total();
  return j;
}

nlohmann::json resources_json(const KernelResources& r) {
  const Occupancy& o = r.occupancy;
  return {{"vgprs", r.vgprs},
          {"agprs", r.agprs},
          {"sgprs", r.sgprs},
          {"vgpr_spills", r.vgpr_spills},
          {"sgpr_spills", r.sgpr_spills},
          {"lds", r.lds},
          {"scratch", r.scratch},
          {"kernarg", r.kernarg},
          {"threads", r.threads},
          {"code_size", r.code_size},
          {"occupancy",
           {{"waves_per_simd", o.waves_per_simd},
            {"workgroups_per_cu", o.workgroups_per_cu},
            {"by_vgprs", o.by_vgprs},
            {"by_sgprs", o.by_sgprs},
            {"by_lds", o.by_lds},
            {"limit", o.limit}}}};
}

}  // namespace

std::uint32_t Mix::total() const { return std::accumulate(count.begin(), count.end(), 0u); }

Result<std::vector<KernelReport>> report(Bytes hsaco) {
  auto d = disassemble(hsaco);
  if (!d) return d.error();
  std::vector<KernelReport> reports;
  for (const KernelCode& kernel : d->kernels) reports.push_back(report_kernel(kernel, d->arch, d->files));
  return reports;
}

std::string to_text(const std::vector<KernelReport>& reports) {
  std::string out;
  for (const KernelReport& k : reports) {
    const KernelResources& r = k.resources;
    out += fmt::format("kernel {} for {}\n", r.name, name(k.arch));
    out += fmt::format("  registers  {} VGPRs ({} of them AGPRs), {} SGPRs\n", r.vgprs, r.agprs, r.sgprs);
    out += fmt::format("  spills     {} VGPRs, {} SGPRs; {} bytes of scratch a lane\n", r.vgpr_spills, r.sgpr_spills,
                       r.scratch);
    out += fmt::format("  LDS        {} bytes a workgroup of {} threads\n", r.lds, r.threads);
    out += fmt::format("  occupancy  {} waves a SIMD, {} workgroups a compute unit; limit: {}\n",
                       r.occupancy.waves_per_simd, r.occupancy.workgroups_per_cu, r.occupancy.limit);
    out += fmt::format("  arguments  {} bytes\n", r.kernarg);
    out += fmt::format("  code       {} bytes, {} instructions\n", r.code_size, k.mix.total());
    out += fmt::format("  mix        {}\n", mix_text(k.mix));
    for (const LoopReport& loop : k.loops) out += loop_text(loop);
    if (!k.lines.empty()) out += "  by line of source\n";
    for (const LineReport& l : k.lines) out += fmt::format("    {}:{}: {}\n", l.file, l.line, mix_text(l.mix));
  }
  return out;
}

nlohmann::json to_json(const std::vector<KernelReport>& reports) {
  nlohmann::json kernels = nlohmann::json::array();
  for (const KernelReport& k : reports) {
    nlohmann::json loops = nlohmann::json::array(), lines = nlohmann::json::array();
    for (const LoopReport& l : k.loops)
      loops.push_back({{"address", l.address},
                       {"parent", l.parent},
                       {"depth", l.depth},
                       {"file", l.lines.file},
                       {"first_line", l.lines.first},
                       {"last_line", l.lines.last},
                       {"instructions", mix_json(l.all)},
                       {"own_instructions", mix_json(l.own)}});
    for (const LineReport& l : k.lines)
      lines.push_back({{"file", l.file}, {"line", l.line}, {"instructions", mix_json(l.mix)}});
    kernels.push_back({{"name", k.resources.name},
                       {"target", name(k.arch)},
                       {"resources", resources_json(k.resources)},
                       {"instructions", mix_json(k.mix)},
                       {"loops", std::move(loops)},
                       {"lines", std::move(lines)}});
  }
  return {{"kernels", std::move(kernels)}};
}

}  // namespace tile::codegen
