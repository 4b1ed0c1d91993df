#include <algorithm>

#include "dsl/syntax/token.h"

namespace tile::syntax {

Diagnostic* ErrorLog::add(DiagKind kind, uint32_t begin, uint32_t end, std::string message, std::string hint) {
  if (full()) {
    overflow_ = true;
    return nullptr;
  }
  return &list_.emplace_back(Diagnostic{kind, {file_, begin, end}, std::move(message), std::move(hint), {}});
}

bool ErrorLog::any_in(uint32_t begin, uint32_t end) const {
  return std::any_of(list_.begin(), list_.end(),
                     [&](const Diagnostic& d) { return d.range.begin >= begin && d.range.begin < end; });
}

void ErrorLog::flush(Diagnostics& diags) {
  std::stable_sort(list_.begin(), list_.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.range.begin < b.range.begin; });
  for (Diagnostic& d : list_) {
    Diagnostic& out = diags.emit(d.kind, d.range, std::move(d.message), std::move(d.hint));
    if (out.notes.empty()) out.notes = std::move(d.notes);
  }
  if (overflow_ && !list_.empty())
    diags.emit(DiagKind::UnexpectedToken, list_.back().range, "too many errors in this file; the others are not shown");
  list_.clear();
}

}  // namespace tile::syntax
