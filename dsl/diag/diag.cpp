#include "dsl/diag/diag.h"

#include <fmt/format.h>

#include <algorithm>

namespace tile {

SourceManager::SourceManager() { add("", ""); }

FileId SourceManager::add(std::string path, std::string text) {
  File f{std::move(path), std::move(text), {0}};
  for (uint32_t i = 0; i < f.text.size(); ++i)
    if (f.text[i] == '\n') f.line_starts.push_back(i + 1);
  files_.push_back(std::move(f));
  return static_cast<FileId>(files_.size() - 1);
}

LineColumn SourceManager::line_column(FileId f, uint32_t offset) const {
  const auto& starts = files_[f].line_starts;
  auto it = std::upper_bound(starts.begin(), starts.end(), offset);
  unsigned line = static_cast<unsigned>(it - starts.begin());
  return {line, offset - starts[line - 1] + 1};
}

std::string_view SourceManager::line_text(FileId f, uint32_t offset) const {
  const File& file = files_[f];
  uint32_t begin = file.line_starts[line_column(f, offset).line - 1];
  size_t end = file.text.find('\n', begin);
  if (end == std::string::npos) end = file.text.size();
  if (end > begin && file.text[end - 1] == '\r') --end;
  return std::string_view(file.text).substr(begin, end - begin);
}

std::string SourceManager::where(Range r) const {
  if (r.file == 0) return "";
  LineColumn lc = line_column(r.file, r.begin);
  return fmt::format("{}:{}:{}", path(r.file), lc.line, lc.column);
}

const std::vector<DiagInfo>& diag_table() {
  static const std::vector<DiagInfo> table = {
#define TILE_DIAG(Kind, code, severity, title) {DiagKind::Kind, #Kind, code, Severity::severity, title},
#include "dsl/diag/diag.def"
  };
  return table;
}

const DiagInfo& info(DiagKind kind) { return diag_table()[static_cast<size_t>(kind)]; }

Diagnostic& Diagnostics::emit(DiagKind kind, Range range, std::string message, std::string hint) {
  for (Diagnostic& d : list_)
    if (d.kind == kind && d.range == range && d.message == message) return d;
  if (info(kind).severity == Severity::Error) ++errors_;
  list_.push_back({kind, range, std::move(message), std::move(hint), {}});
  return list_.back();
}

void Diagnostics::clear() {
  list_.clear();
  errors_ = 0;
}

namespace {

// Source lines can hold any bytes: control characters are shown as spaces, long lines are cut around the caret.
void append_snippet(std::string& out, Range r, const SourceManager& sources) {
  if (r.file == 0) return;
  LineColumn lc = sources.line_column(r.file, r.begin);
  std::string_view line = sources.line_text(r.file, r.begin);
  size_t col = std::min<size_t>(lc.column - 1, line.size());
  constexpr size_t max_width = 160;
  size_t from = 0;
  if (line.size() > max_width && col > max_width / 2) from = col - max_width / 2;
  std::string shown(line.substr(from, max_width));
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  size_t caret = col - from;
  size_t wanted = r.end > r.begin ? r.end - r.begin : 1;
  size_t width = std::max<size_t>(1, std::min(wanted, shown.size() > caret ? shown.size() - caret : 1));
  out += fmt::format("{:>5} | {}\n", lc.line, shown);
  out += fmt::format("      | {}^{}\n", std::string(caret, ' '), std::string(width - 1, '~'));
}

std::string_view severity_name(Severity s) {
  switch (s) {
    case Severity::Error: return "error";
    case Severity::Warning: return "warning";
    case Severity::Remark: return "remark";
  }
  return "";
}

}  // namespace

std::string render(const Diagnostic& d, const SourceManager& sources) {
  const DiagInfo& row = info(d.kind);
  std::string where = sources.where(d.range);
  std::string out = fmt::format("{}{}{}[{}]: {}\n", where, where.empty() ? "" : ": ", severity_name(row.severity),
                                row.code, d.message);
  append_snippet(out, d.range, sources);
  for (const Note& n : d.notes) {
    std::string at = sources.where(n.range);
    out += fmt::format("{}{}note: {}\n", at, at.empty() ? "" : ": ", n.message);
    append_snippet(out, n.range, sources);
  }
  if (!d.hint.empty()) out += fmt::format("  hint: {}\n", d.hint);
  return out;
}

std::string render(const Diagnostics& d, const SourceManager& sources) {
  std::string out;
  for (const Diagnostic& one : d.all()) out += render(one, sources);
  return out;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  if (name.size() < 2) return best;  // one letter is near to every other
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& c : candidates) {
    std::vector<size_t> row(c.size() + 1);
    for (size_t j = 0; j <= c.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= name.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= c.size(); ++j) {
        size_t above = row[j];
        row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (name[i - 1] != c[j - 1])});
        diagonal = above;
      }
    }
    if (row[c.size()] < best_distance) best_distance = row[c.size()], best = c;
  }
  return best;
}

}  // namespace tile
