#pragma once
// The prelude: functions of the language written in the language. Every .tile file of this folder is part of it and is
// embedded into the library when it is built. A part is parsed only when a name of it is used.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tile::prelude {

struct Part {
  std::string_view name;  // "math.tile"
  std::string_view text;
};

const std::vector<Part>& parts();

// The part that defines the function `name` at file level; null if there is none. Names that begin with `_` are helpers:
// every part may use those of the others, programs cannot (they are found only with `helpers`). No two parts define one name.
std::optional<size_t> part_of(std::string_view name, bool helpers = false);
// Every name that programs can use, in order of definition.
const std::vector<std::string>& names();

}  // namespace tile::prelude
