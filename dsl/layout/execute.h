#pragma once
// Plans done faithfully: registers per thread, lanes and waves, LDS as bytes, accesses of waves checked for races.
#include <cstdint>
#include <vector>

#include "dsl/layout/conversion.h"

namespace tile::layout {

// A tile's registers as raw bytes: element r of lane l of wave w is at ((w * lanes + l) * registers + r) * elem_bytes.
struct RegisterFile {
  unsigned waves = 1, lanes = 64, registers = 1, elem_bytes = 4;
  std::vector<uint8_t> bytes;

  RegisterFile() = default;
  RegisterFile(unsigned num_waves, unsigned num_lanes, unsigned num_registers, unsigned bytes_each);
  uint8_t* at(unsigned wave, unsigned lane, unsigned reg) { return bytes.data() + index(wave, lane, reg); }
  const uint8_t* at(unsigned wave, unsigned lane, unsigned reg) const { return bytes.data() + index(wave, lane, reg); }

 private:
  size_t index(unsigned wave, unsigned lane, unsigned reg) const {
    return ((size_t{wave} * lanes + lane) * registers + reg) * elem_bytes;
  }
};

// LDS of a workgroup. Between two barriers the waves run in any order: an access that meets another wave's write, or a
// write that meets another wave's read, is a race, and so are two lanes that write one byte in one op.
class LdsModel {
 public:
  explicit LdsModel(size_t bytes) : bytes_(bytes), states_(bytes) {}
  // One lane's part of an op. `op` numbers the ops of all waves, each differently. Errors: out of the area, not
  // aligned to its size, a race, a read of bytes that nobody wrote.
  Status store(unsigned wave, uint64_t op, uint32_t address, const uint8_t* data, unsigned size);
  Status load(unsigned wave, uint64_t op, uint32_t address, uint8_t* data, unsigned size);
  void barrier() { epoch_++; }

 private:
  static constexpr unsigned many = ~0u;
  struct State {
    uint64_t write_epoch = 0, read_epoch = 0, write_op = 0;
    unsigned writer = 0, reader = 0;  // many: several waves
  };
  Status check(uint32_t address, unsigned size) const;
  std::vector<uint8_t> bytes_;
  std::vector<State> states_;
  uint64_t epoch_ = 1;  // epoch 0: never
};

// The destination's registers. Error: the register file does not fit the plan, or the plan is wrong (see LdsModel).
Result<RegisterFile> execute(const ConversionPlan& plan, const RegisterFile& src);

}  // namespace tile::layout
