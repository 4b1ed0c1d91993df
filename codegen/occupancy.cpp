#include <algorithm>

#include "codegen/code_object.h"

namespace tile::codegen {
namespace {

constexpr unsigned max_workgroups_per_cu = 16;  // barrier resources; a workgroup of one wave needs none

unsigned round_up(unsigned value, unsigned granule) { return (value + granule - 1) / granule * granule; }

// 800 SGPRs a SIMD in units of 16, and what VCC, flat scratch and xnack take.
unsigned waves_by_sgprs(unsigned sgprs) { return sgprs <= 100 ? max_waves_per_simd : 7; }

}  // namespace

Occupancy occupancy_of(Arch arch, unsigned vgprs, unsigned sgprs, unsigned lds, unsigned threads) {
  Occupancy o;
  const unsigned waves = std::max(1u, (threads + wave_size - 1) / wave_size);
  auto per_simd = [](unsigned waves_per_cu) {
    return std::min(max_waves_per_simd, (waves_per_cu + simds_per_cu - 1) / simds_per_cu);
  };
  const unsigned most = waves == 1 ? max_waves_per_simd * simds_per_cu
                                   : std::min(max_waves_per_simd * simds_per_cu / waves, max_workgroups_per_cu);
  o.by_vgprs = occupancy(vgprs);
  o.by_sgprs = waves_by_sgprs(sgprs);
  const unsigned lds_taken = round_up(lds, info(arch).lds_granule);
  const unsigned by_lds = lds_taken == 0 ? most : info(arch).lds_bytes / lds_taken;
  o.by_lds = per_simd(std::min(by_lds, most) * waves);

  // A workgroup's waves are dealt over the SIMDs; the fullest of them decides.
  const unsigned share = (waves + simds_per_cu - 1) / simds_per_cu;
  const unsigned by_registers = std::min(o.by_vgprs, o.by_sgprs);
  const unsigned groups_by_registers =
      waves < simds_per_cu ? by_registers * simds_per_cu / waves : by_registers / share;
  o.workgroups_per_cu = std::min({groups_by_registers, by_lds, most});
  o.waves_per_simd = per_simd(o.workgroups_per_cu * waves);

  if (o.workgroups_per_cu == most) o.limit = per_simd(most * waves) < max_waves_per_simd ? "workgroup size" : "none";
  else if (by_lds <= groups_by_registers) o.limit = "lds";
  else o.limit = o.by_vgprs <= o.by_sgprs ? "vgprs" : "sgprs";
  return o;
}

}  // namespace tile::codegen
