#pragma once
// Loads, stores and atomics of the vector memory instructions, over a policy that says where each lane's data lives:
//   Places(wave, inst, bytes); Place at(lane); int bytes(lane, all): how many of the bytes exist (the others read 0
//   and are not written); count(); issued().
#include <fmt/format.h>

#include "interpreter/machine/atomics.h"
#include "interpreter/machine/checks.h"
#include "interpreter/machine/lane_memory.h"
#include "interpreter/machine/salu.h"

namespace tile::sim {

enum class Space : uint8_t { global, lds, scratch };
struct Place {
  Space space;
  uint64_t address;   // device address, LDS offset, or offset in the lane's scratch
};

// Where byte `offset` of a lane's scratch is in Wave::scratch.
inline size_t scratch_byte(int lane, uint64_t offset) { return size_t(offset / 4 * 256 + uint64_t(lane) * 4 + offset % 4); }

bool read_place(Wave& w, int lane, Place p, int bytes, uint8_t* to, bool atomic = false);
bool write_place(Wave& w, int lane, Place p, int bytes, const uint8_t* from, bool atomic = false);
// Undefined bits of a store's data, and the shadow of scratch (checks only).
void shadow_load(Wave& w, int lane, Place p, LoadShape shape, int reg, bool skipped);
bool shadow_store(Wave& w, const Inst& i, int lane, Place p, int bytes, bool high, int reg);

template <class Places, int Bytes, bool Sign, Half H> void vector_load(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  if (exec == 0) return Places::issued(w, i, i.dst, load_rows(Bytes));
  const Places places(w, i, Bytes);
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    alignas(16) uint8_t buf[16] = {};
    const int n = places.bytes(l, Bytes);
    if (n && !read_place(w, l, places.at(l), n, buf)) return;
    deliver(w, i.dst, l, {Bytes, Sign, H}, buf);
    if (w.checks) shadow_load(w, l, places.at(l), {Bytes, Sign, H}, i.dst, n == 0);
  }
  places.count(w, i, exec, Bytes);
  Places::issued(w, i, i.dst, load_rows(Bytes));
}

template <class Places, int Bytes, bool High> void vector_store(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  if (exec == 0) return Places::issued(w, i, 0, 0);
  const Places places(w, i, Bytes);
  for (int l = 0; l < lanes; ++l) {
    const int n = places.bytes(l, Bytes);
    if (!(exec >> l & 1) || n == 0) continue;
    alignas(16) uint8_t buf[16];
    collect(w, i.data, l, Bytes, High, buf);
    if (w.checks && !shadow_store(w, i, l, places.at(l), Bytes, High, i.data)) return;
    if (!write_place(w, l, places.at(l), n, buf)) return;
  }
  places.count(w, i, exec, Bytes);
  Places::issued(w, i, 0, 0);
}

// Compare-and-swap has the new value first and the comparison behind it.
template <class Places, class U, Rmw Op> void vector_atomic(Wave& w, const Inst& i) {
  const uint64_t exec = w.exec();
  const bool returns = i.imm;
  constexpr int n = sizeof(U) / 4;
  const int width = returns ? n : 0;
  if (exec == 0) return Places::issued(w, i, i.dst, width);
  const Places places(w, i, sizeof(U));
  auto value = [&](int reg, int l) -> U {
    if constexpr (n == 1) return w.v[reg][l];
    else return uint64_t(w.v[reg + 1][l]) << 32 | w.v[reg][l];
  };
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    U old = 0;
    if (places.bytes(l, int(sizeof(U))) == int(sizeof(U))) {
      const Place p = places.at(l);
      const U data = value(i.data, l);
      const U cmp = Op == Rmw::cmpswap ? value(i.data + n, l) : 0;
      if (w.checks && !shadow_store(w, i, l, p, int(sizeof(U)), false, i.data)) return;
      if (p.space == Space::global) {
        if (p.address % sizeof(U)) return fault(w, FaultKind::misaligned, fmt::format("atomic at {:#x}, which is not a multiple of {}", p.address, sizeof(U)), l);
        uint8_t* at = global_pointer(w, p.address, sizeof(U), true, l);
        if (!at) return;
        old = rmw_shared<U>(Op, at, data, cmp);
      } else {
        if (!read_place(w, l, p, sizeof(U), reinterpret_cast<uint8_t*>(&old), true)) return;
        const U next = rmw<U>(Op, old, data, cmp);
        if (!write_place(w, l, p, sizeof(U), reinterpret_cast<const uint8_t*>(&next), true)) return;
      }
    }
    if (returns) {
      w.v[i.dst][l] = uint32_t(old);
      if constexpr (n == 2) w.v[i.dst + 1][l] = uint32_t(old >> 32);
      if (w.checks)
        for (int k = 0; k < n; ++k) w.checks->v_undef[i.dst + k][l] = 0;
    }
  }
  places.count(w, i, exec, sizeof(U));
  Places::issued(w, i, i.dst, width);
}

