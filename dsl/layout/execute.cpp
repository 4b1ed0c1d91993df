#include "dsl/layout/execute.h"

#include <fmt/format.h>

#include <cstring>

namespace tile::layout {

RegisterFile::RegisterFile(unsigned num_waves, unsigned num_lanes, unsigned num_registers, unsigned bytes_each)
    : waves(num_waves),
      lanes(num_lanes),
      registers(num_registers),
      elem_bytes(bytes_each),
      bytes(size_t{num_waves} * num_lanes * num_registers * bytes_each) {}

Status LdsModel::check(uint32_t address, unsigned size) const {
  if (size_t{address} + size > bytes_.size())
    return Error{fmt::format("LDS access at {} of {} bytes leaves the area of {} bytes", address, size, bytes_.size())};
  if (address % size != 0) return Error{fmt::format("LDS access at {} is not aligned to its {} bytes", address, size)};
  return Unit{};
}

Status LdsModel::store(unsigned wave, uint64_t op, uint32_t address, const uint8_t* data, unsigned size) {
  if (Status s = check(address, size); !s) return s;
  for (unsigned i = 0; i < size; i++) {
    State& state = states_[address + i];
    if (state.write_epoch == epoch_ && (state.writer != wave || state.write_op == op))
      return Error{fmt::format("waves {} and {} write LDS byte {} without a barrier", state.writer, wave, address + i)};
    if (state.read_epoch == epoch_ && state.reader != wave)
      return Error{
          fmt::format("wave {} overwrites LDS byte {} that another wave reads, without a barrier", wave, address + i)};
    state.write_epoch = epoch_, state.writer = wave, state.write_op = op;
    bytes_[address + i] = data[i];
  }
  return Unit{};
}

Status LdsModel::load(unsigned wave, uint64_t op, uint32_t address, uint8_t* data, unsigned size) {
  (void)op;
  if (Status s = check(address, size); !s) return s;
  for (unsigned i = 0; i < size; i++) {
    State& state = states_[address + i];
    if (state.write_epoch == 0)
      return Error{fmt::format("wave {} reads LDS byte {} that nobody wrote", wave, address + i)};
    if (state.write_epoch == epoch_ && state.writer != wave)
      return Error{
          fmt::format("wave {} reads LDS byte {} of wave {} without a barrier", wave, address + i, state.writer)};
    state.reader = state.read_epoch == epoch_ && state.reader != wave ? many : wave;
    state.read_epoch = epoch_;
    data[i] = bytes_[address + i];
  }
  return Unit{};
}

namespace {

using Words = std::vector<std::vector<uint64_t>>;  // [value][lane]

void do_step(const LaneStep& step, unsigned wave, unsigned lanes, Words& values) {
  using Op = LaneStep::Op;
  std::vector<uint64_t> out(lanes), second;
  const std::vector<uint64_t>& a = values[step.a];
  switch (step.op) {
    case Op::Select:
      for (unsigned l = 0; l < lanes; l++)
        out[l] = f2::parity(l & step.lane_mask) == f2::parity(wave & step.wave_mask) ? a[l] : values[step.b][l];
      break;
    case Op::Dpp:
    case Op::Bpermute:
      for (unsigned l = 0; l < lanes; l++) out[l] = a[step.from(l)];
      break;
    case Op::Permlane16:
    case Op::Permlane32: {
      const unsigned bit = step.op == Op::Permlane16 ? 16 : 32;
      out = a, second = values[step.b];
      for (unsigned l = 0; l < lanes; l++)
        if (l & bit) std::swap(out[l], second[l ^ bit]);
      break;
    }
  }
  values.push_back(std::move(out));
  if (!second.empty()) values.push_back(std::move(second));
}

RegisterFile execute_lanes(const ConversionPlan& plan, const RegisterFile& src, RegisterFile dst) {
  const LanePlan& p = *plan.lanes;
  for (unsigned w = 0; w < src.waves; w++) {
    Words values;
    for (const std::vector<uint16_t>& regs : p.inputs) {
      values.emplace_back(src.lanes, 0);
      for (unsigned l = 0; l < src.lanes; l++)
        for (size_t e = 0; e < regs.size(); e++)
          std::memcpy(reinterpret_cast<uint8_t*>(&values.back()[l]) + e * p.elem_bytes, src.at(w, l, regs[e]),
                      p.elem_bytes);
    }
    for (const LaneStep& step : p.steps) do_step(step, w, src.lanes, values);
    for (unsigned l = 0; l < src.lanes; l++)
      for (unsigned r = 0; r < dst.registers; r++)
        std::memcpy(dst.at(w, l, r),
                    reinterpret_cast<const uint8_t*>(&values[p.outputs[r].value][l]) + p.outputs[r].elem * p.elem_bytes,
                    p.elem_bytes);
  }
  return dst;
}

class SharedRun {
 public:
  SharedRun(const SharedPlan& plan, const RegisterFile& src, RegisterFile& loaded)
      : plan_(plan), src_(src), loaded_(loaded), lds_(plan.scratch_bytes) {}

