#include "tests/language/golden.h"

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "dsl/ir/ir.h"
#include "dsl/sema/sema.h"

namespace tile::golden {
namespace {

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool is_expectation(std::string_view line) {
  size_t at = line.find_first_not_of(" \t");
  if (at == std::string_view::npos) return false;
  line.remove_prefix(at);
  for (std::string_view start : {"// error[", "// warning[", "// remark[", "//   note@", "//   note:", "//   hint:"})
    if (line.starts_with(start)) return true;
  return false;
}

// The text under the caret, on one line.
std::string operand(Range r, const SourceManager& sources) {
  if (r.file == 0) return "";
  std::string s = sources.text(r.file).substr(r.begin, r.end - r.begin);
  if (size_t end = s.find('\n'); end != std::string::npos) s = s.substr(0, end) + "...";
  if (s.size() > 60) s = s.substr(0, 60) + "...";
  return s;
}

std::vector<std::string> expectation(const Diagnostic& d, const SourceManager& sources, FileId root) {
  const DiagInfo& row = info(d.kind);
  const char* severity = row.severity == Severity::Error     ? "error"
                         : row.severity == Severity::Warning ? "warning"
                                                             : "remark";
  std::vector<std::string> lines = {
      fmt::format("// {}[{}]@{}: {}", severity, row.code, operand(d.range, sources), d.message)};
  for (const Note& n : d.notes) {
    bool here = n.range.file == root && d.range.file == root;
    int distance = here ? static_cast<int>(sources.line_column(root, n.range.begin).line) -
                              static_cast<int>(sources.line_column(root, d.range.begin).line)
                        : 0;
    lines.push_back(fmt::format("//   note@{}{}: {}", operand(n.range, sources),
                                distance == 0 ? "" : fmt::format(" (line {:+})", distance), n.message));
  }
  if (!d.hint.empty()) lines.push_back(fmt::format("//   hint: {}", d.hint));
  return lines;
}

std::string value_of(const std::vector<std::string>& lines, std::string_view key) {
  for (const std::string& l : lines)
    if (l.starts_with(key)) return l.substr(key.size());
  return "";
}

}  // namespace

std::string snake_case(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') {
      if (!out.empty()) out += '_';
      out += static_cast<char>(c - 'A' + 'a');
    } else {
      out += c;
    }
  }
  return out;
}

Outcome check(const std::string& path, const std::string& text) {
  Outcome out;
  std::vector<std::string> lines;
  bool wants_ir = false;
  for (const std::string& l : split_lines(text)) {
    if (l == "// IR:") {
      wants_ir = true;
      break;
    }
    if (!is_expectation(l)) lines.push_back(l);
  }
  std::string bare;
  for (const std::string& l : lines) bare += l + "\n";

  SourceManager sources;
  Diagnostics diags;
  Program program = Program::from_text(path, bare, sources, diags);
  FileId root = 1;
  SpecializeOptions options;
  std::istringstream defines(value_of(lines, "// define: "));
  for (std::string d; defines >> d;)
    if (size_t eq = d.find('='); eq != std::string::npos)
      options.constants.emplace_back(d.substr(0, eq), d.substr(eq + 1));
  if (std::optional<Arch> arch = parse_arch(value_of(lines, "// target: "))) options.arch = *arch;
  std::string ir_text;
  if (!diags.has_errors()) {
    std::vector<std::string> kernels = program.kernels();
    if (kernels.empty() || value_of(lines, "// kernel: ") == "choose") kernels = {""};
    for (const std::string& name : kernels) {
      options.kernel = name;
      std::optional<ir::Kernel> k = specialize(program, options, diags);
      if (!k) continue;
      for (const std::string& v : ir::verify(*k, ir::Stage::Sema)) out.defects.push_back(name + ": " + v);
      std::string printed = ir::print(*k);
      SourceManager ir_sources;
      Diagnostics ir_diags;
      std::optional<ir::Kernel> again = ir::parse_ir(ir_sources.add(name + ".ir", printed), ir_sources, ir_diags);
      if (!again) out.defects.push_back(name + ": its IR does not parse: " + render(ir_diags, ir_sources));
      else if (ir::print(*again) != printed) out.defects.push_back(name + ": its IR changes when it is parsed");
      for (const std::string& l : split_lines(printed)) ir_text += (l.empty() ? "//" : "// " + l) + "\n";
    }
  }
  out.has_errors = diags.has_errors();

  std::map<unsigned, std::vector<std::string>> below;  // by line, from 1
  std::vector<std::string> at_end;
  for (const Diagnostic& d : diags.all()) {
    out.kinds.push_back(d.kind);
    std::vector<std::string> e = expectation(d, sources, root);
    bool here = d.range.file == root && !(d.range.begin == 0 && d.range.end == 0);
    std::vector<std::string>& to = here ? below[sources.line_column(root, d.range.begin).line] : at_end;
    to.insert(to.end(), e.begin(), e.end());
  }
  for (unsigned n = 1; n <= lines.size(); ++n) {
    out.text += lines[n - 1] + "\n";
    std::string indent = lines[n - 1].substr(0, lines[n - 1].find_first_not_of(" \t"));
    if (lines[n - 1].find_first_not_of(" \t") == std::string::npos) indent.clear();
    for (const std::string& e : below[n]) out.text += indent + e + "\n";
  }
  for (auto& [n, list] : below)
    if (n > lines.size())
      for (const std::string& e : list) out.text += e + "\n";
  for (const std::string& e : at_end) out.text += e + "\n";
  if (wants_ir) out.text += "// IR:\n" + ir_text;
  return out;
}

}  // namespace tile::golden
