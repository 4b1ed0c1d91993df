#pragma once
// The arrays that a launch may touch, to keep every access of a kernel inside of them.
#include <algorithm>
#include <cstdint>
#include <vector>

namespace tile::interp {

struct Allocation {
  uint64_t begin = 0, end = 0;  // host addresses
  bool writable = true;
  bool uninitialised = false;
  unsigned param = 0;  // index of the argument
};

class MemoryMap {
 public:
  // Overlapping and adjacent arrays stay apart; an access must lie inside of one of them.
  void add(Allocation a) {
    list_.push_back(a);
    std::stable_sort(list_.begin(), list_.end(), [](const Allocation& x, const Allocation& y) { return x.begin < y.begin; });
  }
  // The array that holds [address, address + bytes), preferring a writable one if `write`; null if there is none.
  const Allocation* find(uint64_t address, uint64_t bytes, bool write) const {
    const Allocation* found = nullptr;
    for (const Allocation& a : list_) {
      if (a.begin > address) break;
      if (bytes <= a.end - a.begin && address - a.begin <= a.end - a.begin - bytes) {
        found = &a;
        if (!write || a.writable) return found;
      }
    }
    return found;
  }
  const std::vector<Allocation>& all() const { return list_; }

 private:
  std::vector<Allocation> list_;
};

}  // namespace tile::interp
