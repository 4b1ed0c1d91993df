// One instruction on the registers of a wave: registers to matrices, mfma_matrix per block, and back.
#include <cstring>
#include <vector>

#include "dsl/num/mfma.h"
#include "dsl/num/storage.h"

namespace tile::num {
namespace {

// For lane and element, the index into [block][row][col] matrices.
struct IndexMaps {
  std::vector<uint16_t> a[2], b[2];  // by operand width: 8 bits or more, fewer (scaled instructions differ)
  std::vector<uint16_t> d;
};

IndexMaps make_maps(MfmaId id) {
  const MfmaInfo& row = info(id);
  IndexMaps maps;
  auto add = [](std::vector<uint16_t>& v, MfmaCoord at, unsigned rows, unsigned cols) {
    v.push_back(static_cast<uint16_t>((at.block * rows + at.row) * cols + at.col));
  };
  for (unsigned lane = 0; lane < wave_size; lane++) {
    for (unsigned w = 0; w < 2; w++) {
      MfmaFormat format = w == 0 ? MfmaFormat::F8E4M3 : MfmaFormat::F4E2M1;
      for (unsigned e = 0; e < a_elements(id); e++) add(maps.a[w], a_coord(id, lane, e, format), row.m, row.k);
      for (unsigned e = 0; e < b_elements(id); e++) add(maps.b[w], b_coord(id, lane, e, format), row.k, row.n);
    }
    for (unsigned r = 0; r < d_elements(id); r++) add(maps.d, d_coord(id, lane, r), row.m, row.n);
  }
  return maps;
}

const IndexMaps& maps_of(MfmaId id) {
  static const std::vector<IndexMaps> all = [] {
    std::vector<IndexMaps> v;
    for (const MfmaInfo& row : mfma_table) v.push_back(make_maps(row.id));
    return v;
  }();
  return all[static_cast<unsigned>(id)];
}

// The matrices of one operand, elements as in tile buffers.
using Matrix = std::vector<uint64_t>;  // storage of any element type, suitably aligned

// Element e (of `width` bits) of a lane's registers.
uint64_t element(const uint32_t* regs, unsigned lane, unsigned e, unsigned width) {
  if (width == 64) return regs[2 * e * wave_size + lane] | static_cast<uint64_t>(regs[(2 * e + 1) * wave_size + lane]) << 32;
  unsigned bit = e * width, reg = bit / 32, shift = bit % 32;
  uint64_t word = regs[reg * wave_size + lane];
  if (shift + width > 32) word |= static_cast<uint64_t>(regs[(reg + 1) * wave_size + lane]) << 32;
  return word >> shift & ((uint64_t{1} << width) - 1);
}

void put(Matrix& m, unsigned bytes, size_t index, uint64_t value) { std::memcpy(reinterpret_cast<char*>(m.data()) + index * bytes, &value, bytes); }

// The loop for elements of one C++ type, in registers of 32 bits: `per_reg` to a register.
template <class T, class F>
void unpack_whole(const uint32_t* regs, const std::vector<uint16_t>& map, T* m, F source_lane) {
  constexpr unsigned per_reg = 4 / sizeof(T);
  unsigned per_lane = static_cast<unsigned>(map.size() / wave_size);
  for (unsigned lane = 0; lane < wave_size; lane++) {
    const uint16_t* index = &map[lane * per_lane];
    const uint32_t* source = regs + source_lane(lane);
    for (unsigned e = 0; e < per_lane; e++) m[index[e]] = static_cast<T>(source[e / per_reg * wave_size] >> (e % per_reg * 8 * sizeof(T)) % 32);
  }
}

// `source_lane` gives the lane whose registers a lane uses; `flip` (64-bit elements only) is xored into every element.
template <class F>
Matrix unpack(const uint32_t* regs, const std::vector<uint16_t>& map, DType t, uint64_t flip, F source_lane) {
  unsigned per_lane = static_cast<unsigned>(map.size() / wave_size), width = bit_width(t), bytes = buffer_bytes(t);
  Matrix m(map.size() * bytes / 8 + 1);
  switch (width) {
    case 32: unpack_whole(regs, map, reinterpret_cast<uint32_t*>(m.data()), source_lane); return m;
    case 16: unpack_whole(regs, map, reinterpret_cast<uint16_t*>(m.data()), source_lane); return m;
    case 8: unpack_whole(regs, map, reinterpret_cast<uint8_t*>(m.data()), source_lane); return m;
    default: break;
  }
  for (unsigned lane = 0; lane < wave_size; lane++) {
    unsigned source = source_lane(lane);
    for (unsigned e = 0; e < per_lane; e++) put(m, bytes, map[lane * per_lane + e], element(regs, source, e, width) ^ flip);
  }
  return m;
}

// The result's elements of `words` registers each.
void pack(const Matrix& m, const std::vector<uint16_t>& map, unsigned words, uint32_t* regs) {
  auto per_lane = static_cast<unsigned>(map.size() / wave_size);
  auto data = reinterpret_cast<const char*>(m.data());
  for (unsigned lane = 0; lane < wave_size; lane++)
    for (unsigned r = 0; r < per_lane; r++)
      for (unsigned w = 0; w < words; w++) std::memcpy(&regs[(r * words + w) * wave_size + lane], data + (map[lane * per_lane + r] * words + w) * 4, 4);
}

const char* block_of(const Matrix& m, DType t, unsigned block, unsigned size) { return reinterpret_cast<const char*>(m.data()) + size_t{block} * size * buffer_bytes(t); }

}  // namespace

void mfma_execute(MfmaId id, Arch arch, const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d, const MfmaModifiers& mod) {
  const MfmaInfo& row = info(id);
  if (!exists_on(id, arch)) return;
  bool scaled = row.maps == MfmaMaps::Scaled;
  auto format = [&](unsigned field) { return scaled && field <= 4 ? static_cast<MfmaFormat>(field) : MfmaFormat::F8E4M3; };
  MfmaFormat fa = format(mod.cbsz), fb = format(mod.blgp);
  DType ta = *dtype_of(row.a, arch, fa), tb = *dtype_of(row.b, arch, fb), td = *dtype_of(row.cd, arch);
  unsigned neg = has_neg(id, arch) ? mod.blgp : 0, blgp = has_blgp(id, arch) ? mod.blgp : 0;
  uint64_t sign = uint64_t{1} << 63;
  auto same = [](unsigned lane) { return lane; };
  const IndexMaps& maps = maps_of(id);
  Matrix ma = unpack(a, maps.a[bit_width(ta) < 8], ta, neg & 1 ? sign : 0, same);
  Matrix mb = unpack(b, maps.b[bit_width(tb) < 8], tb, neg & 2 ? sign : 0, [&](unsigned lane) { return blgp_lane(blgp, lane); });
  Matrix md = unpack(c, maps.d, td, neg & 4 ? sign : 0, same);

  std::vector<uint8_t> sa, sb;
  if (mod.a_scale != nullptr || mod.b_scale != nullptr) {
    sa.assign(row.m * row.k / 32, 127);
    sb.assign(row.k / 32 * row.n, 127);
    for (unsigned lane = 0; lane < wave_size; lane++) {
      unsigned ij = lane % row.m, block = lane / row.m;
      if (mod.a_scale != nullptr) sa[ij * (row.k / 32) + block] = static_cast<uint8_t>(mod.a_scale[lane] >> (8 * (mod.a_opsel & 3)));
      if (mod.b_scale != nullptr) sb[block * row.n + ij] = static_cast<uint8_t>(mod.b_scale[lane] >> (8 * (mod.b_opsel & 3)));
    }
  }
  for (unsigned block = 0; block < row.blocks; block++) {
    unsigned a_block = has_cbsz(id) ? cbsz_block(mod.cbsz, mod.abid, block) % row.blocks : block;
    auto out = const_cast<char*>(block_of(md, td, block, row.m * row.n));
    mfma_matrix(id, arch, block_of(ma, ta, a_block, row.m * row.k), block_of(mb, tb, block, row.k * row.n), out, out, fa, fb,
                sa.empty() ? nullptr : sa.data(), sb.empty() ? nullptr : sb.data());
  }
  pack(md, maps.d, row.cd == MfmaType::F64 ? 2 : 1, d);
}

}  // namespace tile::num
