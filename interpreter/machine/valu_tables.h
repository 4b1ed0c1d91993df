#pragma once
// The vector ALU table, once per host instruction set.
#include <string>
#include <utility>
#include <vector>

#include "interpreter/machine/inst.h"

namespace tile::sim {
namespace base { void add_valu(std::vector<std::pair<std::string, OpInfo>>& table); void add_packed(std::vector<std::pair<std::string, OpInfo>>& table); }
namespace v3 { void add_valu(std::vector<std::pair<std::string, OpInfo>>& table); void add_packed(std::vector<std::pair<std::string, OpInfo>>& table); }
}  // namespace tile::sim
