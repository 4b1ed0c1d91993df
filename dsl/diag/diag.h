#pragma once
// Diagnostics: what is said to the user about his text. A message is lower case, one sentence, no full stop; it says
// what was found and what was expected. The place is a range of bytes in a source file; notes name further places.
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace tile {

using FileId = uint32_t;

// Half-open range of bytes [begin, end) in a file of a SourceManager. An empty range points between two bytes.
struct Range {
  FileId file = 0;
  uint32_t begin = 0, end = 0;
  bool operator==(const Range&) const = default;
};

struct LineColumn {
  unsigned line = 1, column = 1;  // both from 1; a column counts bytes
};

// Owns the text of every file read. File 0 is a file without name or text, for places that are unknown.
class SourceManager {
 public:
  SourceManager();
  FileId add(std::string path, std::string text);
  const std::string& path(FileId f) const { return files_[f].path; }
  const std::string& text(FileId f) const { return files_[f].text; }
  LineColumn line_column(FileId f, uint32_t offset) const;
  // The whole line (without its end) that holds the offset.
  std::string_view line_text(FileId f, uint32_t offset) const;
  // "path:line:column" of the range's begin; "" for file 0.
  std::string where(Range r) const;
  size_t size() const { return files_.size(); }

 private:
  struct File {
    std::string path, text;
    std::vector<uint32_t> line_starts;
  };
  std::deque<File> files_;
};

enum class Severity : uint8_t { Error, Warning, Remark };

enum class DiagKind : uint16_t {
#define TILE_DIAG(Kind, ...) Kind,
#include "dsl/diag/diag.def"
};

struct DiagInfo {
  DiagKind kind;
  std::string_view name, code;
  Severity severity;
  std::string_view title;
};
const DiagInfo& info(DiagKind kind);
// All rows of diag.def, in order.
const std::vector<DiagInfo>& diag_table();

struct Note {
  Range range;
  std::string message;
};

struct Diagnostic {
  DiagKind kind;
  Range range;
  std::string message;
  std::string hint;  // a fix that is likely right; may be empty
  std::vector<Note> notes;
};

// Collects diagnostics. The same message of one kind at one place is kept once.
class Diagnostics {
 public:
  Diagnostic& emit(DiagKind kind, Range range, std::string message, std::string hint = {});
  bool has_errors() const { return errors_ != 0; }
  size_t error_count() const { return errors_; }
  const std::deque<Diagnostic>& all() const { return list_; }
  void clear();

 private:
  std::deque<Diagnostic> list_;
  size_t errors_ = 0;
};

// One diagnostic as text:
//   path:3:14: error[T0311]: message
//      3 |     let y = a + b;
//        |             ~~^~~
//   note lines in the same form, then "  hint: ...".
std::string render(const Diagnostic& d, const SourceManager& sources);
std::string render(const Diagnostics& d, const SourceManager& sources);

// The candidate nearest to `name` by edit distance, or "" if none is near enough to be meant.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace tile