  Status run() {
    if (plan_.wave_local) {
      // No order among waves is needed, so each may run to its end before the next starts.
      for (unsigned w = 0; w < src_.waves; w++)
        for (unsigned round = 0; round < plan_.rounds; round++)
          for (const SharedAccess* a : {&plan_.store, &plan_.load})
            if (Status s = access(*a, w, round); !s) return s;
      return Unit{};
    }
    for (unsigned round = 0; round < plan_.rounds; round++) {
      if (round > 0) lds_.barrier();
      for (unsigned w = 0; w < src_.waves; w++)
        if (Status s = access(plan_.store, w, round); !s) return s;
      lds_.barrier();
      for (unsigned w = 0; w < src_.waves; w++)
        if (Status s = access(plan_.load, w, round); !s) return s;
    }
    return Unit{};
  }

 private:
  Status access(const SharedAccess& a, unsigned wave, unsigned round) {
    uint8_t data[16];
    for (const SharedAccess::Op& op : a.ops) {
      op_count_++;
      for (unsigned l = 0; l < src_.lanes; l++) {
        if ((op.round ^ a.thread_round(l, wave)) != round) continue;
        if ((l & a.free_lanes) != 0 || (wave & a.free_waves) != 0) continue;
        uint32_t address = op.offset ^ a.thread_offset(l, wave);
        if (a.kind == AccessKind::Store) {
          for (unsigned e = 0; e < a.vec; e++)
            std::memcpy(data + e * a.elem_bytes, src_.at(wave, l, op.registers[e]), a.elem_bytes);
          if (Status s = lds_.store(wave, op_count_, address, data, a.bytes()); !s) return s;
        } else {
          if (Status s = lds_.load(wave, op_count_, address, data, a.bytes()); !s) return s;
          for (unsigned e = 0; e < a.vec; e++)
            std::memcpy(loaded_.at(wave, l, op.registers[e]), data + e * a.elem_bytes, a.elem_bytes);
        }
      }
    }
    return Unit{};
  }

  const SharedPlan& plan_;
  const RegisterFile& src_;
  RegisterFile& loaded_;
  LdsModel lds_;
  uint64_t op_count_ = 0;
};

}  // namespace

Result<RegisterFile> execute(const ConversionPlan& plan, const RegisterFile& src) {
  if (src.waves != plan.num_waves || src.lanes != plan.num_lanes || src.registers != plan.src_registers ||
      src.elem_bytes != plan.elem_bytes)
    return Error{"the registers do not have the form of the plan's source"};
  RegisterFile dst(src.waves, src.lanes, plan.dst_registers, src.elem_bytes);
  auto rename = [&](const RegisterFile& from, auto map) {
    for (unsigned w = 0; w < src.waves; w++)
      for (unsigned l = 0; l < src.lanes; l++)
        for (unsigned r = 0; r < dst.registers; r++)
          std::memcpy(dst.at(w, l, r), from.at(w, l, map(r)), src.elem_bytes);
  };
  switch (plan.kind) {
    case ConversionPlan::Kind::None:
      return src;
    case ConversionPlan::Kind::Registers:
      rename(src, [&](unsigned r) { return plan.register_map[r]; });
      return dst;
    case ConversionPlan::Kind::Lanes:
      return execute_lanes(plan, src, std::move(dst));
    case ConversionPlan::Kind::Shared: {
      RegisterFile loaded = dst;
      if (Status s = SharedRun(*plan.shared, src, loaded).run(); !s) return s.error();
      rename(loaded, [&](unsigned r) { return plan.shared->loaded[r]; });
      return dst;
    }
  }
  return dst;
}

}  // namespace tile::layout
