#pragma once
// The instruction tables other than the vector ALU's; each adds its rows.
#include <string>
#include <utility>
#include <vector>

#include "interpreter/machine/inst.h"

namespace tile::sim {
using OpTable = std::vector<std::pair<std::string, OpInfo>>;
void add_salu(OpTable& table);
void add_special(OpTable& table);   // carries, selects, lane access, divisions
void add_mfma(OpTable& table);
void add_lds(OpTable& table);
void add_flat(OpTable& table);
void add_buffer(OpTable& table);
void add_convert(OpTable& table);   // fp8, fp6, fp4 conversions
}  // namespace tile::sim
