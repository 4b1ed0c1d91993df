#include "dsl/prelude/prelude.h"

#include <map>

namespace tile::prelude {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

bool is_helper(std::string_view name) { return name.starts_with('_'); }

struct Index {
  std::map<std::string, size_t, std::less<>> part;     // of every function, helpers too
  std::vector<std::string> names;                      // without helpers
};

// Functions at file level start a line with `fn `.
Index make_index() {
  Index index;
  for (size_t p = 0; p < parts().size(); ++p) {
    std::string_view text = parts()[p].text;
    for (size_t at = 0; at < text.size();) {
      size_t line_end = text.find('\n', at);
      if (line_end == std::string_view::npos) line_end = text.size();
      std::string_view line = text.substr(at, line_end - at);
      at = line_end + 1;
      if (!line.starts_with("fn ")) continue;
      line.remove_prefix(3);
      size_t n = 0;
      while (n < line.size() && is_name_char(line[n])) ++n;
      std::string name(line.substr(0, n));
      if (index.part.try_emplace(name, p).second && !is_helper(name)) index.names.push_back(name);
    }
  }
  return index;
}

const Index& index() {
  static const Index i = make_index();
  return i;
}

}  // namespace

std::optional<size_t> part_of(std::string_view name, bool helpers) {
  if (!helpers && is_helper(name)) return std::nullopt;
  auto it = index().part.find(name);
  if (it == index().part.end()) return std::nullopt;
  return it->second;
}

const std::vector<std::string>& names() { return index().names; }

}  // namespace tile::prelude
