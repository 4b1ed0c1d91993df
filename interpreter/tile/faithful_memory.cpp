// Loads and stores of lanes, as wide as `vector` says.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "interpreter/tile/access.h"
#include "interpreter/tile/faithful_state.h"

namespace tile::interp {

using ir::ValueId;

void FaithfulRun::make_view(const ir::Op& op) {
  ValueId r = op.results[0];
  ViewState v{};
  std::memcpy(&v.base, data(op.operands[0]), 8);
  unsigned rank = type(r).view_rank;
  for (unsigned d = 0; d < rank; ++d) {
    v.extent[d] = integer(op.operands[1 + d]);
    v.stride[d] = integer(op.operands[1 + rank + d]);
  }
  std::memcpy(make(r).data(), &v, sizeof v);
}

namespace {

// What one lane accesses at once.
struct Piece {
  bool inside = false;
  int64_t offset = 0;  // elements from the base
};

}  // namespace

// Registers [k * vector, k * vector + vector) of a lane are one access from the address of the first of them; groups of
// `granule` are inside of the view when their first element is.
void FaithfulRun::view_access(const ir::Op& op) {
  bool store = op.kind == OpKind::StoreView, mask = op.kind == OpKind::InBounds;
  ValueId view = op.operands[0], tile = store ? op.operands[1] : op.results[0];
  ViewState v;
  std::memcpy(&v, data(view), sizeof v);
  ElementAccess e(type(view).dtype);
  unsigned dims = type(view).view_rank;
  size_t first = store ? 2 : 1, size = size_of(tile);
  bool has_other = op.get_int(AttrKey::HasOther) != 0;
  const std::byte* other = has_other ? data(op.operands[first + dims]) : nullptr;
  bool other_tile = has_other && is_tile(op.operands[first + dims]);
  int64_t vector = std::max<int64_t>(op.get_int(AttrKey::Vector, 1), 1), granule = std::max<int64_t>(op.get_int(AttrKey::Granule, vector), 1);
  if (!is_tile(tile)) vector = granule = 1;
  if (vector * bit_width(type(view).dtype) > 128) return diverge(-1, fmt::format("an access of {} elements is wider than 16 bytes", vector));
  if (!store) make(tile);
  std::byte* values = data(tile);

  static const Places scalar{1, 1, {0}, {1}};
  const Places& p = is_tile(tile) ? places(tile) : scalar;
  unsigned lanes = is_tile(tile) ? 64 : 1;
  std::vector<std::vector<unsigned>> registers(dims);
  for (unsigned d = 0; d < dims; ++d)
    if (is_tile(op.operands[first + d])) registers[d] = projected_registers(layout_of(tile), type(op.operands[first + d]).shape, type(tile).shape);

  auto piece = [&](unsigned w, unsigned lane, unsigned r) {
    Piece at{true, 0};
    for (unsigned d = 0; d < dims; ++d) {
      ValueId index = op.operands[first + d];
      const std::byte* from = data(index);
      if (is_tile(index)) from += places(index).at(w, lane, registers[d][r]) * size_of(index);
      int64_t i = read_int(from, type(index).dtype);
      if (type(index).dtype == DType::U64 && i < 0) i = -1;
      at.inside &= i >= 0 && i < v.extent[d];
      at.offset = static_cast<int64_t>(static_cast<uint64_t>(i) * static_cast<uint64_t>(v.stride[d]) + static_cast<uint64_t>(at.offset));
    }
    return at;
  };
  for (unsigned w = 0; w < p.waves && !stopped(); ++w)
    for (unsigned lane = 0; lane < lanes && !stopped(); ++lane)
      for (unsigned r = 0; r < p.registers; ++r) {
        size_t place = p.at(w, lane, r);
        int32_t element = p.element[place];
        unsigned v0 = r / static_cast<unsigned>(vector) * static_cast<unsigned>(vector), g0 = r / static_cast<unsigned>(granule) * static_cast<unsigned>(granule);
        if (element < 0) continue;
        Piece start = piece(w, lane, v0), decides = granule == 1 ? piece(w, lane, r) : piece(w, lane, g0);
        if (mask) {
          values[place] = static_cast<std::byte>(piece(w, lane, r).inside);
          continue;
        }
        if (!decides.inside) {
          if (store) continue;
          if (!has_other) std::memset(values + place * size, 0, size);
          else std::memcpy(values + place * size, other + (other_tile ? place * size : 0), size);
          continue;
        }
        if (store && !p.primary[place]) continue;
        int64_t offset = start.offset + (r - v0);
        uint64_t address = e.address(v.base, offset), begin = e.address(v.base, start.offset);
        if (vector > 1 && begin % std::min<uint64_t>(static_cast<uint64_t>(vector) * bit_width(type(view).dtype) / 8, 4) != 0)
          return diverge(element, fmt::format("an access of {} elements is not aligned", vector));
        if (!mine_.memory().find(address, e.bytes(offset), store))
          return fail(fmt::format("{} of element {} is outside of every argument", store ? "store" : "load", element));
        if (!store) {
          e.load(v.base, offset, values + place * size);
          note_load(address, w, element);
          continue;
        }
        e.store(v.base, offset, values + place * size);
        note_store(address, e.bytes(offset), w, element);
      }
}

void FaithfulRun::note_load(uint64_t address, unsigned wave, int64_t element) {
  if (!races_) return;
  MemoryState& s = touched_[address];
  auto w = static_cast<int>(wave);
  if (s.writer != MemoryState::none && s.writer != w)
    diverge(element, fmt::format("wave {} loads what wave {} stored, without a barrier that orders memory", w, s.writer));
  s.reader = s.reader == MemoryState::none || s.reader == w ? w : MemoryState::many;
}

void FaithfulRun::note_store(uint64_t address, unsigned bytes, unsigned wave, int64_t element) {
  if (races_) {
    MemoryState& s = touched_[address];
    auto w = static_cast<int>(wave);
    if (s.writer != MemoryState::none && s.writer != w)
      diverge(element, fmt::format("wave {} stores where wave {} stored, without a barrier that orders memory", w, s.writer));
    if (s.reader != MemoryState::none && s.reader != w)
      diverge(element, fmt::format("wave {} stores where another one loaded, without a barrier that orders memory", w));
    s.writer = w;
  }
  auto at = mine_.place(address);
  for (unsigned i = 0; at && i < bytes; ++i)
    stores_.push_back({at->first, at->second + i, *reinterpret_cast<const uint8_t*>(address + i), element});
}

// As views, with one mask for each access.
void FaithfulRun::pointer_access(const ir::Op& op) {
  bool store = op.kind == OpKind::Store;
  ValueId pointers = op.operands[0], tile = store ? op.operands[1] : op.results[0];
  ElementAccess e(type(pointers).dtype);
  size_t next = store ? 2 : 1, size = size_of(tile);
  ValueId mask = op.get_int(AttrKey::HasMask) ? op.operands[next++] : ValueId{};
  ValueId other = op.get_int(AttrKey::HasOther) ? op.operands[next] : ValueId{};
  unsigned vector = static_cast<unsigned>(std::max<int64_t>(op.get_int(AttrKey::Vector, 1), 1));
  if (!is_tile(tile)) vector = 1;
  if (vector * e.size > 16) return diverge(-1, fmt::format("an access of {} elements is wider than 16 bytes", vector));
  if (!store) make(tile);
  std::byte* values = data(tile);
  static const Places scalar{1, 1, {0}, {1}};
  const Places& p = is_tile(tile) ? places(tile) : scalar;
  for (size_t place = 0; place < p.size(); ++place) {
    if (p.element[place] < 0) continue;
    size_t start = place / vector * vector;
    auto wave = static_cast<unsigned>(place / p.registers / 64);
    bool on = !mask.valid() || data(mask)[is_tile(mask) ? start : 0] != std::byte{0};
    if (!on) {
      if (store) continue;
      if (!other.valid()) std::memset(values + place * size, 0, size);
      else std::memcpy(values + place * size, data(other) + (is_tile(other) ? place * size : 0), size);
      continue;
    }
    if (store && !p.primary[place]) continue;
    uint64_t base;
    std::memcpy(&base, data(pointers) + start * 8, 8);
    uint64_t address = base + (place - start) * e.size;
    if (vector > 1 && base % std::min<uint64_t>(vector * e.size, 4) != 0)
      return diverge(p.element[place], fmt::format("an access of {} elements is not aligned", vector));
    if (!mine_.memory().find(address, e.size, store))
      return fail(fmt::format("{} of element {} is outside of every argument", store ? "store" : "load", p.element[place]));
    if (!store) {
      e.load(address, 0, values + place * size);
      note_load(address, wave, p.element[place]);
    } else {
      e.store(address, 0, values + place * size);
      note_store(address, e.size, wave, p.element[place]);
    }
  }
}

}  // namespace tile::interp
