// The instruction tables put together, and the choice of the host's instruction set.
#include <unordered_map>

#include "interpreter/machine/program.h"
#include "interpreter/machine/salu.h"
#include "interpreter/machine/valu_tables.h"
#include "interpreter/machine/wave.h"

namespace tile::sim {

const OpInfo* find_op(const std::string& key) {
  static const std::unordered_map<std::string, OpInfo> table = [] {
    OpTable rows;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      v3::add_valu(rows);
      v3::add_packed(rows);
    } else {
      base::add_valu(rows);
      base::add_packed(rows);
    }
    add_salu(rows);
    add_special(rows);
    add_lds(rows);
    add_flat(rows);
    add_buffer(rows);
    add_mfma(rows);
    add_convert(rows);
    std::unordered_map<std::string, OpInfo> map;
    for (auto& [name, op] : rows) map[name] = op;
    return map;
  }();
  const auto it = table.find(key);
  return it == table.end() ? nullptr : &it->second;
}

void exec_unknown(Wave& w, const Inst&) { fault(w, FaultKind::unknown_instruction, "the simulator does not know this instruction"); }

}  // namespace tile::sim