// Memory to LDS: lane l of a dword, 3 or 4 dword load writes at base + l * bytes; sub-dword loads fill a dword.
template <int Bytes, bool Sign, class Places> void dma_to_lds(Wave& w, const Inst& i, const Places& places, uint64_t exec, uint32_t base) {
  constexpr int step = Bytes < 4 ? 4 : Bytes;
  uint32_t address[lanes];
  for (int l = 0; l < lanes; ++l) address[l] = base + uint32_t(step * l);
  for (int l = 0; l < lanes; ++l) {
    if (!(exec >> l & 1)) continue;
    alignas(16) uint8_t buf[16] = {};
    const int n = places.bytes(l, Bytes);
    if (n && !read_place(w, l, places.at(l), n, buf)) return;
    if (Sign) {
      const int32_t x = Bytes == 1 ? int32_t(int8_t(buf[0])) : int32_t(int16_t(uint16_t(buf[0] | buf[1] << 8)));
      std::memcpy(buf, &x, 4);
    }
    if (!lds_write(w, l, address[l], step, buf)) return;
  }
  places.count(w, i, exec, Bytes);
  issue_dma(w, i, address, exec, step);
}

template <class Places> struct MemoryRows {
  OpTable& table;
  std::string prefix;
  InstClass cls;

  void row(const std::string& name, Handler fn, int bytes, uint16_t flags) {
    OpInfo o;
    o.fn = fn;
    o.cls = cls;
    o.aux = bytes;
    o.flags = flags;
    o.shadow = Shadow::custom;
    table.emplace_back(prefix + name, o);
  }
  void loads_and_stores() {
    row("LOAD_UBYTE", vector_load<Places, 1, false, Half::none>, 1, op_load);
    row("LOAD_SBYTE", vector_load<Places, 1, true, Half::none>, 1, op_load);
    row("LOAD_USHORT", vector_load<Places, 2, false, Half::none>, 2, op_load);
    row("LOAD_SSHORT", vector_load<Places, 2, true, Half::none>, 2, op_load);
    row("LOAD_DWORD", vector_load<Places, 4, false, Half::none>, 4, op_load);
    row("LOAD_DWORDX2", vector_load<Places, 8, false, Half::none>, 8, op_load);
    row("LOAD_DWORDX3", vector_load<Places, 12, false, Half::none>, 12, op_load);
    row("LOAD_DWORDX4", vector_load<Places, 16, false, Half::none>, 16, op_load);
    row("LOAD_UBYTE_D16", vector_load<Places, 1, false, Half::lo>, 1, op_load);
    row("LOAD_UBYTE_D16_HI", vector_load<Places, 1, false, Half::hi>, 1, op_load);
    row("LOAD_SBYTE_D16", vector_load<Places, 1, true, Half::lo>, 1, op_load);
    row("LOAD_SBYTE_D16_HI", vector_load<Places, 1, true, Half::hi>, 1, op_load);
    row("LOAD_SHORT_D16", vector_load<Places, 2, false, Half::lo>, 2, op_load);
    row("LOAD_SHORT_D16_HI", vector_load<Places, 2, false, Half::hi>, 2, op_load);
    row("STORE_BYTE", vector_store<Places, 1, false>, 1, op_store);
    row("STORE_BYTE_D16_HI", vector_store<Places, 1, true>, 1, op_store);
    row("STORE_SHORT", vector_store<Places, 2, false>, 2, op_store);
    row("STORE_SHORT_D16_HI", vector_store<Places, 2, true>, 2, op_store);
    row("STORE_DWORD", vector_store<Places, 4, false>, 4, op_store);
    row("STORE_DWORDX2", vector_store<Places, 8, false>, 8, op_store);
    row("STORE_DWORDX3", vector_store<Places, 12, false>, 12, op_store);
    row("STORE_DWORDX4", vector_store<Places, 16, false>, 16, op_store);
  }
  template <Rmw Op> void both(const char* name) {
    constexpr uint16_t f = op_atomic | op_load | op_store;
    row(std::string("ATOMIC_") + name, vector_atomic<Places, uint32_t, Op>, 4, f);
    row(std::string("ATOMIC_") + name + "_X2", vector_atomic<Places, uint64_t, Op>, 8, f);
  }
  void atomics() {
    constexpr uint16_t f = op_atomic | op_load | op_store;
    both<Rmw::swap>("SWAP"); both<Rmw::cmpswap>("CMPSWAP"); both<Rmw::add>("ADD"); both<Rmw::sub>("SUB");
    both<Rmw::smin>("SMIN"); both<Rmw::umin>("UMIN"); both<Rmw::smax>("SMAX"); both<Rmw::umax>("UMAX");
    both<Rmw::band>("AND"); both<Rmw::bor>("OR"); both<Rmw::bxor>("XOR"); both<Rmw::inc>("INC"); both<Rmw::dec>("DEC");
    row("ATOMIC_ADD_F32", vector_atomic<Places, uint32_t, Rmw::fadd>, 4, f);
    row("ATOMIC_PK_ADD_F16", vector_atomic<Places, uint32_t, Rmw::pk_f16>, 4, f);
    row("ATOMIC_PK_ADD_BF16", vector_atomic<Places, uint32_t, Rmw::pk_bf16>, 4, f);
    row("ATOMIC_ADD_F64", vector_atomic<Places, uint64_t, Rmw::fadd>, 8, f);
    row("ATOMIC_MIN_F64", vector_atomic<Places, uint64_t, Rmw::fmin>, 8, f);
    row("ATOMIC_MAX_F64", vector_atomic<Places, uint64_t, Rmw::fmax>, 8, f);
  }
};

}  // namespace tile::sim
