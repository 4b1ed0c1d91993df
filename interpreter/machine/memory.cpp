#include <algorithm>

#include "interpreter/machine/checks.h"
#include "interpreter/machine/exec.h"
#include "interpreter/machine/program.h"

namespace tile::sim {

namespace {
constexpr uint64_t first_address = uint64_t{0x7000} << 32;
constexpr uint64_t page = 4096, gap = 65536;

bool lower(const Allocation& a, uint64_t address) { return a.base < address; }
}  // namespace

Memory::Memory() : next_(first_address) {}

uint64_t Memory::map(std::string name, void* host, uint64_t size, bool writable) {
  const uint64_t base = next_;
  next_ = (base + size + gap + page - 1) / page * page;
  allocations_.push_back({base, size, static_cast<uint8_t*>(host), writable, std::move(name)});
  std::sort(allocations_.begin(), allocations_.end(), [](const Allocation& a, const Allocation& b) { return a.base < b.base; });
  return base;
}

bool Memory::map_at(uint64_t address, std::string name, void* host, uint64_t size, bool writable) {
  for (const Allocation& a : allocations_)
    if (address < a.base + a.size && a.base < address + size) return false;
  auto at = std::lower_bound(allocations_.begin(), allocations_.end(), address, lower);
  allocations_.insert(at, {address, size, static_cast<uint8_t*>(host), writable, std::move(name)});
  if (address >= first_address && address < image_address) next_ = std::max(next_, (address + size + gap + page - 1) / page * page);
  return true;
}

bool Memory::unmap(uint64_t address) {
  auto at = std::lower_bound(allocations_.begin(), allocations_.end(), address, lower);
  if (at == allocations_.end() || at->base != address) return false;
  allocations_.erase(at);
  return true;
}

const Allocation* Memory::find(uint64_t address) const {
  auto at = std::upper_bound(allocations_.begin(), allocations_.end(), address, [](uint64_t x, const Allocation& a) { return x < a.base; });
  if (at == allocations_.begin()) return nullptr;
  --at;
  return address - at->base < at->size ? &*at : nullptr;
}

namespace {

// Says what an address is near to, for messages.
std::string describe(const Launch& launch, uint64_t address, uint64_t bytes) {
  const Allocation* best = nullptr;
  uint64_t distance = ~uint64_t{0};
  for (const Allocation& a : launch.memory->allocations()) {
    const uint64_t d = address >= a.base ? (address - a.base >= a.size ? address - (a.base + a.size) : 0) : a.base - address;
    if (d < distance) { distance = d; best = &a; }
  }
  if (!best || distance > (uint64_t{1} << 32)) return fmt::format("{} bytes at {:#x}, far from every buffer", bytes, address);
  return fmt::format("{} bytes at offset {} of '{}', which has {} bytes", bytes, int64_t(address - best->base), best->name, best->size);
}

}  // namespace

uint8_t* global_pointer(Wave& w, uint64_t address, uint64_t bytes, bool write, int lane) {
  const Allocation* a = w.last_alloc;
  if (!a || address - a->base >= a->size) {
    a = w.launch->memory->find(address);
    if (!a) {
      for (const Allocation& x : w.launch->internal)
        if (address - x.base < x.size) a = &x;
    }
    if (!a) {
      fault(w, FaultKind::out_of_bounds, fmt::format("{} {}", write ? "store of" : "load of", describe(*w.launch, address, bytes)), lane);
      return nullptr;
    }
    w.last_alloc = a;
  }
  if (address - a->base + bytes > a->size) {
    fault(w, FaultKind::out_of_bounds, fmt::format("{} {}", write ? "store of" : "load of", describe(*w.launch, address, bytes)), lane);
    return nullptr;
  }
  if (write && !a->writable) {
    fault(w, FaultKind::read_only, fmt::format("store to '{}', which is read-only", a->name), lane);
    return nullptr;
  }
  return a->host + (address - a->base);
}

bool load_scalar(Wave& w, uint64_t address, uint32_t* to, int dwords) {
  // The hardware may read a whole cache line; only the words asked for count.
  const uint8_t* p = global_pointer(w, address, uint64_t(dwords) * 4, false, -1);
  if (!p) return false;
  std::memcpy(to, p, size_t(dwords) * 4);
  return true;
}

bool store_scalar(Wave& w, uint64_t address, const uint32_t* from, int dwords) {
  uint8_t* p = global_pointer(w, address, uint64_t(dwords) * 4, true, -1);
  if (!p) return false;
  std::memcpy(p, from, size_t(dwords) * 4);
  return true;
}

}  // namespace tile::sim
