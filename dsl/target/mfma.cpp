#include "dsl/target/mfma.h"

#include <fmt/format.h>

namespace tile {
namespace {

constexpr std::string_view intrinsic_prefix = "llvm.amdgcn.mfma.";

// The (lane group, element) -> k part of an operand map, for everything but F64Small.
unsigned operand_k(const MfmaInfo& row, unsigned size, unsigned group, unsigned element, MfmaFormat format) {
  switch (row.maps) {
    case MfmaMaps::Blocks: return element;
    case MfmaMaps::Split: case MfmaMaps::F64: return size * row.k / wave_size * group + element;
    case MfmaMaps::Scaled:
      if (bit_width(dtype_of(format)) == 8) return row.k / 2 * (element / 16) + 16 * group + element % 16;
      return 32 * group + element;
    case MfmaMaps::F64Small: break;
  }
  return 0;
}

// A and B have the same maps with rows and columns exchanged: (i or j, k, block).
struct OperandCoord {
  unsigned ij, k, block;
};

OperandCoord operand_coord(const MfmaInfo& row, unsigned size, unsigned lane, unsigned element, MfmaFormat format) {
  if (row.maps == MfmaMaps::F64Small) return {lane % 4, lane / 16, lane / 4 % 4};
  unsigned group = lane / size;
  return {lane % size, operand_k(row, size, group, element, format), row.maps == MfmaMaps::Blocks ? group : 0};
}

MfmaPlace operand_place(const MfmaInfo& row, unsigned size, OperandCoord at, MfmaFormat format) {
  switch (row.maps) {
    case MfmaMaps::F64Small: return {at.k * 16 + at.block * 4 + at.ij, 0};
    case MfmaMaps::Blocks: return {at.block * size + at.ij, at.k};
    case MfmaMaps::Split: case MfmaMaps::F64: {
      unsigned n = size * row.k / wave_size;
      return {at.k / n * size + at.ij, at.k % n};
    }
    case MfmaMaps::Scaled: {
      if (bit_width(dtype_of(format)) != 8) return {at.k / 32 * size + at.ij, at.k % 32};
      unsigned half = row.k / 2, in_half = at.k % half;
      return {in_half / 16 * size + at.ij, at.k / half * 16 + in_half % 16};
    }
  }
  return {0, 0};
}

}  // namespace

MfmaCoord a_coord(MfmaId id, unsigned lane, unsigned element, MfmaFormat format) {
  OperandCoord c = operand_coord(info(id), info(id).m, lane, element, format);
  return {c.ij, c.k, c.block};
}

MfmaCoord b_coord(MfmaId id, unsigned lane, unsigned element, MfmaFormat format) {
  OperandCoord c = operand_coord(info(id), info(id).n, lane, element, format);
  return {c.k, c.ij, c.block};
}

MfmaCoord d_coord(MfmaId id, unsigned lane, unsigned r) {
  const MfmaInfo& row = info(id);
  if (row.maps == MfmaMaps::F64Small) return {lane / 16, lane % 4, lane / 4 % 4};
  if (row.maps == MfmaMaps::F64) return {4 * r + lane / 16, lane % 16, 0};
  if (row.m == 32) return {8 * (r % 16 / 4) + 4 * (lane / 32) + r % 4, lane % 32, r / 16};
  if (row.m == 16) return {4 * (lane / 16) + r % 4, lane % 16, r / 4};
  return {r, lane % 4, lane / 4};
}

MfmaPlace a_place(MfmaId id, MfmaCoord at, MfmaFormat format) {
  return operand_place(info(id), info(id).m, {at.row, at.col, at.block}, format);
}

MfmaPlace b_place(MfmaId id, MfmaCoord at, MfmaFormat format) {
  return operand_place(info(id), info(id).n, {at.col, at.row, at.block}, format);
}

MfmaPlace d_place(MfmaId id, MfmaCoord at) {
  const MfmaInfo& row = info(id);
  if (row.maps == MfmaMaps::F64Small) return {at.row * 16 + at.block * 4 + at.col, 0};
  if (row.maps == MfmaMaps::F64) return {at.row % 4 * 16 + at.col, at.row / 4};
  if (row.m == 32) return {at.row / 4 % 2 * 32 + at.col, at.block * 16 + at.row / 8 * 4 + at.row % 4};
  if (row.m == 16) return {at.row / 4 * 16 + at.col, at.block * 4 + at.row % 4};
  return {at.block * 4 + at.col, at.row};
}

std::string mfma_mnemonic(MfmaId id, Arch a) {
  const MfmaInfo& row = info(id);
  std::string name(row.intrinsic.substr(intrinsic_prefix.size()));
  for (char& c : name)
    if (c == '.') c = '_';
  if (a != Arch::Gfx90a && row.passes[0] != 0) {
    // f32_32x32x4bf16_1k became f32_32x32x4_2b_bf16.
    if (name.ends_with("_1k")) name.resize(name.size() - 3);
    std::string shape = fmt::format("{}x{}x{}", row.m, row.n, row.k);
    size_t type = name.find(shape) + shape.size();
    name.insert(type, row.blocks > 1 ? fmt::format("_{}b_", row.blocks) : "_");
  }
  return "v_mfma_" + name;
}

std::optional<MfmaId> mfma_from_mnemonic(std::string_view mnemonic, Arch a) {
  for (const MfmaInfo& row : mfma_table) {
    if (!exists_on(row.id, a)) continue;
    std::string full = mfma_mnemonic(row.id, a);
    if (full == mnemonic) return row.id;
    if (row.maps == MfmaMaps::Scaled && "v_mfma_" + full.substr(std::string_view("v_mfma_scale_").size()) == mnemonic) return row.id;
  }
  return std::nullopt;
}

}  // namespace tile
